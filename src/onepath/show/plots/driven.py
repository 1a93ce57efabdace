"""Figures of inputs: drift and noise along each of them, such as over the year."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from onepath.data.inputs import CLASS, TREND, Input
from onepath.data.seasons import is_a_year
from onepath.model import Curve, Model
from onepath.numerics.arrays import Floats
from onepath.show.numbers import Shown, shown_at
from onepath.show.plots.style import COLOURS, legend_above, no_lower_than_zero, noise_label, plain, rate_label, when
from onepath.show.sentences import noise

POINTS, STATES = 73, (0.1, 0.5, 0.9)
"""Along an input; and quantiles of the state at which it is looked along, in one dimension."""

SHORT = 6
"""Letters of a name that a legend has room for, once for each state."""

BAND, APART = 0.15, 0.12
"""How opaque a band is, where several overlap; and how far bars of one class stand from each other."""


def inputs(model: Model, figure: Any) -> None:
    """Drift and noise along each input, the others held: from low, median and high states, or of each coordinate."""
    rows = figure.subplots(len(model.variables), 2, squeeze=False)
    for i, (one, (left, right)) in enumerate(zip(model.variables, rows, strict=True)):
        u, lines = _lines(model, i)
        for k, (label, coordinate, shown) in enumerate(lines):
            for axes, curve in ((left, shown.drift), (right, shown.noise)):
                part = Curve(*(values[:, coordinate] for values in curve))
                places = u + APART * (k - (len(lines) - 1) / 2) if one.kind == CLASS else _places(model, one, u)
                _draw(axes, places, part, one, COLOURS[k % len(COLOURS)], label)
        for axes in (left, right):
            _ticks(axes, model, one)
        left.set_ylabel(rate_label(model, 0) if model.dimension == 1 else "drift")
        right.set_ylabel(noise_label(model, 0) if model.dimension == 1 else noise(model))
        no_lower_than_zero(right)
    rows[0, 0].set_title(f"Drift and {noise(model)} along inputs")
    legend_above(rows[0, 1])


def _lines(model: Model, index: int) -> tuple[Floats, list[tuple[str, int, Shown]]]:
    """Values of an input, and what is drawn along them: label, coordinate, drift and noise."""
    one, (low, high) = model.variables[index], model.ranges[index]
    u = np.arange(len(one.levels), dtype=float) if one.kind == CLASS else np.linspace(low, high, POINTS)
    at = np.tile(model.at_inputs, (len(u), 1))
    at[:, index] = u
    x, name = model.transitions.x, plain(model.names[0])
    if model.dimension == 1:
        begin = f"{name} = " if len(name) <= SHORT else "at "
        states = [(f"{begin}{state:.3g}", 0, np.array([state])) for state in np.quantile(x[:, 0], STATES)]
    else:
        states = [(plain(name), k, np.median(x, axis=0)) for k, name in enumerate(model.names)]
    return u, [(label, k, shown_at(model, model.joined(np.tile(state, (len(u), 1)), at))) for label, k, state in states]


def _places(model: Model, one: Input, u: Floats) -> Any:
    return when(model, u - one.offset) if one.kind == TREND else u


def _draw(axes: Axes, at: Any, curve: Curve, one: Input, colour: str, label: str) -> None:
    if one.kind == CLASS:
        apart = np.abs(np.stack([curve.mean - curve.lower, curve.upper - curve.mean]))
        axes.errorbar(at, curve.mean, yerr=apart, fmt="o", color=colour, ms=4, capsize=2.5, lw=1.2, label=label)
        return
    axes.fill_between(at, curve.lower, curve.upper, color=colour, alpha=BAND, lw=0)
    axes.plot(at, curve.mean, color=colour, label=label)


def _ticks(axes: Axes, model: Model, one: Input) -> None:
    name = plain(one.name)
    if one.kind == CLASS:
        axes.set_xticks(range(len(one.levels)), [plain(level) for level in one.levels])
        axes.set_xlim(-0.5, len(one.levels) - 0.5)
    if one.kind == TREND:
        name = "time" if model.trajectory.unit is None else f"time, {model.trajectory.times}"
    if one.period:
        axes.set_xlim(0.0, one.period)
        trajectory = model.trajectory
        cycle = "the year" if is_a_year(trajectory.clock, trajectory.unit, one.period) else "its cycle"
        name = f"{name}: {trajectory.times} into {cycle}"
    axes.set_xlabel(name)
