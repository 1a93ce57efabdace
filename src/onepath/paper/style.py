"""One look for all figures: colours that colour-blind readers can tell apart, thin axes, a label on each of them."""

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onepath.paper.methods import BENCHMARK, DEFAULT, LEARNED, LEARNED_NEWTON, NON_LEARNED

P = ParamSpec("P")
R = TypeVar("R")

# Okabe and Ito's palette
BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = (
    "#000000",
    "#e69f00",
    "#56b4e9",
    "#009e73",
    "#0072b2",
    "#d55e00",
    "#cc79a7",
)
GREY, SAND = "#8a8a8a", "#f0ece2"

COLOURS = {BENCHMARK: ORANGE, NON_LEARNED: GREEN, LEARNED: PURPLE, LEARNED_NEWTON: PURPLE, DEFAULT: BLUE}
LABELS = {
    BENCHMARK: "benchmark",
    NON_LEARNED: "kernel not learned",
    LEARNED: "kernel learned",
    LEARNED_NEWTON: "kernel learned",
    DEFAULT: "onepath, default",
}

STYLE: Any = {
    "figure.dpi": 110,
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
}


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Draw in this style, whatever the user's own is."""

    @wraps(draw)
    def inside(*args: P.args, **kwargs: P.kwargs) -> R:
        with mpl.rc_context(STYLE):
            return draw(*args, **kwargs)

    return inside


def sheet(rows: int, columns: int, width: float = 2.6, height: float = 2.2) -> tuple[Figure, Any]:
    """A figure and its axes (rows, columns); made without pyplot, which would keep it."""
    figure = Figure(figsize=(width * columns, height * rows + 0.4), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def legend_below(figure: Figure, axes: Sequence[Axes], columns: int = 4) -> None:
    """One legend for all panels, each label once."""
    found: dict[str, Any] = {}
    for panel in axes:
        handles, labels = panel.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=columns)


@styled
def save(figure: Figure, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    # no version of matplotlib inside: the same results give the same file
    figure.savefig(path, dpi=110, metadata={"Software": None})
    return path
