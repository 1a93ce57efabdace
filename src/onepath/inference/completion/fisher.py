"""Fisher scoring with a Newton finish: the default."""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from onepath.graph.graph import Graph
from onepath.inference.completion.loop import CONVERGED, RUNNING, STUCK, Solver, State, line_search
from onepath.inference.completion.objective import Objective
from onepath.numerics.linalg import cholesky, solve

PAUSE = 5.0
"""Steps before a Hessian that was not positive definite is tried again."""

PATIENCE = 5
"""Times as many steps for the completion that is the answer as for one of many on the way to it."""

ROUNDING = 1e-10
"""Share of J that may be its rounding error."""


class FisherScoring(Solver):
    """w ← w - C⁻¹∇J with a backtracking line search, C being the Fisher matrix, and the Hessian once that is close.

    The Fisher matrix is positive definite everywhere but converges linearly; the Hessian takes over when the next step
    promises less than `close`, and hands back for `PAUSE` steps if it is not positive definite there; with `close` 0 it
    never does. It ends when a step promises less than `tolerance`: a quarter of a millionth of a posterior standard
    deviation; or when no step is found and what was promised is within J's rounding.
    """

    tolerance: float | Float[Array, ""] = 1e-13
    close: float | Float[Array, ""] = 1.0
    most_steps: int | Int[Array, ""] = 100

    def for_graph(self, graph: Graph) -> "FisherScoring":
        """Without the Hessian where that is dear; then a ten-thousandth of a standard deviation will do."""
        return replace(self, close=0.0, tolerance=max(self.tolerance, 1e-8)) if graph.hessian_is_dear else self

    def loosened(self, rough: Bool[Array, ""]) -> "FisherScoring":
        """Likewise, since the start is close; where it is not, θ is improbable, and what is reached will do.

        The one that is not rough is the last, and may take its time.
        """
        close = jnp.where(rough, 0.0, self.close) if self._uses_hessian else 0.0
        tolerance, most_steps = jnp.where(rough, 1e-4, self.tolerance), jnp.where(rough, 10, PATIENCE * self.most_steps)
        return replace(self, tolerance=tolerance, close=close, most_steps=most_steps)

    @property
    def _uses_hessian(self) -> bool:
        return not isinstance(self.close, float) or self.close > 0.0

    def begin(self, objective: Objective, weights: Float[Array, "functions p"]) -> State:
        return State(weights, objective.loss(weights), jnp.asarray(0.0), jnp.asarray(RUNNING))

    def advance(self, objective: Objective, state: State) -> State:
        exact = state.memory
        gradient = objective.gradient(state.weights)
        curvature = (
            objective.fisher(state.weights)
            if not self._uses_hessian
            else jax.lax.cond(
                exact > 0.0, lambda: objective.hessian(state.weights), lambda: objective.fisher(state.weights)
            )
        )
        direction = -solve(cholesky(curvature), gradient.ravel()).reshape(gradient.shape)
        definite = jnp.all(jnp.isfinite(direction))
        slope = jnp.where(definite, jnp.sum(gradient * direction), 0.0)
        weights, loss, found = line_search(objective, state, jnp.where(definite, direction, 0.0), slope)
        promised = -0.5 * slope
        done = (promised < self.tolerance) | (~found & (promised < ROUNDING * jnp.abs(state.loss)))
        code = jnp.where(done, CONVERGED, jnp.where(found, RUNNING, STUCK))
        # `exact` is 1 while the Hessian is used, and after it has failed counts up to 0, where it may be used again
        waited = jnp.minimum(exact + 1.0, 0.0)
        switched = jnp.where((exact == 0.0) & (promised < self.close), 1.0, jnp.where(exact < 0.0, waited, exact))
        exact = jnp.where(definite, switched, -PAUSE)
        return State(weights, loss, exact, jnp.where(definite, code, RUNNING))
