"""The MAP loss J(w) = -log-likelihood + ½|w|² of a graph, with its gradient, Fisher matrix and Hessian.

A weight acts on the likelihood only through q = offset + φ w, the unknown functions at a cell and as many of their
derivatives as the transition law asks for. So derivatives are taken in q, a few numbers a cell, and carried to the
weights by the features.
"""

from collections.abc import Callable, Sequence
from functools import reduce

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Float

from onepath.data.cells import Cells
from onepath.graph.graph import Graph, Group
from onepath.numerics.linalg import log_determinant, small_cholesky, small_forward_solve


def cell_loss(graph: Graph, latent: Float[Array, "functions k"], cell: Cells) -> Float[Array, ""]:
    """½ [ n ln det V + tr(V⁻¹S) + n (ȳ-m)ᵀV⁻¹(ȳ-m) ]; for one transition a cell, the paper's eq. 5."""
    mean, covariance = graph.gaussian(latent, cell.x, cell.dt)
    lower = small_cholesky(covariance)
    residual = small_forward_solve(lower, cell.y - mean)
    scatter = small_forward_solve(lower, small_forward_solve(lower, cell.scatter).T)
    fit = cell.weight * (log_determinant(lower) + jnp.sum(jnp.square(residual)))
    return 0.5 * (fit + jnp.trace(scatter))


def cell_rows(graph: Graph, latent: Float[Array, "functions k"], cell: Cells) -> Float[Array, "r functions k"]:
    """Rows R whose RᵀR = n [ JmᵀV⁻¹Jm + ½ tr(V⁻¹JV V⁻¹JV) ] is the expected curvature of a cell's loss."""
    _, covariance = graph.gaussian(latent, cell.x, cell.dt)
    mean_slope, covariance_slope = jax.jacfwd(graph.gaussian)(latent, cell.x, cell.dt)
    lower, size = small_cholesky(covariance), latent.size
    of_mean = small_forward_solve(lower, mean_slope.reshape(-1, size))
    half = small_forward_solve(lower, covariance_slope.reshape(*covariance.shape, size))
    of_covariance = small_forward_solve(lower, jnp.swapaxes(half, 0, 1))
    # it is symmetric: what is beside the diagonal counts twice
    first, second = np.tril_indices(len(covariance))
    often = np.where(first == second, np.sqrt(0.5), 1.0)[:, None]
    rows = jnp.concatenate([of_mean, often * of_covariance[first, second]])
    return jnp.sqrt(cell.weight) * rows.reshape(-1, *latent.shape)


class Objective(eqx.Module):
    """What is minimised to complete a graph on given cells. Weights are (functions, p)."""

    graph: Graph
    cells: Cells
    phi: Float[Array, "c functions k p"]

    @property
    def no_weights(self) -> Float[Array, "functions p"]:
        """All weights zero: the prior's mean."""
        return jnp.zeros((self.phi.shape[1], self.phi.shape[3]))

    def latent(self, weights: Float[Array, "functions p"]) -> Float[Array, "c functions k"]:
        """q: all unknown functions at all cells."""
        return self.graph.latent(self.phi, weights)

    def _each(self, function: Callable[[Graph, Array, Cells], Array], weights: Float[Array, "functions p"]) -> Array:
        """A function of a cell's latents, for all cells."""
        return jax.vmap(function, (None, 0, 0))(self.graph, self.latent(weights), self.cells)

    def misfit(self, weights: Float[Array, "functions p"]) -> Float[Array, ""]:
        """-log-likelihood, without its constant."""
        return jnp.sum(self._each(cell_loss, weights))

    def loss(self, weights: Float[Array, "functions p"]) -> Float[Array, ""]:
        """J."""
        return self.misfit(weights) + 0.5 * jnp.sum(jnp.square(weights))

    def gradient(self, weights: Float[Array, "functions p"]) -> Float[Array, "functions p"]:
        slopes = self._each(jax.grad(cell_loss, 1), weights)
        return jnp.einsum("cfk,cfkp->fp", slopes, self.phi) + weights

    def hessian(self, weights: Float[Array, "functions p"]) -> Float[Array, "w w"]:
        """The Hessian of J, I + Σ φᵀ H φ."""
        return in_weights(self._each(jax.hessian(cell_loss, 1), weights), self.phi)

    def fisher(self, weights: Float[Array, "functions p"]) -> Float[Array, "w w"]:
        """The Fisher matrix of J, the Hessian's expectation, which is always positive definite."""
        return rows_in_weights(self._each(cell_rows, weights), self.phi, self.graph.groups())

    def scores(self, weights: Float[Array, "functions p"]) -> Float[Array, "c functions"]:
        """-∂ℓ/∂q of each cell in units of its standard deviation: white noise where nothing is left over."""
        slopes, rows = self._each(jax.grad(cell_loss, 1), weights)[..., 0], self._each(cell_rows, weights)[..., 0]
        return -slopes / jnp.sqrt(jnp.maximum(jnp.sum(jnp.square(rows), axis=1), jnp.finfo(rows.dtype).tiny))

    def with_best_drift(self, weights: Float[Array, "functions p"]) -> Float[Array, "functions p"]:
        """f*(σ), the best drift for these diffusion weights (paper, eq. 6): one step, Euler's J is quadratic in f."""
        d = self.graph.drifts
        drifts = [Group([f for f in functions if f < d], rows) for functions, rows in self.graph.groups()]
        drifts = [group for group in drifts if group.functions]
        curvature = rows_in_weights(self._each(cell_rows, weights), self.phi, drifts)
        step = jnp.linalg.solve(curvature, self.gradient(weights)[:d].ravel())
        return weights.at[:d].add(-step.reshape(d, -1))


def in_weights(curvature: Float[Array, "c f k f k"], phi: Float[Array, "c f k p"]) -> Float[Array, "w w"]:
    """I + Σ φᵀ C φ, block by block."""
    _, functions, _, p = phi.shape
    blocks = {
        (f, g): jnp.einsum("ckp,ckq->pq", phi[:, f], _acted(curvature[:, f, :, g], phi[:, g]))
        for f in range(functions)
        for g in range(f, functions)
    }
    rows = [[blocks[f, g] if f <= g else blocks[g, f].T for g in range(functions)] for f in range(functions)]
    return jnp.block(rows) + jnp.eye(functions * p)


def rows_in_weights(
    rows: Float[Array, "c r f k"], phi: Float[Array, "c f k p"], groups: Sequence[Group]
) -> Float[Array, "w w"]:
    """I + Σ φᵀ RᵀR φ, for the weights of these groups of functions."""
    blocks = []
    for functions, touching in groups:
        own, features = rows[:, np.array(touching)][:, :, np.array(functions)], phi[:, np.array(functions)]
        parts = [own[..., i, None] * features[:, None, :, i] for i in range(rows.shape[3])]
        acted = reduce(jnp.add, parts).reshape(rows.shape[0] * len(touching), -1)
        blocks.append(acted.T @ acted)
    curvature = block_diag(*blocks)
    return curvature + jnp.eye(len(curvature))


def _acted(curvature: Float[Array, "c k l"], phi: Float[Array, "c l p"]) -> Float[Array, "c k p"]:
    """C φ, as a sum: a product of many tiny matrices is slow."""
    return reduce(jnp.add, [curvature[:, :, i, None] * phi[:, None, i] for i in range(phi.shape[1])])


def objective_of(graph: Graph, cells: Cells) -> Objective:
    cells = Cells(*map(jnp.asarray, cells))
    return Objective(graph, cells, graph.features(cells.x, graph.order))
