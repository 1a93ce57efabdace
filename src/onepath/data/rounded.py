"""Times that repeat because they were written with too few digits: what the step between them was."""

from typing import NamedTuple

import numpy as np

LEAST_REPEATED = 0.1
"""Share of rows that must repeat the time before: fewer may be rows that were written twice."""


class Step(NamedTuple):
    """A constant step, and its unit where dates tell one."""

    length: float
    unit: str | None

    @property
    def argument(self) -> str:
        return f"dt={self.length:.9g}" + (f", unit={self.unit!r}" if self.unit else "")

    @property
    def option(self) -> str:
        return f"--dt {self.length:.9g}" + (f" --time-unit {self.unit}" if self.unit else "")


def rounded_step(times: np.ndarray) -> Step | None:
    """The step of times (n,) that are evenly spaced but for rounding, and repeat; None of any others.

    Rounded to multiples of q, times that are less than q apart move by 0 or by q, and never far from a straight line.
    A time that all rows share with equally many others is no rounding: there may be several trajectories.
    """
    dated = times.dtype.kind in "mM"
    numbers = (times - times[0]) / np.timedelta64(1, "s") if dated else times - times[0]
    moved = np.diff(numbers)
    rounding = 8.0 * np.spacing(np.max(np.abs(times.astype(float)))) if not dated else 0.0
    still = moved <= rounding
    if still.mean() < LEAST_REPEATED or still.all() or np.any(moved < 0.0):
        return None
    unit = float(np.median(moved[~still]))
    alike = np.diff(np.flatnonzero(np.r_[True, ~still, True]))
    even = numbers[-1] / len(moved) * np.arange(len(times))
    if np.any(np.abs(moved[~still] - unit) > 1e-6 * unit + rounding) or np.all(alike == alike[0]):
        return None
    if np.any(np.abs(numbers - even) > 1.001 * unit):
        return None
    return Step(_simplest(float(numbers[-1]) / len(moved), unit / len(moved)), "second" if dated else None)


def _simplest(value: float, error: float) -> float:
    """The number of fewest digits within the error."""
    for digits in range(1, 16):
        if abs((short := float(f"{value:.{digits}g}")) - value) <= error:
            return short
    return value
