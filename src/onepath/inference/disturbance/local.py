"""How large increments are that start nearby, by their median: what a few far ones do not spoil, before any fit."""

import numpy as np

from onepath.data.transitions import Transitions
from onepath.inference.disturbance.disturbance import Steps
from onepath.numerics.arrays import Floats

NEIGHBOURS = 100
"""Transitions of nearby starts that say how large increments are there."""

CHUNK = 4096
"""Starts whose neighbours are looked at at once."""

MIDDLE = 0.6745
"""Standard deviations within which half of all normal numbers are."""


def local_steps(transitions: Transitions, since: Floats) -> Steps:
    """Increments less the median of those that start nearby, and their robust variances, without any fit."""
    # most fits do without it
    from scipy.spatial import cKDTree

    x, y, dt, n = transitions.points, transitions.y, transitions.dt, len(transitions)
    spread = np.std(x, axis=0)
    points = x / np.where(spread > 0, spread, 1.0)
    count = min(NEIGHBOURS, n)
    rate = y / np.sqrt(dt)[:, None]
    rest, size = np.empty_like(y), np.empty_like(y)
    tree = cKDTree(points)
    for begin in range(0, n, CHUNK):
        rows = slice(begin, begin + CHUNK)
        _, near = tree.query(points[rows], count)
        around = rate[np.reshape(near, (-1, count))]
        middle = np.median(around, axis=1)
        rest[rows] = (rate[rows] - middle) * np.sqrt(dt[rows])[:, None]
        size[rows] = np.median(np.abs(around - middle[:, None]), axis=1) / MIDDLE * np.sqrt(dt[rows])[:, None]
    # where readings are rounded, half of them may not move at all
    size = np.maximum(size, 0.1 * np.std(y, axis=0))
    return Steps(rest, np.square(size)[:, :, None] * np.eye(y.shape[1]), dt, since, transitions.weight)
