"""One check of a fit, its result, and the correction for having made several."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

LEVEL = 0.05
"""How often, at most, a right model is called wrong by any of the questions."""


class Check(NamedTuple):
    """An answer, numbers first: what was measured, how unlikely that is under the model, whether it is large enough.

    `log_p` is the natural logarithm of the p-value, corrected for tests within the question; None where none is made.
    """

    name: str
    statistic: float
    log_p: float | None
    matters: bool
    fine: str  # what to say if it is not flagged
    fault: str  # and if it is
    specific: bool  # whether the fault says what is wrong, or only that something is


class CheckResult(NamedTuple):
    """An answer beside all others.

    `p_value` is corrected for the number of questions (Holm); `flagged` if it is small and the effect matters.
    """

    name: str
    verdict: str
    statistic: float
    p_value: float
    flagged: bool


def holm(logs: list[float | None]) -> list[float]:
    """Holm's corrected p-values from logarithms; NaN where there is none."""
    made = [k for k, value in enumerate(logs) if value is not None]
    order = sorted(made, key=lambda k: logs[k] or 0.0)
    corrected, largest = [np.nan] * len(logs), 0.0
    for rank, k in enumerate(order):
        largest = max(largest, min(1.0, float(np.exp(logs[k] or 0.0)) * (len(made) - rank)))
        corrected[k] = largest
    return corrected


def smallest(logs: npt.ArrayLike) -> float:
    """Bonferroni's logarithm of a p-value for the smallest of several."""
    values = np.asarray(logs, float)
    return float(min(0.0, values.min() + np.log(values.size)))
