"""Is this a series of differences? Those of a series that stays where it is take back what they have given.

Sums of m differences are one difference over m rows, which does not grow: they vary far less than those of m
independent rows. Of a path, they vary more. Taken for a state, such a series has a drift near -1/Δt.
"""

import numpy as np

from onepath.after.diagnose.check import Check
from onepath.after.diagnose.readings import CERTAIN
from onepath.after.diagnose.residuals import LEAST_PAIRS, Residuals
from onepath.numerics.arrays import Floats

LONGEST, WINDOWS = 100, 50
"""Rows that are added up, at most, and so many times as many there must be."""

SURELY, SMALLER = 5.0, 0.6
"""Standard errors by which sums vary less than those of independent rows, and the share that they vary by at most."""

FORGOTTEN = 3.0
"""Standard errors within which correlations with the next five rows are none."""


def ask_differences(residuals: Residuals) -> Check:
    """Correlations with the next row, and the variance of sums of rows over that of independent ones."""
    x = residuals.transitions.x - residuals.mean(residuals.transitions.x)
    n, steps = len(x), int(np.clip(len(x) // WINDOWS, 5, LONGEST))
    correlations = np.stack([_correlation(residuals, x, lag) for lag in range(1, 6)])  # (5, d)
    ratio = _ratio(residuals, x, steps)
    error = np.sqrt(4 * steps / (3 * n))
    taken_back = (ratio < SMALLER) & ((ratio - 1) / error < -SURELY) & (correlations[0] < 2 / np.sqrt(n))
    forgotten = np.all(np.abs(correlations) < FORGOTTEN / np.sqrt(n), axis=0) & (n > WINDOWS * 5)
    wrong = taken_back | forgotten
    k = int(np.argmax(wrong))
    first, slope = float(correlations[0, k]), float(correlations[0, k] - 1)
    seen = f"rows correlate by {first:.2f} with the next, so that the drift is near {slope:.2g}/Δt"
    cumulated = "learn from the series that they are differences of, such as x.cumsum()"
    if taken_back[k]:
        fault = (
            f"A series of differences: {seen}, and sums of {steps} rows vary by {ratio[k]:.2f} of what those of "
            f"independent rows would, as differences of a series that stays where it is: {cumulated}."
        )
    else:
        fault = (
            f"Rows do not remember each other: {seen}. They are differences, as returns are, or a state that is read "
            f"far too seldom. Of differences, {cumulated}; of a state, read more often."
        )
    return Check(
        "differences",
        first,
        CERTAIN if wrong.any() else 0.0,
        bool(wrong.any()),
        f"Not a series of differences: rows correlate by {first:.2f} with the next.",
        fault,
        specific=True,
        budget=1.0 if wrong.any() else None,
    )


def _correlation(residuals: Residuals, x: Floats, lag: int) -> Floats:
    early, late = residuals.apart(lag)
    if len(early) < LEAST_PAIRS:
        return np.ones(x.shape[1])
    return np.asarray((x[early] * x[late]).mean(axis=0) / np.square(x).mean(axis=0))


def _ratio(residuals: Residuals, x: Floats, steps: int) -> Floats:
    """Variance of sums of so many rows that follow each other, over so many times that of a row."""
    early, late = residuals.apart(steps)
    if len(early) < LEAST_PAIRS:
        return np.ones(x.shape[1])
    sums = np.cumsum(x, axis=0)
    return np.asarray(np.square(sums[late] - sums[early]).mean(axis=0) / np.square(x).mean(axis=0) / steps)
