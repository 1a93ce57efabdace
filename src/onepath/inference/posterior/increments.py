"""The law of one increment under a posterior: all that simulation, diagnosis and observations know of the engine."""

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from onepath.data.transitions import Units
from onepath.gp.parameters import Mask
from onepath.graph.graph import Graph, graph_at
from onepath.inference.posterior.evaluate import in_chunks
from onepath.inference.posterior.formulas import Followed, Formulas
from onepath.inference.posterior.posterior import Member, Posterior
from onepath.numerics.arrays import Floats
from onepath.numerics.compiled import Bound, Fixed, compiled

Increments = Callable[[Array, Array], tuple[Array, Array]]
"""Points (n, d) and durations (n,) to means (n, d) and covariances (n, d, d) of increments, standardised."""

MANY, NODES = 20_000, 4096
"""So many equal steps in one dimension are looked up between so many nodes, which is good to six digits."""


def drawn_law(
    posterior: Posterior, chosen: Array, weights: Float[Array, "n f p"] | Followed, noise_grows: bool
) -> Increments:
    """With the parameters of one member, and weights of its own for every point; or equations that it follows."""
    member = jax.tree.map(lambda leaf: jnp.asarray(leaf)[chosen], posterior.members)
    graph = posterior.graph_of(member)

    def law(u: Array, dt: Array) -> tuple[Array, Array]:
        of_process = weights.weights if isinstance(weights, Followed) else weights
        latent = jnp.sum(graph.features(u, graph.order) * of_process[:, :, None], axis=3)
        latent = latent.at[:, :, 0].add(graph.offset)
        if isinstance(weights, Followed) and posterior.formulas is not None:
            latent = posterior.formulas.drawn(u, graph.order, weights, latent)
        return _gaussians(graph, latent, u, dt, noise_grows)

    return law


def mean_law(posterior: Posterior, noise_grows: bool) -> Increments:
    """At the posterior mean of the unknown functions, before the link."""

    def law(u: Array, dt: Array) -> tuple[Array, Array]:
        def one_member(member: Member) -> Float[Array, "n f k"]:
            graph = posterior.graph_of(member)
            latent = jnp.sum(graph.features(u, graph.order) * member.weights[:, None], axis=3)
            return latent.at[:, :, 0].add(graph.offset)

        members = jax.tree.map(jnp.asarray, posterior.members)
        latent = jnp.tensordot(jnp.asarray(posterior.mass), jax.lax.map(one_member, members), axes=1)
        if posterior.formulas is not None:
            latent = posterior.formulas.averaged(u, posterior.graph.order, latent)
        return _gaussians(posterior.graph, latent, u, dt, noise_grows)

    return law


def _gaussians(
    graph: Graph, latent: Float[Array, "n f k"], u: Array, dt: Array, noise_grows: bool
) -> tuple[Array, Array]:
    """Means and covariances of increments. λ is what a step leaves unexplained, whatever its length, as it was fitted.

    To simulate at another step than the data's it is noise that grows with time: a step of another length than the
    median one leaves its share.
    """

    def one(latent: Array, u: Array, dt: Array) -> tuple[Array, Array]:
        own = replace(graph, noise=graph.noise * dt) if noise_grows else graph
        return own.gaussian(latent, u, dt)

    return jax.vmap(one)(latent, u, dt)


@compiled
def _as_fitted(
    u: Array,
    dt: Array,
    thetas: Array,
    representers: Array,
    mass: Array,
    formulas: Formulas | None,
    graph: Graph,
    mask: Mask,
) -> tuple[Array, Array]:
    """Gaussians at the posterior mean of the unknown functions, before the link."""

    def one_member(member: tuple[Array, Array]) -> Float[Array, "n f k"]:
        theta, alpha = member
        return graph_at(graph, mask, theta).represented(u, alpha, graph.order)

    latent = jnp.tensordot(mass, jax.lax.map(one_member, (thetas, representers)), axes=1)
    latent = latent if formulas is None else formulas.averaged(u, graph.order, latent)
    return _gaussians(graph, latent, u, dt, noise_grows=False)


def _mean_increments(posterior: Posterior, u: Floats, dt: Floats) -> tuple[Floats, Floats]:
    members = np.asarray(posterior.members.theta), posterior.representers(), np.asarray(posterior.mass)
    program = Bound(_as_fitted, Fixed(*members, posterior.formulas, posterior.graph, posterior.mask))
    mean, covariance = in_chunks(program, u, dt)
    return mean, covariance


def increments(posterior: Posterior, units: Units, x: Floats, dt: Floats | float) -> tuple[Floats, Floats]:
    """Means (n, d) and covariances (n, d, d) of increments over dt, in the data's units, as fitted.

    From x (n, d) on, with the columns of inputs after them where there are some.
    """
    u, steps = units.places(x), np.broadcast_to(dt, len(x)) / units.time
    if u.shape[1] == 1 and len(u) > MANY and np.ptp(steps) <= 1e-9 * steps[0]:
        mean, covariance = _looked_up(posterior, u[:, 0], steps[0])
    else:
        mean, covariance = _mean_increments(posterior, u, steps)
    return mean * units.scale, covariance * units.scale[:, None] * units.scale


def _looked_up(posterior: Posterior, u: Floats, dt: float) -> tuple[Floats, Floats]:
    nodes = np.linspace(u.min(), u.max(), NODES)
    mean, covariance = _mean_increments(posterior, nodes[:, None], np.full(NODES, dt))
    return np.interp(u, nodes, mean[:, 0])[:, None], np.interp(u, nodes, covariance[:, 0, 0])[:, None, None]
