"""Residuals whitened by the law of each increment, and whether they are what they should be: independent and normal."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onepath.after.diagnose.check import Check, smallest
from onepath.after.diagnose.sample import Sample, Sums, Whole, sums_of
from onepath.data.transitions import Transitions, chunks_of, mean_of
from onepath.inference.disturbance.disturbance import Disturbance, steps_of
from onepath.numerics import chances
from onepath.numerics.arrays import Floats, Integers
from onepath.numerics.linalg import lower_roots

Increments = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""(x, dt) → means (n, d) and covariances (n, d, d) of increments."""

MEAN, VARIANCE, SKEWNESS, KURTOSIS, SQUARES, TOGETHER = 0.15, 0.15, 0.3, 1.0, 0.1, 0.1
"""Deviations that are too small to matter, whatever their p-value: a smooth prior leaves such in long records."""

BALANCE = 2e-3
"""Share of the increments' variance in the drift's imbalance that is too small to matter."""

LEAST_PAIRS = 10
"""Pairs of steps that a correlation needs."""

LAGS = 5
"""Autocorrelations of squared residuals that are looked at."""


class Residuals(NamedTuple):
    """z = L⁻¹(y - m), L Lᵀ = V: independent standard normal numbers if the model is right, however σ depends on x.

    A residual counts as often as its transition does.
    """

    z: Floats  # (n, d)
    u: Floats  # (n, d), standardised starts
    transitions: Transitions
    row: Integers  # (n,), transitions follow each other where it grows by one
    law: Increments
    expected: Floats  # (n, d), the mean of each increment by the law
    covariance: Floats  # (n, d, d), likewise
    sample: Sample | None = None  # where these are some of a longer record
    taken: Floats | None = None  # (n + 1, d), what a disturbance added to all increments before each

    @property
    def weight(self) -> Floats:
        return self.transitions.weight

    @property
    def total(self) -> float:
        """How many residuals there are, each counted as often as it counts."""
        return self.transitions.total

    @property
    def elapsed(self) -> Floats:
        """(n,), the share of the record, as it counts, that is over when a transition begins."""
        if self.transitions.alike:
            return np.arange(len(self.z)) / len(self.z)
        return (np.cumsum(self.weight) - self.weight) / self.total

    @property
    def sums(self) -> Sums:
        """Over all of the record where that was possible, over these residuals elsewhere."""
        if self.sample is not None and self.sample.whole is not None:
            return self.sample.whole.sums
        return sums_of(self.transitions, self.expected, self.covariance)

    def mean(self, values: Floats) -> Floats:
        """Mean over residuals: (n, k) → (k,)."""
        return mean_of(self.transitions, values)

    def weighted(self, values: Floats) -> Floats:
        """Rows multiplied by the roots of their weights: what a sum of squares or a regression is made of."""
        return values if self.transitions.alike else values * np.sqrt(self.weight)[:, None]

    def taken_over(self, begin: Integers, end: Integers) -> Floats | float:
        """What a disturbance added to increments between these steps."""
        return 0.0 if self.taken is None else self.taken[end] - self.taken[begin]

    def apart(self, lag: int) -> tuple[Integers, Integers]:
        """Indices of transitions `lag` steps apart without a gap between them."""
        early = np.flatnonzero(self.row[lag:] - self.row[:-lag] == lag)
        return early, early + lag


def whitened(transitions: Transitions, row: Integers, law: Increments, sample: Sample | None = None) -> Residuals:
    mean, covariance = law(transitions.points, transitions.dt)
    location = mean_of(transitions, transitions.x)
    scale = np.sqrt(mean_of(transitions, np.square(transitions.x - location)))
    u, z = (transitions.x - location) / scale, _whitened(transitions.y - mean, covariance)
    return Residuals(z, u, transitions, row, law, mean, covariance, sample)


def _whitened(rest: Floats, covariance: Floats) -> Floats:
    """L⁻¹ r for r (n, d) and L Lᵀ (n, d, d)."""
    if rest.shape[1] == 1:
        return rest / np.sqrt(covariance[:, :, 0])
    return np.asarray(np.linalg.solve(lower_roots(covariance), rest[:, :, None])[:, :, 0], float)


def freed(residuals: Residuals, disturbance: Disturbance, since: Floats) -> Residuals:
    """As if increments were m + L z, where z are the normal numbers that the disturbance says they are.

    Every question is then asked of what is left once it has had its say.
    """
    transitions, mean, covariance = residuals.transitions, residuals.expected, residuals.covariance
    z = disturbance.normal(steps_of(transitions, since, mean, covariance))
    y = mean + np.einsum("nij,nj->ni", lower_roots(covariance), z)
    taken = np.concatenate([np.zeros_like(y[:1]), np.cumsum(transitions.y - y, axis=0)])
    sample = residuals.sample if residuals.sample is None else residuals.sample._replace(whole=None)
    return residuals._replace(z=z, transitions=replace(transitions, y=y), taken=taken, sample=sample)


