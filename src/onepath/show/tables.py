"""Drift and diffusion as a table: on a grid over the data, with bands, under the names of the data."""

from typing import TYPE_CHECKING

import numpy as np

from onepath.after.consequences import shown_range
from onepath.model import Curve, Model
from onepath.numerics.arrays import Floats
from onepath.numerics.checks import check_whole

if TYPE_CHECKING:
    import pandas as pd

POINTS = 101
"""Along each coordinate."""

ENDS = ("", "_lower", "_upper")
"""Of the columns of a function: its mean, and where its band begins and ends."""


def line_through(model: Model, index: int, count: int) -> Floats:
    """Points (count, d) along one coordinate over the data's range, the others at their median."""
    x = model.transitions.x
    points = np.tile(np.median(x, axis=0), (count, 1))
    whole = x.shape[1] == 1 or (model.period is not None and model.period[index] > 0)
    low, high = shown_range(model, index) if whole else np.quantile(x[:, index], [0.005, 0.995])
    points[:, index] = np.linspace(low, high, count)
    return points


def curves_over_data(model: Model, count: int = POINTS, level: float = 0.9) -> "pd.DataFrame":
    """At so many points along each coordinate; the column `along`, in more dimensions, says which that is."""
    check_whole("points", count, 2)
    lines = [line_through(model, i, count) for i in range(model.dimension)]
    frame = curves_at(model, np.concatenate(lines), level)
    if model.dimension > 1:
        frame.insert(0, "along", np.repeat(model.names, count), allow_duplicates=True)
    return frame


def curves_at(model: Model, points: Floats, level: float = 0.9) -> "pd.DataFrame":
    """Points, and drift and diffusion there with `_lower` and `_upper` ends of their bands, a row for each point.

    In more dimensions one for each coordinate, `drift_x` and `diffusion_x`; of correlated noise, also the entries
    `diffusion_y_x` of σ below its diagonal.
    """
    import pandas as pd

    _, drift, diffusion = model.curves(points, level)
    columns, names, alone = {}, model.names, model.dimension == 1
    for k in model.moved:
        name = names[k]
        columns["drift" if alone else f"drift_{name}"] = Curve(*(part[:, k] for part in drift))
    for i, j in np.argwhere(np.tri(len(names))):
        if (i == j and i in model.moved) or model.graph.structure == "full":
            entry = f"diffusion_{names[i]}" + (f"_{names[j]}" if i != j else "")
            columns["diffusion" if alone else entry] = Curve(*(part[:, i, j] for part in diffusion))
    banded = {name + end: part for name, each in columns.items() for end, part in zip(ENDS, each, strict=True)}
    at = pd.DataFrame(points, columns=list(names))
    return pd.concat([at, pd.DataFrame(banded)], axis=1)
