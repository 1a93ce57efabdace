"""Filtering under a law, and the search for the noise of readings: the two things that take turns with a fit."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from onepath.data.stretches import LENGTH, rows_looked_at
from onepath.inference.hidden.blur import blurred
from onepath.inference.hidden.filter import Filtered, Judged, Rows, Setting, filtered, judged
from onepath.inference.hidden.reading import Readings
from onepath.inference.hidden.steps import Law, Steps, steps_from
from onepath.numerics.arrays import Flags, Floats

PASSES = 2
"""Of the filter under one law: the second is linear around the states of the first."""

SCORINGS, ENOUGH = 30, 1e-2
"""Steps in search of noise and a factor on Q, at most, and what the likelihood must still gain by one."""

EXPOSURES = (0.01, 1.0)
"""Between which the share of a step is searched that readings average over."""

SURE = 0.5
"""Standard deviation, beforehand, of ln of a factor on the drift."""

ADVICE = {
    1: "what was learned says that it runs away between readings. Look for outliers and for long gaps, or leave out "
    "what readings were said to be",
    2: "what was learned says that velocities run away between readings, which those of a body do not. Are these "
    "positions, read often enough to see how they move? Otherwise leave out order=2",
}
"""Where the filter loses a state, by the order."""

LONGEST_STEP = 2.0
"""Of a logarithm in one step of that search."""

LEAST = {1: 1e-6, 2: 1e-9}
"""Variance of readings, in units of an increment's, below which there is none; less where velocities are hidden."""


class Path(NamedTuple):
    """Rows as the filter took them, under which scales, and what it found."""

    rows: Rows
    setting: Setting
    scales: Floats  # ln of a factor on Q, of each channel's learned variance, and of a factor on the drift
    found: Filtered
    size: int  # of the state without means over an exposure
    exposure: float | None  # the share of a step that a reading averages over

    @property
    def moved(self) -> slice:
        """Coordinates of the state that are moved by unknown functions: as many as are read, the last ones."""
        return slice(self.size - self.rows.z.shape[1], self.size)


class Search(NamedTuple):
    """Where the search for scales ended, and the likelihood there."""

    scales: Floats
    judged: Judged

    @property
    def likelihood(self) -> float:
        """Without what was known beforehand."""
        return float(self.judged.value) + 0.5 * float(self.scales[-1] / SURE) ** 2


class Lost(RuntimeError):
    """Under a law, the filter does not stay with the readings."""


def followed(readings: Readings, law: Law, path: Path, scales: Floats) -> Path:
    """The filter under a law, around the states of another path."""
    for _ in range(PASSES):
        rows = rows_under(readings, law, path.found.state[:, : path.size], path.exposure)
        path = path._replace(rows=rows, scales=scales, found=filtered(scales, rows, path.setting))
        if not all(np.all(np.isfinite(each)) for each in (path.found.state, path.found.covariance)):
            raise Lost("the filter lost the state: " + ADVICE[readings.reading.order])
    return path


def with_exposure(readings: Readings, law: Law, path: Path) -> Path:
    """The same path with the exposure that makes its readings most likely, and the scales that go with it."""

    def at(exposure: float) -> tuple[Path, Search]:
        rows = rows_under(readings, law, path.found.state[:, : path.size], float(exposure))
        found = search(rows, path.setting, path.scales, readings)
        return path._replace(rows=rows, scales=found.scales, exposure=float(exposure)), found

    best = minimize_scalar(
        lambda exposure: -at(exposure)[1].judged.value, bounds=EXPOSURES, method="bounded", options={"xatol": 0.01}
    )
    return at(best.x)[0]


def rows_under(readings: Readings, law: Law, states: Floats, exposure: float | None) -> Rows:
    """Rows with the steps of a law, linear around these states (n, D)."""
    near = np.concatenate([states[:1], states[:-1]])
    steps = steps_from(law, near, readings.dt, readings.driven)
    if exposure is None:
        return rows_of(readings, near, steps)
    # the mean over an exposure starts from the state, and an increment of it is counted from there
    return rows_of(readings, np.tile(near, 2), blurred(steps, readings.dt, exposure))


def rows_of(readings: Readings, near: Floats, steps: Steps) -> Rows:
    return Rows(near, *steps, readings.begins, readings.z, readings.read, readings.given, readings.units)


def differences(readings: Readings) -> tuple[Floats, Flags]:
    """Of each reading to the one before, (n - 1, d), 0 where one is missing; and where there are both."""
    there = readings.read > 0
    both = (readings.begins[1:] == 0)[:, None] & there[1:] & there[:-1]
    return np.where(both, readings.z[1:] - readings.z[:-1], 0.0), both


def mean_squares(readings: Readings) -> Floats:
    """Of differences, (d,)."""
    y, both = differences(readings)
    return np.asarray(np.sum(y * y, axis=0) / np.maximum(both.sum(axis=0), 1))


def search(rows: Rows, setting: Setting, scales: Floats, readings: Readings, *, drift: bool = True) -> Search:
    """The factors on Q and, if asked, on the drift, and variances of readings, that are most likely: Fisher scoring."""
    rows = some_of(rows)
    learned, unit = readings.learned, readings.unit
    least = LEAST[readings.reading.order] * mean_squares(readings) / np.where(learned, unit, 1.0)
    least = np.concatenate([[-20.0], np.log(np.where(learned, least, 1.0)), [-20.0]])
    free = free_scales(readings)
    free[-1] &= drift
    here = weighed(scales, rows, setting)
    for _ in range(SCORINGS):
        move, gain = _step(here, free & ~((scales <= least) & (here.slope < 0)))
        if gain < ENOUGH:
            break
        for _ in range(8):
            there_scales = np.maximum(scales + move, least)
            there = weighed(there_scales, rows, setting)
            if there.value > here.value:
                break
            move = 0.25 * move
        else:
            break
        scales, here = there_scales, there
    return Search(scales, here)


def free_scales(readings: Readings) -> Flags:
    """Those that are searched: a factor on the drift only where all that moves a state is unknown."""
    reading = readings.reading
    return np.concatenate([[True], readings.learned, [reading.order == 1 and reading.exposure is None]])


def weighed(scales: Floats, rows: Rows, setting: Setting) -> Judged:
    """The likelihood, with what is known beforehand of a factor on the drift, which no data say where there is none."""
    found, drift = judged(scales, rows, setting), scales[-1] / SURE**2
    last = np.eye(len(scales))[-1]
    fisher = found.fisher + np.outer(last, last) / SURE**2
    return found._replace(value=found.value - 0.5 * drift * scales[-1], slope=found.slope - drift * last, fisher=fisher)


def _step(here: Judged, free: Flags) -> tuple[Floats, float]:
    """F⁻¹g among the free ones, no logarithm by more than `LONGEST_STEP`, and what a quadratic would gain by it."""
    move, slope = np.zeros(len(free)), here.slope[free]
    fisher = here.fisher[np.ix_(free, free)]
    fisher = fisher + np.diag(1e-9 * np.diagonal(fisher) + 1e-9)
    move[free] = np.linalg.solve(fisher, slope)
    gain = 0.5 * float(slope @ move[free])
    return move / max(1.0, float(np.max(np.abs(move))) / LONGEST_STEP), gain


def some_of(rows: Rows) -> Rows:
    """Of many rows, stretches that are spread evenly, each of which begins anew."""
    chosen = rows_looked_at(len(rows.z))
    if chosen is None:
        return rows
    part = Rows(*(each[chosen] for each in rows))
    begins = np.array(part.begins)
    begins[::LENGTH] = 1.0
    return part._replace(begins=begins)
