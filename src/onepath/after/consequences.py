"""What follows from a fit: potential, stationary density and its modes, passage times; above one dimension, rates.

The functions at the core take drift and diffusion on a grid, f and σ of shape (..., n), draws in front.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import cumulative_simpson

from onepath.after.turning import turning, variance_of
from onepath.data.transitions import Units, first_angles
from onepath.model import Model, Seed, asked_once
from onepath.numerics.arrays import Flags, Floats, evenly
from onepath.numerics.checks import check_probability, check_whole
from onepath.numerics.notebook import InNotebooks

GRID, MODE_POINTS = 201, 200

NOWHERE = 1e-4
"""Share of the data's range within which a point is at zero: a grid tells no more."""

MANY = 9
"""Points that are told one by one in a summary, at most: five wells, and what is between them."""

SAME = 1e-6
"""Of itself: a diffusion that varies by less is constant."""

VARIES = (
    "Noise depends on the state: the density has its modes and troughs where f = ½(σ²)′, not where f = 0, and slopes "
    "are those of f - ½(σ²)′."
)
TURNS = (
    "Of an angle, the density has its modes and troughs where f - ½(σ²)′ = J/p, J being the current round the circle; "
    "slopes are those of the difference."
)
PLAIN = "Density and times are those of normal increments of this σ: {left} left out."
HELD = "They are those of the equation with its inputs held still."
WHOLE = "Density and times are those of the whole noise, σ² + λ/Δt at the median step."


class Band(NamedTuple):
    """Median over posterior draws, and the ends of the central interval of the level asked for."""

    median: Any  #: over draws
    lower: Any  #: where the central interval begins
    upper: Any  #: where it ends


class FixedPoint(NamedTuple):
    """Where the state is most likely (stable) or least likely hereabouts: a mode or a trough of the stationary density.

    Under constant noise that is a zero of the drift, and `slope` the drift's. `share` of the draws have one of this
    kind hereabouts; bands are over those.
    """

    position: Band  #: of the state
    stable: bool  #: a mode, or else a trough
    slope: Band  #: how fast what leads there changes with the state, per unit of time
    share: float  #: of the draws that have it


class Passage(NamedTuple):
    """Mean time from one stable point, or mode of the density, to reach its neighbour."""

    start: float  #: from where
    end: float  #: to where
    time: Band  #: how long it takes on average


class Mode(NamedTuple):
    """An eigenvalue of the drift's linearisation: its rate (negative decays) and its period, infinite if it has none.

    `share` of the draws have as many modes as are told of.
    """

    rate: Band  #: per unit of time; negative decays
    period: Band  #: of its oscillation, infinite if there is none
    share: float  #: of the draws that have as many modes


def _integral(y: Floats, x: Floats) -> Floats:
    """∫ y dx from the first point on, along the last axis."""
    return np.asarray(cumulative_simpson(y, x=x, axis=-1, initial=0.0))


def potential(x: Floats, drift: Floats) -> Floats:
    """U = -∫ f dx, zero at the first point."""
    return -_integral(drift, x)


def stationary_density(x: Floats, drift: Floats, diffusion: Floats) -> Floats:
    """p ∝ σ⁻² exp(2 ∫ f/σ² dx) (Itô), normalised on the grid, whose ends reflect."""
    variance = variance_of(diffusion)
    exponent = 2.0 * _integral(drift / variance, x) - np.log(variance)
    unnormalised = np.exp(exponent - exponent.max(axis=-1, keepdims=True))
    return np.asarray(unnormalised / _integral(unnormalised, x)[..., -1:])


def pull(x: Floats, drift: Floats, diffusion: Floats) -> Floats:
    """f - ½ (σ²)', whose zeros are modes and troughs of the stationary density; f itself where σ is constant."""
    return drift - 0.5 * np.gradient(np.square(diffusion), x, axis=-1)


