"""The law of one increment under a posterior: all that simulation and diagnosis know of the engine."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float, Int

from onepath.evaluation import in_chunks
from onepath.posterior import Member, Posterior
from onepath.programs import program
from onepath.runtime import engine

Floats = npt.NDArray[np.float64]

MANY, NODES = 20_000, 4096
"""So many equal steps in one dimension are looked up between so many nodes, which is good to six digits."""


def increment_law(
    posterior: Posterior,
    chosen: Int[Array, " m"],
    mass: Float[Array, " m"],
    weights: Float[Array, "m n f p"],
    u: Float[Array, "n d"],
    dt: Float[Array, " n"],
) -> tuple[Float[Array, "n d"], Float[Array, "n d d"]]:
    """Mean and covariance of the increments from points u, for functions averaged over some members before the link.

    One member with weights of its own for every point (m = 1) is a draw of the functions; all members with their mean
    weights (n may be 1 there) are the posterior mean. λ is the variance that a median step leaves unexplained: a step
    of another length leaves its share.
    """

    def member(s: Array) -> Member:
        return jax.tree.map(lambda leaf: jnp.asarray(leaf)[s], posterior.members)

    def one_member(inputs: tuple[Array, Array]) -> Float[Array, "n f k"]:
        s, own = inputs
        graph = posterior.graph_of(member(s))
        latent = jnp.sum(graph.features(u, graph.law.order) * own[:, :, None], axis=3)
        return latent.at[:, :, 0].add(graph.offset)

    latent = jnp.tensordot(mass, jax.lax.map(one_member, (chosen, weights)), axes=1)
    graph = (
        posterior.graph
        if len(chosen) > 1
        else posterior.graph_of(jax.tree.map(lambda leaf: jnp.asarray(leaf)[chosen[0]], posterior.members))
    )

    def one_point(latent: Array, dt: Array) -> tuple[Array, Array]:
        return replace(graph, noise=graph.noise * dt).gaussian(latent, dt)

    return jax.vmap(one_point)(latent, dt)


def mean_law(posterior: Posterior) -> Callable[[Array, Array], tuple[Array, Array]]:
    """(u, dt) → mean and covariance of increments at the posterior mean of the functions."""
    chosen = jnp.arange(len(posterior.mass))
    weights = jnp.asarray(posterior.members.weights)[:, None]
    return lambda u, dt: increment_law(posterior, chosen, jnp.asarray(posterior.mass), weights, u, dt)


@program
def _mean_increments(posterior: Posterior, u: Array, dt: Array) -> tuple[Array, Array]:
    return mean_law(posterior)(u, dt)


@engine
def mean_increments(sde: Any, x: Floats, dt: Floats) -> tuple[Floats, Floats]:
    """Means (n, d) and covariances (n, d, d) of increments from x (n, d) over dt (n,), in the data's units."""
    units = sde.units_
    u, steps = (x - units.location) / units.scale, np.broadcast_to(dt, len(x)) / units.time
    if u.shape[1] == 1 and len(u) > MANY and np.ptp(steps) <= 1e-9 * steps[0]:
        mean, covariance = _looked_up(sde.posterior_, u[:, 0], steps[0])
    else:
        mean, covariance = in_chunks(_mean_increments, sde.posterior_, u, steps)
    return mean * units.scale, covariance * units.scale[:, None] * units.scale


def _looked_up(posterior: Posterior, u: Floats, dt: float) -> tuple[Floats, Floats]:
    nodes = np.linspace(u.min(), u.max(), NODES)
    mean, covariance = in_chunks(_mean_increments, posterior, nodes[:, None], np.full(NODES, dt))
    return np.interp(u, nodes, mean[:, 0])[:, None], np.interp(u, nodes, covariance[:, 0, 0])[:, None, None]
