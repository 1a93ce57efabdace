"""Fisher scoring with a Newton finish: the default."""

from dataclasses import dataclass, replace

import numpy as np

from onepath.graph.graph import Graph
from onepath.inference.completion.loop import CONVERGED, RUNNING, STUCK, Solver, State, line_search
from onepath.inference.completion.objective import Objective, Place
from onepath.numerics.arrays import Floats
from onepath.numerics.linalg import lower_root, solved

PAUSE = 5
"""Steps before a Hessian that was not positive definite is tried again."""

PATIENCE = 5
"""Times as many steps for the completion that is the answer as for one of many on the way to it."""

ROUNDING = 1e-10
"""Share of J that may be its rounding error."""


@dataclass(frozen=True)
class FisherScoring(Solver):
    """w ← w - C⁻¹∇J with a backtracking line search, C being the Fisher matrix, and the Hessian once that is close.

    The Fisher matrix is positive definite everywhere but converges linearly; the Hessian takes over when the next step
    promises less than `close`, and hands back for `PAUSE` steps if it is not positive definite there; with `close` 0 it
    never does. It ends when a step promises less than `tolerance`: a quarter of a millionth of a posterior standard
    deviation; or when no step is found and what was promised is within J's rounding.
    """

    tolerance: float = 1e-13
    close: float = 1.0
    most_steps: int = 100

    def for_graph(self, graph: Graph) -> "FisherScoring":
        """Without the Hessian where that is dear; then a ten-thousandth of a standard deviation will do.

        And fewer steps: each is dear too, and what has not ended by then goes on for ever.
        """
        if not graph.hessian_is_dear:
            return self
        steps = max(self.most_steps // PATIENCE, 1)
        return replace(self, close=0.0, tolerance=max(self.tolerance, 1e-8), most_steps=steps)

    def loosened(self) -> "FisherScoring":
        """To a few hundredths of a standard deviation, since the start is close; where it is not, θ is improbable."""
        return replace(self, tolerance=1e-2, close=0.0, most_steps=10)

    def patient(self) -> "FisherScoring":
        return replace(self, most_steps=PATIENCE * self.most_steps)

    def begin(self, objective: Objective, weights: Floats) -> State:
        return State(objective.at(weights), 0, RUNNING)

    def advance(self, objective: Objective, state: State) -> State:
        """`memory` is 1 while the Hessian is used; after it has failed it counts up to 0, and may be used again."""
        place, exact = state.place, state.memory
        gradient = objective.gradient_at(place)
        direction = -_step(objective, place, gradient, exact > 0)
        if not np.all(np.isfinite(direction)):
            return State(place, -PAUSE, RUNNING)
        slope = float(np.sum(gradient * direction))
        new, found = line_search(objective, place, direction, slope)
        promised = -0.5 * slope
        done = promised < self.tolerance or (not found and promised < ROUNDING * abs(place.loss))
        if exact < 0:
            exact += 1
        elif promised < self.close:
            exact = 1
        return State(new, exact, CONVERGED if done else RUNNING if found else STUCK)


def _step(objective: Objective, place: Place, gradient: Floats, exact: bool) -> Floats:
    """C⁻¹∇J."""
    if exact:
        return solved(lower_root(objective.hessian_at(place)), gradient.ravel()).reshape(gradient.shape)
    step = np.zeros(gradient.size)
    for _, places, lower in objective.fisher_at(place):
        step[places] = solved(lower, gradient.ravel()[places])
    return step.reshape(gradient.shape)
