"""Fisher scoring with a Newton finish: the default."""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from onepath.completion.loop import CONVERGED, RUNNING, STUCK, Solver, Step, line_search
from onepath.completion.objective import Objective
from onepath.linalg import cholesky, solve


class FisherScoring(Solver):
    """w ← w - C⁻¹∇J with a backtracking line search, C being the Fisher matrix, and the Hessian once that is close.

    The Fisher matrix is positive definite everywhere but converges linearly; the Hessian takes over when the next step
    promises less than `close`, and hands back if it is not positive definite there. It ends when a step promises less
    than `tolerance`: a quarter of a millionth of a posterior standard deviation.
    """

    tolerance: float | Float[Array, ""] = 1e-13
    close: float = 1.0
    most_steps: int = 100

    def roughly(self, rough: Bool[Array, ""]) -> "FisherScoring":
        return replace(self, tolerance=jnp.where(rough, 1e-4, self.tolerance))

    def begin(self, objective: Objective, weights: Float[Array, "functions p"]) -> Step:
        return Step(weights, objective.loss(weights), jnp.asarray(0.0), jnp.asarray(RUNNING))

    def advance(self, objective: Objective, step: Step) -> Step:
        exact = step.memory
        gradient = objective.gradient(step.weights)
        curvature = jax.lax.cond(
            exact > 0.0, lambda: objective.hessian(step.weights), lambda: objective.fisher(step.weights)
        )
        direction = -solve(cholesky(curvature), gradient.ravel()).reshape(gradient.shape)
        definite = jnp.all(jnp.isfinite(direction))
        slope = jnp.where(definite, jnp.sum(gradient * direction), 0.0)
        weights, loss, found = line_search(objective, step, jnp.where(definite, direction, 0.0), slope)
        code = jnp.where(-0.5 * slope < self.tolerance, CONVERGED, jnp.where(found, RUNNING, STUCK))
        # `exact` is 1 while the Hessian is used and -1 for good once it has failed
        exact = jnp.where(definite, jnp.where((exact == 0.0) & (-0.5 * slope < self.close), 1.0, exact), -1.0)
        return Step(weights, loss, exact, jnp.where(definite, code, RUNNING))
