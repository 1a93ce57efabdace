"""Features of several functions in one array: which of them are padding."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Layout(NamedTuple):
    """For each unknown function, its features that are no padding, among as many as all have, padding included."""

    columns: list[np.ndarray]
    width: int

    def within(self, functions: Sequence[int]) -> np.ndarray:
        """Where these functions' weights stand among all weights raveled."""
        return np.concatenate([f * self.width + self.columns[f] for f in functions])

    def padded(self, weights: np.ndarray) -> np.ndarray:
        """Weights (functions, p) without padding, in their places (functions, width)."""
        whole = np.zeros((len(self.columns), self.width))
        for f, own in enumerate(self.columns):
            whole[f, own] = weights[f, : len(own)]
        return whole

    def compact(self, weights: np.ndarray) -> np.ndarray:
        """The way back."""
        kept = np.zeros((len(self.columns), max(map(len, self.columns))))
        for f, own in enumerate(self.columns):
            kept[f, : len(own)] = weights[f, own]
        return kept
