"""Figures along a line: the trajectory, drift and diffusion with bands, potential, stationary density, forecasts."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from onepath.after import consequences
from onepath.after.consequences import Band
from onepath.after.forecast import Paths
from onepath.after.forecast import forecast as paths_ahead
from onepath.after.states import states
from onepath.model import Curve, Model, asked_once
from onepath.numerics.arrays import Floats, Integers
from onepath.show.numbers import QUANTILES, Shown, shown_at
from onepath.show.plots.disturbed import mark_jumps
from onepath.show.plots.style import (
    FIT,
    INK,
    MUTED,
    SECOND,
    Truth,
    columns_in,
    legend_above,
    no_lower_than_zero,
    noise_label,
    plain,
    rate_label,
    time_axis,
    when,
)
from onepath.show.sentences import noise, per_time
from onepath.show.tables import line_through

POINTS, DRAWS = 200, 400
"""Of a curve, and functions drawn from the posterior for a band; as in the summary, so that code compiles once."""

MOST_DRAWN = 2000
"""Points of a trajectory that are drawn as they are; longer ones by their extremes in as many intervals."""

MOST_READINGS = 300
"""Readings that are drawn beside the states that they are of."""

BINS = 40
BASEMENT = 0.16
"""Share of an axes' height that the data's density takes."""


def _panels(figure: Any, count: int, share: bool = False) -> list[Axes]:
    columns = 1 if share else min(count, columns_in(figure))
    axes = figure.subplots(-(-count // columns), columns, squeeze=False, sharex=share)
    for unused in axes.ravel()[count:]:
        unused.set_axis_off()
    return list(axes.ravel()[:count])


def _density_under(axes: Axes, values: Floats) -> None:
    """The data's density along the bottom, in axes' heights."""
    heights, edges = np.histogram(values, BINS)
    heights = BASEMENT * heights / heights.max()
    axes.stairs(heights, edges, transform=axes.get_xaxis_transform(), fill=True, color=MUTED, alpha=0.35, label="data")


def trajectory(model: Model, figure: Any) -> None:
    """What was observed; gaps stay empty."""
    observed = model.trajectory
    if model.observed is not None:
        _hidden(model, figure)
        return
    for i, axes in enumerate(panels := _panels(figure, observed.dimension, share=True)):
        t, x = _with_breaks(when(model, observed.t), observed.x[:, i], observed.step)
        shown = _thinned(x)
        axes.plot(t[shown], x[shown], color=FIT if i == 0 else SECOND if i == 1 else INK, lw=0.8)
        mark_jumps(axes, model, i)
        axes.set_ylabel(plain(observed.names[i]))
    time_axis(panels[-1], model)
    panels[0].set_title("Trajectory")
    if panels[0].get_legend_handles_labels()[1]:
        legend_above(panels[0])


def _hidden(model: Model, figure: Any) -> None:
    """States with their bands, and the readings as points: the last ones, of which single ones can be seen."""
    observed, found = model.trajectory, states(model)
    last = slice(max(0, len(observed.t) - MOST_READINGS), None)
    lower, upper = found.band()
    for i, axes in enumerate(panels := _panels(figure, model.dimension, share=True)):
        begins = np.setdiff1d(np.arange(1, len(observed.t[last])), observed.step - (last.start or 0) + 1)
        t = np.insert(when(model, observed.t[last]), begins, when(model, observed.t[last])[begins])
        path, low, high = (np.insert(part[last, i], begins, np.nan) for part in (found.smoothed, lower, upper))
        if i < observed.dimension:
            axes.plot(
                when(model, observed.t[last]), observed.x[last, i], ".", color=MUTED, ms=3, mew=0, label="readings"
            )
        axes.fill_between(t, low, high, color=FIT, alpha=0.3, lw=0, label="90 % band")
        axes.plot(t, path, color=FIT, lw=0.9, label="state, given all readings")
        axes.set_ylabel(plain(model.names[i]))
    time_axis(panels[-1], model)
    panels[0].set_title(
        "Trajectory" if len(observed.t) <= MOST_READINGS else f"Trajectory, its last {MOST_READINGS} readings"
    )
    legend_above(panels[0])


def _with_breaks(t: Any, x: Floats, step: Integers) -> tuple[Any, Floats]:
    """A missing value after every row that no transition leaves."""
    broken = np.setdiff1d(np.arange(len(t) - 1), step) + 1
    return np.insert(t, broken, t[broken]), np.insert(x, broken, np.nan)


def _thinned(x: Floats) -> Integers:
    """Indices of the points to draw: all, or the lowest and highest of each interval, and every break."""
    if len(x) <= MOST_DRAWN:
        return np.arange(len(x))
    width = -(-2 * len(x) // MOST_DRAWN)
    padded = np.pad(x, (0, -len(x) % width), constant_values=np.nan).reshape(-1, width)
    start = width * np.arange(len(padded))
    lowest = start + np.where(np.isnan(padded), np.inf, padded).argmin(axis=1)
    highest = start + np.where(np.isnan(padded), -np.inf, padded).argmax(axis=1)
    return np.unique(np.concatenate([lowest, highest, np.flatnonzero(np.isnan(x))]).clip(max=len(x) - 1))


def band_into(axes: Axes, x: Floats, curve: Curve | Band, level: float = 0.9) -> None:
    """What was learned, and its band of this level."""
    middle, lower, upper = curve
    axes.fill_between(x, lower, upper, color=FIT, alpha=0.22, lw=0, label=f"{100 * level:g} % band")
    axes.plot(x, middle, color=FIT, label="learned")


def _truth(axes: Axes, x: Floats, values: Floats) -> None:
    axes.plot(x, values, color=INK, ls="--", lw=1.2, label="truth")


def _others(model: Model, index: int) -> str:
    return f"{plain(model.names[index])}" + (" (others at their median)" if model.dimension > 1 else "")


@asked_once
def _along(model: Model, index: int) -> Shown:
    """Drift and noise along one coordinate, for both of their figures."""
    return shown_at(model, line_through(model, index, POINTS))


def drift(model: Model, figure: Any, truth: Truth | None) -> None:
    """f with its band, and the data's density under it."""
    for i, axes in enumerate(panels := _panels(figure, model.dimension)):
        (points, curve, _), of = _along(model, i), model.shown_along(i)
        band_into(axes, points[:, i], Curve(*(part[:, of] for part in curve)))
        axes.axhline(0.0, color=MUTED, lw=0.8)
        if truth is not None:
            _truth(axes, points[:, i], truth.drift(points)[:, of])
        _density_under(axes, model.transitions.x[:, i])
        axes.set(xlabel=_others(model, i), ylabel=rate_label(model, of), xlim=points[[0, -1], i])
    panels[0].set_title("Drift")
    legend_above(panels[columns_in(figure) - 1] if len(panels) > 1 else panels[0])


