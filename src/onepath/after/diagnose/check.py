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
    budget: float | None = 1.0  # its share of the false alarms; None if it explains another's p-value, and is no test
    within: tuple[float, float] | None = None  # of the diffusion shown, where it is if readings are not quite the state


class CheckResult(NamedTuple):
    """An answer beside all others.

    `p_value` is corrected for the number of questions (Holm); `flagged` if it is small and the effect matters.
    """

    name: str  #: of the question
    verdict: str  #: the answer in a sentence
    statistic: float  #: what was measured
    p_value: float  #: corrected for the number of questions; NaN where none is made
    flagged: bool  #: whether it speaks against the model


def holm(checks: list[Check]) -> list[float]:
    """Holm's corrected p-values, a test of a larger budget being corrected less; NaN where there is none.

    The p-values of explanations are corrected as those of the test that they explain, which has the same logarithm.
    """
    tests = [check for check in checks if check.log_p is not None and check.budget is not None]
    tests.sort(key=lambda check: (check.log_p or 0.0) - np.log(check.budget or 1.0))
    left, largest = sum(check.budget or 0.0 for check in tests), 0.0
    corrected: dict[float | None, float] = {}
    for check in tests:
        largest = max(largest, min(1.0, float(np.exp(check.log_p or 0.0)) * left / (check.budget or 1.0)))
        corrected.setdefault(check.log_p, largest)
        left -= check.budget or 0.0
    return [np.nan if check.log_p is None else corrected.get(check.log_p, np.nan) for check in checks]


def smallest(logs: npt.ArrayLike) -> float:
    """Bonferroni's logarithm of a p-value for the smallest of several."""
    values = np.asarray(logs, float)
    return float(min(0.0, values.min() + np.log(values.size)))
