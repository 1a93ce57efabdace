"""Volatility: noise whose level changes with time, N(m, V e^{2ℓ}), ℓ a slow process about zero with a memory τ.

The level is hidden. A chain of few states stands for it, so that likelihood, the level's path given all of the data,
and what the past says of the next increment are sums.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv

from onepath.data.transitions import Transitions
from onepath.inference.disturbance.chain import backward, forward, unit_levels
from onepath.inference.disturbance.disturbance import (
    LOG_2PI,
    Banded,
    Disturbance,
    Drawn,
    Future,
    Steps,
    around,
    errors_of,
    whitened,
)
from onepath.inference.posterior.clustering import Level
from onepath.numerics.arrays import Floats

LEAST, MOST = 0.02, 3.0
"""Spread of ln σ."""

SHORTEST, LONGEST = 3.0, 0.5
"""Memory: in steps, and as a share of the record."""

PER_MEMORY = 16
"""Steps are added up to so many blocks in a memory while spread and memory are learned."""

SPREADS, MEMORIES = (0.15, 0.4, 1.0), (8.0, 32.0, 128.0, 512.0)
"""Of which the search begins with the most likely; memories in steps."""

LOOKED_AT = 50_000
"""Steps, of a long record its first ones, that spread and memory are learned from."""


@dataclass(frozen=True, eq=False)
class Volatility(Disturbance):
    """The level's spread, memory and path; spread 0 where none was found."""

    spread: float  # standard deviation of ℓ
    memory: float  # τ, in units of time
    constant: float = 0.0  # probability that σ is the same everywhere
    last: tuple[float, float] = (0.0, 0.0)  # mean and standard deviation of ℓ in the last step, given all before
    bands: dict[str, Banded] = field(default_factory=dict)  # of "spread" and "memory"

    name = "volatility"
    symbol = "e^ℓ dW"
    drawing = (("exp ℓₙ", "∘σ"),)
    price = 5.0

    @property
    def found(self) -> bool:
        return self.spread > 0.0

    @property
    def constant_noise(self) -> float | None:
        return self.constant

    @property
    def level(self) -> Level | None:
        return Level(4.0 * self.spread**2, self.memory, learned=True) if self.found else None

    def nothing(self) -> "Volatility":
        return replace(self, spread=0.0, last=(0.0, 0.0))

    @property
    def levels(self) -> Floats:
        return self.spread * unit_levels()

    def log_density(self, steps: Steps) -> Floats:
        white, volume = whitened(steps.rest, steps.covariance)
        square = np.square(white).sum(axis=1)
        constant = 0.5 * steps.dimension * LOG_2PI + volume
        if not self.found:
            return -0.5 * square - constant
        logs = given_levels(square, steps.dimension, self.levels)
        return forward(logs, steps.since, self.memory).log_density - constant

    def normal(self, steps: Steps) -> Floats:
        """In the same direction, as far out as is as probable given what the past says of the level."""
        white, _ = whitened(steps.rest, steps.covariance)
        if not self.found:
            return white
        square = np.maximum(np.square(white).sum(axis=1), np.finfo(float).tiny)
        before = forward(given_levels(square, steps.dimension, self.levels), steps.since, self.memory).before
        half, scaled = steps.dimension / 2, 0.5 * square[:, None] * np.exp(-2.0 * self.levels)
        below, above = ((before * tail(half, scaled)).sum(axis=1) for tail in (gammainc, gammaincc))
        normal = np.where(below < above, 2 * gammaincinv(half, below), 2 * gammainccinv(half, above))
        return white * np.sqrt(normal / square)[:, None]

    def path(self, steps: Steps) -> tuple[Floats, Floats, Floats]:
        """Of ℓ given all steps, by step: mean, standard deviation, and E e^{-2ℓ}, (n,) each."""
        if not self.found:
            return np.zeros(len(steps.dt)), np.zeros(len(steps.dt)), np.ones(len(steps.dt))
        white, _ = whitened(steps.rest, steps.covariance)
        logs = given_levels(np.square(white).sum(axis=1), steps.dimension, self.levels)
        smooth = backward(forward(logs, steps.since, self.memory), steps.since, self.memory)
        mean = smooth @ self.levels
        variance = smooth @ np.square(self.levels) - np.square(mean)
        return mean, np.sqrt(np.maximum(variance, 0.0)), smooth @ np.exp(-2.0 * self.levels)

    def as_gaussian(self, transitions: Transitions, steps: Steps) -> Transitions:
        """Increments as large as they would be at the level 0, which is the path's mean: m + r (E e^{-2ℓ})^½.

        That makes V's score what it is; drift is weighed a little less than would be best.
        """
        if not self.found:
            return transitions
        mean, _, precision = self.path(steps)
        factor = np.sqrt(precision) * np.exp(np.average(mean, weights=steps.weight))
        return replace(transitions, y=transitions.y + steps.rest * (factor - 1.0)[:, None])

    def learned(self, steps: Steps) -> "Volatility":
        """The most likely spread and memory, from the last ones or, at first, from several."""
        steps = Steps(*(part[:LOOKED_AT] for part in steps))
        step = float(np.median(steps.dt))
        if self.found:
            return self._searched(steps)
        each = [replace(self, spread=s, memory=m * step) for m in MEMORIES for s in SPREADS]
        return max(each, key=lambda one: one._likelihood(steps)(np.log([one.spread, one.memory])))._searched(steps)

    def _searched(self, steps: Steps) -> "Volatility":
        """From here on, with the likelihood of blocks as long as a small part of the memory."""
        likelihood = self._likelihood(steps)
        step, record = float(np.median(steps.dt)), float(steps.dt.sum())
        bounds = np.log([[LEAST, MOST], [SHORTEST * step, max(LONGEST * record, 2 * SHORTEST * step)]])
        start = np.clip(np.log([self.spread, self.memory]), *bounds.T)

        def misfit(at: Floats) -> float:
            return -likelihood(np.clip(at, *bounds.T))

        simplex = start + np.array([[0.0, 0.0], [0.4, 0.0], [0.0, 0.6]])
        options = {"initial_simplex": simplex, "xatol": 0.02, "fatol": 0.02, "maxfev": 40}
        found = minimize(misfit, start, method="Nelder-Mead", options=options)
        spread, memory = np.exp(np.clip(found.x, *bounds.T))
        return replace(self, spread=float(spread), memory=float(memory))

    def _likelihood(self, steps: Steps) -> Callable[[Floats], float]:
        """ln p of the steps at ln of spread and memory, added up to blocks over which the level hardly changes."""
        white, _ = whitened(steps.rest, steps.covariance)
        step = float(np.median(steps.dt))
        length = max(1, int(self.memory / step / PER_MEMORY))
        square, count, since = blocks(np.square(white).sum(axis=1), steps.weight, steps.since, length)

        def likelihood(at: Floats) -> float:
            spread, memory = np.exp(at)
            levels = spread * unit_levels()
            logs = -0.5 * square[:, None] * np.exp(-2.0 * levels) - steps.dimension * count[:, None] * levels
            return float(forward(logs, since, memory).log_density.sum())

        return likelihood

    def described(self, steps: Steps) -> "Volatility":
        if not self.found:
            return self
        likelihood, at = self._likelihood(steps), np.log([self.spread, self.memory])
        errors = errors_of(lambda change: likelihood(at + change), 2, step=0.15)
        white, _ = whitened(steps.rest, steps.covariance)
        logs = given_levels(np.square(white).sum(axis=1), steps.dimension, self.levels)
        after = forward(logs, steps.since, self.memory).after[-1]
        mean = float(after @ self.levels)
        deviation = float(np.sqrt(max(after @ np.square(self.levels) - mean**2, 0.0)))
        bands = {"spread": around(self.spread, errors[0]), "memory": around(self.memory, errors[1])}
        return replace(self, last=(mean, deviation), bands=bands)

    def drawn(self, rng: np.random.Generator, future: Future) -> Drawn:
        """The level wanders as an OU process does."""
        stretch = np.ones((future.paths, future.steps))
        if not self.found:
            return Drawn(stretch)
        left = float(np.exp(-future.dt / self.memory))
        mean, deviation = self.last if future.onwards else (0.0, self.spread)
        level = mean + deviation * rng.standard_normal(future.paths)
        for k in range(future.steps):
            if k or future.onwards:
                level = left * level + self.spread * np.sqrt(1 - left**2) * rng.standard_normal(future.paths)
            stretch[:, k] = np.exp(level)
        return Drawn(stretch)


def given_levels(square: Floats, dimension: int, levels: Floats) -> Floats:
    """ln p of whitened increments of these squares given each level, up to what does not depend on it: (n, states)."""
    return -0.5 * square[:, None] * np.exp(-2.0 * levels) - dimension * levels


def blocks(square: Floats, weight: Floats, since: Floats, length: int) -> tuple[Floats, Floats, Floats]:
    """Weighted squares and weights summed over so many steps of one record, and the time between blocks' beginnings."""
    fresh = ~np.isfinite(since)
    record = np.cumsum(fresh)
    n = np.arange(len(square))
    first = np.maximum.accumulate(np.where(fresh, n, 0))
    begins = fresh | ((n - first) % length == 0)
    which = np.cumsum(begins) - 1
    time = np.cumsum(np.where(fresh, 0.0, since))
    at = np.flatnonzero(begins)
    apart = np.full(len(at), np.inf)
    apart[1:] = np.where(record[at][1:] == record[at][:-1], np.diff(time[at]), np.inf)
    squares, counts = (np.bincount(which, part).astype(float) for part in (weight * square, weight))
    return squares, counts, apart
