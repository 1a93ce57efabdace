"""The paper's figures, drawn from kept runs: the data of each process, and what each method makes of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onepath.compare.paper.cases import AS_DESCRIBED, AS_PRINTED, Case, Data
from onepath.compare.paper.methods import BENCHMARK, DEFAULT, LEARNED, LEARNED_NEWTON, NON_LEARNED
from onepath.compare.paper.plan import STEP_TABLES, TABLES, run_of, step_run
from onepath.compare.paper.runs import Run
from onepath.compare.paper.step_figures import step_figure
from onepath.compare.paper.style import COLOURS, LABELS, legend_below, save, sheet, styled
from onepath.io.journal import Journal
from onepath.numerics.arrays import Floats
from onepath.show.plots.style import INK, MUTED, ORANGE, SAND, SKY

ROLES = {"drift": "drift  f(x)", "diffusion": "volatility  |σ(x)|"}

TITLES = {
    "exponential-1": "Exponential volatility, trajectory 1: dX = -5 X dt + 0.5 exp(-X²) dW",
    "exponential-2": "Exponential volatility, trajectory 2: dX = -5 X dt + exp(-X²) dW",
    "trigonometric-1": "Trigonometric process, trajectory 1: dX = sin(2πX) dt + cos(2πX) dW",
    "trigonometric-2": "Trigonometric process, trajectory 2: dX = sin(2πX) dt + 0.5 cos(2πX) dW",
    "gbm": "Geometric Brownian motion: dX = 2 X dt + X dW",
    "ou": "Ornstein-Uhlenbeck process: dX = -5 X dt + dW",
}

KERNEL_NAMES = {"matern": "Matérn", "linear": "linear"}
STEPS_SHOWN = (1, 2, 5)


class Column(NamedTuple):
    """One method's panels: a heading, the data it was given, and the kept record to draw."""

    heading: str
    run: Run
    data: Data
    curves: dict[str, Any]


def truth(case: Case, role: str, x: Floats) -> Floats:
    record = case.record
    return record.drift(x[:, None])[:, 0] if role == "drift" else record.diffusion(x[:, None])[:, 0, 0]


@styled
def data_figure(trajectory: str) -> Figure:
    """Drift, volatility, trajectory and increments."""
    case = Case(trajectory)
    data, record = case.data(), case.record
    figure, axes = sheet(1, 4)
    panels = axes[0]
    visited = np.concatenate([data.x, data.x_test])[:, 0]
    grid = np.linspace(visited.min(), visited.max(), 200)
    for panel, role in zip(panels, ROLES, strict=False):
        panel.plot(grid, truth(case, role, grid), color=INK)
        panel.set(xlabel="x", ylabel=ROLES[role])
    panels[1].set_ylim(bottom=0)
    times, n = record.dt * np.arange(2 * record.n), record.n
    values = (visited, np.concatenate([data.y, data.y_test])[:, 0])
    for panel, series, name in zip(panels[2:], values, ("X", "increment  Y"), strict=True):
        panel.plot(times[:n], series[:n], color=SKY, linewidth=0.8, label="training")
        panel.plot(times[n:], series[n:], color=ORANGE, linewidth=0.8, label="test")
        panel.set(xlabel="time", ylabel=name)
    figure.suptitle(TITLES[trajectory], fontsize=10)
    legend_below(figure, panels[2:3])
    return figure


@styled
def prediction_figure(title: str, columns: Sequence[Column]) -> Figure:
    """Drift above, volatility below, a column a method; where the test goes beyond the training is shaded."""
    figure, axes = sheet(2, len(columns))
    for row, role in zip(axes, ROLES, strict=True):
        for panel, column in zip(row, columns, strict=True):
            _draw_estimate(panel, role, column)
        limits = _limits(role, columns)
        for panel in row:
            panel.set_ylim(limits)
            panel.set_xlabel("x")
        row[0].set_ylabel(ROLES[role])
    for panel, column in zip(axes[0], columns, strict=True):
        panel.set_title(column.heading)
    figure.suptitle(title, fontsize=10)
    # every column has its own colour, so the legend shows none of them
    axes[0, 0].plot([], [], color=MUTED, label="estimate")
    axes[0, 0].fill_between([], [], [], color=MUTED, alpha=0.45, linewidth=0, label="its 90 % band")
    legend_below(figure, list(axes[0]))
    return figure


def _draw_estimate(panel: Axes, role: str, column: Column) -> None:
    curves = {name: np.asarray(values) for name, values in column.curves.items()}
    x, colour = curves["x"], COLOURS[column.run.method]
    seen = column.data.x.min(), column.data.x.max()
    for low, high in ((x[0], seen[0]), (seen[1], x[-1])):
        if high > low:
            panel.axvspan(low, high, color=SAND, linewidth=0, zorder=0, label="seen in the test only")
    if f"{role}_band" in curves:
        panel.fill_between(x, *curves[f"{role}_band"], color=colour, alpha=0.28, linewidth=0)
    panel.plot(x, curves[role], color=colour)
    panel.plot(x, truth(column.run.case, role, x), color=INK, linestyle="--", linewidth=1.1, label="truth")
    panel.set_xlim(x[0], x[-1])


