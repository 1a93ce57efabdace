"""Heavy tails: increments are Student's, N(m, V / τ) with ν τ ~ χ²(ν); V is their scale, V ν / (ν - 2) their variance.

Given ν, increments N(m, V) of the weights ν / (ν + z²), z² = rᵀV⁻¹r, have the same score in V, and nearly so in m.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betainc, gammainccinv, gammaincinv, gammaln, polygamma

from onepath.data.transitions import Transitions
from onepath.inference.disturbance.disturbance import (
    Banded,
    Disturbance,
    Drawn,
    Future,
    Steps,
    around,
    errors_of,
    reweighted,
    whitened,
)
from onepath.inference.disturbance.local import local_steps
from onepath.numerics.arrays import Floats

LEAST, MOST = 1.0, 200.0
"""Degrees of freedom: Cauchy's, and what no data tell from normal."""

SCALINGS = 30
"""Steps to the scale that is most likely for given degrees of freedom."""


@dataclass(frozen=True, eq=False)
class Tails(Disturbance):
    """Student's law in d dimensions; normal, where ν is infinite."""

    freedom: float  # ν
    dimension: int
    fixed: bool = False  # whether ν was given
    bands: dict[str, Banded] = field(default_factory=dict)  # of "freedom"

    name = "tails"
    symbol = "dL"
    drawing = (("1/√τₙ", "∘σ"),)
    price = 3.0

    @property
    def given(self) -> bool:
        return self.fixed

    @property
    def found(self) -> bool:
        return bool(np.isfinite(self.freedom))

    def nothing(self) -> "Tails":
        return replace(self, freedom=np.inf)

    def log_density(self, steps: Steps) -> Floats:
        white, volume = whitened(steps.rest, steps.covariance)
        return log_student(np.square(white).sum(axis=1), self.freedom, self.dimension) - volume

    def normal(self, steps: Steps) -> Floats:
        """In the same direction, as far out as is as probable: |z|² has a χ² law where it had an F law."""
        white, _ = whitened(steps.rest, steps.covariance)
        if not self.found:
            return white
        square = np.maximum(np.square(white).sum(axis=1), np.finfo(float).tiny)
        return white * np.sqrt(self._as_normal(square) / square)[:, None]

    def _as_normal(self, square: Floats) -> Floats:
        nu, d = self.freedom, self.dimension
        below = betainc(d / 2, nu / 2, square / (nu + square))
        above = betainc(nu / 2, d / 2, nu / (nu + square))
        return np.where(below < above, 2 * gammaincinv(d / 2, below), 2 * gammainccinv(d / 2, above))

    def as_gaussian(self, transitions: Transitions, steps: Steps) -> Transitions:
        if not self.found:
            return transitions
        white, _ = whitened(steps.rest, steps.covariance)
        return reweighted(transitions, self.freedom / (self.freedom + np.square(white).sum(axis=1)))

    def learned(self, steps: Steps) -> "Tails":
        """The most likely ν, where V may be off by a factor, as it is until both are found."""
        if self.fixed:
            return self
        white, _ = whitened(steps.rest, steps.covariance)
        square = np.square(white).sum(axis=1)

        def misfit(logarithm: float) -> float:
            freedom = float(np.exp(logarithm))
            scale = scale_of(square, freedom, self.dimension, steps.weight)
            each = log_student(square / scale, freedom, self.dimension) - 0.5 * self.dimension * np.log(scale)
            return -float(steps.weight @ each)

        best = minimize_scalar(misfit, bounds=(np.log(LEAST), np.log(MOST)), method="bounded", options={"xatol": 1e-3})
        freedom = float(np.exp(best.x))
        return replace(self, freedom=freedom)

    def described(self, steps: Steps) -> "Tails":
        if not self.found or self.fixed:
            return self
        white, _ = whitened(steps.rest, steps.covariance)
        square = np.square(white).sum(axis=1)

        def likelihood(change: Floats) -> float:
            """With so many more degrees of freedom, and a scale so much larger, in logarithms."""
            freedom, scale = self.freedom * np.exp(change[0]), np.exp(change[1])
            each = log_student(square / scale, freedom, self.dimension) - 0.5 * self.dimension * change[1]
            return float(steps.weight @ each)

        return replace(self, bands={"freedom": around(self.freedom, float(errors_of(likelihood, 2)[0]))})

    @property
    def shares(self) -> tuple[float, float]:
        """Fisher's information about a mean is (ν + d) / (ν + d + 2) of a normal law's, about a scale's logarithm
        (ν + d - 1) / (ν + d + 2), less what it shares with ν where that is learned; the weights, on average
        ν / (ν + d), are what the engine takes it to be."""
        if not self.found:
            return 1.0, 1.0
        nu, d = self.freedom, self.dimension
        taken = nu / (nu + d)
        left = 1.0 if self.fixed else 1.0 - shared(nu, d)
        return (nu + d) / (nu + d + 2) / taken, left * (nu + d - 1) / (nu + d + 2) / taken

    def drawn(self, rng: np.random.Generator, future: Future) -> Drawn:
        shape = future.paths, future.steps
        return Drawn(np.sqrt(self.freedom / rng.chisquare(self.freedom, shape)) if self.found else np.ones(shape))


def shared(freedom: float, dimension: int) -> float:
    """Squared correlation of the scores of ν and of the scale's logarithm."""
    nu, d = freedom, dimension
    scale, both = 2 * d * nu / (nu + d + 2), 2 * d / ((nu + d) * (nu + d + 2))
    own = (polygamma(1, nu / 2) - polygamma(1, (nu + d) / 2)) / 4 - d * (nu + d + 4) / (
        2 * nu * (nu + d) * (nu + d + 2)
    )
    return float(both**2 / (scale * own))


def first_tails(freedom: float | None, transitions: Transitions, plain: Steps) -> tuple[Tails, Transitions]:
    """By the robust size of increments that start nearby, which far ones have not spoiled."""
    d = transitions.x.shape[1]
    local = local_steps(transitions, plain.since)
    tails = Tails(freedom or MOST, d, freedom is not None).learned(local)
    white, _ = whitened(local.rest, local.covariance)
    scale = scale_of(np.square(white).sum(axis=1), tails.freedom, d, local.weight)
    return tails, tails.as_gaussian(transitions, local._replace(covariance=scale * local.covariance))


def log_student(square: Floats, freedom: float, dimension: int) -> Floats:
    """ln of Student's density at |z|² (n,), with unit scale."""
    if not np.isfinite(freedom):
        return np.asarray(-0.5 * square - 0.5 * dimension * np.log(2 * np.pi))
    above = (freedom + dimension) / 2
    constant = gammaln(above) - gammaln(freedom / 2) - 0.5 * dimension * np.log(freedom * np.pi)
    return np.asarray(constant - above * np.log1p(square / freedom))


def scale_of(square: Floats, freedom: float, dimension: int, weight: Floats) -> float:
    """The factor c of V that is most likely: c = mean of (ν + d) |z|² / (ν + |z|² / c) / d."""
    scale = 1.0
    for _ in range(SCALINGS):
        scale *= (
            float(weight @ ((freedom + dimension) * square / (freedom * scale + square)) / weight.sum()) / dimension
        )
    return scale
