"""Points for the features of many series at once: pivoted Cholesky in a program of as many steps as there is room."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from tinygp.kernels import Kernel

from onepath.data.cells import Cells
from onepath.gp.features import Basis, Unknown
from onepath.gp.kernels import Cubic, Linear, output, terms
from onepath.graph.graph import LEAST_VARIANCE, Graph
from onepath.numerics.linalg import JITTER
from onepath.numerics.modules import changed

FINITE: dict[type, int] = {Linear: 2, Cubic: 4}
"""Points that terms of finite rank need, in one dimension."""


class Chosen(NamedTuple):
    """A graph with points for its features, how many there are, and whether there was room for all of them."""

    graph: Graph
    rank: Array
    enough: Array


def with_bases(graph: Graph, cells: Cells, tolerance: float, room: int) -> Chosen:
    """Of one series, as `Graph.with_bases`, with room for so many points in smooth terms."""
    drift, diffusion = graph.unknown
    pairs = [_with_bases(drift, cells, tolerance, room, 0.0)]
    pairs.append(_with_bases(diffusion, cells, tolerance, room, LEAST_VARIANCE))
    (drift, *of_drift), (diffusion, *of_diffusion) = pairs
    found = changed(graph, drift=(drift,), diffusion=(diffusion,))
    return Chosen(found, of_drift[0] + of_diffusion[0], of_drift[1] & of_diffusion[1])


def _with_bases(
    function: Unknown, cells: Cells, tolerance: float, room: int, least: float
) -> tuple[Unknown, Array, Array]:
    x, usable, square = function.inputs(cells.x), cells.used, jnp.square(function.amplitude[0])
    each = terms(output(function.kernel, 0))
    diagonals = [term(x) for term in each]
    variances = [square * _median(diagonal, usable) for diagonal in diagonals]
    reference = jnp.maximum(sum(variances), least)
    bases, rank, enough = [], jnp.zeros((), int), jnp.asarray(True)
    for term, diagonal, variance in zip(each, diagonals, variances, strict=True):
        relative = tolerance * reference / variance
        most = FINITE.get(type(term), room)
        places, used, left = _pivots(term, x, diagonal, usable, relative, most)
        bases.append(Basis(x[places], used))
        rank, enough = rank + jnp.sum(used), enough & ~left
    return changed(function, bases=tuple(bases)), rank, enough


def _median(values: Float[Array, " n"], usable: Array) -> Float[Array, ""]:
    return jnp.nanmedian(jnp.where(usable, values, jnp.nan))


def _pivots(
    term: Kernel, x: Float[Array, "n d"], diagonal: Float[Array, " n"], usable: Array, tolerance: Array, most: int
) -> tuple[Array, Array, Array]:
    """Rows chosen, which of them are used, and whether more would be needed; see `numerics.linalg.pivots`."""
    largest = jnp.max(jnp.where(usable, diagonal, -jnp.inf))
    residual = jnp.where(usable, diagonal / largest, 0.0)
    threshold = jnp.maximum(tolerance * _median(diagonal / largest, usable), JITTER * jnp.max(residual))

    def one(k: Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
        residual, factor, places, used = state
        pivot = jnp.argmax(residual)
        goes_on = (k == 0) | (residual[pivot] > threshold)
        row = term(x[pivot][None], x)[0] / largest
        column = (row - factor[:, pivot] @ factor) / jnp.sqrt(jnp.maximum(residual[pivot], np.finfo(float).tiny))
        less = jnp.maximum(residual - jnp.square(column), 0.0).at[pivot].set(0.0)
        factor = factor.at[k].set(jnp.where(goes_on, column, 0.0))
        places = places.at[k].set(jnp.where(goes_on, pivot, places[0]))
        return jnp.where(goes_on, less, residual), factor, places, used.at[k].set(goes_on)

    start = (residual, jnp.zeros((most, len(x))), jnp.zeros(most, int), jnp.zeros(most, bool))
    residual, _, places, used = jax.lax.fori_loop(0, most, one, start)
    return places, used, jnp.max(residual) > threshold
