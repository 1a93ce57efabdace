"""Evidence: the probability of the data given the kernels, by Laplace's approximation."""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from onepath.data.cells import Cells
from onepath.gp.parameters import Mask
from onepath.graph.graph import Graph
from onepath.inference.completion import Objective, Solver, complete
from onepath.inference.completion.objective import cell_loss, cell_rows, in_weights, rows_in_weights
from onepath.inference.learning.criterion import Judgement, Weights, graph_at
from onepath.numerics.compiled import compiled
from onepath.numerics.linalg import cholesky, contract, log_determinant, solve


@compiled
def judge_evidence(
    theta: Float[Array, " k"], graph: Graph, mask: Mask, cells: Cells, solver: Solver, start: Weights
) -> Judgement:
    """The negative log evidence J(ŵ) + ½ ln det F, F the Fisher matrix, and its slope in θ.

    θ acts through the features φ, the offset and λ, and through ŵ, which moves by -H⁻¹∂∇J (the implicit function
    theorem). With C = RᵀR the Fisher matrix of a cell in its latents q, P = φF⁻¹φᵀ their covariance, t = ∇½⟨P, C⟩,
    v = H⁻¹φᵀt and everything at ŵ, the slopes are a = ∇ℓ + t - Hφv in q and λ, and a ŵ - ∇ℓ v + CφF⁻¹ in φ: written
    out, because autodiff through all of it takes several times as long.
    """

    def ingredients(theta: Array) -> tuple[Array, Array, Array]:
        at = graph_at(graph, mask, theta)
        return at.features(cells.x, at.order), at.offset, at.noise

    (phi, _, noise), pull = jax.vjp(ingredients, theta)
    graph = graph_at(graph, mask, theta)
    objective = Objective(graph, cells, phi)
    completion = complete(objective, solver, start)
    weights = completion.weights
    latent = objective.latent(weights)
    c, functions, k, p = phi.shape
    shape = (functions, k)

    # q: a cell's latents and, as its last entry, λ
    q = jnp.concatenate([latent.reshape(c, -1), jnp.full((c, 1), noise)], axis=1)

    def loss(q: Array, cell: Cells) -> Array:
        return cell_loss(replace(graph, noise=q[-1]), q[:-1].reshape(shape), cell)

    def half_trace(q: Array, cell: Cells, covariance: Array) -> Array:
        """½⟨P, C⟩."""
        rows = cell_rows(replace(graph, noise=q[-1]), q[:-1].reshape(shape), cell)
        flat = rows.reshape(len(rows), -1)
        return 0.5 * jnp.sum(flat * contract(flat, covariance))

    slope, hessian = jax.vmap(jax.grad(loss))(q, cells), jax.vmap(jax.hessian(loss))(q, cells)
    rows = jax.vmap(cell_rows, (None, 0, 0))(graph, latent, cells)
    lower = cholesky(rows_in_weights(rows, phi, graph.groups()))
    inverse = solve(lower, jnp.eye(functions * p)).reshape(functions, p, functions, p)
    phi_inverse = jnp.einsum("cfkp,fpgq->cfkgq", phi, inverse)  # φF⁻¹
    covariance = jnp.sum(phi_inverse[:, :, :, :, None] * phi[:, None, None], axis=-1)  # P
    t = jax.vmap(jax.grad(half_trace))(q, cells, covariance.reshape(c, functions * k, -1))

    phi_t = jnp.einsum("cfk,cfkp->fp", t[:, :-1].reshape(c, *shape), phi)
    newton = in_weights(hessian[:, :-1, :-1].reshape(c, *shape, *shape), phi)
    v = jnp.linalg.solve(newton, phi_t.ravel()).reshape(functions, p)
    phi_v = jnp.einsum("cfkp,fp->cfk", phi, v).reshape(c, -1)
    a = slope + t - jnp.sum(hessian[:, :, :-1] * phi_v[:, None], axis=2)

    # in φ: a ŵ - ∇ℓ v + CφF⁻¹; in the offset and in λ: a itself
    a_latent, slope_latent = (part[:, :-1].reshape(c, *shape) for part in (a, slope))
    row_inverse = jnp.einsum("crgl,cglfq->crfq", rows, phi_inverse)
    curved = sum(rows[:, r, :, :, None] * row_inverse[:, r, :, None] for r in range(rows.shape[1]))
    in_phi = a_latent[..., None] * weights[:, None] - slope_latent[..., None] * v[:, None] + curved
    (in_theta,) = pull((in_phi, jnp.sum(a_latent[:, :, 0], axis=0), jnp.sum(a[:, -1])))
    return Judgement(completion.loss + 0.5 * log_determinant(lower), in_theta, completion)
