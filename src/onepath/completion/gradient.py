"""The paper's gradient descent."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from onepath.completion.loop import CONVERGED, RUNNING, Solver, Step
from onepath.completion.objective import Objective
from onepath.linalg import cholesky, one_by_one, solve


class GradientDescent(Solver):
    """Steepest descent in σ̄, the diffusion's values at the data, with the drift at its best for each σ̄.

    A step changes σ̄ by `percent` of its norm; when that does not lower J, percent ← 0.9 percent; it ends when
    percent < `smallest` (paper: 1, 1e-20, at most 1e5 steps). In weights w, with σ̄ = Φw, the direction of steepest
    descent in σ̄ is -(ΦᵀΦ)⁻¹∇J.
    """

    percent: float = 1.0
    smallest: float = 1e-20
    most_steps: int = 100_000

    def begin(self, objective: Objective, weights: Float[Array, "functions p"]) -> Step:
        phi = objective.phi[:, objective.graph.dimension :, 0]
        metric = one_by_one(cholesky, jnp.einsum("cfp,cfq->fpq", phi, phi))
        weights = objective.with_best_drift(weights)
        memory = (jnp.asarray(self.percent), metric, objective.gradient(weights))
        return Step(weights, objective.loss(weights), memory, jnp.asarray(RUNNING))

    def advance(self, objective: Objective, step: Step) -> Step:
        percent, metric, gradient = step.memory
        d = objective.graph.dimension
        direction = -one_by_one(solve, metric, gradient[d:])
        values = objective.latent(step.weights)[:, d:, 0]
        change = jnp.linalg.norm(jnp.einsum("cfp,fp->cf", objective.phi[:, d:, 0], direction))
        length = percent / 100 * jnp.linalg.norm(values) / jnp.maximum(change, 1e-300)
        trial = objective.with_best_drift(step.weights.at[d:].add(length * direction))
        loss = objective.loss(trial)
        lower = loss < step.loss
        percent = jnp.where(lower, percent, 0.9 * percent)
        memory = (percent, metric, jnp.where(lower, objective.gradient(trial), gradient))
        code = jnp.where(percent < self.smallest, CONVERGED, RUNNING)
        return Step(jnp.where(lower, trial, step.weights), jnp.where(lower, loss, step.loss), memory, code)
