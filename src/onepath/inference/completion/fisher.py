"""Fisher scoring with a Newton finish: the default."""

from dataclasses import dataclass, replace

import numpy as np

from onepath.graph.graph import Graph
from onepath.inference.completion.loop import CONVERGED, RUNNING, STUCK, Solver, State, line_search
from onepath.inference.completion.objective import Block, Objective, Place
from onepath.numerics.arrays import Floats
from onepath.numerics.linalg import lower_root, solved

PAUSE = 5
"""Steps before a Hessian that was not positive definite is tried again."""

PATIENCE = 5
"""Times as many steps for the completion that is the answer as for one of many on the way to it."""

ROUNDING = 1e-10
"""Share of J that may be its rounding error."""

SQUARED = 1e-8
"""What the last exact step may promise: what it leaves is of the square of that."""


@dataclass(frozen=True)
class FisherScoring(Solver):
    """w ← w - C⁻¹∇J with a backtracking line search, C being the Fisher matrix, and the Hessian once that is close.

    The Fisher matrix is positive definite everywhere but converges linearly; the Hessian takes over when the next step
    promises less than `close`, or from the beginning if that is infinite, and hands back for `PAUSE` steps if it is not
    positive definite there; with `close` 0 it never does. It ends when a step promises less than `tolerance`: a quarter
    of a millionth of a posterior standard deviation, or an exact step less than `SQUARED`; or when no step is found and
    what was promised is within J's rounding. One that `trusts` takes the last step without a look at where it leads.
    """

    tolerance: float = 1e-13
    close: float = 1.0
    most_steps: int = 100
    trusts: bool = False

    def for_graph(self, graph: Graph) -> "FisherScoring":
        """Without the Hessian where that is dear; then a ten-thousandth of a standard deviation will do.

        And fewer steps: each is dear too, and what has not ended by then goes on for ever.
        """
        if not graph.hessian_is_dear:
            return self
        steps = max(self.most_steps // PATIENCE, 1)
        return replace(self, close=0.0, tolerance=max(self.tolerance, 1e-8), most_steps=steps)

    def loosened(self) -> "FisherScoring":
        """The start is close, where θ is not improbable: a step of half a standard deviation leaves a twentieth."""
        return replace(self, tolerance=0.1, close=0.0, most_steps=10, trusts=True)

    def patient(self) -> "FisherScoring":
        return replace(self, most_steps=PATIENCE * self.most_steps)

    def nearby(self) -> "FisherScoring":
        return replace(self, close=np.inf) if self.close > 0.0 else self

    def begin(self, objective: Objective, weights: Floats) -> State:
        return State(objective.at(weights), int(self.close == np.inf), RUNNING)

    def advance(self, objective: Objective, state: State) -> State:
        """`memory` is 1 while the Hessian is used; after it has failed it counts up to 0, and may be used again."""
        place, exact = state.place, state.memory
        gradient = objective.gradient_at(place)
        blocks = None if exact > 0 else list(objective.fisher_at(place))
        direction = -_step(objective, place, gradient, blocks)
        if not np.all(np.isfinite(direction)):
            return State(place, -PAUSE, RUNNING)
        slope = float(np.sum(gradient * direction))
        promised = -0.5 * slope
        if self.trusts and promised < self.tolerance:
            weights = place.weights + direction
            ahead = place._replace(weights=weights, latent=objective.latent(weights), loss=place.loss - promised)
            return State(ahead, exact, CONVERGED, blocks)
        new, found = line_search(objective, place, direction, slope)
        enough = max(self.tolerance, SQUARED) if exact > 0 else self.tolerance
        done = promised < enough or (not found and promised < ROUNDING * abs(place.loss))
        if exact < 0:
            exact += 1
        elif promised < self.close:
            exact = 1
        return State(new, exact, CONVERGED if done else RUNNING if found else STUCK)


def _step(objective: Objective, place: Place, gradient: Floats, blocks: list[Block] | None) -> Floats:
    """C⁻¹∇J, C being the Fisher matrix whose factors these are, or the Hessian."""
    if blocks is None:
        return solved(lower_root(objective.hessian_at(place)), gradient.ravel()).reshape(gradient.shape)
    step = np.zeros(gradient.size)
    for _, places, lower in blocks:
        step[places] = solved(lower, gradient.ravel()[places])
    return step.reshape(gradient.shape)
