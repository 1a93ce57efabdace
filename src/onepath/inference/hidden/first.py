"""The filter before anything is known: positions or velocities as random walks."""

import numpy as np

from onepath.inference.hidden.blur import blurred
from onepath.inference.hidden.filter import Setting, filtered
from onepath.inference.hidden.learning import Path, differences, mean_squares, rows_of, search
from onepath.inference.hidden.reading import Readings
from onepath.inference.hidden.steps import Steps
from onepath.numerics.arrays import Floats

LEAST, MOST = 0.02, 0.48
"""Share of an increment's variance that noise of readings begins with, twice."""

FIRST_EXPOSURE = 0.5
"""Where a search for the exposure begins."""


def first_path(readings: Readings) -> Path:
    """A filter for random walks, with the noise that makes the readings most likely under it."""
    reading, d = readings.reading, readings.z.shape[1]
    rate, noise = _of_positions(readings) if reading.order == 1 else _of_velocities(readings)
    learned, unit = readings.learned, readings.unit
    scales = np.concatenate([[0.0], np.log(np.where(learned, noise / np.where(learned, unit, 1.0), 1.0)), [0.0]])
    steps, setting = _walk(readings, rate), _before(readings)
    exposure = None
    if reading.exposure is not None:
        exposure = FIRST_EXPOSURE if reading.exposure == "learn" else float(reading.exposure)
        steps = blurred(steps, readings.dt, exposure)
        setting = _with_mean(setting, np.median(readings.dt) * exposure * rate / 3)
    rows = rows_of(readings, np.zeros(steps.mean.shape), steps)
    scales = search(rows, setting, scales, readings).scales
    size = d * reading.order
    return Path(rows, setting, scales, filtered(scales, rows, setting), size, exposure)


def quiet_path(readings: Readings) -> Path:
    """Readings of which next to nothing is noise, around themselves."""
    walk = first_path(readings)
    unit = np.where(readings.learned, readings.unit, 1.0)
    least = np.where(readings.learned, np.log(LEAST * mean_squares(readings) / unit), 0.0)
    scales = np.concatenate([[0.0], least, [0.0]])
    return walk._replace(scales=scales, found=filtered(scales, walk.rows, walk.setting))


def _of_positions(readings: Readings) -> tuple[Floats, Floats]:
    """The rate q of a random walk's variance, and that of readings R, (d,).

    Increments have the variance qΔt (1 - e/3) + 2R and the covariance qΔt e/6 - R with the next, for an exposure e, so
    that variance + 2 covariance is qΔt.
    """
    y, step = differences(readings)
    pair, square = step[1:] & step[:-1], mean_squares(readings)
    shared = np.sum(np.where(pair, y[1:] * y[:-1], 0.0), axis=0) / np.maximum(pair.sum(axis=0), 1)
    exposure = 0.0 if readings.reading.exposure in (None, "learn") else float(readings.reading.exposure)
    walked = np.maximum(square + 2 * shared, 2 * LEAST * square)
    noise = np.clip(walked * exposure / 6 - shared, LEAST * square, MOST * square)
    if not readings.learned.any() and exposure == 0.0:
        walked = np.maximum(square - 2 * _given(readings), 2 * LEAST * square)
    return walked / np.mean(readings.dt[1:]), noise


def _of_velocities(readings: Readings) -> tuple[Floats, Floats]:
    """The same of velocities: changes of y/Δt have the variance ⅔ qΔt + 6R/Δt², with the next ⅙ qΔt - 4R/Δt²."""
    y, step = differences(readings)
    dt = readings.dt[1:, None]
    pair = step[1:] & step[:-1]
    change = np.where(pair, y[1:] / dt[1:] - y[:-1] / dt[:-1], 0.0)
    triple, time = pair[1:] & pair[:-1], float(np.mean(dt))
    square = np.sum(np.square(change), axis=0) / np.maximum(pair.sum(axis=0), 1)
    shared = np.sum(np.where(triple, change[1:] * change[:-1], 0.0), axis=0) / np.maximum(triple.sum(axis=0), 1)
    walked, noise = np.linalg.solve([[2 / 3, 6.0], [1 / 6, -4.0]], np.stack([square, shared]))
    if not readings.learned.any():
        walked = 1.5 * np.maximum(square - 6 * _given(readings) / time**2, LEAST * square)
    walked = np.clip(walked, LEAST * square, 1.5 * square)
    return walked / time, np.clip(noise, 1e-3 * square, square / 6) * time**2


def _given(readings: Readings) -> Floats:
    """Variance of readings that is known, on average (d,)."""
    known = np.diagonal(readings.given, axis1=1, axis2=2) * readings.read
    return np.asarray(known.sum(axis=0) / readings.read.sum(axis=0))


def _walk(readings: Readings, rate: Floats) -> Steps:
    """Steps of random walks, or of positions whose velocities are random walks."""
    n, d = readings.z.shape
    dt = readings.dt[:, None, None]
    whole = readings.reading.order * d
    flow = np.tile(np.eye(whole), (n, 1, 1))
    if readings.reading.order == 1:
        return Steps(np.zeros((n, d)), flow, dt * np.diag(rate))
    flow[:, :d, d:] = dt * np.eye(d)
    covariance = np.empty((n, whole, whole))
    covariance[:, :d, :d] = dt**3 / 3 * np.diag(rate)
    covariance[:, :d, d:] = covariance[:, d:, :d] = dt**2 / 2 * np.diag(rate)
    covariance[:, d:, d:] = dt * np.diag(rate)
    return Steps(np.zeros((n, whole)), flow, covariance)


def _before(readings: Readings) -> Setting:
    """What is known before any reading: where readings lie, and how fast they move."""
    d, count = readings.z.shape[1], readings.read.sum(axis=0)
    located = np.sum(readings.z, axis=0) / count
    spread = np.sum(readings.read * np.square(readings.z - located), axis=0) / count
    if readings.reading.order == 1:
        return Setting(np.eye(d), located, np.diag(spread))
    y, step = differences(readings)
    speed = np.sum(np.square(y / readings.dt[1:, None]), axis=0) / np.maximum(step.sum(axis=0), 1)
    mean = np.concatenate([located, np.zeros(d)])
    return Setting(np.eye(d, 2 * d), mean, np.diag(np.concatenate([spread, speed])))


def _with_mean(setting: Setting, apart: Floats) -> Setting:
    """With the mean over an exposure, which is what is read: near the state, with this variance around it."""
    d = len(setting.mean)
    covariance = np.block([[setting.covariance] * 2, [setting.covariance, setting.covariance + np.diag(apart)]])
    return Setting(np.eye(d, 2 * d, d), np.tile(setting.mean, 2), covariance)