def _limits(role: str, columns: Sequence[Column]) -> tuple[float, float]:
    """Truth and estimates in full, bands as far as they belong to states seen in training."""
    shown: list[Floats] = []
    for column in columns:
        curves, data = column.curves, column.data
        x = np.asarray(curves["x"])
        inside = (x >= data.x.min()) & (x <= data.x.max())
        shown += [truth(column.run.case, role, x), np.asarray(curves[role])]
        if f"{role}_band" in curves:
            shown.append(np.percentile(np.asarray(curves[f"{role}_band"])[:, inside], (5, 95)))
    values = np.concatenate(shown)
    margin = 0.06 * float(np.ptp(values))
    low = float(values.min()) - margin
    return (max(low, 0.0) if role == "diffusion" else low), float(values.max()) + margin


def _columns(journal: Journal, wanted: Sequence[tuple[str, Run]]) -> list[Column]:
    kept = [(heading, run, journal.get(run)) for heading, run in wanted]
    found = [(heading, run, record["curves"]) for heading, run, record in kept if record and "curves" in record]
    return [Column(heading, run, run.case.data(), curves) for heading, run, curves in found]


def _learned(journal: Journal, trajectory: str, kernel: str) -> str:
    """The paper's better solver where its run is there, otherwise its other one."""
    record = journal.get(run_of(trajectory, kernel, LEARNED))
    return LEARNED if record and "curves" in record else LEARNED_NEWTON


def predictions_of(journal: Journal, trajectory: str, kernel: str) -> list[Column]:
    """The benchmark, the paper's method without and with learning, and the default."""
    methods = (BENCHMARK, NON_LEARNED, _learned(journal, trajectory, kernel), DEFAULT)
    return _columns(journal, [(LABELS[method], run_of(trajectory, kernel, method)) for method in methods])


def kernels_compared(journal: Journal, trajectory: str) -> list[Column]:
    """Linear against Matérn, without and with learning, and the default, which mixes both."""
    wanted = [
        (f"{KERNEL_NAMES[kernel]}, {how}", run_of(trajectory, kernel, method))
        for how in ("not learned", "learned")
        for kernel in ("linear", "matern")
        for method in [NON_LEARNED if how == "not learned" else _learned(journal, trajectory, kernel)]
    ]
    return _columns(journal, [*wanted, (LABELS[DEFAULT], run_of(trajectory, "matern", DEFAULT))])


def step_predictions(journal: Journal, trajectory: str) -> list[tuple[str, Figure]]:
    """Predictions for three k, as printed and as described: the paper's prior, and the default."""
    made = []
    for view in (AS_PRINTED, AS_DESCRIBED):
        for method in (NON_LEARNED, DEFAULT):
            runs = [(f"k = {k}", step_run(trajectory, method, view, k)) for k in STEPS_SHOWN]
            columns = _columns(journal, runs)
            if len(columns) == len(runs):
                what = f"{LABELS[method]}, increments {view.replace('-', ' ')}"
                title = f"{TITLES[trajectory].split(',')[0].split(':')[0]}: {what}"
                made.append((f"{view}-{method}", prediction_figure(title, columns)))
    return made


def process_figures(name: str, journal: Journal) -> dict[str, Figure]:
    """For each trajectory of tables 1 to 4 its data and predictions; for two kernels, also these side by side."""
    made = {}
    for trajectory in dict.fromkeys(block.trajectory for block in TABLES[name]):
        kernels = [block.kernel for block in TABLES[name] if block.trajectory == trajectory]
        made[f"data-{trajectory}"] = data_figure(trajectory)
        wanted = {
            f"prediction-{trajectory}" + (f"-{kernel}" if len(kernels) > 1 else ""): (
                TITLES[trajectory] + (f", {KERNEL_NAMES[kernel]} kernel" if len(kernels) > 1 else ""),
                predictions_of(journal, trajectory, kernel),
            )
            for kernel in kernels
        }
        if len(kernels) > 1:
            wanted[f"kernels-{trajectory}"] = (TITLES[trajectory], kernels_compared(journal, trajectory))
        for file, (title, columns) in wanted.items():
            if columns:
                made[file] = prediction_figure(title, columns)
    return made


def draw_all(names: Sequence[str], journal: Journal, output: Path) -> list[Path]:
    """Every figure of these tables that the journal has the runs for."""
    made: dict[str, Figure] = {}
    for name in names:
        if name in TABLES:
            made |= process_figures(name, journal)
        else:
            made[name] = step_figure(name, journal)
            made |= {f"{name}-{suffix}": figure for suffix, figure in step_predictions(journal, STEP_TABLES[name])}
    return [save(figure, output / f"{file}.png") for file, figure in made.items()]
