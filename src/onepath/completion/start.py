"""Where a solver starts, and the paper's smoothing of where it ends."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from onepath.completion.objective import Objective
from onepath.graph import LINKS
from onepath.linalg import cholesky, one_by_one, solve


def _smoothed(
    phi: Float[Array, "c p"], values: Float[Array, " c"], count: Float[Array, " c"], smoothing: Float[Array, ""]
) -> Float[Array, " p"]:
    """Weights of E[g | g + Z = values], Z of variance `smoothing` for each transition (paper, eq. 9)."""
    ridge = jnp.einsum("cp,c,cq->pq", phi, count, phi) + smoothing * jnp.eye(phi.shape[1])
    return solve(cholesky(ridge), jnp.einsum("cp,c,c->p", phi, count, values))


START_SMOOTHING = 0.01
"""γ of the paper's initial condition where none is given, in units of the diffusion's mean square."""


def initial_weights(
    objective: Objective, smoothing: Float[Array, " entries"] | None = None
) -> Float[Array, "functions p"]:
    """Where a solver starts: the prior's mean, or, where that is no diffusion at all, the paper's initial condition."""
    if objective.graph.link != "identity":
        return objective.no_weights
    if smoothing is None:
        smoothing = jnp.full_like(objective.graph.unit, START_SMOOTHING)
    return quadratic_variation_start(objective, smoothing)


def quadratic_variation_start(objective: Objective, smoothing: Float[Array, " entries"]) -> Float[Array, "functions p"]:
    """The paper's initial condition: no drift, and the diffusion that the smoothed quadratic variation y²/Δt gives.

    The paper takes y²/Δt for σ itself; it is an estimate of σ², so its root is taken here.
    """
    graph, cells, d = objective.graph, objective.cells, objective.graph.dimension
    count = jnp.maximum(cells.counts, 1e-300)
    squares = jnp.square(cells.y) + jnp.diagonal(cells.scatter, axis1=1, axis2=2) / count[:, None]
    variation = squares / cells.dt[:, None]
    if graph.structure == "isotropic":
        variation = jnp.mean(variation, axis=1, keepdims=True)
    variation = variation / jnp.square(graph.unit[: graph.positive])
    mean = jnp.average(variation, axis=0, weights=cells.counts)

    def one_entry(phi: Array, variation: Array, mean: Array, offset: Array, smoothing: Array) -> Array:
        smooth = phi @ _smoothed(phi, variation - mean, cells.counts, smoothing) + mean
        level = jnp.sqrt(jnp.maximum(smooth, 0.01 * mean))
        return _smoothed(phi, LINKS[graph.link].inverse(level) - offset, cells.counts, smoothing)

    linked = slice(d, d + graph.positive)
    phi = jnp.moveaxis(objective.phi[:, linked, 0], 1, 0)
    weights = one_by_one(one_entry, phi, variation.T, mean, graph.offset[linked], smoothing[: graph.positive])
    return objective.no_weights.at[linked].set(weights)


def smoothed_diffusion(
    objective: Objective, weights: Float[Array, "functions p"], smoothing: Float[Array, " entries"]
) -> Float[Array, "functions p"]:
    """The paper's σ* = G(G + γI)⁻¹σ† (its eq. 9), with the drift that is best for it."""
    d = objective.graph.dimension
    values = (objective.latent(weights)[:, :, 0] - objective.graph.offset)[:, d:].T
    phi = jnp.moveaxis(objective.phi[:, d:, 0], 1, 0)
    counts = objective.cells.counts
    smooth = one_by_one(lambda phi, values, gamma: _smoothed(phi, values, counts, gamma), phi, values, smoothing)
    return objective.with_best_drift(weights.at[d:].set(smooth))