def whole_of(transitions: Transitions, law: Increments, most: int) -> Whole:
    """Sums over all transitions, and residuals added up over at most so many blocks, in one pass."""
    block = 1
    while len(transitions) > most * block:
        block *= 2
    series, sums = [], []
    for chunk in chunks_of(transitions):
        mean, covariance = law(chunk.points, chunk.dt)
        sums.append(sums_of(chunk, mean, covariance))
        z = _whitened(chunk.y - mean, covariance) * np.sqrt(chunk.weight)[:, None]
        used = len(z) // block * block
        series.append(z[:used].reshape(-1, block, z.shape[1]).sum(axis=1) / np.sqrt(block))
    return Whole(Sums(*(sum(parts) for parts in zip(*sums, strict=True))), np.concatenate(series), block)


def normal_tail(statistic: npt.ArrayLike) -> Floats:
    """ln P(|ξ| > |statistic|)."""
    return np.asarray(np.minimum(0.0, np.log(2.0) + chances.normal(np.abs(statistic))))


def autocorrelation(residuals: Residuals, z: Floats, lag: int) -> tuple[Floats, Floats]:
    """Correlation (d,) of z (n, d) at a lag, and its standard error, right for unequal variances too.

    Where hardly any steps follow each other, nothing is known of it: 0 ± 1.
    """
    early, late = residuals.apart(lag)
    if len(early) < LEAST_PAIRS:
        return np.zeros(z.shape[1]), np.ones(z.shape[1])
    scale, weight = residuals.mean(np.square(z)), np.sqrt(residuals.weight[early] * residuals.weight[late])
    products, total = z[early] * z[late] * weight[:, None], weight.sum()
    return products.sum(axis=0) / total / scale, np.sqrt(np.square(products).sum(axis=0)) / total / scale


def ask_balance(residuals: Residuals) -> Check:
    """Over the record, the drift must add up to the way from its beginning to its end: Σ (y - m) ~ N(0, Σ V).

    Residuals of mean 0 do not say so: where noise is large they count little, and drift is mostly elsewhere.
    """
    gap, variance, drifts, time, total = residuals.sums
    scores = gap / np.sqrt(variance)
    k = int(np.argmax(np.abs(scores)))
    share = float(np.square(scores[k]) / total)
    drift = float(drifts[k]) / time
    told = f"the mean drift is {drift:.3g} per unit of time, and the data went {drift + gap[k] / time:.3g}"
    return Check(
        "balance",
        float(scores[k]),
        smallest(normal_tail(scores)),
        share > BALANCE,
        f"The drift adds up: {told}.",
        f"The drift does not add up: {told}, {abs(scores[k]):.1f} standard errors apart. Noise is larger where large "
        "increments happened, so they count little; if most go one way, as jumps may, the drift leaves them out.",
        specific=False,
    )


def ask_residuals(residuals: Residuals) -> Check:
    """Mean 0, variance 1, no skewness or excess kurtosis, squares without memory, and dimensions independent."""
    z, n, average = residuals.z, residuals.total, residuals.mean
    mean = average(z)
    squares = np.square(z - mean)
    variance = average(squares)
    centred = squares - variance
    skewness, kurtosis = average((z - mean) ** 3) / variance**1.5, average(np.square(squares)) / variance**2 - 3
    spread = np.sqrt(np.maximum(average(np.square(centred)), 2 * variance**2) / n)
    memories = [autocorrelation(residuals, centred, lag) for lag in range(1, LAGS + 1)]
    memory, error = (np.stack(part) for part in zip(*memories, strict=True))
    # squares are skewed: their correlations' own error is at least that of independent ones
    error = np.maximum(error, 1 / np.sqrt(n))
    tests = {
        "their mean is not 0": (mean, 1 / np.sqrt(n), MEAN),
        "their variance is not 1": (variance - 1, spread, VARIANCE),
        "they are skewed": (skewness, np.sqrt(6 / n), SKEWNESS),
        "their tails are not normal (try tails='learn')": (kurtosis, np.sqrt(24 / n), KURTOSIS),
        "their size has a memory, as under a hidden volatility (try volatility='learn')": (memory, error, SQUARES),
    }
    if z.shape[1] > 1:
        first, second = np.tril_indices(z.shape[1], -1)
        products = average((z - mean)[:, first] * (z - mean)[:, second])
        together = products / np.sqrt(variance[first] * variance[second])
        tests["those of different dimensions are correlated (try noise='full')"] = (together, 1 / np.sqrt(n), TOGETHER)
    logs, sizes = {}, {}
    for name, (effect, error, floor) in tests.items():
        logs[name] = smallest(normal_tail(effect / error)) if np.max(np.abs(effect)) > floor else 0.0
        sizes[name] = float(np.max(np.abs(effect)) / floor)
    worst = min(logs, key=lambda name: logs[name])
    numbers = f"mean {_several(mean)}, variance {_several(variance)}, excess kurtosis {_several(kurtosis)}"
    return Check(
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
