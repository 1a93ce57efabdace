"""What a batch leaves to a fit of one: where another search, another observation or another posterior may be wanted."""

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaincc
from jaxtyping import Array, Float

from onepath.data.cells import Cells
from onepath.inference.batch.completion import Place
from onepath.inference.disturbance.clustered import SMALL
from onepath.inference.disturbance.volatility import MEMORIES
from onepath.inference.learning.restart import CELLS_PER_WAVE


def scores_of(place: Place) -> Float[Array, "c f"]:
    """-∂ℓ/∂q of each cell in units of its standard deviation: white noise if nothing is left."""
    c, f, k = place.slopes.shape
    squares = jnp.diagonal(place.curvature.reshape(c, f, k, f, k)[:, :, 0, :, 0], axis1=1, axis2=2)
    return -place.slopes[:, :, 0] / jnp.sqrt(jnp.maximum(squares, jnp.finfo(float).tiny))


def log_chance_of_waves(scores: Float[Array, "c f"], cells: Cells) -> Float[Array, ""]:
    """ln of how probable the clearest waves in any function's scores are by chance; see `numerics.spectrum`."""
    used, x = cells.used * 1.0, cells.x[:, 0]
    count = jnp.sum(used)
    low, high = (jnp.min(jnp.where(cells.used, sign * x, jnp.inf)) * sign for sign in (1.0, -1.0))
    waves = jnp.arange(1, len(x) // CELLS_PER_WAVE + 1)
    some = waves <= count // CELLS_PER_WAVE
    most = jnp.maximum(count // CELLS_PER_WAVE, 1)
    phases = jnp.where(some[:, None], used * jnp.exp(2j * jnp.pi * waves[:, None] * x / (high - low)), 0.0)
    same, turned = (jnp.abs(phases @ other.T) / count for other in (phases.conj(), phases))
    octave = jnp.floor(jnp.log2(waves.astype(float)) + 1e-12).astype(int)
    octaves = (octave == jnp.arange(int(octave_count(len(waves))))[:, None]) & some
    octaves = octaves * 1.0
    expected = jnp.sum(octaves, axis=1)
    variance = jnp.einsum("oj,jk,ok->o", octaves, same**2 + turned**2, octaves)
    there = expected > 0
    safe = jnp.where(there, variance, 1.0)

    def chance(score: Array) -> Array:
        score = score * used
        power = jnp.square(jnp.abs(phases @ score)) / jnp.sum(jnp.square(score))
        shape = jnp.where(there, expected**2 / safe, 1.0)
        tails = gammaincc(shape, octaves @ power * jnp.where(there, expected, 0.0) / safe)
        of_octaves = jnp.log(jnp.maximum(tails, jnp.finfo(float).tiny)) + jnp.log(2.0 * jnp.sum(there))
        of_waves = -power / (1 + jnp.diagonal(turned)) + jnp.log(2.0 * most)
        ends = jnp.where(there, of_octaves, 0.0), jnp.where(some, of_waves, 0.0)
        return jnp.minimum(jnp.min(ends[0]), jnp.min(ends[1]))

    found = jnp.min(jax.vmap(chance, in_axes=1)(scores))
    return jnp.where(count >= CELLS_PER_WAVE, found, 0.0)


def octave_count(waves: int) -> int:
    """Octaves that so many waves reach into."""
    return waves.bit_length()


def clustering(white: Float[Array, " n"], weight: Float[Array, " n"], since: Float[Array, " n"]) -> Float[Array, ""]:
    """The memory of residuals' sizes in its standard errors; see `disturbance.clustered`."""
    sizes = jnp.log(jnp.square(white) + SMALL)
    sizes = sizes - jnp.sum(weight * sizes) / jnp.sum(weight)
    fading = jnp.where(jnp.isfinite(since)[:, None], jnp.exp(-1.0 / jnp.asarray(MEMORIES)), 0.0)

    def one(state: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        left, size = row
        recent = left * state
        return recent + size, recent

    _, recent = jax.lax.scan(one, jnp.zeros(len(MEMORIES)), (fading, sizes))
    products = (weight * sizes)[:, None] * recent
    size = jnp.sqrt(jnp.sum(jnp.square(products), axis=0))
    return jnp.max(jnp.where(size > 0, jnp.sum(products, axis=0) / jnp.where(size > 0, size, 1.0), 0.0))
