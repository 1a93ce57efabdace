"""Numbers that stand for missing values, such as 999 or -9999, and were not said to."""

import re

import numpy as np

from onepath.numerics.arrays import Floats
from onepath.numerics.caution import caution

LEAST_TIMES = 3
"""Times that a number must occur to be taken for such a mark."""

FAR, FAR_IF_USUAL = 10.0, 1.0
"""How far it lies from all other values, in ranges of those; the second if it is written as such marks usually are."""

USUAL = re.compile(r"-?(9{2,}(\.9+)?|9\.9+|1e\+[1-9]\d|32768)")


def check_marks(x: Floats, names: tuple[str, ...]) -> None:
    """Warn of columns of x (n, d) in which a number seems to stand for missing values."""
    for name, column in zip(names, x.T, strict=True):
        marks, others = _marks_of(column)
        if marks:
            which = " and ".join(f"{mark:.9g} ({np.sum(column == mark)} times)" for mark in marks)
            caution(
                f"{name} has {which}, far from all its other values ({others[0]:.4g} to {others[1]:.4g}), as if that "
                f"stood for missing values. If so, pass NaN there, or --na {marks[0]:.9g} to the command"
            )


def _marks_of(column: Floats) -> tuple[list[float], tuple[float, float]]:
    """Marks at either end of a column, the outermost first, and between which values the others lie."""
    marks: list[float] = []
    left = column[~np.isnan(column)] if np.isnan(column.min()) else column
    while True:
        low, high = float(left.min()), float(left.max())
        for mark in (high, low):
            here = left == mark
            if np.count_nonzero(here) >= LEAST_TIMES and _is_mark(mark, left[~here]):
                marks.append(mark)
                left = left[~here]
                break
        else:
            return marks, (low, high)


def _is_mark(mark: float, others: Floats) -> bool:
    """Whether it lies far outside the others, of which there are more, and which differ."""
    if len(others) < 2 or (spread := float(np.ptp(others))) == 0.0:
        return False
    away = min(abs(mark - float(others.min())), abs(mark - float(others.max())))
    return away > (FAR_IF_USUAL if USUAL.fullmatch(f"{mark:.9g}") else FAR) * spread
