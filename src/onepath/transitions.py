"""Trajectory → transitions → cells: all that the engine ever sees."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from onepath.trajectory import Trajectory

Floats = np.ndarray


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
    i = trajectory.step
    x, t = trajectory.x, trajectory.t
    return Transitions(x[i], x[i + 1] - x[i], t[i + 1] - t[i])


def units_of(transitions: Transitions, *, common: bool) -> Units:
    """Mean and standard deviation of the starts, one for each dimension or one in common, and the median duration."""
    x = transitions.x
    scale = x.std(axis=0)
    if common:
        scale = np.full_like(scale, np.sqrt(np.mean(np.square(scale))))
    return Units(x.mean(axis=0), scale, float(np.median(transitions.dt)))


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

    Merging costs an error of second order in the size of a cell over the functions' length scale.
    """
    filled = Cells(*(part[cells.counts > 0] for part in cells))
    if len(filled.counts) > most:
        filled = _merge(filled, _in_order(_labels(filled, most)))
    return _pad(filled, most)


def _pad(cells: Cells, size: int) -> Cells:
    """Cells of count 0 repeat the first cell's start and duration, so that every number stays harmless."""
    spare = size - len(cells.counts)
    zero = Cells(*(np.zeros_like(part[:1]) for part in cells))._replace(x=cells.x[:1], dt=cells.dt[:1])
    return Cells(*(np.concatenate([part, np.repeat(fill, spare, 0)]) for part, fill in zip(cells, zero, strict=True)))


def _sums(labels: np.ndarray, columns: Floats, size: int) -> Floats:
    """Sum of every column over the members of each label."""
    return np.stack([np.bincount(labels, column, size) for column in columns.T], axis=1)


def _in_order(labels: np.ndarray) -> np.ndarray:
    """Labels 0, 1, ... in the order of first members, so that they do not depend on the units."""
    first = np.full(labels.max() + 1, len(labels))
    first[labels[::-1]] = np.arange(len(labels))[::-1]
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[labels]


def _merge(cells: Cells, labels: np.ndarray) -> Cells:
    """Counts add, means average, and the scatter of the members' means joins their own."""
    counts, x, y, scatter, dt = cells
    d, size = x.shape[1], int(labels.max()) + 1
    total = np.bincount(labels, counts, size)
    mean = _sums(labels, counts[:, None] * np.column_stack([x, y, dt]), size) / total[:, None]
    residual = y - mean[labels, d : 2 * d]
    scatter = scatter + counts[:, None, None] * residual[:, :, None] * residual[:, None, :]
    scatter = _sums(labels, scatter.reshape(-1, d * d), size).reshape(size, d, d)
    return Cells(total, mean[:, :d], mean[:, d : 2 * d], scatter, mean[:, 2 * d])


def _labels(cells: Cells, most: int) -> np.ndarray:
    """Which of at most `most` larger cells each one belongs to.

    Coordinates are the start in standard deviations and the logarithm of the duration. Large data are first put on a
    grid fine enough for the cells to be made of grid boxes.
    """
    x, dt = cells.x, cells.dt
    coordinates = np.column_stack([(x - x.mean(axis=0)) / x.std(axis=0), np.log(dt / np.median(dt))])
    coordinates = coordinates[:, np.ptp(coordinates, axis=0) > 1e-6]
    boxes = most * 64
    if len(coordinates) <= 2 * boxes:
        return _split(coordinates, cells.counts, most)
    box = _grid(coordinates, boxes)
    weight = np.bincount(box, cells.counts)
    centres = _sums(box, cells.counts[:, None] * coordinates, len(weight)) / weight[:, None]
    return _split(centres, weight, most)[box]


def _grid(coordinates: Floats, boxes: int) -> np.ndarray:
    """Labels 0, 1, ... of the occupied boxes of a regular grid; asinh keeps far outliers from coarsening it."""
    bent = np.arcsinh(coordinates)
    low, width = bent.min(axis=0), np.ptp(bent, axis=0)
    side = int(boxes ** (1 / bent.shape[1]))
    index = np.minimum((side * (bent - low) / width).astype(int), side - 1)
    flat = np.ravel_multi_index(tuple(index.T), (side,) * bent.shape[1])
    occupied = np.bincount(flat, minlength=side ** bent.shape[1]) > 0
    return (np.cumsum(occupied) - 1)[flat]


def _split(points: Floats, weight: Floats, most: int) -> np.ndarray:
    """Halve cells at the mean of their widest coordinate, those of largest scatter first, until there are `most`."""
    labels, cells = np.zeros(len(points), int), 1
    while cells < most:
        total = np.maximum(np.bincount(labels, weight, cells), 1e-300)
        mean = _sums(labels, weight[:, None] * points, cells) / total[:, None]
        scatter = _sums(labels, weight[:, None] * np.square(points - mean[labels]), cells)
        widest = np.argmax(scatter, axis=1)
        order = np.argsort(-scatter.max(axis=1), kind="stable")
        order = order[scatter.max(axis=1)[order] > 1e-12 * total[order]]
        order = order[: min(most - cells, (cells + 1) // 2)]
        if len(order) == 0:
            break
        new = np.full(cells, -1)
        new[order] = cells + np.arange(len(order))
        axis = widest[labels]
        # a margin far above rounding: ties fall on the same side in any units
        above = points[np.arange(len(points)), axis] > mean[labels, axis] + 1e-9
        moved = above & (new[labels] >= 0)
        labels = np.where(moved, new[labels], labels)
        cells += len(order)
    return labels
