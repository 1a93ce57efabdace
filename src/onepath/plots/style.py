"""One look for all figures: colours that colour-blind people can tell apart, thin frames, labels with units."""

from typing import Any

from matplotlib.axes import Axes

INK, MUTED, LINE, SAND = "#1b1b1b", "#8a8a8a", "#dcdcdc", "#f0ece2"

# Okabe and Ito's palette
BLUE, VERMILION, ORANGE, GREEN, PURPLE, SKY = "#0072b2", "#d55e00", "#e69f00", "#009e73", "#cc79a7", "#56b4e9"
FIT, SECOND = BLUE, VERMILION
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


def plain(name: str) -> str:
    """A column's name as a label: what matplotlib would read as mathematics is kept as it is written."""
    return name.replace("$", r"\$")


def per_time(sde: Any, root: bool = False) -> str:
    """Such as "per month", or "per √month" for a diffusion; "per unit of time" where none is known."""
    unit = sde.trajectory_.unit
    return f"per √{unit or 'time'}" if root else f"per {unit or 'unit of time'}"


def rate_label(sde: Any, index: int) -> str:
    """Of a drift, with its unit."""
    name = plain(sde.trajectory_.names[index])
    return f"drift of {name}, {per_time(sde)}"


def noise_label(sde: Any, index: int) -> str:
    """Of a diffusion, with its unit."""
    name = plain(sde.trajectory_.names[index])
    return f"diffusion of {name}, {per_time(sde, root=True)}"


def time_label(sde: Any) -> str:
    unit = sde.trajectory_.unit
    return f"time, {unit}s" if unit else "time"


def no_lower_than_zero(axes: Axes) -> None:
    """Diffusions are positive: their axis begins at zero."""
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]) if axes.get_ylim()[0] < 0 else 0.0)
