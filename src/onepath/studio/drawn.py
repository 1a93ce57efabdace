"""Numbers as the page takes them: rounded, and None where there are none."""

from typing import Any

import numpy as np

from onepath.model import Curve, Model
from onepath.numerics.arrays import Floats

BINS = 40
DIGITS, DIGITS_OF_TIME = 6, 15
"""Of numbers that are drawn, and of times, whose steps may be short beside them."""


def rounded(values: Floats) -> Any:
    """Nested lists of numbers with so many digits; what is not finite is None."""
    array = np.asarray(values, float)
    if array.ndim == 0:
        return float(f"{array:.{DIGITS}g}") if np.isfinite(array) else None
    return [rounded(part) for part in array]


def banded(curve: Curve, column: int) -> dict[str, Any]:
    mean, lower, upper = (rounded(part[:, column]) for part in curve)
    return {"mean": mean, "lower": lower, "upper": upper}


def histogram(values: Floats) -> dict[str, Any]:
    heights, edges = np.histogram(values, BINS, density=True)
    return {"edges": rounded(edges), "heights": rounded(heights)}


def times_of(model: Model, t: Floats) -> Floats:
    """As they are drawn: milliseconds since 1970 where there are dates."""
    dates = model.trajectory.dates(t)
    return t if dates is None else dates.astype("M8[ms]").astype(float)


def rounded_times(t: Floats) -> list[float]:
    """All digits that a step needs."""
    return [float(f"{value:.{DIGITS_OF_TIME}g}") for value in t]
