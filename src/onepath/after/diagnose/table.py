"""The law of equal steps in one dimension as a table, which is looked up many times quicker than it is computed."""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from onepath.after.diagnose.residuals import Increments
from onepath.data.transitions import Transitions
from onepath.numerics.arrays import Floats

NODES, MOST_NODES = 129, 4097
"""Of the first table, and of the finest that is tried."""

EXACT = 1e-7
"""Share of its standard deviation by which an increment may be off."""

REGULAR = 1e-6
"""Share of a step by which steps that are called equal may differ."""

WITHIN = 1e-9
"""Share of the data's range at either end of it that the table leaves out: there functions may have a kink."""


@dataclass(frozen=True)
class Table:
    """A spline through means and variances; beyond its ends, the law itself."""

    spline: CubicSpline
    ends: tuple[float, float]
    law: Increments

    def __call__(self, x: Floats, dt: Floats) -> tuple[Floats, Floats]:
        found = self.spline(x[:, 0])
        mean, covariance = found[:, :1], found[:, 1:, None]
        low, high = self.ends
        if x.min() < low or x.max() > high:
            out = np.flatnonzero((x[:, 0] < low) | (x[:, 0] > high))
            mean[out], covariance[out] = self.law(x[out], dt[out])
        return mean, covariance


def tabled(transitions: Transitions, law: Increments) -> Increments:
    """A table of the law where one is as good, and the law itself elsewhere: above one dimension, at unequal steps.

    Nodes are halved apart until the table of every second one gives the others; the finer table is far better still.
    """
    x, dt = transitions.points, transitions.dt
    if x.shape[1] > 1 or len(x) < 4 * NODES or dt.max() - dt.min() > REGULAR * dt[0]:
        return law
    low, high = float(x.min()), float(x.max())
    low, high = low + WITHIN * (high - low), high - WITHIN * (high - low)
    nodes = np.linspace(low, high, NODES)
    values = _values(law, nodes, float(dt[0]))
    while len(nodes) < min(MOST_NODES, len(x) / 2):
        coarse, between = CubicSpline(nodes, values), (nodes[1:] + nodes[:-1]) / 2
        new = _values(law, between, float(dt[0]))
        places = np.arange(1, len(nodes))
        nodes, values = np.insert(nodes, places, between), np.insert(values, places, new, axis=0)
        off = np.abs(coarse(between) - new) / np.stack([np.sqrt(new[:, 1]), new[:, 1]], axis=1)
        # halving the distance of nodes makes a cubic spline eight times better at least
        if np.max(off) <= 8 * EXACT:
            return Table(CubicSpline(nodes, values), (low, high), law)
    return law


def _values(law: Increments, x: Floats, step: float) -> Floats:
    """Mean and variance of an increment from each of x (n,): (n, 2)."""
    mean, covariance = law(x[:, None], np.full(len(x), step))
    return np.stack([mean[:, 0], covariance[:, 0, 0]], axis=1)
