"""Drift and noise of the plain model, kept for those who look at what a cure has changed."""

import numpy as np

from onepath.inference.tried import Line
from onepath.model import Curve, Model

POINTS = 61
"""Along each coordinate."""

ENDS = (0.005, 0.995)
"""Quantiles of the data between which they are looked at."""


def lines_of(model: Model) -> tuple[Line, ...]:
    """Along each coordinate that is moved, the others at their median."""
    x = model.transitions.x
    middle, found = np.median(x, axis=0), []
    for i in model.moved:
        points = np.tile(middle, (POINTS, 1))
        low, high = np.quantile(x[:, i], ENDS)
        points[:, i] = np.linspace(low, high, POINTS)
        curves = (Curve(model.drift(points), *model.drift_band(points)), model.spread(points))
        found.append(Line(points, *(np.stack([part[:, i] for part in curve]) for curve in curves)))
    return tuple(found)
