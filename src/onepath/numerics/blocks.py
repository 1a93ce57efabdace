"""Rows in blocks of one size, so that programs know nothing of how many rows there are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onepath.numerics.arrays import Floats

ROWS = {1: 128, 2: 256}
"""Rows of a block by dimension, above two dimensions as in two."""


@dataclass(frozen=True)
class Blocks:
    """How so many rows are cut into blocks of one size; what is missing in the last one is made up for."""

    count: int
    size: int

    @classmethod
    def of(cls, count: int, dimension: int) -> "Blocks":
        return cls(count, ROWS[min(dimension, 2)])

    @property
    def room(self) -> int:
        """Rows of all blocks together."""
        return -(-self.count // self.size) * self.size

    def cut(self, rows: Floats) -> list[Floats]:
        """The blocks, the last one padded."""
        begins = range(0, self.count, self.size)
        return [padded_rows(np.asarray(rows)[begin : begin + self.size], self.size) for begin in begins]

    def joined(self, parts: Sequence[Floats], axis: int = 0) -> Floats:
        """The way back: what was computed for each block, without what was made up."""
        whole = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=axis)
        return whole if whole.shape[axis] == self.count else whole[(slice(None),) * axis + (slice(self.count),)]


def padded_rows(rows: Floats, size: int) -> Floats:
    """The first row repeated at the end."""
    return rows if len(rows) == size else np.concatenate([rows, np.repeat(rows[:1], size - len(rows), axis=0)])
