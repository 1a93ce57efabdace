"""How much drift and noise change during a step, and whether Euler's law may ignore that."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from onepath.data.cells import Cells
from onepath.graph.graph import NUDGE, Graph
from onepath.graph.laws import EULER, LINEARISED
from onepath.inference.posterior.posterior import Posterior
from onepath.numerics.compiled import compiled
from onepath.numerics.modules import changed

MOST_PLACES = 64
"""Cells at which a fit is looked at."""

ADEQUATE = 1 / 3
"""Euler's law is adequate while it moves no function by more than this many posterior standard deviations: a 90 % band
that is off by so much still covers 88 %."""

FORGOTTEN = 1.5
"""|f'| Δt at which four fifths of a displacement are gone after one step."""


class Stiffness(NamedTuple):
    """What a fit says about its steps.

    `change` is `|f'| Δt`, root mean square over the data and directions; `shift` is what the second law would change
    about drift and diffusion, in posterior standard deviations, likewise.
    """

    change: float  #: `|f'| Δt`, root mean square
    shift: float  #: in posterior standard deviations

    @property
    def euler_is_adequate(self) -> bool:
        """Whether the second law would change little."""
        return self.shift <= ADEQUATE

    @property
    def state_is_forgotten(self) -> bool:
        """Whether most of a displacement is gone after one step."""
        return self.change >= FORGOTTEN


def stiffness_of(posterior: Posterior, cells: Cells) -> Stiffness:
    """From the posterior mean and its derivatives at some of the data."""
    used = np.flatnonzero(np.asarray(cells.weight))
    some = used[np.linspace(0, len(used) - 1, MOST_PLACES).astype(int)]
    places = Cells(*(np.asarray(part)[some] for part in cells))
    latent, covariance = posterior.moments(places.x + NUDGE, order=2)
    # the law of the fit does not matter here, and a graph without it is compiled once
    return Stiffness(*map(float, stiffness_at(latent, covariance, places, posterior.graph.bare.with_law(EULER))))


@compiled
def stiffness_at(
    latent: Float[Array, "n f k"], covariance: Float[Array, "n f f"], cells: Cells, graph: Graph
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    d, drifts = graph.dimension, graph.drifts
    slopes = latent[:, :drifts, 1 : 1 + d] * cells.dt[:, None, None]
    if graph.physics is not None:
        slopes = jax.vmap(graph.drift_slopes)(latent, cells.x) * cells.dt[:, None, None]

    def shifts(latent: Array, covariance: Array, u: Array, dt: Array) -> Array:
        """Changes of f, and of ln σ where it goes through the link, by their standard deviations."""
        (mean, variance), (euler_mean, euler_variance) = (
            changed(graph, law=law, noise=jnp.zeros(())).gaussian(latent[:, :k], u, dt)
            for law, k in ((LINEARISED, latent.shape[1]), (EULER, 1))
        )
        if graph.physics is not None:
            of_drift, of_noise = graph.deviations(latent[:, 0], covariance, u)
            in_drift = (mean - euler_mean) / (dt * of_drift)
            in_noise = 0.5 * jnp.log(jnp.diagonal(variance) / jnp.diagonal(euler_variance)) / of_noise
            return jnp.concatenate([in_drift, in_noise])
        deviation = jnp.sqrt(jnp.diagonal(covariance))
        values, moves = jax.jvp(graph.entries, (latent[drifts:, 0],), (deviation[drifts:],))
        relative = jnp.broadcast_to((moves / values)[: graph.positive], (d,))
        own = graph.unknown_coordinates
        in_drift = (mean - euler_mean)[own] / (dt * deviation[:drifts])
        in_diffusion = 0.5 * jnp.log(jnp.diagonal(variance) / jnp.diagonal(euler_variance)) / relative
        return jnp.concatenate([in_drift, in_diffusion])

    shift = jax.vmap(shifts)(latent, covariance, cells.x, cells.dt)
    share = (cells.weight / jnp.sum(cells.weight))[:, None]
    change = jnp.sqrt(jnp.sum(share * jnp.sum(jnp.square(slopes), axis=(1, 2))[:, None]) / d)
    return change, jnp.max(jnp.sqrt(jnp.sum(share * jnp.square(shift), axis=0)))
