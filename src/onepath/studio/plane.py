"""Two coordinates as the page draws them: the drift on a grid where there are data, and the noise."""

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from onepath.compare.processes import Process
from onepath.model import Model
from onepath.numerics.arrays import Floats, evenly
from onepath.studio.drawn import rounded

GRID, DOTS = 21, 600
FAR = 0.35
"""Standard deviations from the nearest datum beyond which nothing is drawn."""


def plane(model: Model, truth: Process | None) -> dict[str, Any]:
    """A regular grid over the data's range: means, bands and noise at the points near data."""
    x = model.transitions.x
    low, high = np.quantile(x, [0.005, 0.995], axis=0)
    axes = [np.linspace(low[i], high[i], GRID) for i in range(2)]
    points = np.stack([part.ravel() for part in np.meshgrid(*axes)], axis=1)
    scale = x.std(axis=0)
    distance, _ = cKDTree(x / scale).query(points / scale)
    near = points[distance <= FAR]
    sigma, spread = model.diffusion(near), model.spread(near).mean
    covariance = sigma @ np.swapaxes(sigma, 1, 2) + np.diag(model.constant_part)
    lower, upper = model.drift_band(near)
    some: Floats = x[evenly(len(x), DOTS)]
    return {
        "names": model.names,
        "axes": rounded(np.array(axes)),
        "points": rounded(near),
        "drift": rounded(model.drift(near)),
        "lower": rounded(lower),
        "upper": rounded(upper),
        "noise": rounded(spread),
        "covariance": rounded(covariance[:, [0, 0, 1], [0, 1, 1]]),
        "truth": None if truth is None else rounded(truth.drift(near)),
        "dots": rounded(some),
        "spread": rounded(scale),
    }
