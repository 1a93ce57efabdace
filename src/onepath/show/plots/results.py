"""Figures of what was asked of a model, by itself: simulated paths, and functions that are known up to a band."""

from typing import Any

from matplotlib.dates import ConciseDateFormatter

from onepath.after.consequences import Band
from onepath.after.forecast import Paths
from onepath.numerics.arrays import Floats
from onepath.show.numbers import QUANTILES
from onepath.show.plots.curves import band_into, fan_into
from onepath.show.plots.style import legend_above, plain


def draw_fan(paths: Paths, figure: Any) -> None:
    """Where paths are as time goes on, a panel for each coordinate."""
    levels, t = paths.quantiles(QUANTILES), paths.t if paths.dates is None else paths.dates
    panels = figure.subplots(len(paths.names), squeeze=False, sharex=True)[:, 0]
    for i, (axes, name) in enumerate(zip(panels, paths.names, strict=True)):
        fan_into(axes, t, levels[:, :, i])
        axes.set_ylabel(plain(name))
    if paths.dates is None:
        panels[-1].set_xlabel("time")
    else:
        panels[-1].xaxis.set_major_formatter(ConciseDateFormatter(panels[-1].xaxis.get_major_locator()))
    legend_above(panels[0])


def draw_band(x: Floats, band: Band, level: float, title: str, figure: Any) -> None:
    """A function along the state, with its band of this level."""
    axes = figure.subplots()
    band_into(axes, x, band, level)
    axes.set(title=title.capitalize(), xlim=x[[0, -1]])
    legend_above(axes)
