"""How much drift and noise change during a step, and whether Euler's law may ignore that."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from onepath.fitting import APART, Fit, Method, fit_graph
from onepath.graph import Graph
from onepath.posterior import Posterior
from onepath.programs import program
from onepath.transition import LAWS
from onepath.transitions import Cells, Transitions, Units

MOST_PLACES = 64
"""Cells at which a fit is looked at."""

ADEQUATE = 1 / 3
"""Euler's law is adequate while it moves no function by more than this many posterior standard deviations: a 90 % band
that is off by so much still covers 88 %."""

FORGOTTEN = 1.5
"""|f'| Δt at which four fifths of a displacement are gone after one step."""


class Stiffness(NamedTuple):
    """What a fit says about its steps.

    `change` is |f'| Δt, root mean square over the data and directions; `shift` is what the second law would change
    about drift and diffusion, in posterior standard deviations, likewise.
    """

    change: float
    shift: float

    @property
    def euler_is_adequate(self) -> bool:
        return self.shift <= ADEQUATE

    @property
    def state_is_forgotten(self) -> bool:
        return self.change >= FORGOTTEN


def stiffness_of(posterior: Posterior, cells: Cells) -> Stiffness:
    """From the posterior mean and its derivatives at some of the data."""
    used = np.flatnonzero(np.asarray(cells.counts))
    some = used[np.linspace(0, len(used) - 1, MOST_PLACES).astype(int)]
    # the law of the fit does not matter here, and a graph without it is compiled once
    posterior = replace(posterior, graph=replace(posterior.graph, law=LAWS["euler"]))
    return Stiffness(*map(float, _stiffness(posterior, Cells(*(np.asarray(part)[some] for part in cells)))))


@program
def _stiffness(posterior: Posterior, cells: Cells) -> tuple[Float[Array, ""], Float[Array, ""]]:
    graph, d = posterior.graph, posterior.graph.dimension
    latent, covariance = posterior.moments(cells.x + APART, order=2)
    slopes = latent[:, :d, 1 : 1 + d] * cells.dt[:, None, None]

    def shifts(latent: Array, covariance: Array, dt: Array) -> Array:
        """Changes of f, and of ln σ where it goes through the link, by their standard deviations."""
        (mean, variance), (euler_mean, euler_variance) = (
            replace(graph, law=LAWS[law], noise=jnp.zeros(())).gaussian(latent[:, :k], dt)
            for law, k in (("linearised", latent.shape[1]), ("euler", 1))
        )
        deviation = jnp.sqrt(jnp.diagonal(covariance))
        values, moves = jax.jvp(graph.entries, (latent[d:, 0],), (deviation[d:],))
        relative = jnp.broadcast_to((moves / values)[: graph.positive], (d,))
        in_drift = (mean - euler_mean) / (dt * deviation[:d])
        in_diffusion = 0.5 * jnp.log(jnp.diagonal(variance) / jnp.diagonal(euler_variance)) / relative
        return jnp.concatenate([in_drift, in_diffusion])

    shift = jax.vmap(shifts)(latent, covariance, cells.dt)
    share = (cells.counts / jnp.sum(cells.counts))[:, None]
    change = jnp.sqrt(jnp.sum(share * jnp.sum(jnp.square(slopes), axis=(1, 2))[:, None]) / d)
    return change, jnp.max(jnp.sqrt(jnp.sum(share * jnp.square(shift), axis=0)))


class Chosen(NamedTuple):
    """A fit, the name of its transition law, and the stiffness that Euler's law, if tried, and this one saw."""

    fit: Fit
    law: str
    stiffness: Stiffness


def fit_adequately(build: Callable[[str], Graph], transitions: Transitions, units: Units, method: Method) -> Chosen:
    """Fit with Euler's law, and where that is not adequate complete the graph once more, with the second law.

    The parameters stay those learned with Euler's law, which says as much about smoothness; how probable each of those
    around them is, is judged anew.
    """
    fit = fit_graph(build("euler"), transitions, units, method)
    stiffness = stiffness_of(fit.posterior, fit.cells)
    if stiffness.euler_is_adequate:
        return Chosen(fit, "euler", stiffness)
    again = fit_graph(build("linearised"), transitions, units, method, fit.learned)
    change = stiffness_of(again.posterior, again.cells).change
    return Chosen(again, "linearised", Stiffness(change, stiffness.shift))
