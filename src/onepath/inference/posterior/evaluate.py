"""A posterior evaluated at points: the few functions that are compiled, and the chunks they are called on."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy.special import ndtr, ndtri

from onepath.inference.posterior.posterior import Posterior
from onepath.numerics.arrays import Floats
from onepath.numerics.compiled import compiled

PREDICTIVE_DRAWS = 128
"""Points of the quasi-random average over drift and diffusion in a predictive density."""

HALVINGS = 40
"""Of the interval that a quantile is known to be in."""

CHUNKS = (64, 512)
"""Sizes of the chunks in which points are evaluated one by one."""

POINTS, DRAWS = (64, 256, 1024, 4096), (512, 2048, 8192)
"""Numbers of points, and of draws, to which joint draws are padded."""


@compiled
def _values(posterior: Posterior, latent: Array, u: Array) -> tuple[Array, Array]:
    return jax.vmap(posterior.graph.values)(latent, u)


@compiled
def _marginals(posterior: Posterior, u: Array) -> tuple[Array, Array]:
    means, covariances = posterior.member_moments(u)
    variances = jnp.diagonal(covariances, axis1=2, axis2=3)
    return jnp.moveaxis(means[..., 0], 0, 1), jnp.moveaxis(variances, 0, 1)


@compiled
def _draws(posterior: Posterior, u: Any, chosen: Any, normals: Any, untouched: Any, usable: Any) -> Array:
    return posterior.draws(u, chosen, normals, untouched, usable)


@compiled
def _predictive(posterior: Posterior, u: Array, dt: Array) -> tuple[Array, Array]:
    # only compiling asks for it, and SciPy's statistics take as long to load as many a fit
    from scipy.stats import qmc

    uniform = qmc.Sobol(posterior.members.weights.shape[1], scramble=True, rng=0).random(PREDICTIVE_DRAWS)
    return posterior.predictive(u, dt, jnp.asarray(ndtri(uniform)))


def values(posterior: Posterior, latent: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Drift (n, d) and diffusion (n, d, d) from latents (n, functions), standardised."""
    drift, diffusion = in_chunks(_values, posterior, latent, u)
    return drift, diffusion


def marginals(posterior: Posterior, u: Floats) -> tuple[Floats, Floats]:
    """Means and variances (n, members, functions) of each latent at each point, for each member."""
    means, variances = in_chunks(_marginals, posterior, u)
    return means, variances


def predictive(posterior: Posterior, u: Floats, dt: Floats) -> tuple[Floats, Floats]:
    """Mean (n, d) and covariance (n, d, d) of increments, what is not known about the functions included."""
    mean, covariance = in_chunks(_predictive, posterior, u, dt)
    return mean, covariance


def draws(posterior: Posterior, u: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Latents (count, n, functions) drawn jointly at all points."""
    n, (members, functions, p) = len(u), posterior.members.weights.shape
    chosen = rng.choice(members, size=count, p=posterior.for_bands)
    normals = rng.standard_normal((count, functions * p))
    untouched = rng.standard_normal((count, functions, n))
    points, rows = padded_to(n, POINTS), padded_to(count, DRAWS)
    drawn = _draws(
        posterior,
        _padded(u, points),
        _padded(chosen, rows),
        _padded(normals, rows),
        np.pad(_padded(untouched, rows), ((0, 0), (0, 0), (0, points - n))),
        np.arange(points) < n,
    )
    return np.asarray(drawn)[:count, :n]


def padded_to(count: int, sizes: tuple[int, ...]) -> int:
    """The next of few sizes, so that compiled code serves every grid and every number of draws."""
    return next((size for size in sizes if size >= count), count)


def _padded(rows: Any, size: int) -> Any:
    """Repeated rows at the end."""
    return np.concatenate([rows, np.repeat(rows[:1], size - len(rows), axis=0)])


def mixture_quantile(mass: Floats, means: Floats, variances: Floats, probability: float) -> Floats:
    """Where Σ mass Φ((q - mean) / sd) is this probability, by bisection: (n, members, f) → (n, f)."""
    deviations = np.sqrt(variances)
    ends = means + ndtri(probability) * deviations
    low, high = ends.min(axis=1), ends.max(axis=1)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = np.einsum("s,nsf->nf", mass, ndtr((middle[:, None] - means) / deviations)) < probability
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2)


def in_chunks(function: Any, posterior: Posterior, *rows: Floats) -> tuple[Floats, ...]:
    """Evaluate on chunks of two sizes only, so that compiled code serves every grid and memory stays small."""
    n = len(rows[0])
    size = CHUNKS[0] if n <= CHUNKS[0] else CHUNKS[1]
    parts = []
    for begin in range(0, n, size):
        chunk = [part[begin : begin + size] for part in rows]
        padded = [_padded(part, size) for part in chunk]
        parts.append([np.asarray(value)[: len(chunk[0])] for value in function(posterior, *padded)])
    return tuple(np.concatenate(values) for values in zip(*parts, strict=True))
