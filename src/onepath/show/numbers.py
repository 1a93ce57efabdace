"""What a fit found, as numbers: what the summary prints, the report shows and machines read."""

from typing import NamedTuple

import numpy as np

from onepath.data.clocks import median_length
from onepath.data.statistics import mean_square
from onepath.gp.parameters import LENGTH
from onepath.inference.disturbance.disturbance import NINETY, Banded
from onepath.model import Curve, Model, asked_once
from onepath.numerics.arrays import Floats

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of the data, at which values are shown; and of a forecast."""


class Shown(NamedTuple):
    """Drift and spread of the noise of each coordinate (n, d) at points (n, d), with 90 % bands."""

    points: Floats
    drift: Curve
    noise: Curve


class Values(NamedTuple):
    """Drift and spread of the noise of one coordinate, at one value of it, the others at their median."""

    name: str
    at: float
    drift: Banded
    noise: Banded


class Steps(NamedTuple):
    """Shortest, median and longest duration of a transition."""

    shortest: float
    middle: float
    longest: float

    @property
    def regular(self) -> bool:
        return self.longest - self.shortest <= 1e-6 * self.middle


def steps(model: Model) -> Steps:
    """How long transitions last."""
    dt = model.transitions.dt
    return Steps(float(dt.min()), median_length(dt), float(dt.max()))


def unexplained(model: Model) -> float:
    """λ as a share of an increment's mean square, the largest over dimensions."""
    return float(np.max(model.noise / mean_square(model.transitions)))


def shown_at(model: Model, points: Floats) -> Shown:
    """What tables and figures show at points (n, d)."""
    return Shown(points, Curve(model.drift(points), *model.drift_band(points)), model.spread(points))


@asked_once
def curves(model: Model) -> Shown:
    """Drift and noise along each coordinate, one after another, at quantiles of the data."""
    x = model.transitions.x
    points = np.tile(np.median(x, axis=0), (model.dimension * len(QUANTILES), 1))
    for i in range(model.dimension):
        points[i * len(QUANTILES) : (i + 1) * len(QUANTILES), i] = np.quantile(x[:, i], QUANTILES)
    return shown_at(model, points)


def values(model: Model) -> list[Values]:
    """The same, one row for each point: of the coordinate along which it lies."""
    points, *both = curves(model)
    rows = []
    for k, point in enumerate(points):
        i = k // len(QUANTILES)
        f, s = (Banded(*(float(part[k, model.shown_along(i)]) for part in curve)) for curve in both)
        rows.append(Values(model.names[i], float(point[i]), f, s))
    return rows


def intervals(model: Model) -> dict[str, Banded]:
    """Learned parameters and their 90 % intervals, from what the posterior averages over; {} where that is one θ."""
    mass, theta = model.posterior.for_bands, np.asarray(model.posterior.members.theta)
    if len(mass) == 1:
        return {}
    mean = mass @ theta
    reach = NINETY * np.sqrt(mass @ np.square(theta - mean))
    parts = zip(*(np.exp(part).tolist() for part in (mean, mean - reach, mean + reach)), strict=True)
    return {each.name: Banded(*part) for each, part in zip(model.learned, parts, strict=True)}


def lengths(model: Model, function: str) -> list[Banded]:
    """Over which lengths "drift" or "diffusion" bends, along each coordinate, in the data's units; [] if none is known.

    Of kernels that say that they have a length, such as those of the default priors; the median over outputs.
    """
    smooth = [each for each in model.parameters if (each.function, each.role) == (function, LENGTH)]
    if not smooth:
        return []
    known, found = intervals(model), model.values
    each: Floats = np.asarray([known.get(one.name, Banded(found[one.name], np.nan, np.nan)) for one in smooth])
    middle = np.median(each.reshape(-1, model.dimension, 3), axis=0) * model.units.scale[:, None]
    return [Banded(*row) for row in middle.tolist()]
