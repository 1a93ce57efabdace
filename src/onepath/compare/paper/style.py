"""Sheets and legends of these figures, and a colour for each method; the look is that of all figures of onepath."""

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onepath.compare.paper.methods import BENCHMARK, DEFAULT, LEARNED, LEARNED_NEWTON, NON_LEARNED
from onepath.show.plots.style import FIT, GREEN, ORANGE, PURPLE, STYLE

P = ParamSpec("P")
R = TypeVar("R")

COLOURS = {BENCHMARK: ORANGE, NON_LEARNED: GREEN, LEARNED: PURPLE, LEARNED_NEWTON: PURPLE, DEFAULT: FIT}
LABELS = {
    BENCHMARK: "benchmark",
    NON_LEARNED: "kernel not learned",
    LEARNED: "kernel learned",
    LEARNED_NEWTON: "kernel learned",
    DEFAULT: "onepath, default",
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
    figure.savefig(path, dpi=110, facecolor="white", metadata={"Software": None})
    return path
