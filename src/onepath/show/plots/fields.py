"""Figures of a plane: the vector field, noise ellipses, and maps of drift and diffusion where there are data."""

from typing import Any

import numpy as np
from matplotlib.collections import EllipseCollection

from onepath.model import Model
from onepath.numerics.arrays import Floats
from onepath.show.plane import grid_over
from onepath.show.plots.style import DIVERGING, FIT, INK, MAP, MUTED, Truth, columns_in, noise_label, plain, rate_label

ARROWS, ELLIPSES, MAP_POINTS = 15, 8, 22
DOTS = 600
COMPARABLE = 3.0
"""Ratio of the coordinates' ranges up to which a unit of either is as long on the page."""


def _dots(model: Model, axes: Any) -> None:
    x = model.transitions.x
    shown = x[:: -(-len(x) // DOTS)]
    axes.plot(shown[:, 0], shown[:, 1], ".", color=MUTED, ms=2.2, alpha=0.45, mew=0)


def _frame(model: Model, axes: Any, title: str, points: Floats) -> None:
    first, second = map(plain, model.names)
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.06 * (high - low)
    limits = {"xlim": (low[0] - room[0], high[0] + room[0]), "ylim": (low[1] - room[1], high[1] + room[1])}
    axes.set(xlabel=first, ylabel=second, title=title, **limits)
    if _comparable(points):
        axes.set_aspect("equal")


def _comparable(points: Floats) -> bool:
    first, second = np.ptp(points, axis=0)
    return bool(max(first, second) <= COMPARABLE * min(first, second))


def field(model: Model, figure: Any, truth: Truth | None) -> None:
    """Arrows along the drift, pale where its direction is not known: where both 90 % bands contain zero."""
    axes = figure.subplots()
    _, points, near = grid_over(model, ARROWS)
    points = points[near]
    mean = model.drift(points)
    low, high = model.drift_band(points)
    known = ((low > 0) | (high < 0)).any(axis=1)
    _dots(model, axes)
    _frame(model, axes, "Drift: where it is pushed", points)
    sets = [(points[~known], mean[~known], MUTED, 0.004), (points[known], mean[known], FIT, 0.004)]
    if truth is not None:
        sets.append((points, truth.drift(points), INK, 0.0018))
    # directions on the page: where units differ in length there, both axes are measured in their own spread
    spread = model.transitions.x.std(axis=0)
    spread = np.full(2, spread.mean()) if _comparable(points) else spread
    largest = sets[-1][1] if len(sets[-1][1]) else mean  # where no direction is known, all are pale
    longest = np.quantile(np.hypot(*(largest / spread).T), 0.95) or 1.0
    for where, arrows, colour, width in sets:
        if len(where):
            size = arrows / spread / longest
            size /= np.maximum(1.0, np.hypot(*size.T))[:, None]
            axes.quiver(*where.T, *size.T, color=colour, scale=ARROWS * 1.15, width=width, pivot="tail")


def ellipses(model: Model, figure: Any) -> None:
    """σσᵀ as ellipses: how far, and in which directions, noise carries the state during the same time.

    With λ/Δt where that is not small.
    """
    axes = figure.subplots()
    _, points, near = grid_over(model, ELLIPSES)
    points = points[near]
    _dots(model, axes)
    _frame(model, axes, "Noise: how far, and in which directions", points)
    # on the page, where a unit of either coordinate has its own length
    box = axes.get_window_extent()
    lengths = np.array([box.width / np.ptp(axes.get_xlim()), box.height / np.ptp(axes.get_ylim())])
    lengths = np.ones(2) if _comparable(points) else lengths
    root = model.diffusion(points) * lengths[:, None]
    constant = np.diag(model.constant_part * np.square(lengths))
    values, vectors = np.linalg.eigh(root @ np.swapaxes(root, 1, 2) + constant)
    heights, widths = np.sqrt(np.maximum(values, 0.0)).T
    angles = np.degrees(np.arctan2(vectors[:, 1, 1], vectors[:, 0, 1]))
    largest = 0.8 / ELLIPSES / widths.max()
    drawn = EllipseCollection(
        widths * largest, heights * largest, angles, units="width", offsets=points, transOffset=axes.transData
    )
    drawn.set(facecolor="none", edgecolor=FIT, linewidth=1.2)
    axes.add_collection(drawn)


def maps(model: Model, figure: Any) -> None:
    """Drift and noise of both coordinates over the plane, where there are data."""
    _, points, near = grid_over(model, MAP_POINTS)
    mean, spread = model.drift(points), model.spread(points).mean
    grid = [part.reshape(MAP_POINTS, MAP_POINTS) for part in points.T]
    columns = columns_in(figure)
    panels = figure.subplots(4 // columns, columns).ravel()
    for i in range(2):
        for row, values, label in ((0, mean[:, i], rate_label(model, i)), (1, spread[:, i], noise_label(model, i))):
            axes = panels[2 * row + i]
            shown = np.where(near, values, np.nan).reshape(MAP_POINTS, MAP_POINTS)
            reach = np.nanmax(np.abs(shown))
            levels = reach * np.arange(-6, 7) / 6 if row == 0 else np.linspace(*_range(shown), 12)
            drawn = axes.contourf(*grid, shown, levels=levels, cmap=DIVERGING if row == 0 else MAP)
            bar = figure.colorbar(drawn, ax=axes, format=lambda value, _: f"{value:.3g}".replace("-", "−"))
            bar.outline.set_visible(False)
            _frame(model, axes, label, points)


def _range(values: Floats) -> tuple[float, float]:
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return (low, high) if high > low * (1 + 1e-9) else (low - abs(low) * 1e-3 - 1e-12, high + abs(high) * 1e-3 + 1e-12)
