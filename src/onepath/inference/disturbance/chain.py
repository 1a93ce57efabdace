"""A hidden level ℓ(t) that wanders about zero: a chain of few states with an OU process's mean, variance and memory.

It counts N coins, of which each is turned now and then: ℓ = s (2k - N) / √N. Given ℓ now, its mean after a time Δ is
ℓ e^{-Δ/τ} and its stationary variance s², exactly; with many coins it is that process. Sums over its states are exact.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from onepath.numerics.arrays import Floats, Integers

COINS = 48
FINE = 50.0
"""Durations whose logarithms differ by less than one over this share a matrix."""


class Passed(NamedTuple):
    """What the past says of each step's state beforehand (n, states) and afterwards, and ln p of each observation."""

    before: Floats
    after: Floats
    log_density: Floats


def unit_levels() -> Floats:
    """(states,), for s = 1."""
    return (2.0 * np.arange(COINS + 1) - COINS) / np.sqrt(COINS)


def stationary() -> Floats:
    """How probable each state is, (states,)."""
    k = np.arange(COINS + 1)
    return np.asarray(np.exp(gammaln(COINS + 1) - gammaln(k + 1) - gammaln(COINS - k + 1) - COINS * np.log(2.0)))


def moved(left: float) -> Floats:
    """Transition probabilities (states, states) over a time after which e^{-Δ/τ} of a level is left (Rouwenhorst)."""
    stay = (1.0 + left) / 2
    matrix = np.ones((1, 1))
    for size in range(1, COINS + 1):
        larger = np.zeros((size + 1, size + 1))
        larger[:-1, :-1] += stay * matrix
        larger[:-1, 1:] += (1 - stay) * matrix
        larger[1:, :-1] += (1 - stay) * matrix
        larger[1:, 1:] += stay * matrix
        larger[1:-1] /= 2
        matrix = larger
    return matrix


def matrices(since: Floats, memory: float) -> tuple[list[Floats], Integers]:
    """Matrices of all durations, and which of them each step has; -1 where nothing is known of the past."""
    finite = np.isfinite(since)
    shares = np.where(finite, since, memory) / memory
    known = shares[finite]
    if len(known) == 0 or known.max() - known.min() <= 1e-6 * known.max():
        return [moved(float(np.exp(-known.mean()))) if len(known) else np.eye(COINS + 1)], np.where(finite, 0, -1)
    keys, which = np.unique(np.round(FINE * np.log(shares)), return_inverse=True)
    return [moved(float(np.exp(-np.exp(key / FINE)))) for key in keys], np.where(finite, which, -1)


def forward(logs: Floats, since: Floats, memory: float) -> Passed:
    """From ln p of each observation given each state, (n, states)."""
    each, which = matrices(since, memory)
    highest = logs.max(axis=1)
    chances = np.exp(logs - highest[:, None])
    before, after, total = np.empty_like(chances), np.empty_like(chances), np.empty(len(logs))
    at = start = stationary()
    for i, k in enumerate(which.tolist()):
        expected = at @ each[k] if k >= 0 else start
        at = expected * chances[i]
        total[i] = scale = at.sum()
        at = at / scale
        before[i], after[i] = expected, at
    return Passed(before, after, np.log(total) + highest)


def backward(passed: Passed, since: Floats, memory: float) -> Floats:
    """How probable each state is given all observations, (n, states)."""
    each, which = matrices(since, memory)
    smooth = passed.after.copy()
    ratio = np.ones(smooth.shape[1])
    for i in range(len(smooth) - 2, -1, -1):
        k = which[i + 1]
        if k < 0:
            continue
        ratio = smooth[i + 1] / np.maximum(passed.before[i + 1], np.finfo(float).tiny)
        smooth[i] = passed.after[i] * (each[k] @ ratio)
        smooth[i] /= smooth[i].sum()
    return smooth
