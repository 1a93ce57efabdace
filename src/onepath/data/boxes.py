"""Sums over the boxes of a grid that grows as it is needed: what a stream of transitions is merged into."""

from dataclasses import dataclass, field

import numpy as np

from onepath.data.cells import BOXES_PER_CELL, Cells
from onepath.data.transitions import Units
from onepath.numerics.arrays import Floats, Integers

CROWDED = 8
"""Times as many boxes as were wanted, from which two neighbours become one."""

WIDE = 8.0
"""Standard deviations that a grid spans at first."""


@dataclass
class Boxes:
    """A grid over asinh of the standardised start and ln of the duration; its sums, and over all transitions.

    Boxes of parts of a record can be added: two grids that began from the same look have edges in common, for they
    only ever become coarser by halves.
    """

    location: Floats  # (d,), of the first look
    scale: Floats  # (d,)
    time: float
    width: Floats  # (d + 1,), of a box along each axis, the last of which is the duration's
    room: int  # boxes, from which on neighbours become one
    first: Integers = field(init=False)  # (d + 1,), the index of the first box along each axis
    sums: Floats = field(init=False)  # (columns, *boxes): weight, Δt, x, y, yyᵀ
    squares: Floats = field(init=False)  # (d,), Σ (x - location)²

    def __post_init__(self) -> None:
        d = len(self.location)
        self.first = np.zeros(d + 1, np.int64)
        self.sums = np.zeros((2 + 2 * d + d * d, *(1,) * (d + 1)))
        self.squares = np.zeros(d)

    @classmethod
    def from_look(cls, x: Floats, dt: Floats, cells: int) -> "Boxes":
        """Fine enough for so many cells, by a look at some transitions."""
        d = x.shape[1]
        location, scale, time = x.mean(axis=0), x.std(axis=0), float(np.median(dt))
        scale = np.where(scale > 0, scale, 1.0)
        varies = float(np.ptp(np.log(dt))) if np.ptp(dt) > 1e-6 * time else 0.0
        side = (BOXES_PER_CELL * cells) ** (1.0 / (d + (varies > 0.0)))
        reach = np.arcsinh(WIDE / 2.0) * 2.0
        width = np.append(np.full(d, reach / side), varies / side if varies else 1.0)
        return cls(location, scale, time, width, CROWDED * BOXES_PER_CELL * cells)

    def empty(self) -> "Boxes":
        """The same grid, as it is now, with nothing in it."""
        return Boxes(self.location, self.scale, self.time, self.width.copy(), self.room)

    @property
    def dimension(self) -> int:
        return len(self.location)

    def add(self, x: Floats, y: Floats, dt: Floats) -> None:
        """Transitions (n, d), all at once: as many as a processor's cache holds."""
        if len(dt) == 0:
            return
        d = self.dimension
        away = x - self.location
        self.squares += np.einsum("nd,nd->d", away, away)
        place = np.arcsinh((away / self.scale).astype(np.float32))
        indices = [
            np.floor(column / width).astype(np.int64) for column, width in zip(place.T, self.width, strict=False)
        ]
        shortest, longest = float(dt.min()), float(dt.max())
        if longest - shortest > 1e-6 * self.time:
            indices.append(np.floor(np.log(dt / self.time) / self.width[-1] + 0.5).astype(np.int64))
        else:
            same = np.floor(np.log(shortest / self.time) / self.width[-1] + 0.5)
            indices.append(np.full(1, int(same)))
        self._grow(np.asarray([part.min() for part in indices]), np.asarray([part.max() for part in indices]))
        label, sizes = np.zeros(len(dt), np.int64), self.sums.shape[1:]
        for index, first, size in zip(indices, self.first.tolist(), sizes, strict=True):
            label *= size
            label += index - first
        boxes = int(np.prod(sizes))
        products = [y[:, i] * y[:, j] for i in range(d) for j in range(d)]
        flat = self.sums.reshape(len(self.sums), boxes)
        flat[0] += np.bincount(label, minlength=boxes)
        for row, column in zip(flat[1:], [dt, *x.T, *y.T, *products], strict=True):
            row += np.bincount(label, column, boxes)
        self._thin()

    def join(self, other: "Boxes") -> None:
        """Add the boxes of another part, which began from the same look."""
        for axis in range(self.dimension + 1):
            while self.width[axis] < 0.99 * other.width[axis]:
                self._halve(axis)
            while other.width[axis] < 0.99 * self.width[axis]:
                other._halve(axis)
        self._grow(other.first, other.first + other.sums.shape[1:] - 1)
        begin = other.first - self.first
        where = tuple(slice(b, b + size) for b, size in zip(begin.tolist(), other.sums.shape[1:], strict=True))
        self.sums[(slice(None), *where)] += other.sums
        self.squares += other.squares
        self._thin()

    @property
    def total(self) -> float:
        """How many transitions there are."""
        return float(self.sums[0].sum())

    def units(self, time: float, common: bool) -> Units:
        """Mean and standard deviation of all starts, one for each dimension or one in common."""
        d, total = self.dimension, self.total
        mean = self.sums[2 : 2 + d].reshape(d, -1).sum(axis=1) / total
        scale = np.sqrt(np.maximum(self.squares / total - np.square(mean - self.location), 0.0))
        if common:
            scale = np.full_like(scale, np.sqrt(np.mean(np.square(scale))))
        return Units(mean, scale, time)

    def cells(self, units: Units) -> Cells:
        """A cell for each box that is not empty, standardised."""
        d = self.dimension
        flat = self.sums.reshape(len(self.sums), -1)
        total, *means = flat[:, flat[0] > 0]
        parts = np.asarray(means) / total
        mean_y = parts[1 + d : 1 + 2 * d].T
        squares = parts[1 + 2 * d :].T.reshape(-1, d, d) - mean_y[:, :, None] * mean_y[:, None, :]
        scatter = total[:, None, None] * squares / (units.scale[:, None] * units.scale)
        return Cells(total, units.points(parts[1 : 1 + d].T), mean_y / units.scale, scatter, parts[0] / units.time)

    def _grow(self, low: Integers, high: Integers) -> None:
        """Make room for boxes from these indices to those."""
        sizes = np.asarray(self.sums.shape[1:])
        empty = not self.sums[0].any()
        first = low if empty else np.minimum(self.first, low)
        last = high if empty else np.maximum(self.first + sizes - 1, high)
        if not empty and np.all(first == self.first) and np.all(last == self.first + sizes - 1):
            return
        grown = np.zeros((len(self.sums), *(last - first + 1)))
        if not empty:
            begin = (self.first - first).tolist()
            where = tuple(slice(b, b + size) for b, size in zip(begin, sizes.tolist(), strict=True))
            grown[(slice(None), *where)] = self.sums
        self.first, self.sums = first, grown

    def _thin(self) -> None:
        """Where there are too many boxes, make two of them one."""
        while self.sums[0].size > self.room:
            self._halve(int(np.argmax(self.sums.shape[1:])))

    def _halve(self, axis: int) -> None:
        """Twice as wide along one axis: box k joins box ⌊k/2⌋."""
        at = (self.first[axis] + np.arange(self.sums.shape[1 + axis])) >> 1
        starts = np.flatnonzero(np.r_[True, np.diff(at) > 0])
        self.sums = np.add.reduceat(self.sums, starts, axis=1 + axis)
        self.first = self.first.copy()
        self.first[axis] >>= 1
        self.width = self.width.copy()
        self.width[axis] *= 2.0
