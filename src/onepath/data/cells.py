"""Cells: transitions of nearly the same start and duration, merged. The engine never sees anything else."""

from typing import Any, NamedTuple

import numpy as np

from onepath.data.inputs import CLASS
from onepath.data.transitions import CHUNK, Transitions, Units, chunks_of
from onepath.numerics.arrays import Flags, Floats, Integers

BOXES_PER_CELL = 16
"""How much finer than its cells a grid is."""

APART = 1e3
"""How much farther than others two values are from each other that are all an input has: no cell holds both."""


class Cells(NamedTuple):
    """The sum of weights, weighted means of start, increment and duration, and the scatter Σ w (y-ȳ)(y-ȳ)ᵀ.

    Cells of weight 0 are padding. The arrays are NumPy's here and JAX's in the engine.
    """

    weight: Any  # (c,)
    x: Any  # (c, d), and after it the columns of inputs, where there are some
    y: Any  # (c, d)
    scatter: Any  # (c, d, d)
    dt: Any  # (c,)

    @property
    def used(self) -> Any:
        """Which cells are no padding."""
        return self.weight > 0


def table_of(cells: Cells) -> Floats:
    """One row a cell, all its numbers side by side."""
    return np.concatenate([np.reshape(part, (len(cells.weight), -1)) for part in cells], axis=1)


def of_table(table: Any, dimension: int) -> Cells:
    """The way back, also in compiled code."""
    y = table.shape[1] - 1 - dimension - dimension**2
    scatter = table[:, y + dimension : -1].reshape(-1, dimension, dimension)
    return Cells(table[:, 0], table[:, 1:y], table[:, y : y + dimension], scatter, table[:, -1])


def cells_of(transitions: Transitions, units: Units, most: int) -> Cells:
    """Standardised, and one transition a cell if there is room for all, else merged until `most` are left; then padded.

    Large data are first put into the boxes of a grid, fine enough for the cells to be made of boxes.
    """
    n, d = transitions.x.shape
    boxes = BOXES_PER_CELL * most
    if n > 2 * boxes:
        return coarser(_boxed(transitions, units, boxes), most)
    seen = units.standardised(transitions)
    return coarser(Cells(np.array(seen.weight), seen.points, seen.y, np.zeros((n, d, d)), seen.dt), most)


def coarser(cells: Cells, most: int) -> Cells:
    """Exactly `most` cells: merged where there are more, padded where there are fewer.

    Merging costs an error of second order in the size of a cell over the functions' length scale.
    """
    if not np.all(cells.used):
        cells = Cells(*(part[cells.used] for part in cells))
    if len(cells.weight) > most:
        cells = _merge(cells, _in_order(_split(_coordinates(cells), cells.weight, most)))
    return _pad(cells, most)


def _pad(cells: Cells, size: int) -> Cells:
    """Cells of weight 0 repeat the first cell's start and duration, so that every number stays harmless."""
    spare = size - len(cells.weight)
    zero = Cells(*(np.zeros_like(part[:1]) for part in cells))._replace(x=cells.x[:1], dt=cells.dt[:1])
    return Cells(*(np.concatenate([part, np.repeat(fill, spare, 0)]) for part, fill in zip(cells, zero, strict=True)))


def _first_members(labels: Integers, size: int) -> Integers:
    """Where each label occurs first; past the end if it does not."""
    first = np.full(size, len(labels))
    first[labels[::-1]] = np.arange(len(labels))[::-1]
    return first


def _in_order(labels: Integers) -> Integers:
    """Labels 0, 1, ... in the order of first members, so that they do not depend on the units."""
    order = np.argsort(_first_members(labels, int(labels.max()) + 1))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[labels]


def _merge(cells: Cells, labels: Integers) -> Cells:
    """Weights add, means average, and the scatter of the members' means joins their own."""
    weight, x, y, scatter, dt = cells
    size, axes = int(labels.max()) + 1, range(y.shape[1])
    total = np.bincount(labels, weight, size)
    moved = np.zeros_like(y) if x.shape[1] == y.shape[1] else _straight(cells)

    def mean(column: Floats) -> Floats:
        return np.bincount(labels, weight * column, size) / total

    mean_x, mean_y, mean_moved = (np.stack([mean(column) for column in part.T], axis=1) for part in (x, y, moved))
    residual = (y - moved) - (mean_y - mean_moved)[labels]
    spread = scatter + weight[:, None, None] * residual[:, :, None] * residual[:, None, :]
    spread = np.stack([[np.bincount(labels, spread[:, i, j], size) for j in axes] for i in axes])
    return Cells(total, mean_x, mean_y, np.moveaxis(spread, 2, 0), mean(dt))


