"""Figures along a line: the trajectory, drift and diffusion with bands, potential, stationary density, forecasts."""

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

import onepath.consequences as consequences
from onepath.plots.style import (
    FIT,
    INK,
    MUTED,
    SECOND,
    no_lower_than_zero,
    noise_label,
    per_time,
    plain,
    rate_label,
    time_label,
)

Array = npt.NDArray[np.float64]

POINTS, DRAWS = 200, 400
"""Of a curve, and functions drawn from the posterior for a band; as in the summary, so that code compiles once."""

MOST_DRAWN = 2000
"""Points of a trajectory that are drawn as they are; longer ones by their extremes in as many intervals."""

BINS = 40
BASEMENT = 0.16
"""Share of an axes' height that the data's density takes."""


def line_through(sde: Any, index: int = 0) -> Array:
    """Points (n, d) along one coordinate over the data's range, the others at their median."""
    x = sde.transitions_.x
    points = np.tile(np.median(x, axis=0), (POINTS, 1))
    low, high = (x[:, index].min(), x[:, index].max()) if x.shape[1] == 1 else np.quantile(x[:, index], [0.005, 0.995])
    points[:, index] = np.linspace(low, high, POINTS)
    return points


def _panels(figure: Any, count: int, share: bool = False) -> list[Axes]:
    columns = 1 if share else min(count, 2)
    axes = figure.subplots(-(-count // columns), columns, squeeze=False, sharex=share)
    for unused in axes.ravel()[count:]:
        unused.set_axis_off()
    return list(axes.ravel()[:count])


def _density_under(axes: Axes, values: Array) -> None:
    """The data's density along the bottom, in axes' heights."""
    heights, edges = np.histogram(values, BINS)
    heights = BASEMENT * heights / heights.max()
    axes.stairs(heights, edges, transform=axes.get_xaxis_transform(), fill=True, color=MUTED, alpha=0.35, label="data")


def trajectory(sde: Any, figure: Any, **_: Any) -> None:
    """What was observed; gaps stay empty."""
    observed = sde.trajectory_
    for i, axes in enumerate(panels := _panels(figure, observed.dimension, share=True)):
        t, x = _with_breaks(observed.t, observed.x[:, i], observed.step)
        for part in _thinned(x):
            axes.plot(t[part], x[part], color=FIT if i == 0 else SECOND if i == 1 else INK, lw=0.8)
        axes.set_ylabel(plain(observed.names[i]))
    panels[-1].set_xlabel(time_label(sde))
    panels[0].set_title("Trajectory")


def _with_breaks(t: Array, x: Array, step: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """A missing value after every row that no transition leaves."""
    broken = np.setdiff1d(np.arange(len(t) - 1), step) + 1
    return np.insert(t, broken, t[broken]), np.insert(x, broken, np.nan)


def _thinned(x: Array) -> list[npt.NDArray[np.int64]]:
    """Indices of the points to draw: all, or the lowest and highest of each interval, and every break."""
    if len(x) <= MOST_DRAWN:
        return [np.arange(len(x))]
    width = -(-2 * len(x) // MOST_DRAWN)
    padded = np.pad(x, (0, -len(x) % width), constant_values=np.nan).reshape(-1, width)
    start = width * np.arange(len(padded))
    lowest = start + np.where(np.isnan(padded), np.inf, padded).argmin(axis=1)
    highest = start + np.where(np.isnan(padded), -np.inf, padded).argmax(axis=1)
    return [np.unique(np.concatenate([lowest, highest, np.flatnonzero(np.isnan(x))]).clip(max=len(x) - 1))]


def _band(axes: Axes, x: Array, middle: Array, low: Array, high: Array) -> None:
    axes.fill_between(x, low, high, color=FIT, alpha=0.22, lw=0, label="90 % band")
    axes.plot(x, middle, color=FIT, label="learned")


def _others(sde: Any, index: int) -> str:
    return f"{plain(sde.trajectory_.names[index])}" + (" (others at their median)" if sde.n_features_in_ > 1 else "")


def drift(sde: Any, figure: Any, truth: Any = None) -> None:
    """f with its band, and the data's density under it."""
    d = sde.n_features_in_
    for i, axes in enumerate(panels := _panels(figure, d)):
        points = line_through(sde, i)
        parts = (sde.drift(points), *sde.drift_band(points))
        _band(axes, points[:, i], *(np.reshape(part, (-1, d))[:, i] for part in parts))
        axes.axhline(0.0, color=MUTED, lw=0.8)
        if truth is not None:
            axes.plot(points[:, i], truth.drift(points)[:, i], color=INK, ls="--", lw=1.2, label="truth")
        _density_under(axes, sde.transitions_.x[:, i])
        axes.set(xlabel=_others(sde, i), ylabel=rate_label(sde, i), xlim=points[[0, -1], i])
    panels[0].set_title("Drift")
    panels[0].legend(ncols=2)


def diffusion(sde: Any, figure: Any, truth: Any = None) -> None:
    """σ, its diagonal in more dimensions, with its band, and the data's density under it."""
    d = sde.n_features_in_
    for i, axes in enumerate(panels := _panels(figure, d)):
        points = line_through(sde, i)
        parts = (sde.diffusion(points), *sde.diffusion_band(points))
        _band(axes, points[:, i], *(np.reshape(part, (-1, d, d))[:, i, i] for part in parts))
        if truth is not None:
            known = np.abs(truth.diffusion(points)[:, i, i])
            axes.plot(points[:, i], known, color=INK, ls="--", lw=1.2, label="truth")
        no_lower_than_zero(axes)
        _density_under(axes, sde.transitions_.x[:, i])
        axes.set(xlabel=_others(sde, i), ylabel=noise_label(sde, i), xlim=points[[0, -1], i])
    panels[0].set_title("Diffusion")
    panels[0].legend(ncols=2)


def potential(sde: Any, figure: Any, truth: Any = None) -> None:
    """U(x) = -∫ f, zero at the data's median (one dimension)."""
    points, axes = line_through(sde), figure.subplots()
    x = points[:, 0]
    middle = int(np.argmin(np.abs(x - np.median(sde.transitions_.x))))

    def well(values: Array) -> Array:
        deep = consequences.potential(x, values)
        return deep - deep[..., middle : middle + 1]

    drawn = well(sde.functions(x, DRAWS, random_state=0)[0])
    _band(axes, x, well(sde.drift(x)), *np.quantile(drawn, [0.05, 0.95], axis=0))
    if truth is not None:
        axes.plot(x, well(truth.drift(points)[:, 0]), color=INK, ls="--", lw=1.2, label="truth")
    name = plain(sde.trajectory_.names[0])
    axes.set(xlabel=name, ylabel=f"potential, {name}² {per_time(sde)}", xlim=x[[0, -1]], title="Potential U = -∫ f dx")
    axes.legend()


def density(sde: Any, figure: Any, truth: Any = None) -> None:
    """The stationary density of what was learned, against the histogram of the data (one dimension)."""
    points, axes = line_through(sde), figure.subplots()
    x = points[:, 0]
    axes.hist(sde.transitions_.x[:, 0], BINS, density=True, color=MUTED, alpha=0.35, label="data")
    drawn = consequences.stationary_density(x, *sde.functions(x, DRAWS, random_state=0))
    _band(axes, x, np.median(drawn, axis=0), *np.quantile(drawn, [0.05, 0.95], axis=0))
    if truth is not None:
        known = consequences.stationary_density(x, truth.drift(points)[:, 0], np.abs(truth.diffusion(points)[:, 0, 0]))
        axes.plot(x, known, color=INK, ls="--", lw=1.2, label="truth")
    name = plain(sde.trajectory_.names[0])
    axes.set(xlabel=name, ylabel=f"density, per unit of {name}", xlim=x[[0, -1]], title="Stationary density")
    axes.legend()


def forecast(sde: Any, figure: Any, fan: Any = None, **_: Any) -> None:
    """Quantiles of where it goes from the last state, after the end of the data."""
    fan = forecast_of(sde) if fan is None else fan
    observed, steps = sde.trajectory_, len(fan.t)
    levels = np.asarray(fan.quantiles([0.05, 0.25, 0.5, 0.75, 0.95]))
    last = slice(max(0, len(observed.t) - 2 * steps), None)
    for i, axes in enumerate(panels := _panels(figure, observed.dimension, share=True)):
        axes.plot(observed.t[last], observed.x[last, i], color=MUTED, lw=0.9, label="data")
        low, lower, middle, upper, high = levels[:, :, i]
        axes.fill_between(fan.t, low, high, color=SECOND, alpha=0.18, lw=0, label="90 %")
        axes.fill_between(fan.t, lower, upper, color=SECOND, alpha=0.28, lw=0, label="50 %")
        axes.plot(fan.t, middle, color=SECOND, label="median")
        axes.set_ylabel(plain(observed.names[i]))
    panels[-1].set_xlabel(time_label(sde))
    panels[0].set_title("Forecast")
    panels[0].legend(ncols=4, loc="upper left")


def forecast_of(sde: Any, steps: int | None = None, paths: int = 500) -> Any:
    """A fan of a tenth of the data's length, at most 100 steps."""
    return sde.forecast(steps or int(np.clip(sde.trajectory_.transitions // 10, 10, 100)), paths=paths, random_state=0)
