"""The paper's gradient descent."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve as dense_solve
from jaxtyping import Array, Float

from onepath.data.cells import Cells
from onepath.graph.graph import Graph
from onepath.inference.completion.loop import CONVERGED, RUNNING, Solver, State
from onepath.inference.completion.objective import Objective, cell_loss
from onepath.numerics.linalg import cholesky, one_by_one, small_cholesky, small_forward_solve, solve


class Profile(NamedTuple):
    """Diffusion weights with the drift at its best for them: J there, its slope in the diffusion's weights, and σ̄."""

    weights: Float[Array, "functions p"]
    loss: Float[Array, ""]
    slope: Float[Array, "entries p"]
    values: Float[Array, "entries c"]


class GradientDescent(Solver):
    """Steepest descent in σ̄, the diffusion's values at the data, with the drift at its best for each σ̄.

    A step changes σ̄ by `percent` of its norm; when that does not lower J, percent ← 0.9 percent; it ends when
    percent < `smallest` (paper: 1, 1e-20, at most 1e5 steps). In weights w, with σ̄ = Φw, the direction of steepest
    descent in σ̄ is -(ΦᵀΦ)⁻¹∇J.
    """

    percent: float = 1.0
    smallest: float = 1e-20
    most_steps: int = 100_000

    def begin(self, objective: Objective, weights: Float[Array, "functions p"]) -> State:
        # one block of memory a function: with steps this many and this small, strided reads are most of the cost
        phi = jnp.moveaxis(objective.phi[:, :, 0], 1, 0)
        own = phi[objective.graph.drifts :]
        metric = one_by_one(cholesky, jnp.einsum("fcp,fcq->fpq", own, own))
        profile = profile_of(objective, phi, weights)
        return State(
            profile.weights, profile.loss, (jnp.asarray(self.percent), phi, metric, profile), jnp.asarray(RUNNING)
        )

    def advance(self, objective: Objective, state: State) -> State:
        percent, phi, metric, profile = state.memory
        d = objective.graph.drifts
        direction = -one_by_one(solve, metric, profile.slope)
        change = jnp.linalg.norm(jnp.einsum("fcp,fp->fc", phi[d:], direction))
        length = percent / 100 * jnp.linalg.norm(profile.values) / jnp.maximum(change, 1e-300)
        trial = profile_of(objective, phi, profile.weights.at[d:].add(length * direction))
        lower = trial.loss < profile.loss
        percent = jnp.where(lower, percent, 0.9 * percent)
        profile = jax.tree.map(lambda new, old: jnp.where(lower, new, old), trial, profile)
        code = jnp.where(percent < self.smallest, CONVERGED, RUNNING)
        return State(profile.weights, profile.loss, (percent, phi, metric, profile), code)


def profile_of(
    objective: Objective, phi: Float[Array, "functions c p"], weights: Float[Array, "functions p"]
) -> Profile:
    """Put the drift at its best for these diffusion weights (paper, eq. 6), and see what J is there and where it falls.

    Under Euler's law J is least squares in the drift's weights, with rows √n V^-½ Δt φ and right-hand side √n V^-½ ȳ.
    There J's slope along f is zero, so that its slope along σ with f at its best is the partial one.
    """
    graph, cells, d = objective.graph, objective.cells, objective.graph.drifts
    values = jnp.einsum("fcp,fp->fc", phi[d:], weights[d:]) + graph.offset[d:, None]
    still = jnp.concatenate([jnp.zeros((d, values.shape[1])), values])
    factors, right = jax.vmap(_least_squares, (None, 1, 0))(graph, still[..., None], cells)
    rows = jnp.einsum("cef,fcp->cefp", factors, phi[:d]).reshape(right.size, -1)
    drift = dense_solve(rows.T @ rows + jnp.eye(rows.shape[1]), right.ravel() @ rows, assume_a="pos")
    weights = weights.at[:d].set(drift.reshape(d, -1))
    latent = jnp.concatenate([jnp.einsum("fcp,fp->fc", phi[:d], weights[:d]), values])
    losses, slopes = jax.vmap(jax.value_and_grad(cell_loss, 1), (None, 1, 0))(graph, latent[..., None], cells)
    slope = jnp.einsum("cf,fcp->fp", slopes[:, d:, 0], phi[d:]) + weights[d:]
    return Profile(weights, jnp.sum(losses) + 0.5 * jnp.sum(jnp.square(weights)), slope, values)


def _least_squares(
    graph: Graph, latent: Float[Array, "functions 1"], cell: Cells
) -> tuple[Float[Array, "d drifts"], Float[Array, " d"]]:
    """√n V^-½ Δt, in the coordinates whose drift is unknown, and √n V^-½ (ȳ - m) of one cell, m what is known."""
    mean, covariance = graph.gaussian(latent, cell.x, cell.dt)
    lower, root = small_cholesky(covariance), jnp.sqrt(cell.weight)
    own = jnp.asarray(np.eye(len(lower))[:, graph.unknown_coordinates])
    return root * cell.dt * small_forward_solve(lower, own), root * small_forward_solve(lower, cell.y - mean)
