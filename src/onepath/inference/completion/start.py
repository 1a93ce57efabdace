"""Where a solver starts, and the paper's smoothing of where it ends."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from onepath.inference.completion.objective import Objective
from onepath.numerics.linalg import cholesky, one_by_one, solve


def _smoothed(
    phi: Float[Array, "c p"], values: Float[Array, " c"], weight: Float[Array, " c"], smoothing: Float[Array, ""]
) -> Float[Array, " p"]:
    """Weights of E[g | g + Z = values], Z of variance `smoothing` for each transition (paper, eq. 9)."""
    ridge = jnp.einsum("cp,c,cq->pq", phi, weight, phi) + smoothing * jnp.eye(phi.shape[1])
    return solve(cholesky(ridge), jnp.einsum("cp,c,c->p", phi, weight, values))


START_SMOOTHING = 0.01
"""γ of the paper's initial condition where none is given, in units of the diffusion's mean square."""


def initial_weights(
    objective: Objective, smoothing: Float[Array, " entries"] | None = None
) -> Float[Array, "functions p"]:
    """Where a solver starts: the prior's mean, or, where that is no diffusion at all, the paper's initial condition.

    That is no drift, and the diffusion that the smoothed quadratic variation y²/Δt gives. The paper takes y²/Δt for σ
    itself; it is an estimate of σ², so its root is taken here.
    """
    graph, cells = objective.graph, objective.cells
    start = graph.start(cells)
    if start is None:
        return objective.no_weights
    if smoothing is None:
        smoothing = jnp.full_like(graph.unit, START_SMOOTHING)
    means = jnp.average(start.squares, axis=0, weights=cells.weight)

    def one_function(phi: Array, squares: Array, mean: Array, offset: Array, smoothing: Array) -> Array:
        smooth = phi @ _smoothed(phi, squares - mean, cells.weight, smoothing) + mean
        size = jnp.sqrt(jnp.maximum(smooth, 0.01 * mean))
        return _smoothed(phi, start.inverse(size) - offset, cells.weight, smoothing)

    phi = jnp.moveaxis(objective.phi[:, start.functions, 0], 1, 0)
    gammas = smoothing[: start.squares.shape[1]]
    weights = one_by_one(one_function, phi, start.squares.T, means, graph.offset[start.functions], gammas)
    return objective.no_weights.at[start.functions].set(weights)


def smoothed_diffusion(
    objective: Objective, weights: Float[Array, "functions p"], smoothing: Float[Array, " entries"]
) -> Float[Array, "functions p"]:
    """The paper's σ* = G(G + γI)⁻¹σ† (its eq. 9), with the drift that is best for it."""
    d = objective.graph.drifts
    values = (objective.latent(weights)[:, :, 0] - objective.graph.offset)[:, d:].T
    phi = jnp.moveaxis(objective.phi[:, d:, 0], 1, 0)
    weight = objective.cells.weight
    smooth = one_by_one(lambda phi, values, gamma: _smoothed(phi, values, weight, gamma), phi, values, smoothing)
    return objective.with_best_drift(weights.at[d:].set(smooth))