def diffusion(model: Model, figure: Any, truth: Truth | None) -> None:
    """The standard deviation of each dX_i with its band, and the data's density under it."""
    for i, axes in enumerate(panels := _panels(figure, model.dimension)):
        (points, _, curve), of = _along(model, i), model.shown_along(i)
        band_into(axes, points[:, i], Curve(*(part[:, of] for part in curve)))
        if truth is not None:
            _truth(axes, points[:, i], np.linalg.norm(truth.diffusion(points)[:, of], axis=1))
        no_lower_than_zero(axes)
        _density_under(axes, model.transitions.x[:, i])
        axes.set(xlabel=_others(model, i), ylabel=noise_label(model, of), xlim=points[[0, -1], i])
    panels[0].set_title(noise(model).capitalize())
    legend_above(panels[columns_in(figure) - 1] if len(panels) > 1 else panels[0])


@asked_once
def _drawn(model: Model) -> tuple[Floats, Floats]:
    """Drifts and noise (draws, n) along the line, for the figures that need whole functions (one dimension)."""
    drifts, diffusions = model.functions(line_through(model, 0, POINTS), DRAWS, random_state=0)
    return drifts[:, :, 0], model.spread_of(diffusions)[:, :, 0]


def potential(model: Model, figure: Any, truth: Truth | None) -> None:
    """U(x) = -∫ f, zero at the data's median (one dimension)."""
    points, curve, _ = _along(model, 0)
    x, axes = points[:, 0], figure.subplots()
    middle = int(np.argmin(np.abs(x - np.median(model.transitions.x))))

    def well(values: Floats) -> Floats:
        deep = consequences.potential(x, values)
        return deep - deep[..., middle : middle + 1]

    band_into(axes, x, Curve(well(curve.mean[:, 0]), *np.quantile(well(_drawn(model)[0]), [0.05, 0.95], axis=0)))
    if truth is not None:
        _truth(axes, x, well(truth.drift(points)[:, 0]))
    name = plain(model.names[0])
    label = f"potential, {name}² {per_time(model)}"
    axes.set(xlabel=name, ylabel=label, xlim=x[[0, -1]], title="Potential")
    legend_above(axes)


