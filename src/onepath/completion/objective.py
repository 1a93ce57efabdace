"""The MAP loss J(w) = -log-likelihood + ½|w|² of a graph, with its gradient, Fisher matrix and Hessian.

A weight acts on the likelihood only through the values q = offset + φ w of the unknown functions at a cell. So
derivatives are taken in q, a few numbers a cell, and carried to the weights by the features.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from onepath.graph import Graph
from onepath.linalg import log_determinant, small_cholesky, small_forward_solve
from onepath.transitions import Cells


class Objective(eqx.Module):
    """What is minimised to complete a graph on given cells. Weights are (functions, p)."""

    graph: Graph
    cells: Cells
    phi: Float[Array, "c functions p"]

    def latent(self, weights: Float[Array, "functions p"]) -> Float[Array, "c functions"]:
        """q: all unknown functions at all cells."""
        return self.graph.offset + jnp.einsum("cfp,fp->cf", self.phi, weights)

    def _cell_loss(self, latent: Float[Array, " functions"], cell: Cells) -> Float[Array, ""]:
        """½ [ n ln det V + tr(V⁻¹S) + n (ȳ-m)ᵀV⁻¹(ȳ-m) ]; for one transition a cell, the paper's eq. 5."""
        mean, covariance = self.graph.gaussian(latent, cell.dt)
        lower = small_cholesky(covariance)
        residual = small_forward_solve(lower, cell.y - mean)
        scatter = small_forward_solve(lower, small_forward_solve(lower, cell.scatter).T)
        fit = cell.counts * (log_determinant(lower) + jnp.sum(jnp.square(residual)))
        return 0.5 * (fit + jnp.trace(scatter))

    def _cell_fisher(self, latent: Float[Array, " functions"], cell: Cells) -> Float[Array, "functions functions"]:
        """n [ JmᵀV⁻¹Jm + ½ tr(V⁻¹JV V⁻¹JV) ], the expected curvature in q."""
        _, covariance = self.graph.gaussian(latent, cell.dt)
        mean_slope, covariance_slope = jax.jacfwd(self.graph.gaussian)(latent, cell.dt)
        lower = small_cholesky(covariance)
        mean_slope = small_forward_solve(lower, mean_slope)
        half = small_forward_solve(lower, covariance_slope)
        covariance_slope = small_forward_solve(lower, jnp.swapaxes(half, 0, 1))
        expected = mean_slope.T @ mean_slope + 0.5 * jnp.einsum("ijf,ijg->fg", covariance_slope, covariance_slope)
        return cell.counts * expected

    def misfit(self, weights: Float[Array, "functions p"]) -> Float[Array, ""]:
        """-log-likelihood, without its constant."""
        return jnp.sum(jax.vmap(self._cell_loss)(self.latent(weights), self.cells))

    def loss(self, weights: Float[Array, "functions p"]) -> Float[Array, ""]:
        """J."""
        return self.misfit(weights) + 0.5 * jnp.sum(jnp.square(weights))

    def gradient(self, weights: Float[Array, "functions p"]) -> Float[Array, "functions p"]:
        slopes = jax.vmap(jax.grad(self._cell_loss))(self.latent(weights), self.cells)
        return jnp.einsum("cf,cfp->fp", slopes, self.phi) + weights

    def curvature(self, weights: Float[Array, "functions p"], exact: Bool[Array, ""] | bool) -> Float[Array, "w w"]:
        """The Hessian of J, I + Σ φᵀ H φ, or its expectation, the Fisher matrix, which is always positive definite."""
        latent = self.latent(weights)
        hessian = jax.vmap(jax.hessian(self._cell_loss))(latent, self.cells)
        fisher = jax.vmap(self._cell_fisher)(latent, self.cells)
        return self._in_weights(jnp.where(exact, hessian, fisher), self.phi)

    @staticmethod
    def _in_weights(curvature: Float[Array, "c f f"], phi: Float[Array, "c f p"]) -> Float[Array, "w w"]:
        """I + Σ φᵀ C φ, block by block."""
        functions, p = phi.shape[1:]
        blocks = {
            (f, g): (phi[:, f] * curvature[:, f, g, None]).T @ phi[:, g]
            for f in range(functions)
            for g in range(f, functions)
        }
        rows = [[blocks[f, g] if f <= g else blocks[g, f].T for g in range(functions)] for f in range(functions)]
        return jnp.block(rows) + jnp.eye(functions * p)

    def with_best_drift(self, weights: Float[Array, "functions p"]) -> Float[Array, "functions p"]:
        """f*(σ), the best drift for these diffusion weights (paper, eq. 6): one step, J being quadratic in f."""
        d = self.graph.dimension
        fisher = jax.vmap(self._cell_fisher)(self.latent(weights), self.cells)
        curvature = self._in_weights(fisher[:, :d, :d], self.phi[:, :d])
        step = jnp.linalg.solve(curvature, self.gradient(weights)[:d].ravel())
        return weights.at[:d].add(-step.reshape(d, -1))


def objective_of(graph: Graph, cells: Cells) -> Objective:
    cells = Cells(*map(jnp.asarray, cells))
    return Objective(graph, cells, graph.features(cells.x))
