"""Filtering under a law, and the search for the noise of readings: the two things that take turns with a fit."""

from typing import NamedTuple

import numpy as np

from onepath.inference.hidden.filter import Filtered, Judged, Rows, Setting, filtered, judged
from onepath.inference.hidden.reading import Readings
from onepath.inference.hidden.steps import Law, Steps, steps_from
from onepath.numerics.arrays import Flags, Floats, evenly

PASSES = 2
"""Of the filter under one law: the second is linear around the states of the first."""

SCORINGS, ENOUGH = 30, 1e-2
"""Steps in search of noise and a factor on Q, at most, and what the likelihood must still gain by one."""

LONGEST_STEP = 2.0
"""Of a logarithm in one step of that search."""

LEAST = 1e-6
"""Variance of readings, in units of an increment's, below which there is none."""

MOST, STRETCHES = 1 << 17, 32
"""Rows that the search looks at, and in how many stretches: enough to know noise to a hundredth."""


class Path(NamedTuple):
    """Rows as the filter took them, under which scales, and what it found."""

    rows: Rows
    setting: Setting
    scales: Floats  # ln of a factor on Q, and of each channel's learned variance
    found: Filtered


class Search(NamedTuple):
    """Where the search for scales ended, and the likelihood there."""

    scales: Floats
    judged: Judged


def followed(readings: Readings, law: Law, path: Path, scales: Floats) -> Path:
    """The filter under a law, around the states of another path."""
    for _ in range(PASSES):
        rows = rows_under(readings, law, path.found.state)
        path = Path(rows, path.setting, scales, filtered(scales, rows, path.setting))
    return path


def rows_under(readings: Readings, law: Law, states: Floats) -> Rows:
    """Rows with the steps of a law, linear around these states (n, D)."""
    near = np.concatenate([states[:1], states[:-1]])
    return rows_of(readings, near, steps_from(law, near, readings.dt))


def rows_of(readings: Readings, near: Floats, steps: Steps) -> Rows:
    return Rows(near, *steps, readings.begins, readings.z, readings.read, readings.given, readings.units)


def first_path(readings: Readings) -> Path:
    """Before anything is known: a random walk read with noise.

    Increments have the variance qΔt + 2R and the covariance -R with the next, so that variance + 2 covariance is qΔt.
    """
    z, (n, d) = readings.z, readings.z.shape
    y, step = differences(readings)
    pair = step[1:] & step[:-1]
    square = mean_squares(readings)
    shared = np.sum(np.where(pair, y[1:] * y[:-1], 0.0), axis=0) / np.maximum(pair.sum(axis=0), 1)
    given = np.sum(np.diagonal(readings.given, axis1=1, axis2=2) * readings.read, axis=0) / readings.read.sum(axis=0)
    learned = readings.units.any(axis=0)
    unit = np.sum(readings.units, axis=0) / np.maximum(np.sum(readings.units > 0, axis=0), 1)
    noise = np.where(learned, np.clip(-shared, 0.02 * square, 0.48 * square), 0.0)
    rate = np.maximum(square - 2 * (given + noise), 0.04 * square) / np.mean(readings.dt[1:])
    scales = np.concatenate([[0.0], np.log(np.where(learned, noise / np.where(learned, unit, 1.0), 1.0))])
    located = np.sum(z, axis=0) / readings.read.sum(axis=0)
    spread = np.sum(readings.read * np.square(z - located), axis=0) / readings.read.sum(axis=0)
    covariance = readings.dt[:, None, None] * np.diag(rate)
    steps = Steps(np.zeros((n, d)), np.tile(np.eye(d), (n, 1, 1)), covariance)
    rows, setting = rows_of(readings, np.zeros((n, d)), steps), Setting(np.eye(d), located, np.diag(spread))
    scales = search(rows, setting, scales, readings).scales
    return Path(rows, setting, scales, filtered(scales, rows, setting))


def differences(readings: Readings) -> tuple[Floats, Flags]:
    """Of each reading to the one before, (n - 1, d), 0 where one is missing; and where there are both."""
    there = readings.read > 0
    both = (readings.begins[1:] == 0)[:, None] & there[1:] & there[:-1]
    return np.where(both, readings.z[1:] - readings.z[:-1], 0.0), both


def mean_squares(readings: Readings) -> Floats:
    """Of differences, (d,)."""
    y, both = differences(readings)
    return np.asarray(np.sum(y * y, axis=0) / np.maximum(both.sum(axis=0), 1))


def search(rows: Rows, setting: Setting, scales: Floats, readings: Readings) -> Search:
    """The factor on Q and the variances of readings that are most likely, by Fisher scoring."""
    rows = some_of(rows)
    learned = readings.units.any(axis=0)
    unit = np.max(readings.units, axis=0, initial=0.0)
    least = np.concatenate(
        [[-20.0], np.log(np.where(learned, LEAST * mean_squares(readings) / np.where(learned, unit, 1.0), 1.0))]
    )
    free = np.concatenate([[True], learned])
    here = judged(scales, rows, setting)
    for _ in range(SCORINGS):
        move, gain = _step(here, free & ~((scales <= least) & (here.slope < 0)))
        if gain < ENOUGH:
            break
        for _ in range(8):
            there_scales = np.maximum(scales + move, least)
            there = judged(there_scales, rows, setting)
            if there.value > here.value:
                break
            move = 0.25 * move
        else:
            break
        scales, here = there_scales, there
    return Search(scales, here)


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
    n = len(rows.z)
    if n <= MOST:
        return rows
    length = MOST // STRETCHES
    first = evenly(n - length, STRETCHES)
    chosen = np.ravel(first[:, None] + np.arange(length))
    part = Rows(*(each[chosen] for each in rows))
    begins = np.array(part.begins)
    begins[::length] = 1.0
    return part._replace(begins=begins)
