"""Two coordinates as the page draws them: the drift on a grid where there are data, and the noise."""

from typing import Any

import numpy as np

from onepath.compare.processes import Process
from onepath.model import Model
from onepath.numerics.arrays import Floats, evenly
from onepath.show.plane import grid_over
from onepath.studio.drawn import rounded

GRID, DOTS = 21, 600


def plane(model: Model, truth: Process | None) -> dict[str, Any]:
    """A regular grid over the data's range: means, bands and noise at the points near data."""
    x = model.transitions.x
    axes, points, close = grid_over(model, GRID)
    near = points[close]
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
        "spread": rounded(x.std(axis=0)),
    }
