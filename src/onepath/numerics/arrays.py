"""NumPy arrays by what they hold, and some of many that are spread evenly."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def evenly(count: int, most: int) -> Integers:
    """Indices of at most so many of `count` things, spread evenly, the first and the last among them."""
    return np.linspace(0, count - 1, min(count, most)).astype(np.int64)
