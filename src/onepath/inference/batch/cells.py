"""Cells of many series at once: `data/cells.py`, in a program that does not know how many there are."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from onepath.data.cells import Cells
from onepath.inference.batch.stack import Stack, Units

MARGIN = 1e-9
"""Above rounding: ties fall on the same side in any units."""


def cells_of(stack: Stack, units: Units, most: int) -> Cells:
    """Of one series: one transition a cell if there is room for all, else merged until `most` are left."""
    x, y, dt = (stack.x - units.location) / units.scale, stack.y / units.scale, stack.dt / units.time
    return coarser(Cells(stack.weight, x[:, None], y[:, None], jnp.zeros((*y.shape, 1, 1)), dt), most)


def coarser(cells: Cells, most: int) -> Cells:
    """Exactly `most` cells, those that are padding last; padding repeats the first one's start and duration."""
    count = len(cells.weight)
    if count <= most:
        return Cells(*(_padded(part, most, k) for k, part in enumerate(cells)))
    whole = jnp.sum(cells.used) <= most
    alone = jnp.where(cells.used, jnp.cumsum(cells.used) - 1, most)
    return _merged(cells, jnp.where(whole, alone, _in_order(_split(cells, most), most)), most)


def _padded(part: Array, most: int, place: int) -> Array:
    first = part[:1] if place in (1, 4) else jnp.zeros_like(part[:1])  # start and duration stay harmless numbers
    return jnp.concatenate([part, jnp.repeat(first, most - len(part), axis=0)])


def _sums(values: Array, labels: Int[Array, " n"], most: int) -> Array:
    return jax.ops.segment_sum(values, labels, num_segments=most + 1)[:most]


def _merged(cells: Cells, labels: Int[Array, " n"], most: int) -> Cells:
    """Weights add, means average, and the scatter of the members' means joins their own."""
    weight, x, y, scatter, dt = cells
    total = _sums(weight, labels, most)
    some, safe = total > 0, jnp.where(total > 0, total, 1.0)

    def mean(column: Array) -> Array:
        found = _sums(weight * column, labels, most) / safe
        return found

    mean_x, mean_y, mean_dt = mean(x[:, 0]), mean(y[:, 0]), mean(dt)
    spread = scatter[:, 0, 0] + weight * jnp.square(y[:, 0] - jnp.append(mean_y, 0.0)[labels])
    scatter = _sums(jnp.where(weight > 0, spread, 0.0), labels, most)
    filled = (jnp.where(some, part, part[0]) for part in (mean_x, mean_dt))
    mean_x, mean_dt = filled
    return Cells(total, mean_x[:, None], mean_y[:, None], scatter[:, None, None], mean_dt)


def _in_order(labels: Int[Array, " n"], most: int) -> Int[Array, " n"]:
    """Labels 0, 1, ... in the order of first members; `most`, of what is no member of any, stays."""
    first = jax.ops.segment_min(jnp.arange(len(labels)), labels, num_segments=most + 1)[:most]
    rank = jnp.zeros(most, labels.dtype).at[jnp.argsort(first)].set(jnp.arange(most, dtype=labels.dtype))
    return jnp.append(rank, most)[labels]


def _coordinates(cells: Cells) -> Float[Array, "n 2"]:
    """Start, in standard deviations, and the logarithm of the duration where that varies."""
    used, x, dt = cells.used, cells.x[:, 0], cells.dt
    count = jnp.sum(used)
    mean = jnp.sum(jnp.where(used, x, 0.0)) / count
    deviation = jnp.sqrt(jnp.sum(jnp.where(used, jnp.square(x - mean), 0.0)) / count)
    low, high = jnp.min(jnp.where(used, dt, jnp.inf)), jnp.max(jnp.where(used, dt, -jnp.inf))
    varies = high - low > 1e-6 * dt[0]
    return jnp.stack([(x - mean) / deviation, jnp.where(varies, jnp.log(dt), 0.0)], axis=1)


class _Halving(NamedTuple):
    labels: Array
    cells: Array
    goes_on: Array


def _split(cells: Cells, most: int) -> Int[Array, " n"]:
    """Halve cells at the mean of their widest coordinate, those of largest scatter first, until there are `most`."""
    points, weight = _coordinates(cells), cells.weight
    places = jnp.arange(most)

    def halved(state: _Halving) -> _Halving:
        labels, count, _ = state
        total = _sums(weight, labels, most)
        safe = jnp.where(total > 0, total, 1.0)
        mean = _sums(weight[:, None] * points, labels, most) / safe[:, None]
        own = jnp.concatenate([mean, jnp.zeros((1, 2))])[labels]
        scatter = _sums(weight[:, None] * jnp.square(points - own), labels, most)
        widest, largest = jnp.argmax(scatter, axis=1), jnp.max(scatter, axis=1)
        wanted = jnp.minimum(most - count, (count + 1) // 2)
        may = (largest > 1e-12 * total) & (places < count)
        order = jnp.argsort(jnp.where(may, -largest, jnp.inf), stable=True)
        rank = jnp.zeros(most, labels.dtype).at[order].set(places.astype(labels.dtype))
        new = jnp.append(jnp.where(may & (rank < wanted), count + rank, -1), -1)
        axis = jnp.append(widest, 0)[labels]
        above = jnp.take_along_axis(points, axis[:, None], 1) > jnp.take_along_axis(own, axis[:, None], 1) + MARGIN
        moved = jnp.where(above[:, 0] & (new[labels] >= 0), new[labels], labels)
        occupied = _sums(jnp.ones_like(weight), moved, most) > 0
        renumbered = jnp.append(jnp.cumsum(occupied) - 1, most)[moved].astype(labels.dtype)
        found = jnp.sum(occupied).astype(count.dtype)
        return _Halving(renumbered, found, (found > count) & (found < most))

    labels = jnp.where(cells.used, 0, most).astype(jnp.int32)
    start = _Halving(labels, jnp.asarray(1, jnp.int32), jnp.asarray(True))
    return jax.lax.while_loop(lambda state: state.goes_on, halved, start).labels
