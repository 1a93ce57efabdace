"""Drift and noise as increments over several steps have them, in bins of the data, and as the model says of such.

At a lag of k steps, y = X(t + kΔ) - X(t), drift is ⟨y⟩ / kΔ and noise the square root of ⟨(y - ⟨y⟩)²⟩ / kΔ. Of the true
state both tend to f and σ as kΔ → 0; how they move away from them with k, a right model knows. Where a bin along one
coordinate has states of several others in it, noise is about the model's own drift instead of ⟨y⟩.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from onepath.data.transitions import nearest
from onepath.model import Model, asked_once
from onepath.numerics.arrays import Floats, Integers, evenly

LAGS = (1, 2, 3, 4, 5, 7, 10, 14, 20, 30, 50)
"""In steps; those over which a record has at least `LEAST_APART` increments one after another."""

LEAST_APART, LEAST_IN_BIN = 40, 8
"""Increments that do not overlap: in the record, for a lag to be looked at, and in a bin, for it to be shown."""

BINS, ENDS = 24, (0.005, 0.995)
"""Of the data, of equal width, between these quantiles."""

NODES, BEYOND, QUADRATURE = 161, 0.2, 16
"""Of the grid, by how much of the range it goes on beyond either end, and of the average over a step."""

MOST = 1 << 14
"""Last steps that are looked at in several dimensions, where the model is asked at each of them."""

Law = Callable[[Floats, Floats], tuple[Floats, Floats]]


class Lagged(NamedTuple):
    """Along one coordinate, at a lag of so many steps: estimates in bins, with standard errors, and what follows."""

    steps: int
    length: float  # of the lag, in the data's unit of time
    at: Floats  # (b,), where bins are
    drift: Floats  # (b,) each
    drift_error: Floats
    noise: Floats
    noise_error: Floats
    grid: Floats  # (n,), where the model was asked; empty where it has no answer
    drift_implied: Floats  # (n,) each
    noise_implied: Floats


def lags_in(model: Model) -> list[int]:
    """The lags that a record is long enough for."""
    return [lag for lag in LAGS if len(_starts(model, lag)) >= LEAST_APART * lag]


def lagged(model: Model, coordinate: int, steps: int) -> Lagged:
    """Estimates along a coordinate of what was read, and what the model says they should be."""
    observed, start = model.trajectory, _starts(model, steps)
    x = observed.x[start, coordinate]
    period = None if observed.period is None else observed.period[coordinate : coordinate + 1]
    y = nearest((observed.x[start + steps, coordinate] - x)[:, None], period)[:, 0]
    dt = observed.t[start + steps] - observed.t[start]
    expected = None
    if model.dimension > 1 and model.observed is None:
        before = _expected(model)[:, coordinate]
        expected = before[start + steps] - before[start]
    bins = _binned(x, y, dt, steps, expected)
    return Lagged(steps, float(np.median(dt)), *bins, *_implied(model, coordinate, x, dt, steps))


def _implied(model: Model, coordinate: int, x: Floats, dt: Floats, steps: int) -> tuple[Floats, Floats, Floats]:
    """Where the model is asked, and what it says: on a line at this lag, else the limit at short ones."""
    if _is_plain(model):
        low, high = np.quantile(x, ENDS)
        moments = implied_moments(model.increments, (low, high), float(np.median(dt)) / steps, steps)
        return np.linspace(low, high, NODES), *moments
    if model.dimension > 1 and model.observed is None:
        return _averages(model, coordinate)
    return np.zeros(0), np.zeros(0), np.zeros(0)


@asked_once
def _expected(model: Model) -> Floats:
    """Sums (n, d) of what the model expects of all steps before each row."""
    rows = np.zeros_like(model.trajectory.x)
    last = slice(-MOST, None)
    step, transitions = model.trajectory.step[last], model.transitions
    points, dt = transitions.points[last], transitions.dt[last]
    rows[step + 1] = model.increments(points, dt)[0]
    return np.cumsum(rows, axis=0)


@asked_once
def _averages(model: Model, coordinate: int) -> tuple[Floats, Floats, Floats]:
    """Middles of bins, and drift and root mean square of noise there, the other coordinates being as in the data."""
    transitions = model.transitions.rows(evenly(len(model.transitions), MOST))
    x = transitions.x[:, coordinate]
    low, high = np.quantile(x, ENDS)
    edges = np.linspace(low, high, BINS + 1)
    place = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, BINS - 1)
    count = np.bincount(place, minlength=BINS)
    used = count >= LEAST_IN_BIN
    drift = np.bincount(place, model.drift(transitions.points)[:, coordinate], BINS)[used] / count[used]
    square = np.square(model.spread_of(model.diffusion(transitions.points))[:, coordinate])
    noise = np.sqrt(np.bincount(place, square, BINS)[used] / count[used])
    return ((edges[1:] + edges[:-1]) / 2)[used], drift, noise


def _starts(model: Model, steps: int) -> Integers:
    """Rows from which so many transitions follow each other."""
    begins = np.zeros(len(model.trajectory.t), dtype=np.int64)
    begins[model.trajectory.step] = 1
    before = np.concatenate([[0], np.cumsum(begins)])  # transitions that begin before each row
    rows = np.arange(max(len(begins) - steps, 0))
    if model.dimension > 1:
        rows = rows[rows >= model.trajectory.step[-MOST:][0]]
    return rows[before[rows + steps] - before[rows] == steps]


def _is_plain(model: Model) -> bool:
    """Whether the state is what was read, one number on a line, without inputs, and increments are normal."""
    special = (model.observed, model.disturbance, model.period, model.bounds)
    return model.dimension == 1 and not model.variables and all(part is None for part in special)


def _binned(
    x: Floats, y: Floats, dt: Floats, steps: int, expected: Floats | None
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Middles of bins, drift and noise there, each with its standard error: increments that overlap count once.

    Noise is about the mean in a bin, or about what is expected of each increment, where that is given.
    """
    low, high = np.quantile(x, ENDS)
    edges = np.linspace(low, high, BINS + 1)
    inside = (x >= low) & (x <= high) & np.isfinite(y)
    place = np.minimum(np.searchsorted(edges, x[inside], side="right") - 1, BINS - 1)
    y, dt = y[inside], dt[inside]
    about = None if expected is None else expected[inside]

    def total(values: Floats) -> Floats:
        return np.asarray(np.bincount(place, values, BINS), float)

    count, time = total(np.ones_like(y)), total(dt)
    used = count >= LEAST_IN_BIN * steps
    with np.errstate(invalid="ignore", divide="ignore"):
        drift, apart = total(y) / time, count / steps
        noise = np.sqrt(total(np.square(y - (drift[place] * dt if about is None else about))) / time)
        errors = noise / np.sqrt(time / steps), noise / np.sqrt(2 * apart)
    middle = (edges[1:] + edges[:-1]) / 2
    parts = (part[used] for part in (middle, drift, errors[0], noise, errors[1]))
    at, f, f_error, s, s_error = parts
    return at, f, f_error, s, s_error


