"""A grid over two coordinates, and where on it there are data."""

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from onepath.model import Model
from onepath.numerics.arrays import Flags, Floats

FAR = 0.35
"""Standard deviations from the nearest datum beyond which nothing is drawn."""


class Grid(NamedTuple):
    """Both axes, all points (n, 2), and which of them are near data."""

    axes: list[Floats]
    points: Floats
    near: Flags


def grid_over(model: Model, count: int) -> Grid:
    """So many points along either axis, over the data's range."""
    x = model.transitions.x
    low, high = np.quantile(x, [0.005, 0.995], axis=0)
    axes = [np.linspace(low[i], high[i], count) for i in range(2)]
    points = np.stack([part.ravel() for part in np.meshgrid(*axes)], axis=1)
    scale = x.std(axis=0)
    distance, _ = cKDTree(x / scale).query(points / scale)
    return Grid(axes, points, distance <= FAR)