def density(model: Model, figure: Any, truth: Truth | None) -> None:
    """The stationary density of what was learned, against the histogram of the data (one dimension)."""
    points, axes = line_through(model, 0, POINTS), figure.subplots()
    x = points[:, 0]
    axes.hist(model.transitions.x[:, 0], BINS, density=True, color=MUTED, alpha=0.35, label="data")
    drawn = consequences.density_of(model, x, *_drawn(model))
    band_into(axes, x, Curve(np.median(drawn, axis=0), *np.quantile(drawn, [0.05, 0.95], axis=0)))
    if truth is not None:
        sigma = np.abs(truth.diffusion(points)[:, 0, 0])
        _truth(axes, x, consequences.density_of(model, x, truth.drift(points)[:, 0], sigma))
    name = plain(model.names[0])
    axes.set(xlabel=name, ylabel=f"density, per unit of {name}", xlim=x[[0, -1]], title="Stationary density")
    legend_above(axes)


@asked_once
def fan_of(model: Model) -> Paths:
    """A forecast of a tenth of the data's length, at most 100 steps."""
    steps = int(np.clip(model.trajectory.transitions // 10, 10, 100))
    return paths_ahead(model, steps, None, 500, 0, True)


def fan_into(axes: Axes, t: Any, levels: Floats) -> None:
    """The median and the central 50 % and 90 %, from `QUANTILES` (5, n)."""
    low, lower, middle, upper, high = levels
    axes.fill_between(t, low, high, color=SECOND, alpha=0.18, lw=0, label="90 %")
    axes.fill_between(t, lower, upper, color=SECOND, alpha=0.28, lw=0, label="50 %")
    axes.plot(t, middle, color=SECOND, label="median")


def forecast(model: Model, figure: Any) -> None:
    """Quantiles of where it goes from the last state, after the end of the data."""
    fan, observed = fan_of(model), model.trajectory
    levels = np.asarray(fan.quantiles(QUANTILES))
    last = slice(max(0, len(observed.t) - 2 * len(fan.t)), None)
    before, ahead = when(model, observed.t[last]), when(model, fan.t)
    seen = observed.x if model.observed is None else states(model).smoothed
    for i, axes in enumerate(panels := _panels(figure, model.dimension, share=True)):
        axes.plot(before, seen[last, i], color=MUTED, lw=0.9, label="data" if model.observed is None else "state")
        fan_into(axes, ahead, levels[:, :, i])
        axes.set_ylabel(plain(model.names[i]))
    time_axis(panels[-1], model)
    panels[0].set_title("Forecast")
    legend_above(panels[0])