def implied_moments(law: Law, ends: tuple[float, float], dt: float, steps: int) -> tuple[Floats, Floats]:
    """Drift and noise (NODES,) between two ends that a law of single steps has at a lag of so many of them.

    E_k(x) = E[E_{k-1}(X₁)] and Var_k(x) = E[Var_{k-1}(X₁)] + Var[E_{k-1}(X₁)] by Gauss and Hermite's rule, splines
    between nodes, and beyond the last of them straight lines and a variance that stays.
    """
    low, high = ends
    room = BEYOND * (high - low)
    beyond = int(np.ceil(BEYOND * NODES))
    nodes = np.concatenate(
        [
            np.linspace(low - room, low, beyond, endpoint=False),
            np.linspace(low, high, NODES),
            np.linspace(high + room, high, beyond, endpoint=False)[::-1],
        ]
    )
    mean, covariance = law(nodes[:, None], np.full(len(nodes), dt))
    xi, weight = np.polynomial.hermite_e.hermegauss(QUADRATURE)
    weight = weight / weight.sum()
    landed = (nodes + mean[:, 0])[:, None] + np.sqrt(covariance[:, 0, 0])[:, None] * xi  # (nodes, QUADRATURE)
    clipped = np.clip(landed, nodes[0], nodes[-1])
    moved, variance = np.zeros(len(nodes)), np.zeros(len(nodes))
    for _ in range(steps):
        spline = CubicSpline(nodes, np.stack([moved, variance], axis=1))
        both = spline(clipped)
        both[:, :, 0] += spline(clipped, 1)[:, :, 0] * (landed - clipped)
        there = landed + both[:, :, 0]
        average = there @ weight
        variance = both[:, :, 1] @ weight + np.square(there - average[:, None]) @ weight
        moved = average - nodes
    shown = slice(beyond, beyond + NODES)
    length = steps * dt
    return moved[shown] / length, np.sqrt(variance[shown] / length)
