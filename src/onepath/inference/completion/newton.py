"""The paper's Newton method with Armijo's condition."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from onepath.inference.completion.loop import CONVERGED, RUNNING, STUCK, Solver, State, line_search
from onepath.inference.completion.objective import Objective


class Newton(Solver):
    """w ← w - |H|⁻¹∇J, drift and diffusion together, until |∇J| < `tolerance` (paper: 1e-8, at most 1000 steps).

    |H| has the absolute values of the Hessian's eigenvalues, so that every step points downhill. The paper steps in σ
    with f at its best; that is the same step, because the drift is put at its best before each.
    """

    tolerance: float = 1e-8
    most_steps: int = 1000

    def begin(self, objective: Objective, weights: Float[Array, "functions p"]) -> State:
        weights = objective.with_best_drift(weights)
        return State(weights, objective.loss(weights), None, jnp.asarray(RUNNING))

    def advance(self, objective: Objective, state: State) -> State:
        gradient = objective.gradient(state.weights)
        values, vectors = jnp.linalg.eigh(objective.hessian(state.weights))
        scaled = (vectors.T @ gradient.ravel()) / jnp.maximum(jnp.abs(values), 1e-12)
        direction = -(vectors @ scaled).reshape(gradient.shape)
        weights, loss, found = line_search(objective, state, direction, jnp.sum(gradient * direction))
        best = objective.with_best_drift(weights)
        code = jnp.where(found, RUNNING, STUCK)
        done = jnp.linalg.norm(gradient) < self.tolerance
        return State(best, jnp.minimum(loss, objective.loss(best)), None, jnp.where(done, CONVERGED, code))
