"""One look for all figures: colours that colour-blind people can tell apart, thin frames, labels with units."""

from typing import Any, Protocol

from matplotlib.axes import Axes
from matplotlib.dates import ConciseDateFormatter

from onepath.model import Model
from onepath.numerics.arrays import Floats
from onepath.show.sentences import per_time

INK, MUTED, LINE, SAND = "#1b1b1b", "#8a8a8a", "#dcdcdc", "#f0ece2"

# Okabe and Ito's palette
BLUE, VERMILION, ORANGE, GREEN, PURPLE, SKY = "#0072b2", "#d55e00", "#e69f00", "#009e73", "#cc79a7", "#56b4e9"
FIT, SECOND = BLUE, VERMILION
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
"""Of coordinates that are drawn into the same axes."""

NARROW = 5.2
"""Inches below which panels stand below each other, as on a phone."""

MAP, DIVERGING = "cividis", "PuOr"

STYLE: Any = {
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.labelsize": 9.5,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "axes.formatter.useoffset": False,
    "figure.facecolor": "none",
    "font.size": 9.5,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.8,
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 8.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "onepath",
}


class Truth(Protocol):
    """What is drawn beside what was learned: drift (n, d) and diffusion (n, d, d) of points (n, d)."""

    def drift(self, x: Floats, /) -> Floats: ...

    def diffusion(self, x: Floats, /) -> Floats: ...


def plain(name: str) -> str:
    """A column's name as a label: what matplotlib would read as mathematics is kept as it is written."""
    return name.replace("$", r"\$")


def rate_label(model: Model, index: int) -> str:
    """Of a drift, with its unit."""
    name = plain(model.names[index])
    return f"drift of {name}, {per_time(model)}"


def noise_label(model: Model, index: int) -> str:
    """Of a diffusion, with its unit."""
    name = plain(model.names[index])
    return f"diffusion of {name}, {per_time(model, root=True)}"


def when(model: Model, t: Floats) -> Any:
    """Times as they are drawn: dates where the data have them."""
    dates = model.trajectory.dates(t)
    return t if dates is None else dates


def time_axis(axes: Axes, model: Model) -> None:
    """Dates where the data have them, else times with their unit."""
    trajectory = model.trajectory
    if trajectory.clock.origin is not None:
        axes.xaxis.set_major_formatter(ConciseDateFormatter(axes.xaxis.get_major_locator()))
    else:
        axes.set_xlabel(f"time, {trajectory.unit}s" if trajectory.unit else "time")


def columns_in(figure: Any) -> int:
    """Of panels that a figure, or a part of one, has room for."""
    return 1 if figure.bbox.width / figure.dpi < NARROW else 2


def legend_above(axes: Axes) -> None:
    """A legend on the line of the title, off the data."""
    axes.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.15, ncols=5, columnspacing=0.9, handlelength=1.3
    )


def no_lower_than_zero(axes: Axes) -> None:
    """Diffusions are positive: their axis begins at zero."""
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]) if axes.get_ylim()[0] < 0 else 0.0)
