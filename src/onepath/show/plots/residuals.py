"""The figure of the diagnosis: what residuals should be, and what they are."""

from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from onepath.after.diagnose.picture import LAGS, STEPS, picture_of
from onepath.model import Model
from onepath.numerics.arrays import Floats, Integers, evenly
from onepath.show.plots.style import (
    COLOURS,
    FIT,
    INK,
    LINE,
    MUTED,
    columns_in,
    legend_above,
    plain,
    time_axis,
    when,
)

NINETY = 1.6449
MOST_DOTS, LARGEST, MOST_QUANTILES = 500, 50, 120
"""Of each coordinate that are drawn: residuals, beside them the largest, and quantiles. A dot takes a hundred bytes."""


def diagnosis(model: Model, figure: Any) -> None:
    """Residuals in time, their autocorrelation, their quantiles against the normal ones, and σ² against the step."""
    columns = columns_in(figure)
    time, memory, normal, steps = figure.subplots(4 // columns, columns).ravel()
    found, moved, one_record = picture_of(model), model.moved, model.trajectory.record.max() == 0
    several = len(moved) > 1
    times = when(model, found.t) if one_record else found.t
    lags, apart = np.arange(1, LAGS + 1), 0.5 / len(moved)
    limit = NINETY * found.errors.max(axis=1)
    memory.fill_between(lags, -limit, limit, color=LINE, lw=0, step="mid")
    for i, name in enumerate(plain(model.names[k]) for k in moved):
        colour, shift = COLOURS[i % len(COLOURS)] if several else FIT, (i - (len(moved) - 1) / 2) * apart
        z = found.z[:, i]
        shown = _dots(z)
        time.plot(times[shown], z[shown], ".", color=colour, ms=2.2, mew=0, alpha=0.6)
        memory.vlines(lags + shift, 0.0, found.correlations[:, i], color=colour, lw=1.6)
        ordered = np.sort(z)[at := _ranks(len(z))]
        normal.plot(ndtri((at + 0.5) / len(z)), ordered, ".", color=colour, ms=3.0, mew=0)
        error = NINETY * found.ratio_errors[:, i]
        place = np.arange(len(STEPS)) + shift
        steps.errorbar(place, found.ratios[:, i], error, fmt="o", color=colour, ms=4.0, lw=1.4, label=name)
    for axes, level in ((time, 0.0), (memory, 0.0), (steps, 1.0)):
        axes.axhline(level, color=MUTED, lw=0.8)
    normal.axline((0.0, 0.0), slope=1.0, color=INK, lw=0.9, ls="--")
    time.set(title="Residuals in time", ylabel="residual")
    if one_record:
        time_axis(time, model)
    else:
        time.set_xlabel("transition")
    memory.set(title="Their autocorrelation", xlabel="steps apart", ylabel="correlation")
    normal.set(title="Against the normal law", xlabel="normal quantile", ylabel="residual")
    steps.set(title="Diffusion at longer steps", xlabel="every so many points", ylabel="σ² over that shown")
    memory.set_xticks(range(0, LAGS + 1, 5))
    steps.set_xticks(range(len(STEPS)), map(str, STEPS))
    if several:
        legend_above(steps)


def _dots(z: Floats) -> Integers:
    """Which residuals to draw: evenly many over the record, so that they look as all would, and the largest."""
    largest = np.argsort(np.abs(z))[-LARGEST:]
    return np.union1d(evenly(len(z), MOST_DOTS), largest)


def _ranks(count: int) -> Integers:
    """Of ordered residuals, evenly over normal quantiles: tails are drawn whole, the middle is thinned."""
    last = float(ndtri(1 - 0.5 / count))
    return np.unique(np.rint(count * ndtr(np.linspace(-last, last, MOST_QUANTILES)) - 0.5).astype(np.int64))
