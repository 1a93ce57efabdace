"""What is known after completion: weights ~ N(ŵ, Fisher⁻¹) for each of several θ, and the prior elsewhere."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from onepath.gp.parameters import Mask, unpack
from onepath.graph.graph import Graph
from onepath.inference.completion import Objective
from onepath.numerics.linalg import backward_solve, cholesky, forward_solve, one_by_one, small_cholesky, square_root


class Member(eqx.Module):
    """Laplace's approximation for one θ. `lower` is the Cholesky factor of the Fisher matrix."""

    theta: Float[Array, " k"]
    weights: Float[Array, "functions p"]
    lower: Float[Array, "w w"]


def member_of(objective: Objective, weights: Float[Array, "functions p"], theta: Float[Array, " k"]) -> Member:
    return Member(theta, weights, cholesky(objective.fisher(weights)))


class Posterior(eqx.Module):
    """A mixture over θ: `members` carry a leading axis, `mass` is how probable each is.

    One member alone holds θ fixed at its best value; several also account for what is not known about θ. In one of them
    the noise may be constant. Estimates and predictions use that, bands do not: a simple law that the data cannot
    refute is a good guess, and may be wrong. `band_mass` is without it; None if there is no such member.
    """

    graph: Graph
    members: Member
    mass: Float[Array, " members"]
    mask: Mask = eqx.field(static=True)
    band_mass: Float[Array, " members"] | None = None

    @property
    def for_bands(self) -> Float[np.ndarray, " members"]:
        """How much each member counts in what is said about drift and diffusion with certainty: bands and draws."""
        return np.asarray(self.mass if self.band_mass is None else self.band_mass)

    @property
    def constant_noise(self) -> float | None:
        """How probable it is that the noise is the same everywhere; None where that was not asked."""
        return None if self.band_mass is None else float(self.mass[-1])

    def graph_of(self, member: Member) -> Graph:
        """The graph with the parameters of one member."""
        if member.theta.size == 0:
            return self.graph
        return self.graph.with_parameters(unpack(self.graph.parameters, self.mask, member.theta))

    def member_moments(
        self, u: Float[Array, "n d"], order: int = 0
    ) -> tuple[Float[Array, "s n f k"], Float[Array, "s n f f"]]:
        """Mean of all unknown functions and their derivatives, before the link, and covariance, for each member."""
        return jax.lax.map(lambda member: _moments(self.graph_of(member), member, u, order), self.members)

    def moments(self, u: Float[Array, "n d"], order: int = 0) -> tuple[Float[Array, "n f k"], Float[Array, "n f f"]]:
        """The same for all members together."""
        means, covariances = self.member_moments(u, order)
        mean = jnp.einsum("s,snfk->nfk", self.mass, means)
        apart = (means - mean)[..., 0]
        return mean, jnp.einsum("s,snfg->nfg", self.mass, covariances) + jnp.einsum(
            "s,snf,sng->nfg", self.mass, apart, apart
        )

    def draws(
        self,
        u: Float[Array, "n d"],
        chosen: Int[Array, " draws"],
        normals: Float[Array, "draws w"],
        untouched_normals: Float[Array, "draws f n"],
        usable: Bool[Array, " n"],
    ) -> Float[Array, "draws n f"]:
        """The unknown functions at all points jointly, a draw for each chosen member, from standard normal numbers.

        Points that are not usable are padding: they change nothing at the others, because the root is symmetric.
        """
        both = usable[:, None] & usable

        def one_member(member: Member) -> tuple[Array, Array, Array]:
            graph = self.graph_of(member)
            phi = graph.features(u)[:, :, 0]
            untouched = graph.prior_covariance(u) - jnp.einsum("nfp,mfp->fnm", phi, phi)
            return phi, one_by_one(square_root, jnp.where(both, untouched, 0.0)), graph.offset

        phis, halves, offsets = jax.lax.map(one_member, self.members)

        def one_draw(inputs: tuple[Array, Array, Array]) -> Array:
            s, normal, untouched = inputs
            weights = self.members.weights[s] + backward_solve(self.members.lower[s], normal).reshape(
                self.members.weights[s].shape
            )
            return (
                offsets[s] + jnp.einsum("nfp,fp->nf", phis[s], weights) + jnp.einsum("fnm,fm->nf", halves[s], untouched)
            )

        return jax.lax.map(one_draw, (chosen, normals, untouched_normals))

    def predictive(
        self, u: Float[Array, "n d"], dt: Float[Array, " n"], normals: Float[Array, "draws f"]
    ) -> tuple[Float[Array, "n d"], Float[Array, "n d d"]]:
        """Mean and covariance of an increment, uncertainty of drift and diffusion included.

        E[V] + Cov[m], averaged over the unknown functions' values, and not V at their mean: where little is known,
        that is far too small. Their derivatives, which matter little beside, are at their mean.
        """
        mean, covariance = self.moments(u, self.graph.order)

        def one(mean: Array, covariance: Array, u: Array, dt: Array) -> tuple[Array, Array]:
            values = normals @ small_cholesky(covariance).T
            latents = jnp.broadcast_to(mean, (len(values), *mean.shape)).at[:, :, 0].add(values)
            means, covariances = jax.vmap(self.graph.gaussian, in_axes=(0, None, None))(latents, u, dt)
            centre = jnp.mean(means, axis=0)
            return centre, jnp.mean(covariances, axis=0) + (means - centre).T @ (means - centre) / means.shape[0]

        return jax.vmap(one)(mean, covariance, u, dt)


def _moments(
    graph: Graph, member: Member, u: Float[Array, "n d"], order: int
) -> tuple[Float[Array, "n f k"], Float[Array, "n f f"]]:
    """Mean and covariance given θ.

    What the features leave out of the prior, k(x, x) - φφᵀ, is untouched by the data: away from them the variance
    returns to the prior's (paper, eq. 8).
    """
    features = graph.features(u, order)
    phi = features[:, :, 0]
    n, functions, p = phi.shape
    blocks = jnp.einsum("nfp,fg->nfgp", phi, jnp.eye(functions)).reshape(n * functions, functions * p)
    half = forward_solve(member.lower, blocks.T).T.reshape(n, functions, -1)
    untouched = jnp.maximum(graph.prior_variance(u) - jnp.sum(jnp.square(phi), axis=2), 0.0)
    covariance = jnp.einsum("nfw,ngw->nfg", half, half) + untouched[:, :, None] * jnp.eye(functions)
    return graph.latent(features, member.weights), covariance
