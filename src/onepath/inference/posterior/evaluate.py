"""A posterior evaluated at points: the few functions that are compiled, and the chunks they are called on."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array
from scipy.special import ndtr, ndtri

from onepath.graph.graph import Graph
from onepath.inference.posterior.posterior import Posterior
from onepath.numerics.arrays import Floats
from onepath.numerics.blocks import padded_rows
from onepath.numerics.compiled import compiled

PREDICTIVE_DRAWS = 128
"""Points of the quasi-random average over drift and diffusion in a predictive density."""

HALVINGS = 40
"""Of the interval that a quantile is known to be in."""

CHUNKS = (64, 256)
"""Sizes of the chunks in which points are evaluated one by one."""


@compiled
def _values(latent: Array, u: Array, graph: Graph) -> tuple[Array, Array]:
    return jax.vmap(graph.values)(latent, u)


def values(posterior: Posterior, latent: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Drift (n, d) and diffusion (n, d, d) from latents (n, functions), standardised."""
    bare = posterior.graph.bare
    drift, diffusion = in_chunks(lambda latent, u: _values(latent, u, bare), latent, u)
    return drift, diffusion


class Mixture(NamedTuple):
    """Of each latent at each point: means and variances (n, s, f) of what it may be, and how much each counts.

    That is (s,) or (n, s, f), in estimates and in bands.
    """

    means: Floats
    variances: Floats
    mass: Floats
    band_mass: Floats

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation (n, f)."""
        along = "s,nsf->nf" if self.mass.ndim == 1 else "nsf,nsf->nf"
        mean = np.einsum(along, self.mass, self.means)
        square = np.einsum(along, self.mass, self.variances + np.square(self.means - mean[:, None]))
        return mean, np.sqrt(square)

    def quantile(self, probability: float) -> Floats:
        return mixture_quantile(self.band_mass, self.means, self.variances, probability)


def mixture(posterior: Posterior, u: Floats) -> Mixture:
    """Members of the process and, beside them, equations."""
    means, variances = marginals(posterior, u)
    mass, band_mass, formulas = np.asarray(posterior.mass), posterior.for_bands, posterior.formulas
    if formulas is None:
        return Mixture(means, variances, mass, band_mass)
    more, spread = formulas.moments(u)
    means = np.concatenate([means, np.moveaxis(more[..., 0], 0, 1)], axis=1)
    variances = np.concatenate([variances, np.moveaxis(spread, 0, 1)], axis=1)
    each = (formulas.weights(u, of_process, bands) for of_process, bands in ((mass, False), (band_mass, True)))
    return Mixture(means, variances, *each)


def marginals(posterior: Posterior, u: Floats) -> tuple[Floats, Floats]:
    """Means and variances (n, members, functions) of each latent at each point, for each member of the process."""

    def one_chunk(u: Floats) -> tuple[Floats, Floats]:
        means, covariances = posterior.member_moments(u)
        variances = np.diagonal(covariances, axis1=2, axis2=3)
        return np.moveaxis(means[..., 0], 0, 1), np.moveaxis(variances, 0, 1)

    means, variances = in_chunks(one_chunk, u)
    return means, variances


def predictive(posterior: Posterior, u: Floats, dt: Floats) -> tuple[Floats, Floats]:
    """Mean (n, d) and covariance (n, d, d) of increments, what is not known about the functions included."""
    # SciPy's statistics take as long to load as many a fit
    from scipy.stats import qmc

    uniform = qmc.Sobol(posterior.graph.functions, scramble=True, rng=0).random(PREDICTIVE_DRAWS)
    normals = ndtri(uniform)
    mean, covariance = in_chunks(lambda u, dt: posterior.predictive(u, dt, normals), u, dt)
    return mean, covariance


def draws(posterior: Posterior, u: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Latents (count, n, functions) drawn jointly at all points."""
    n, (members, functions, p) = len(u), posterior.members.weights.shape
    chosen = rng.choice(members, size=count, p=posterior.for_bands)
    normals = rng.standard_normal((count, functions * p))
    untouched = rng.standard_normal((count, functions, n))
    drawn, formulas = posterior.draws(u, chosen, normals, untouched), posterior.formulas
    if formulas is None:
        return drawn
    coefficients, follows = formulas.chosen(count, formulas.band_mass(), rng)
    sums = np.einsum("nt,cft->cfn", formulas.terms.jets(u)[:, 0], coefficients)
    equation = np.asarray(formulas.latents(sums[..., None], np))[..., 0].swapaxes(1, 2)
    share = follows[:, None] * np.asarray(formulas.share(u, np))
    return np.where(share > 0, share * equation + (1.0 - share) * drawn, drawn)


def mixture_quantile(mass: Floats, means: Floats, variances: Floats, probability: float) -> Floats:
    """Where Σ mass Φ((q - mean) / sd) is this probability, by bisection: (n, members, f) → (n, f).

    Masses are those of members (members,), or (n, members, f).
    """
    along = "s,nsf->nf" if mass.ndim == 1 else "nsf,nsf->nf"
    deviations = np.sqrt(variances)
    ends = means + ndtri(probability) * deviations
    low, high = ends.min(axis=1), ends.max(axis=1)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = np.einsum(along, mass, ndtr((middle[:, None] - means) / deviations)) < probability
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2)


def in_chunks(function: Callable[..., Any], *rows: Floats) -> tuple[Floats, ...]:
    """Evaluate on chunks of two sizes only, so that compiled code serves every grid and memory stays small."""
    n = len(rows[0])
    size = CHUNKS[0] if n <= CHUNKS[0] else CHUNKS[1]
    parts = []
    for begin in range(0, n, size):
        chunk = [part[begin : begin + size] for part in rows]
        padded = [padded_rows(part, size) for part in chunk]
        parts.append([np.asarray(value)[: len(chunk[0])] for value in function(*padded)])
    return tuple(np.concatenate(values) for values in zip(*parts, strict=True))
