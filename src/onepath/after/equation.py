"""A learned function as a polynomial with errors, where a polynomial says nearly all of it."""

from math import floor, log10
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onepath.gp.terms import monomials as exponents_of
from onepath.model import Model, asked_once
from onepath.numerics.arrays import Floats, Integers, evenly

DEGREE = 3
CLEAR = 2.0
"""A term stays if it is at least this many standard errors from zero."""


POINTS, DRAWS = 200, 400
"""At which a function is looked at, and of it that say how well a term is known."""

DOMINATES, HIDDEN = 0.5, 1.0
"""A polynomial is called a function's equation if it explains this share of its mean square at least, and leaves no
more than this many posterior standard deviations: then the data know of nothing else."""

TINY, LEAST = float(np.finfo(float).tiny), 1e-100
"""What is divided by instead of nothing, and as a share of what is divided."""

FAR = 4.0
"""Standard deviations from zero to the mean beyond which an equation is written around the mean."""


class Polynomial(NamedTuple):
    """Terms as exponents (k, d), their coefficients and standard errors.

    `explained` is their share of the function's mean square, `misfit` the root mean square of what they leave, in
    posterior standard deviations.
    """

    exponents: Integers
    coefficients: Floats
    errors: Floats
    explained: float
    misfit: float

    @property
    def is_clear(self) -> bool:
        """Whether it is nearly all of the function."""
        return self.explained >= DOMINATES and self.misfit <= HIDDEN


class Equations(NamedTuple):
    """A polynomial for each coordinate of the drift and of the noise's spread, and their variables' names."""

    variables: tuple[str, ...]
    drift: list[Polynomial]
    diffusion: list[Polynomial]


@asked_once
def equations(model: Model) -> Equations:
    """Drift and diffusion as polynomials that say how much of them they are, the same ones in all units."""
    own, units = model.standard, model.units
    x = own.transitions.x
    points = x[evenly(len(x), POINTS)]
    drifts, diffusions = own.functions(points, DRAWS, random_state=0)
    sigma, sigmas = (own.spread_of(part) for part in (own.diffusion(points), diffusions))
    centre = expansion_point(model.transitions.x)
    variables = tuple(_variable(name, at) for name, at in zip(model.names, centre.tolist(), strict=True))
    shifted = points - units.points(centre)

    def polynomials(mean: Floats, drawn: Floats, time: float) -> list[Polynomial]:
        found = [fit_polynomial(shifted, mean[:, i], drawn[:, :, i]) for i in range(model.dimension)]
        return [_in_units(each, units.scale, scale / time) for each, scale in zip(found, units.scale, strict=True)]

    drift = polynomials(own.drift(points), drifts, units.time)
    return Equations(variables, drift, polynomials(sigma, sigmas, np.sqrt(units.time)))


def _variable(name: str, centre: float) -> str:
    """Such as "(x - 50)" or "(x + 41.4)"; x itself where it is not shifted."""
    return f"({name} {'-' if centre > 0 else '+'} {abs(centre):.6g})" if centre else name


def _in_units(polynomial: Polynomial, scale: Floats, unit: float) -> Polynomial:
    """Of x and y, from one of x / scale and y / unit."""
    factors = np.exp(np.log(unit) - polynomial.exponents @ np.log(scale))
    return polynomial._replace(coefficients=polynomial.coefficients * factors, errors=polynomial.errors * factors)


def expansion_point(x: Floats) -> Floats:
    """Where to expand: zero, or near the mean where that is far from zero; powers of 50 Hz tell nothing of 50.02."""
    mean, spread = x.mean(axis=0), x.std(axis=0)
    digits = [1 - floor(log10(width)) for width in spread]
    near = np.asarray([round(value, figures) for value, figures in zip(mean.tolist(), digits, strict=True)])
    return np.where(np.abs(mean) > FAR * spread, near, 0.0)


def monomials(dimension: int, degree: int) -> Integers:
    """Exponents of all monomials up to a total degree, constant first: (terms, d)."""
    return np.asarray(exponents_of(dimension, degree))


def fit_polynomial(x: Floats, mean: Floats, draws: Floats) -> Polynomial:
    """Project a function, known at points x (n, d) by its mean (n,) and posterior draws (s, n), on cubic polynomials.

    Terms that are not clearly there are left out one by one, least clear first; the others are then what they are given
    that those are zero.
    """
    exponents = monomials(x.shape[1], DEGREE)
    centre, scale = x.mean(axis=0), x.std(axis=0)
    standard = _design((x - centre) / scale, exponents)
    # through standardised monomials, whose least squares is well conditioned, to those of x itself
    back = np.linalg.lstsq(_design(x, exponents), standard, rcond=None)[0]
    project = back @ np.linalg.pinv(standard)
    coefficients, samples = project @ mean, draws @ project.T
    covariance = np.atleast_2d(np.cov(samples.T))
    kept = np.arange(len(exponents))
    while True:
        errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        clarity = _times(np.abs(coefficients), errors)
        weakest = int(np.argmin(clarity))
        if clarity[weakest] >= CLEAR or len(kept) == 1:
            break
        gain = covariance[:, weakest] / np.maximum(covariance[weakest, weakest], TINY)
        rest = np.arange(len(kept)) != weakest
        coefficients = (coefficients - gain * coefficients[weakest])[rest]
        covariance = (covariance - np.outer(gain, covariance[weakest]))[np.ix_(rest, rest)]
        kept = kept[rest]
    left = mean - _design(x, exponents[kept]) @ coefficients
    explained = 1.0 - float(_times(np.mean(np.square(left)), np.mean(np.square(mean))))
    misfit = float(np.sqrt(np.mean(_times(np.square(left), draws.var(axis=0)))))
    return Polynomial(exponents[kept], coefficients, errors, explained, misfit)


def _times(part: npt.ArrayLike, whole: npt.ArrayLike) -> Floats:
    """How many times the whole goes into a part, neither below 0: at most 1 / `LEAST`, also where it is nothing."""
    return np.asarray(part / np.maximum(whole, np.maximum(LEAST * np.asarray(part), TINY)))


def _design(x: Floats, exponents: Integers) -> Floats:
    return np.prod(x[:, None, :] ** exponents, axis=2)


def written(polynomial: Polynomial, names: tuple[str, ...]) -> str:
    """Such as "0.98(6) x - 1.02(7) x^3"."""
    text = ""
    for powers, value, error in zip(*polynomial[:3], strict=True):
        factors = [
            name if power == 1 else f"{name}^{power}" for name, power in zip(names, powers, strict=True) if power
        ]
        sign = ("-" if value < 0 else "") if not text else (" - " if value < 0 else " + ")
        text += sign + " ".join([with_error(abs(value), error), *factors])
    return text


MOST_DIGITS = 7
"""Before or after the point, from which on a number is written with a power of ten."""


def with_error(value: float, error: float) -> str:
    """A number with its standard error in the last digit, 0.98(6); two digits of it where it begins with 1."""
    if not (np.isfinite(error) and error > 0):
        return f"{value:.4g}"
    digits = 1 - floor(log10(error)) if f"{error:.0e}"[0] == "1" else -floor(log10(error))
    if -MOST_DIGITS < digits <= 0:
        return f"{round(value, digits):.0f}({round(error, digits):.0f})"
    power = floor(log10(max(value, error)))
    if abs(digits) >= MOST_DIGITS and power != 0:
        return f"{with_error(value / 10.0**power, error / 10.0**power)}e{power:+d}"
    return f"{value:.{digits}f}({round(error * 10**digits)})"