def _straight(cells: Cells) -> Floats:
    """Increments (c, d) of the drift that is a straight line in state and inputs, by least squares.

    With inputs cells are wide, and how the drift changes within them, which is no noise, would be in their scatter.
    """
    columns = cells.dt[:, None] * np.column_stack([np.ones(len(cells.dt)), cells.x])
    root = np.sqrt(cells.weight / cells.dt)[:, None]
    return np.asarray(columns @ np.linalg.lstsq(root * columns, root * cells.y, rcond=None)[0])


def _coordinates(cells: Cells) -> Floats:
    """Where a cell is: its start in standard deviations, and the logarithm of its duration where that varies."""
    d = cells.y.shape[1]
    columns = [(column - column.mean()) / column.std() for column in cells.x.T[:d]]
    for column in cells.x.T[d:]:
        low, high = column.min(), column.max()
        if high > low:
            two = np.all(np.minimum(column - low, high - column) <= 1e-9 * (high - low))
            columns.append((column - column.mean()) / column.std() * (APART if two else 1.0))
    if np.ptp(cells.dt) > 1e-6 * cells.dt[0]:
        columns.append(np.log(cells.dt))
    return np.stack(columns, axis=1)


def _boxed(transitions: Transitions, units: Units, boxes: int) -> Cells:
    """Transitions standardised and merged by the boxes of a regular grid, in one pass over chunks.

    asinh keeps far outliers from coarsening the grid.
    """
    x, dt = transitions.x, transitions.dt
    n, d = x.shape
    shortest, longest = dt.min() / units.time, dt.max() / units.time
    varies = bool(longest - shortest > 1e-6 * shortest)
    ends = units.places(np.asarray([[column.min(), column.max()] for column in transitions.points.T]).T)
    low, high = np.arcsinh(ends).astype(np.float32)
    moving, sides = _sides(transitions, high > low, varies, boxes)
    low, high = low[moving], high[moving]
    size, k = int(np.prod(sides)), transitions.points.shape[1]
    sums, first = np.zeros((2 + k + d + d * d, size)), np.full(size, n)
    for begin, chunk in zip(range(0, n, CHUNK), chunks_of(transitions), strict=True):
        seen = units.standardised(chunk)
        x_part, y_part, dt_part = seen.points, seen.y, seen.dt
        place = (np.arcsinh(x_part[:, moving].astype(np.float32)) - low) / (high - low)
        if varies:
            place = np.column_stack([place, np.log(dt_part / shortest) / np.log(longest / shortest)])
        label = np.ravel_multi_index((np.asarray(sides, place.dtype) * place).astype(int).T, sides, mode="clip")
        products = (y_part[:, :, None] * y_part[:, None, :]).reshape(-1, d * d)
        columns = [dt_part, *x_part.T, *y_part.T, *products.T]
        if transitions.alike:
            sums += [np.bincount(label, column, size) for column in (None, *columns)]
        else:
            sums += [np.bincount(label, seen.weight * column, size) for column in (1.0, *columns)]
        new = np.flatnonzero(first[label] == n)[::-1]
        first[label[new]] = begin + new
    order = np.argsort(np.where(sums[0] > 0, first, n))[: np.count_nonzero(sums[0])]
    total, means = sums[0, order], sums[1:, order] / sums[0, order]
    mean_x, mean_y = means[1 : 1 + k].T, means[1 + k : 1 + k + d].T
    squares = means[1 + k + d :].T.reshape(-1, d, d) - mean_y[:, :, None] * mean_y[:, None, :]
    return Cells(total, mean_x, mean_y, total[:, None, None] * squares, means[0])


def _sides(transitions: Transitions, moves: Flags, varies: bool, boxes: int) -> tuple[Flags, tuple[int, ...]]:
    """Along which columns there are boxes, and how many: two along those of classes, as many along all others."""
    d = transitions.x.shape[1]
    classes = np.concatenate([np.zeros(d, bool), *([one.kind == CLASS] * one.columns for one in transitions.variables)])
    moves = moves | (np.arange(len(moves)) < d)
    for_classes = 2 ** int(np.sum(classes & moves))
    side = max(2, int((boxes / for_classes) ** (1 / (int(np.sum(moves & ~classes)) + varies))))
    return moves, (*(2 if one else side for one in classes[moves]), *(side,) * varies)


def _split(points: Floats, weight: Floats, most: int) -> Integers:
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
