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

    Rounded to multiples of q, times less than q apart move by 0 or q. A time that all rows share with equally many
    others is no rounding: there may be several trajectories.
    """
    dated = times.dtype.kind in "mM"
    numbers = (times - times[0]) / np.timedelta64(1, "s") if dated else times - times[0]
    moved = np.diff(numbers)
    digits = 0.0 if dated else 8.0 * float(np.spacing(np.max(np.abs(times.astype(float)))))
    still = moved <= digits
    if np.any(moved < 0.0) or still.mean() < LEAST_REPEATED or still.all():
        return None
    q = float(np.median(moved[~still]))
    alike = np.diff(np.flatnonzero(np.r_[True, ~still, True]))
    if np.any(np.abs(moved[~still] - q) > 1e-6 * q + digits) or np.all(alike == alike[0]):
        return None
    length = _simplest(numbers, q)
    return None if length is None else Step(length, "second" if dated else None)


def _simplest(times: np.ndarray, q: float) -> float | None:
    """The step of fewest digits whose multiples, rounded to q, may be the times (n,); or nearly, where they are few."""
    rows = np.arange(len(times)) - 0.5 * (len(times) - 1)
    slope, chord = float(rows @ times / (rows @ rows)), float(times[-1]) / (len(times) - 1)
    steps = [float(f"{each:.{digits}g}") for each in (slope, chord) for digits in range(1, 10)]
    apart = [float(np.ptp(times - step * rows)) for step in steps]
    return next(
        (step for most in (1.001, 2.0) for step, each in zip(steps, apart, strict=True) if each <= most * q), None
    )
