"""Figures over many runs: the metrics against k, and what single trajectories hide in the population."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from onepath.compare.paper.cases import AS_DESCRIBED, AS_PRINTED, STEPS, level
from onepath.compare.paper.methods import DEFAULT, LEARNED, METHODS, NON_LEARNED
from onepath.compare.paper.plan import STEP_TABLES, TABLES, Block, run_of, step_run
from onepath.compare.paper.population import DIFFUSION, DRIFT, LOSS, values
from onepath.compare.paper.printed import PRINTED_BY_STEP, printed_row
from onepath.compare.paper.runs import row_of
from onepath.compare.paper.style import COLOURS, LABELS, legend_below, save, sheet, styled
from onepath.io.journal import Journal
from onepath.numerics.arrays import Floats
from onepath.show.plots.style import INK, MUTED, SECOND

METRIC_NAMES = ("loss  L", "drift error  δ_f", "volatility error  δ_σ")


@styled
def step_figure(name: str, journal: Journal) -> Figure:
    """L, δ_f and δ_σ against k: the paper's, ours on its data as printed, and as described."""
    trajectory = STEP_TABLES[name]
    figure, axes = sheet(1, 3, width=3.4, height=2.8)
    panels = axes[0]
    lines: list[tuple[Floats, dict[str, Any]]] = []
    for method, marker in ((NON_LEARNED, "o"), (LEARNED, "s")):
        look = {"color": INK, "marker": marker, "markerfacecolor": "white", "linestyle": "none", "markersize": 5}
        lines.append((np.asarray(PRINTED_BY_STEP[trajectory, method]), look | {"label": f"paper, {LABELS[method]}"}))
    for view, style, shown in ((AS_PRINTED, "--", "as printed"), (AS_DESCRIBED, "-", "as described")):
        for method in (NON_LEARNED, LEARNED, DEFAULT):
            found = _rows(journal, trajectory, method, view)
            if not np.all(np.isnan(found)):
                look = {"color": COLOURS[method], "linestyle": style, "label": f"{LABELS[method]}, {shown}"}
                if method == LEARNED:
                    # these runs take minutes each, so there may be single ones, which make no line
                    look |= {"marker": "D", "markersize": 5}
                    look |= {"markerfacecolor": "white" if view == AS_PRINTED else COLOURS[method]}
                lines.append((found, look))
    for rows, look in lines:
        for index, panel in enumerate(panels):
            panel.plot(STEPS, rows[:, index], **look)
    _references(panels, trajectory)
    for panel, label in zip(panels, METRIC_NAMES, strict=True):
        panel.set(xlabel="k, steps between observations", ylabel=label, xticks=STEPS)
    figure.suptitle(f"{name.removeprefix('multiscale-').capitalize()} process seen every k-th step", fontsize=10)
    legend_below(figure, [panels[0], panels[2]], columns=3)
    return figure


def _references(panels: Sequence[Axes], trajectory: str) -> None:
    """What must hold without any fit; the paper's 37.778 lies far above the panel and is left out."""
    k = np.asarray(STEPS)
    levels = np.asarray([[level(trajectory, view, step) for step in STEPS] for view in (AS_PRINTED, AS_DESCRIBED)])
    for heights, colour, name in zip(levels, (SECOND, MUTED), ("of one step", "of k steps"), strict=True):
        panels[0].plot(k, heights, color=colour, linewidth=4, alpha=0.35, zorder=0, label=f"level {name}, no fit")
    law = 1 - 1 / np.sqrt(k)
    panels[2].plot(k, law, color=SECOND, linewidth=4, alpha=0.35, zorder=0, label="1 - 1/√k")
    panels[0].set_ylim(levels.min() - 0.6, levels.max() + 0.6)
    panels[1].set_ylim(0, 1.25)
    panels[2].set_ylim(0, 0.8)


def _rows(journal: Journal, trajectory: str, method: str, view: str) -> Floats:
    """(10, 3), NaN where a run is not there."""
    records = [journal.get(step_run(trajectory, method, view, k)) for k in STEPS]
    rows = [None if record is None else row_of(record) for record in records]
    return np.asarray([(np.nan,) * 3 if row is None else row for row in rows], float)


@styled
def population_figure(name: str, journal: Journal, seeds: Sequence[int]) -> Figure | None:
    """Errors over fresh trajectories, a dot each, with the median and the paper's printed number."""
    blocks = TABLES[name]
    figure, axes = sheet(2, len(blocks), width=4.2, height=2.3)
    some = False
    for column, block in enumerate(blocks):
        for row, metric in enumerate((1, 2)):
            some |= _strip(axes[row, column], block, metric, journal, seeds)
            axes[row, column].set_ylabel(METRIC_NAMES[metric])
        axes[0, column].set_title(f"{name.upper() if len(name) < 4 else name.capitalize()}: {block.heading}")
    if some:
        legend_below(figure, list(axes.ravel()))
    return figure if some else None


def _strip(panel: Axes, block: Block, metric: int, journal: Journal, seeds: Sequence[int]) -> bool:
    """Jitter is a fixed sequence, so that the same results give the same figure."""
    shown: list[str] = []
    for method in METHODS:
        found = values(journal, [run_of(block.trajectory, block.kernel, method, seed) for seed in seeds])
        if len(found) == 0:
            continue
        place, heights = len(shown), found[:, (LOSS, DRIFT, DIFFUSION)[metric]]
        jitter = 0.5 * ((np.arange(len(heights)) * 0.618) % 1.0) - 0.25
        panel.plot(place + jitter, heights, "o", color=COLOURS[method], markersize=4, alpha=0.55, label="fresh seed")
        panel.hlines(np.median(heights), place - 0.35, place + 0.35, color=INK, linewidth=2, label="median")
        printed = printed_row(block.trajectory, block.kernel, method, "whole", 1)
        if printed is not None:
            look: Any = {"marker": "D", "markersize": 6, "markerfacecolor": "white", "markeredgecolor": SECOND}
            panel.plot(place, printed[metric], linestyle="none", zorder=5, label="printed in the paper", **look)
        shown.append(LABELS[method].replace(", ", ",\n").replace("not ", "not\n"))
    panel.set_yscale("log")
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.yaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.set_xticks(range(len(shown)), shown)
    panel.set_xlabel("method")
    return bool(shown)


def draw_population(names: Sequence[str], journal: Journal, seeds: Sequence[int], output: Path) -> list[Path]:
    """One figure for each of tables 1 to 4."""
    figures = {name: population_figure(name, journal, seeds) for name in names if name in TABLES}
    return [save(figure, output / f"population-{name}.png") for name, figure in figures.items() if figure is not None]
