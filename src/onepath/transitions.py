"""Trajectory → transitions → cells: all that the engine ever sees."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from onepath.trajectory import Trajectory

Floats = np.ndarray


BOXES_PER_CELL = 64
"""How much finer than its cells a grid is."""


class Transitions(NamedTuple):
    """Start, increment and duration of every transition."""

    x: Float[np.ndarray, "n d"]
    y: Float[np.ndarray, "n d"]
    dt: Float[np.ndarray, " n"]


class Cells(NamedTuple):
    """Transitions of nearly the same start and duration, merged: count, means, and scatter Σ (y-ȳ)(y-ȳ)ᵀ.

    Cells of count 0 are padding. The arrays are NumPy's here and JAX's in the engine.
    """

    counts: Any  # (c,)
    x: Any  # (c, d)
    y: Any  # (c, d)
    scatter: Any  # (c, d, d)
    dt: Any  # (c,)


class Units(NamedTuple):
    """Standardised state (x - location) / scale and time t / time: what makes a fit the same fit in other units."""

    location: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]
    time: float

    def standardised(self, transitions: Transitions) -> Transitions:
        x, y, dt = transitions
        return Transitions((x - self.location) / self.scale, y / self.scale, dt / self.time)


def transitions_of(trajectory: Trajectory) -> Transitions:
    """The steps that count, as the door decided."""
    x, t = trajectory.x, trajectory.t
    y, dt = x[1:] - x[:-1], t[1:] - t[:-1]
    if len(trajectory.step) == len(dt):
        return Transitions(x[:-1], y, dt)
    return Transitions(x[trajectory.step], y[trajectory.step], dt[trajectory.step])


def units_of(transitions: Transitions, *, common: bool) -> Units:
    """Mean and standard deviation of the starts, one for each dimension or one in common, and the median duration."""
    location = column_means(transitions.x)
    scale = np.sqrt(column_means(np.square(transitions.x - location)))
    if common:
        scale = np.full_like(scale, np.sqrt(np.mean(np.square(scale))))
    return Units(location, scale, float(np.median(transitions.dt)))


def column_means(table: Floats) -> Floats:
    """Mean over rows, column by column: on long tables many times quicker than over the first axis at once."""
    return np.asarray([column.mean() for column in table.T])


def random_halves(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The paper's Π and Πᶜ: indices of two random halves (the first is the smaller if the count is odd)."""
    order = rng.permutation(count)
    return np.sort(order[: count // 2]), np.sort(order[count // 2 :])


def cells_of(transitions: Transitions, most: int) -> Cells:
    """One transition a cell if there is room for all; otherwise merged until `most` cells are left; then padded."""
    n, d = transitions.x.shape
    single = Cells(np.ones(n), transitions.x, transitions.y, np.zeros((n, d, d)), transitions.dt)
    return coarser(single, most)


def coarser(cells: Cells, most: int) -> Cells:
    """Exactly `most` cells: merged where there are more, padded where there are fewer.

    Merging costs an error of second order in the size of a cell over the functions' length scale. Large data are first
    put into the boxes of a grid, fine enough for the cells to be made of boxes.
    """
    if not np.all(cells.counts > 0):
        cells = Cells(*(part[cells.counts > 0] for part in cells))
    boxes = BOXES_PER_CELL * most
    if len(cells.counts) > 2 * boxes:
        cells = _merge(cells, _in_order(_grid(_coordinates(cells), boxes)))
    if len(cells.counts) > most:
        cells = _merge(cells, _in_order(_split(_coordinates(cells), cells.counts, most)))
    return _pad(cells, most)


def _pad(cells: Cells, size: int) -> Cells:
    """Cells of count 0 repeat the first cell's start and duration, so that every number stays harmless."""
    spare = size - len(cells.counts)
    zero = Cells(*(np.zeros_like(part[:1]) for part in cells))._replace(x=cells.x[:1], dt=cells.dt[:1])
    return Cells(*(np.concatenate([part, np.repeat(fill, spare, 0)]) for part, fill in zip(cells, zero, strict=True)))


def _in_order(labels: np.ndarray) -> np.ndarray:
    """Labels 0, 1, ... in the order of first members, so that they do not depend on the units."""
    first = np.full(labels.max() + 1, len(labels))
    first[labels[::-1]] = np.arange(len(labels))[::-1]
    order = np.argsort(first)
    rank = np.empty_like(first)
    rank[order] = np.arange(len(first))
    return rank[labels]


def _merge(cells: Cells, labels: np.ndarray) -> Cells:
    """Counts add, means average, and the scatter of the members' means joins their own."""
    size = int(labels.max()) + 1
    total = np.bincount(labels, cells.counts, size)

    def mean(column: Floats) -> Floats:
        return np.bincount(labels, cells.counts * column, size) / total

    x, y = (np.stack([mean(column) for column in part.T], axis=1) for part in (cells.x, cells.y))
    residual = [column - centre[labels] for column, centre in zip(cells.y.T, y.T, strict=True)]
    scatter = [
        [
            np.bincount(labels, cells.counts * first * second + own, size)
            for second, own in zip(residual, row.T, strict=True)
        ]
        for first, row in zip(residual, np.moveaxis(cells.scatter, 1, 0), strict=True)
    ]
    return Cells(total, x, y, np.moveaxis(np.asarray(scatter), 2, 0), mean(cells.dt))


def _coordinates(cells: Cells) -> Floats:
    """Where a cell is: its start in standard deviations, and the logarithm of its duration where that varies."""
    columns = [(column - column.mean()) / column.std() for column in cells.x.T]
    if np.ptp(cells.dt) > 1e-6 * cells.dt[0]:
        columns.append(np.log(cells.dt))
    return np.stack(columns, axis=1)


def _grid(coordinates: Floats, boxes: int) -> np.ndarray:
    """Labels of the occupied boxes of a regular grid; asinh keeps far outliers from coarsening it."""
    axes = coordinates.shape[1]
    side = int(boxes ** (1 / axes))
    flat = np.zeros(len(coordinates), int)
    for column in coordinates.T:
        bent = np.arcsinh(column.astype(np.float32))
        low, high = bent.min(), bent.max()
        flat = side * flat + np.minimum((bent - low) * (side / (high - low)), side - 1).astype(int)
    occupied = np.bincount(flat, minlength=side**axes) > 0
    return (np.cumsum(occupied) - 1)[flat]


def _split(points: Floats, weight: Floats, most: int) -> np.ndarray:
    """Halve cells at the mean of their widest coordinate, those of largest scatter first, until there are `most`."""
    labels, cells = np.zeros(len(points), int), 1
    while cells < most:
        total = np.bincount(labels, weight, cells)
        mean, scatter = np.empty((cells, points.shape[1])), np.empty((cells, points.shape[1]))
        for axis, column in enumerate(points.T):
            mean[:, axis] = np.bincount(labels, weight * column, cells) / total
            scatter[:, axis] = np.bincount(labels, weight * np.square(column - mean[labels, axis]), cells)
        widest, largest = np.argmax(scatter, axis=1), np.max(scatter, axis=1)
        order = np.argsort(-largest, kind="stable")
        order = order[largest[order] > 1e-12 * total[order]][: min(most - cells, (cells + 1) // 2)]
        new = np.full(cells, -1)
        new[order] = cells + np.arange(len(order))
        axis = widest[labels]
        # a margin far above rounding: ties fall on the same side in any units
        above = points[np.arange(len(points)), axis] > mean[labels, axis] + 1e-9
        labels = np.where(above & (new[labels] >= 0), new[labels], labels)
        occupied = np.bincount(labels, minlength=cells + len(order)) > 0
        labels = (np.cumsum(occupied) - 1)[labels]
        if occupied.sum() == cells:
            break
        cells = int(occupied.sum())
    return labels
