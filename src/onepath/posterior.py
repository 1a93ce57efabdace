"""What is known after completion: weights ~ N(ŵ, Fisher⁻¹), and the prior where no weight acts."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from onepath.completion import Objective
from onepath.graph import Graph
from onepath.linalg import backward_solve, cholesky, forward_solve, one_by_one, small_cholesky, square_root


class Posterior(eqx.Module):
    """Laplace's approximation around the completed graph. `lower` is the Cholesky factor of the Fisher matrix."""

    graph: Graph
    weights: Float[Array, "functions p"]
    lower: Float[Array, "w w"]

    def moments(self, u: Float[Array, "n d"]) -> tuple[Float[Array, "n f"], Float[Array, "n f f"]]:
        """Mean and covariance of all unknown functions at each point.

        What the features leave out of the prior, k(x, x) - φφᵀ, is untouched by the data: away from them the variance
        returns to the prior's (paper, eq. 8).
        """
        phi = self.graph.features(u)
        n, functions, p = phi.shape
        blocks = jnp.einsum("nfp,fg->nfgp", phi, jnp.eye(functions)).reshape(n * functions, functions * p)
        half = forward_solve(self.lower, blocks.T).T.reshape(n, functions, -1)
        untouched = jnp.maximum(self.graph.prior_variance(u) - jnp.sum(jnp.square(phi), axis=2), 0.0)
        covariance = jnp.einsum("nfw,ngw->nfg", half, half) + untouched[:, :, None] * jnp.eye(functions)
        return jnp.einsum("nfp,fp->nf", phi, self.weights), covariance

    def draws(
        self,
        u: Float[Array, "n d"],
        normals: Float[Array, "draws w"],
        untouched_normals: Float[Array, "draws f n"],
    ) -> Float[Array, "draws n f"]:
        """The unknown functions at all points jointly, made from standard normal numbers."""
        phi = self.graph.features(u)
        weights = self.weights + backward_solve(self.lower, normals.T).T.reshape(-1, *self.weights.shape)
        untouched = self.graph.prior_covariance(u) - jnp.einsum("nfp,mfp->fnm", phi, phi)
        half = one_by_one(square_root, untouched)
        return jnp.einsum("nfp,sfp->snf", phi, weights) + jnp.einsum("fnm,sfm->snf", half, untouched_normals)

    def predictive(
        self, u: Float[Array, "n d"], dt: Float[Array, " n"], normals: Float[Array, "draws f"]
    ) -> tuple[Float[Array, "n d"], Float[Array, "n d d"]]:
        """Mean and covariance of an increment, uncertainty of drift and diffusion included.

        E[V] + Cov[m], averaged over the unknown functions' values, and not V at their mean: where little is known,
        that is far too small.
        """
        mean, covariance = self.moments(u)

        def one(mean: Array, covariance: Array, dt: Array) -> tuple[Array, Array]:
            spread = small_cholesky(covariance)
            means, covariances = jax.vmap(self.graph.gaussian, in_axes=(0, None))(mean + normals @ spread.T, dt)
            centre = jnp.mean(means, axis=0)
            return centre, jnp.mean(covariances, axis=0) + (means - centre).T @ (means - centre) / means.shape[0]

        return jax.vmap(one)(mean, covariance, dt)


def posterior_of(objective: Objective, weights: Float[Array, "functions p"]) -> Posterior:
    return Posterior(objective.graph, weights, cholesky(objective.curvature(weights, exact=False)))