def passage_time(x: Floats, drift: Floats, diffusion: Floats, start: float, end: float) -> Floats:
    """Mean time from start until end is first reached, the grid's other end reflecting: (...).

    T = ∫ dy e^{-Φ(y)} ∫ dz 2 e^{Φ(z)}/σ², Φ = ∫ 2f/σ² dx; z from the reflecting end to y, y from start to end.
    """
    if end < start:
        return passage_time(-x[::-1], -drift[..., ::-1], diffusion[..., ::-1], -start, -end)
    needed = slice(0, int(np.searchsorted(x, end)) + 1)
    x, drift, diffusion = x[needed], drift[..., needed], diffusion[..., needed]
    variance = variance_of(diffusion)
    phi = 2.0 * _integral(drift / variance, x)
    widths = np.gradient(x)
    widths[[0, -1]] /= 2.0
    speed = phi + np.log(2.0 * widths) - np.log(variance)
    # sums of logarithms, since both factors may overflow; by the trapezoid rule, half of the last point counts
    inner = np.logaddexp.accumulate(speed, axis=-1)
    inner = inner + np.log1p(-0.5 * np.exp(speed - inner) * (np.arange(len(x)) > 0))
    exponent = inner - phi
    highest = exponent.max(axis=-1, keepdims=True)
    total = _integral(np.exp(exponent - highest), x)
    times = [np.interp(end, x, row) - np.interp(start, x, row) for row in total.reshape(-1, len(x))]
    with np.errstate(over="ignore", divide="ignore"):  # longer than any number is for ever
        # Simpson's rule may fall below zero where all of the time is spent elsewhere
        return np.exp(np.log(np.maximum(np.reshape(times, drift.shape[:-1]), 0.0)) + highest[..., 0])


def zeros(x: Floats, drift: Floats) -> tuple[Floats, Flags, Floats]:
    """Zeros of one drift (n,) by linear interpolation: positions, whether stable, and slopes."""
    at = np.flatnonzero((drift[:-1] >= 0) != (drift[1:] >= 0))
    slope = (drift[at + 1] - drift[at]) / (x[at + 1] - x[at])
    return x[at] - drift[at] / slope, slope < 0, slope


def fixed_points(x: Floats, drift: Floats, draws: Floats, level: float) -> list[FixedPoint]:
    """Zeros of the mean drift or pull (n,), and what draws (s, n) say of each.

    A draw's zero belongs to the mean's zero of its kind that is nearest.
    """
    positions, stable, _ = zeros(x, drift)
    found: list[list[tuple[float, float]]] = [[] for _ in positions]
    for draw in draws:
        nearest: dict[int, tuple[float, float]] = {}
        for position, kind, slope in zip(*zeros(x, draw), strict=True):
            same = np.flatnonzero(stable == kind)
            if len(same) == 0:
                continue
            k = int(same[np.argmin(np.abs(positions[same] - position))])
            if k not in nearest or abs(position - positions[k]) < abs(nearest[k][0] - positions[k]):
                nearest[k] = (float(position), float(slope))
        for k, pair in nearest.items():
            found[k].append(pair)
    points = []
    for kind, pairs in zip(stable, found, strict=True):
        if pairs:
            where, slopes = np.asarray(pairs).T
            points.append(FixedPoint(_band(where, level), bool(kind), _band(slopes, level), len(pairs) / len(draws)))
    return points


def modes(x: Floats, draws: Floats, level: float) -> list[Mode]:
    """Eigenvalues of the best linear drift over points x (n, d), for draws (s, n, d); slowest decay first.

    A conjugate pair is one mode. Bands are over the draws that have the most common number of pairs.
    """
    design = np.column_stack([np.ones(len(x)), x])
    matrices = np.einsum("kn,sni->sik", np.linalg.pinv(design)[1:], draws)
    upper = [sorted(each[each.imag >= 0], key=lambda value: -value.real) for each in np.linalg.eigvals(matrices)]
    common = int(np.bincount([len(each) for each in upper]).argmax())
    values = np.asarray([each for each in upper if len(each) == common])
    with np.errstate(divide="ignore"):
        periods = 2 * np.pi / np.abs(values.imag)
    share = len(values) / len(draws)
    return [Mode(_band(values.real[:, k], level), _band(periods[:, k], level), share) for k in range(common)]


