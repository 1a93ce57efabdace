"""What increments were beside N(m, V), in time: which steps jumped, and the level of the noise."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from onepath.after.disturbed import jumps_of, volatility_of
from onepath.model import Model
from onepath.show.plots.style import FIT, INK, MUTED, VERMILION, time_axis, when

MOST_DRAWN = 4000
"""Steps whose level is drawn; of more, evenly spread ones."""


def mark_jumps(axes: Axes, model: Model, i: int) -> None:
    """Where steps that probably jumped have led to, on the path of coordinate i."""
    found = jumps_of(model)
    if found is None or not len(found.steps):
        return
    row = model.trajectory.step[found.steps] + 1
    t, x = when(model, model.trajectory.t[row]), model.trajectory.x[row, i]
    axes.plot(t, x, "o", color=VERMILION if i == 0 else INK, ms=3, mew=0, label="after a jump")


def level(model: Model, figure: Any) -> None:
    """By how much the noise was larger than σ(x), in time, with its band."""
    found = volatility_of(model)
    assert found is not None
    axes = figure.subplots()
    shown = np.arange(0, len(found.t), -(-len(found.t) // MOST_DRAWN))
    t = when(model, found.t[shown])
    axes.fill_between(t, found.lower[shown], found.upper[shown], color=FIT, alpha=0.22, lw=0)
    axes.plot(t, found.level[shown], color=FIT, lw=0.9)
    axes.axhline(1.0, color=MUTED, lw=0.8)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("noise, in σ(x)")
    axes.set_title("Level of the noise")
    time_axis(axes, model)
