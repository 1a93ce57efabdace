"""Evidence: the probability of the data given the kernels, by Laplace's approximation."""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from onepath.completion import Objective, Solver, complete
from onepath.completion.objective import cell_loss, cell_rows, groups_of, in_weights, rows_in_weights
from onepath.graph import Graph
from onepath.learning.implicit import Judgement, Weights, Which, graph_at
from onepath.linalg import cholesky, contract, log_determinant, solve
from onepath.programs import program
from onepath.transitions import Cells


def negative_log_evidence(objective: Objective, weights: Weights) -> Float[Array, ""]:
    """-ln p(data | θ) = J(ŵ) + ½ ln det Fisher."""
    return objective.loss(weights) + 0.5 * log_determinant(cholesky(objective.fisher(weights)))


@program
def judge_evidence(
    logarithms: Float[Array, " k"], graph: Graph, which: Which, cells: Cells, solver: Solver, start: Weights
) -> Judgement:
    """The negative log evidence and its slope in θ.

    θ acts through the features φ, the offset and λ, and through ŵ, which moves by -H⁻¹∂∇J (the implicit function
    theorem). With C = RᵀR the Fisher matrix of a cell in its latents q, P = φF⁻¹φᵀ their covariance, t = ∇½⟨P, C⟩,
    v = H⁻¹φᵀt and everything at ŵ, the slopes are a = ∇ℓ + t - Hφv in q and λ, and a ŵ - ∇ℓ v + CφF⁻¹ in φ: written
    out, because autodiff through all of it takes several times as long.
    """

    def ingredients(logarithms: Array) -> tuple[Array, Array, Array]:
        at = graph_at(graph, which, logarithms)
        return at.features(cells.x, at.law.order), at.offset, at.noise

    (phi, _, noise), pull = jax.vjp(ingredients, logarithms)
    graph = graph_at(graph, which, logarithms)
    objective = Objective(graph, cells, phi)
    completion = complete(objective, solver, start)
    weights = completion.weights
    latent = objective.latent(weights)
    c, functions, k, p = phi.shape
    shape = (functions, k)

    # a cell's latents and λ in one vector
    both = jnp.concatenate([latent.reshape(c, -1), jnp.full((c, 1), noise)], axis=1)

    def loss(both: Array, cell: Cells) -> Array:
        return cell_loss(replace(graph, noise=both[-1]), both[:-1].reshape(shape), cell)

    def half_trace(both: Array, cell: Cells, covariance: Array) -> Array:
        rows = cell_rows(replace(graph, noise=both[-1]), both[:-1].reshape(shape), cell)
        flat = rows.reshape(len(rows), -1)
        return 0.5 * jnp.sum(flat * contract(flat, covariance))

    slope, hessian = jax.vmap(jax.grad(loss))(both, cells), jax.vmap(jax.hessian(loss))(both, cells)
    rows = jax.vmap(cell_rows, (None, 0, 0))(graph, latent, cells)
    lower = cholesky(rows_in_weights(rows, phi, groups_of(graph)))
    inverse = solve(lower, jnp.eye(functions * p)).reshape(functions, p, functions, p)
    reach = jnp.einsum("cfkp,fpgq->cfkgq", phi, inverse)
    covariance = jnp.sum(reach[:, :, :, :, None] * phi[:, None, None], axis=-1)
    twist = jax.vmap(jax.grad(half_trace))(both, cells, covariance.reshape(c, functions * k, -1))

    towards = jnp.einsum("cfk,cfkp->fp", twist[:, :-1].reshape(c, *shape), phi)
    newton = in_weights(hessian[:, :-1, :-1].reshape(c, *shape, *shape), phi)
    move = jnp.linalg.solve(newton, towards.ravel()).reshape(functions, p)
    along = jnp.einsum("cfkp,fp->cfk", phi, move).reshape(c, -1)
    total = slope + twist - jnp.sum(hessian[:, :, :-1] * along[:, None], axis=2)

    in_latent, plain = (part[:, :-1].reshape(c, *shape) for part in (total, slope))
    reached = jnp.einsum("crgl,cglfq->crfq", rows, reach)
    acted = sum(rows[:, r, :, :, None] * reached[:, r, :, None] for r in range(rows.shape[1]))
    in_phi = in_latent[..., None] * weights[:, None] - plain[..., None] * move[:, None] + acted
    (theta,) = pull((in_phi, jnp.sum(in_latent[:, :, 0], axis=0), jnp.sum(total[:, -1])))
    return Judgement(completion.loss + 0.5 * log_determinant(lower), theta, completion)