def _band(values: Floats, level: float) -> Band:
    quantiles = [0.5, (1 - level) / 2, (1 + level) / 2]
    return Band(*np.quantile(values, quantiles, axis=0, method="nearest"))


@dataclass(frozen=True, eq=False)
class Consequences(InNotebooks):
    """What follows from a fit, within the data's range: modes above one dimension, everything else in one."""

    x: Floats  #: (n,), a grid over the data's range
    potential: Band | None  #: (n,) each, -∫ f dx; zero where its median is lowest
    density: Band | None  #: (n,) each, of the stationary distribution
    fixed_points: list[FixedPoint]  #: in one dimension, in order of their positions
    passages: list[Passage]  #: between neighbouring stable points
    modes: list[Mode]  #: above one dimension, slowest decay first
    level: float  #: probability that bands hold
    by_density: bool = False  #: whether points are those of the density, and not zeros of the drift
    notes: tuple[str, ...] = ()  #: what a reader must know, in sentences
    velocity: Band | None = None  #: on average, of an angle

    def kind(self, point: FixedPoint) -> str:
        """What a point is called."""
        if self.by_density:
            return "mode of the density" if point.stable else "trough of the density"
        return "stable point" if point.stable else "unstable point"

    @property
    def many(self) -> str:
        """What is said instead, where there are too many points to tell one by one; "" where there are not."""
        if len(self.fixed_points) <= MANY:
            return ""
        names = [self.kind(point) for point in self.fixed_points]
        counts = ", ".join(f"{names.count(name)} × {name}" for name in sorted(set(names)))
        first, last = (self.fixed_points[k].position.median for k in (0, -1))
        return f"{counts}, between {first:.4g} and {last:.4g}: sde.consequences() lists them, and the times between."

    def __str__(self) -> str:
        return "\n".join([*self._told(), *self._notes()])

    def brief(self) -> str:
        """The same, with many points counted and not listed."""
        return "\n".join([self.many, *self._notes()]) if self.many else str(self)

    def _told(self) -> list[str]:
        lines, kinds = [], [self.kind(point) for point in self.fixed_points]
        width = max(map(len, kinds), default=0)
        for kind, point in zip(kinds, self.fixed_points, strict=True):
            lines.append(
                f"{kind:>{width}} at {_written(point.position)}, slope {_written(point.slope)}, "
                f"in {point.share:.0%} of draws"
            )
        for passage in self.passages:
            lines.append(f"    from {passage.start:.4g} to {passage.end:.4g} in {_written(passage.time)} on average")
        for mode in self.modes:
            period = f", period {_written(mode.period)}" if np.isfinite(mode.period.median) else ", no oscillation"
            lines.append(f"    mode of rate {_written(mode.rate)}{period}")
        return lines

    def _notes(self) -> list[str]:
        velocity = [] if self.velocity is None else [f"    turns with a mean velocity of {_written(self.velocity)}"]
        bands = f"Medians and {self.level:.0%} bands over posterior draws, within the data's range."
        return [*velocity, bands, *self.notes]


def _written(band: Band) -> str:
    return f"{band.median:.4g} [{band.lower:.4g}, {band.upper:.4g}]"


@asked_once
def consequences(model: Model, level: float, draws: int, random_state: Seed) -> Consequences:
    """Everything above for a fitted model, found in its own units; see `SDE.consequences`."""
    check_probability("level", level)
    check_whole("draws", draws, 2)
    return _in_units(_consequences(model.standard, level, draws, random_state), model.units)


