"""Residuals whitened by the law of each increment, and whether they are what they should be: independent and normal."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from onepath.diagnose.question import Answer, Floats, smallest
from onepath.transitions import Transitions

Law = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""(x, dt) → means (n, d) and covariances (n, d, d) of increments."""

MEAN, VARIANCE, SKEWNESS, KURTOSIS, SQUARES, TOGETHER = 0.15, 0.15, 0.3, 1.0, 0.1, 0.1
"""Deviations that are too small to matter, whatever their p-value: a smooth prior leaves such in long records."""

LEAST_PAIRS = 10
"""Pairs of steps that a correlation needs."""

LAGS = 5
"""Autocorrelations of squared residuals that are looked at."""


class Residuals(NamedTuple):
    """z = L⁻¹(y - m), L Lᵀ = V: independent standard normal numbers if the model is right, however σ depends on x."""

    z: Floats  # (n, d)
    u: Floats  # (n, d), standardised starts
    transitions: Transitions
    row: npt.NDArray[np.int64]  # (n,), transitions follow each other where it grows by one
    law: Law

    def apart(self, lag: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Indices of transitions `lag` steps apart without a gap between them."""
        early = np.flatnonzero(self.row[lag:] - self.row[:-lag] == lag)
        return early, early + lag


def whitened(transitions: Transitions, row: npt.NDArray[np.int64], law: Law) -> Residuals:
    x, y, dt = transitions
    mean, covariance = law(x, dt)
    z = np.linalg.solve(np.linalg.cholesky(covariance), (y - mean)[:, :, None])[:, :, 0]
    return Residuals(z, (x - x.mean(axis=0)) / x.std(axis=0), transitions, row, law)


def normal_tail(statistic: npt.ArrayLike) -> Floats:
    """ln P(|ξ| > |statistic|)."""
    return np.asarray(np.minimum(0.0, np.log(2.0) + stats.norm.logsf(np.abs(statistic))))


def autocorrelation(residuals: Residuals, z: Floats, lag: int) -> tuple[Floats, Floats]:
    """Correlation (d,) of z (n, d) at a lag, and its standard error, right for unequal variances too.

    Where hardly any steps follow each other, nothing is known of it: 0 ± 1.
    """
    early, late = residuals.apart(lag)
    products, scale = z[early] * z[late], np.mean(np.square(z), axis=0)
    n = len(early)
    if n < LEAST_PAIRS:
        return np.zeros(z.shape[1]), np.ones(z.shape[1])
    return products.sum(axis=0) / n / scale, np.sqrt(np.square(products).sum(axis=0)) / n / scale


def ask_residuals(residuals: Residuals) -> Answer:
    """Mean 0, variance 1, no skewness or excess kurtosis, squares without memory, and dimensions independent."""
    z, n = residuals.z, len(residuals.z)
    mean, variance = z.mean(axis=0), z.var(axis=0)
    skewness, kurtosis = stats.skew(z, axis=0), stats.kurtosis(z, axis=0)
    squares = np.square(z - mean)
    spread = np.sqrt(np.maximum(squares.var(axis=0), 2 * variance**2) / n)
    centred = squares - squares.mean(axis=0)
    memories = [autocorrelation(residuals, centred, lag) for lag in range(1, LAGS + 1)]
    memory, error = (np.stack(part) for part in zip(*memories, strict=True))
    # squares are skewed: their correlations' own error is at least that of independent ones
    error = np.maximum(error, 1 / np.sqrt(n))
    tests = {
        "their mean is not 0": (mean, 1 / np.sqrt(n), MEAN),
        "their variance is not 1": (variance - 1, spread, VARIANCE),
        "they are skewed": (skewness, np.sqrt(6 / n), SKEWNESS),
        "their tails are not normal": (kurtosis, np.sqrt(24 / n), KURTOSIS),
        "their size has a memory, as under a hidden volatility": (memory, error, SQUARES),
    }
    if z.shape[1] > 1:
        together = np.atleast_2d(np.corrcoef(z.T))[np.tril_indices(z.shape[1], -1)]
        tests["those of different dimensions are correlated (try noise='full')"] = (together, 1 / np.sqrt(n), TOGETHER)
    logs, sizes = {}, {}
    for name, (effect, error, floor) in tests.items():
        logs[name] = smallest(normal_tail(effect / error)) if np.max(np.abs(effect)) > floor else 0.0
        sizes[name] = float(np.max(np.abs(effect)) / floor)
    worst = min(logs, key=lambda name: logs[name])
    numbers = f"mean {_several(mean)}, variance {_several(variance)}, excess kurtosis {_several(kurtosis)}"
    return Answer(
        "residuals",
        sizes[worst],
        smallest(list(logs.values())),
        sizes[worst] > 1,
        f"Whitened residuals are standard normal ({numbers}).",
        f"Whitened residuals are not standard normal: {worst} ({numbers}).",
        specific=False,
    )


def _several(values: Floats) -> str:
    return ", ".join(f"{value:.2f}" for value in values)
