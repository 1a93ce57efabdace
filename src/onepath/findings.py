"""What a fit found, as numbers: what the summary prints and the report shows."""

from math import floor, log10
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepath.equation import Polynomial, fit_polynomial

Array = npt.NDArray[np.float64]
Banded = tuple[float, float, float]
"""A value and the ends of its 90 % band."""

EQUATION_POINTS, EQUATION_DRAWS = 200, 400
DOMINATES, HIDDEN = 0.5, 1.0
"""A polynomial is called a function's equation if it explains this share of its mean square at least, and leaves no
more than this many posterior standard deviations: then the data know of nothing else."""

FAR = 4.0
"""Standard deviations from zero to the mean beyond which an equation is written around the mean."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Values(NamedTuple):
    """Drift and diffusion of one coordinate, at one value of it, the others at their median."""

    name: str
    at: float
    drift: Banded
    diffusion: Banded


class Equations(NamedTuple):
    """A polynomial for each dimension, in the variables that `names` writes."""

    names: tuple[str, ...]
    polynomials: list[Polynomial]


def unexplained(sde: Any) -> float:
    """λ as a share of an increment's mean square, the largest over dimensions."""
    return float(np.max(sde.noise_ / np.mean(np.square(sde.transitions_.y), axis=0)))


def probability(value: float) -> str:
    """In per cent, and never said to be certain."""
    return f"{value:.0%}" if 0.01 <= value <= 0.99 else "under 1%" if value < 0.01 else "over 99%"


def law(sde: Any) -> str:
    """Which transition law, and why."""
    if sde.stiffness_ is None:
        return f"{sde.transition_}, as asked"
    change, shift = sde.stiffness_
    saw = f"|f'| Δt = {change:.2g}, so Euler's law shifts an answer by {shift:.2g} of its standard errors"
    return f"{sde.transition_}: {saw}"


def values(sde: Any) -> list[Values]:
    """Along each coordinate, at quantiles of the data."""
    x, d = sde.transitions_.x, sde.n_features_in_
    rows = []
    for i, name in enumerate(sde.trajectory_.names):
        points = np.tile(np.median(x, axis=0), (len(QUANTILES), 1))
        points[:, i] = np.quantile(x[:, i], QUANTILES)
        drift = [np.reshape(part, (-1, d))[:, i] for part in (sde.drift(points), *sde.drift_band(points))]
        noise = [np.reshape(part, (-1, d, d))[:, i, i] for part in (sde.diffusion(points), *sde.diffusion_band(points))]
        rows += [
            Values(name, float(at), tuple(f), tuple(s))
            for at, f, s in zip(points[:, i], np.transpose(drift), np.transpose(noise), strict=True)
        ]
    return rows


def equations(sde: Any, of: str) -> Equations:
    """The drift, or the diagonal of the diffusion, as polynomials that say how much of it they are."""
    x, d, names = sde.transitions_.x, sde.n_features_in_, sde.trajectory_.names
    points = x[np.linspace(0, len(x) - 1, min(EQUATION_POINTS, len(x))).astype(int)]
    drawn = dict(zip(("drift", "diffusion"), sde.functions(points, EQUATION_DRAWS, random_state=0), strict=True))[of]
    mean = (sde.drift if of == "drift" else sde.diffusion)(points)
    shape = (len(points), d) if of == "drift" else (len(points), d, d)
    mean, draws = np.reshape(mean, shape), np.reshape(drawn, (EQUATION_DRAWS, *shape))
    if of == "diffusion":
        mean, draws = (np.diagonal(part, axis1=-2, axis2=-1) for part in (mean, draws))
    centre = expansion_point(x)
    shown = tuple(f"({name} - {c:g})" if c else name for name, c in zip(names, centre, strict=True))
    return Equations(shown, [fit_polynomial(points - centre, mean[:, i], draws[:, :, i]) for i in range(d)])


def is_clear(polynomial: Polynomial) -> bool:
    """Whether it is nearly all of the function."""
    return polynomial.explained >= DOMINATES and polynomial.misfit <= HIDDEN


def expansion_point(x: Array) -> Array:
    """Where to expand: zero, or near the mean where that is far from zero; powers of 50 Hz tell nothing of 50.02."""
    mean, spread = x.mean(axis=0), x.std(axis=0)
    digits = [1 - floor(log10(width)) for width in spread]
    near = np.asarray([round(value, figures) for value, figures in zip(mean.tolist(), digits, strict=True)])
    return np.where(np.abs(mean) > FAR * spread, near, 0.0)
