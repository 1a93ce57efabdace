"""What a fit says of the steps along a path: the mean, the flow and the covariance of each."""

from typing import NamedTuple, Protocol

import numpy as np
from scipy.interpolate import CubicSpline, RectBivariateSpline

from onepath.data.transitions import Units
from onepath.numerics.arrays import Floats

NODES = {1: 513, 2: 65}
"""Of a table along each of its axes, by how many there are: good to five digits of an increment's deviation."""

DURATIONS = 9
"""Nodes along the logarithm of a step's duration, where steps are not equal."""

EQUAL = 1e-6
"""Share of a step by which steps that are called equal may differ."""

NEARBY = 1e-4
"""Of a standard deviation: how far apart two points are that say how fast a mean changes."""

NEARLY = 1.0 - 1e-9
"""The largest correlation."""


class Law(Protocol):
    """A fit, or a model."""

    @property
    def units(self) -> Units: ...

    def increments(self, x: Floats, dt: Floats | float) -> tuple[Floats, Floats]: ...


class Steps(NamedTuple):
    """From states (n, D): means and covariances of increments, and the derivative of where they lead."""

    mean: Floats  # (n, D)
    flow: Floats  # (n, D, D)
    covariance: Floats  # (n, D, D)


def steps_from(law: Law, states: Floats, dt: Floats, driven: Floats | None = None) -> Steps:
    """By a table where it has one axis or two, state and duration together; by the law itself elsewhere.

    So where columns of inputs (n, k) drive it too.
    """
    if driven is not None:
        return _asked(law, states, dt, driven)
    unequal = float(np.ptp(dt)) > EQUAL * float(dt[0])
    d = states.shape[1]
    if d + unequal > 2:
        return _asked(law, states, dt)
    return _along_line(law, states, dt) if d + unequal == 1 else _over_plane(law, states, dt, unequal)


def _asked(law: Law, states: Floats, dt: Floats, driven: Floats | None = None) -> Steps:
    """With slopes of the mean by differences."""
    n, d = states.shape
    if driven is not None:
        states = np.concatenate([states, driven], axis=1)
    mean, covariance = law.increments(states, dt)
    flow = np.tile(np.eye(d), (n, 1, 1))
    for k, scale in enumerate(law.units.scale):
        nearby = NEARBY * scale * np.eye(states.shape[1])[k]
        ends = [law.increments(states + move, dt)[0] for move in (-nearby, nearby)]
        flow[:, :, k] += (ends[1] - ends[0]) / (2 * NEARBY * scale)
    return Steps(mean, flow, covariance)


def _along_line(law: Law, states: Floats, dt: Floats) -> Steps:
    low, high = _ends(states)
    nodes = np.linspace(low[0], high[0], NODES[1])
    mean, covariance = law.increments(nodes[:, None], np.full(len(nodes), dt[0]))
    spline = CubicSpline(nodes, np.stack([mean[:, 0], np.log(covariance[:, 0, 0])], axis=1))
    found, slopes = spline(states[:, 0]), spline(states[:, 0], 1)
    return Steps(found[:, :1], 1.0 + slopes[:, :1, None], np.exp(found[:, 1:, None]))


def _over_plane(law: Law, states: Floats, dt: Floats, unequal: bool) -> Steps:
    """Over two coordinates, or one and the duration; means and covariances are nearly proportional to the latter."""
    n, d = states.shape
    low, high = _ends(states)
    axes = [np.linspace(*ends, NODES[d]) for ends in zip(low, high, strict=True)]
    at = [*states.T]
    if unequal:
        axes.append(np.linspace(np.log(dt.min()), np.log(dt.max()), DURATIONS))
        at.append(np.log(dt))
    grid = np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)
    times = np.exp(grid[:, d]) if unequal else np.full(len(grid), dt[0])
    mean, covariance = law.increments(grid[:, :d], times)
    shape = tuple(map(len, axes))

    def through(values: Floats) -> RectBivariateSpline:
        return RectBivariateSpline(*axes, values.reshape(shape))

    # between nodes a spline of a variance may be below zero, and one of its logarithm is a variance
    sizes = np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), np.finfo(float).tiny))
    size = np.stack([np.exp(through(np.log(each / np.sqrt(times)))(*at, grid=False)) for each in sizes.T], axis=1)
    flow, means = np.tile(np.eye(d), (n, 1, 1)), np.empty((n, d))
    covariances = dt[:, None, None] * size[:, :, None] * size[:, None, :]
    for i in range(d):
        rate = through(mean[:, i] / times)
        means[:, i] = dt * rate(*at, grid=False)
        for k in range(d):
            flow[:, i, k] += dt * rate(*at, dx=int(k == 0), dy=int(k == 1), grid=False)
        for j in range(i):
            shared = through(covariance[:, i, j] / (sizes[:, i] * sizes[:, j]))(*at, grid=False)
            shared = np.clip(shared, -NEARLY, NEARLY)
            covariances[:, i, j] *= shared
            covariances[:, j, i] *= shared
    return Steps(means, flow, covariances)


def _ends(states: Floats) -> tuple[Floats, Floats]:
    """A little beyond the outmost states."""
    low, high = states.min(axis=0), states.max(axis=0)
    margin = np.maximum(1e-3 * (high - low), 1e-9 * np.abs(high) + np.finfo(float).tiny)
    return low - margin, high + margin
