"""A posterior evaluated at points: the few functions that are compiled, and the chunks they are called on."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from onepath.posterior import Posterior
from onepath.programs import program

Array = npt.NDArray[np.float64]

PREDICTIVE_DRAWS = 128
"""Points of the quasi-random average over drift and diffusion in a predictive density."""

HALVINGS = 40
"""Of the interval that a quantile is known to be in."""

CHUNKS = (64, 512)
"""Sizes of the chunks in which points are evaluated."""


@program
def matrices(posterior: Posterior, latent: Any) -> tuple[Any]:
    graph = posterior.graph
    return (graph.matrix(graph.entries(latent[:, graph.dimension :])),)


@program
def marginals(posterior: Posterior, u: Any) -> tuple[Any, Any]:
    """Means and variances (n, members, functions) of each function at each point, for each member."""
    means, covariances = posterior.member_moments(u)
    variances = jnp.diagonal(covariances, axis1=2, axis2=3)
    return jnp.moveaxis(means[..., 0], 0, 1), jnp.moveaxis(variances, 0, 1)


@program
def draws(posterior: Posterior, u: Any, chosen: Any, normals: Any, untouched: Any) -> Any:
    return posterior.draws(u, chosen, normals, untouched)


@program
def predictive(posterior: Posterior, u: Any, dt: Any) -> tuple[Any, Any]:
    # only compiling asks for it, and SciPy's statistics take as long to load as many a fit
    from scipy.stats import qmc

    uniform = qmc.Sobol(posterior.members.weights.shape[1], scramble=True, rng=0).random(PREDICTIVE_DRAWS)
    return posterior.predictive(u, dt, jnp.asarray(ndtri(uniform)))


def mixture_quantile(mass: Array, means: Array, variances: Array, probability: float) -> Array:
    """Where Σ mass Φ((q - mean) / sd) is this probability, by bisection: (n, members, f) → (n, f)."""
    deviations = np.sqrt(variances)
    ends = means + ndtri(probability) * deviations
    low, high = ends.min(axis=1), ends.max(axis=1)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = np.einsum("s,nsf->nf", mass, ndtr((middle[:, None] - means) / deviations)) < probability
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def in_chunks(function: Any, posterior: Posterior, *rows: Array) -> tuple[Array, ...]:
    """Evaluate on chunks of two sizes only, so that compiled code serves every grid and memory stays small."""
    n = len(rows[0])
    size = CHUNKS[0] if n <= CHUNKS[0] else CHUNKS[1]
    parts = []
    for begin in range(0, n, size):
        chunk = [part[begin : begin + size] for part in rows]
        padded = [np.concatenate([part, np.repeat(part[:1], size - len(part), axis=0)]) for part in chunk]
        parts.append([np.asarray(value)[: len(chunk[0])] for value in function(posterior, *padded)])
    return tuple(np.concatenate(values) for values in zip(*parts, strict=True))