def _in_units(found: Consequences, units: Units) -> Consequences:
    """From a model's own units to those of the data."""
    (location, *_), (scale, *_), time, *_ = units

    def by(band: Any, factor: float, shift: float = 0.0) -> Any:
        return None if band is None else Band(*(part * factor + shift for part in band))

    least = NOWHERE * scale * float(np.ptp(found.x)) if len(found.x) else 0.0

    def place(position: Any) -> Any:
        there = position * scale + location
        return there if abs(there) > least else 0.0

    return replace(
        found,
        x=found.x * scale + location,
        potential=by(found.potential, scale * (scale / time)),
        density=by(found.density, 1.0 / scale),
        fixed_points=[
            point._replace(position=Band(*map(place, point.position)), slope=by(point.slope, 1.0 / time))
            for point in found.fixed_points
        ],
        passages=[Passage(place(one.start), place(one.end), by(one.time, time)) for one in found.passages],
        velocity=by(found.velocity, scale / time),
        modes=[one._replace(rate=by(one.rate, 1.0 / time), period=by(one.period, time)) for one in found.modes],
    )


def _consequences(model: Model, level: float, draws: int, random_state: Seed) -> Consequences:
    start = model.transitions.x
    if model.dimension > 1:
        points = start[evenly(len(start), MODE_POINTS)]
        drifts, _ = model.functions(points, draws, random_state)
        found = modes(points, drifts, level)
        return Consequences(np.zeros(0), None, None, [], [], found, level, notes=(HELD,) * bool(model.variables))
    x = np.linspace(*shown_range(model), GRID)
    drawn, sigmas = model.functions(x[:, None], draws, random_state)
    drifts, diffusions = drawn[:, :, 0], model.spread_of(sigmas)[:, :, 0]
    wells = potential(x, drifts)
    lowest = int(np.argmin(np.median(wells, axis=0)))
    mean, noise = model.drift(x[:, None])[:, 0], model.spread_of(model.diffusion(x[:, None]))[:, 0]
    varies = (model.constant_noise or 0.0) < 0.5 and bool(np.ptp(noise) > SAME * np.max(np.abs(noise)))
    pulls, by_density, notes = drifts, varies or model.period is not None, (VARIES,) * varies
    if by_density:
        mean, pulls = pull(x, mean, noise), pull(x, drifts, diffusions)
    velocity = None
    if model.period is not None:
        notes, each = (TURNS,), turning(x, drifts, diffusions)
        velocity = _band(each.velocity, level)
        pulls = pulls - each.current_over_density(x)
        mean = mean - turning(x, model.drift(x[:, None])[:, 0], noise).current_over_density(x)
    points_found = fixed_points(x, mean, pulls, level)
    stable = [float(point.position.median) for point in points_found if point.stable and model.period is None]
    pairs = [pair for a, b in pairwise(stable) for pair in ((a, b), (b, a))]
    return Consequences(
        x,
        _band(wells - wells[:, lowest : lowest + 1], level),
        _band(density_of(model, x, drifts, diffusions), level),
        points_found,
        [Passage(a, b, _band(passage_time(x, drifts, diffusions, a, b), level)) for a, b in pairs],
        [],
        level,
        by_density,
        notes + (WHOLE,) * bool(model.constant_part.any()) + _left_out(model) + (HELD,) * bool(model.variables),
        velocity,
    )


def _left_out(model: Model) -> tuple[str, ...]:
    """What increments are beside normal, which density and times do not know of."""
    law = model.disturbance
    return (PLAIN.format(left=f"{law.name} are"),) if law is not None and law.found else ()


def shown_range(model: Model, index: int = 0) -> tuple[float, float]:
    """Lowest and highest value of a coordinate among the data, or the ends of a whole turn."""
    if model.period is not None and model.period[index] > 0:
        low = float(first_angles(model.trajectory)[index])
        return low, low + float(model.period[index])
    x = model.transitions.x[:, index]
    return float(x.min()), float(x.max())


def density_of(model: Model, x: Floats, drift: Floats, noise: Floats) -> Floats:
    """The stationary density of one coordinate, with reflecting ends or over a turn."""
    return stationary_density(x, drift, noise) if model.period is None else turning(x, drift, noise).density
