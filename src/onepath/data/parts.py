"""Parts of a trajectory: its rows from one to another, those since a time, and without its clockwork."""

from dataclasses import replace
from typing import Any

import numpy as np

from onepath.data.inputs import Inputs, outside
from onepath.data.reading import read_scalar
from onepath.data.soundness import LEAST_TRANSITIONS
from onepath.data.trajectory import Trajectory


def part_of(trajectory: Trajectory, first: int, last: int) -> Trajectory:
    """Rows from the first up to, and without, the last; times stay what they were."""
    rows, step = slice(first, last), trajectory.step
    x, record = trajectory.x[rows], trajectory.record[rows]
    own = step[(step >= first) & (step + 1 < last)] - first
    inputs, error = trajectory.inputs, trajectory.error
    known = ~np.isnan(x).any(axis=1)
    if inputs is not None:
        inputs = replace(inputs, values=inputs.values[rows])
        known &= ~np.isnan(inputs.values).any(axis=1)
    bridged = (record[1:] == record[:-1]) & known[1:] & known[:-1]
    bridged[own] = False
    return replace(
        trajectory,
        x=x,
        t=trajectory.t[rows],
        record=record - (record[0] if len(record) else 0),
        step=own,
        gaps=int(bridged.sum()),
        missing=int(np.sum(~known)),
        error=None if error is None else error[rows],
        inputs=inputs,
    )


def thinned(trajectory: Trajectory, every: int) -> Trajectory:
    """Every so manyth row, with a step where all of the steps between count."""
    rows = np.arange(0, len(trajectory.t), every)
    counts = np.zeros(len(trajectory.t), int)
    counts[trajectory.step] = 1
    sums = np.concatenate([[0], np.cumsum(counts)])
    ends = np.minimum(rows[:-1] + every, len(counts))
    step = np.flatnonzero(sums[ends] - sums[rows[:-1]] == every)
    inputs, error = trajectory.inputs, trajectory.error
    return replace(
        trajectory,
        x=trajectory.x[rows],
        t=trajectory.t[rows],
        record=trajectory.record[rows],
        step=step,
        gaps=0,
        missing=int(np.isnan(trajectory.x[rows]).any(axis=1).sum()),
        error=None if error is None else error[rows],
        inputs=None if inputs is None else replace(inputs, values=inputs.values[rows]),
    )


def row_since(trajectory: Trajectory, since: Any) -> int:
    """The first row at this time or after it: a number in the trajectory's unit of time, or a date."""
    if trajectory.record[-1] > 0:
        raise ValueError("since= is a time in one record, and there are several: leave out their first rows yourself")
    if isinstance(since, int | float | np.number) and not isinstance(since, bool):
        row = int(np.searchsorted(trajectory.t, read_scalar(since, "since")))
    else:
        row = _row_of_date(trajectory, since)
    left = int(np.sum(trajectory.step >= row))
    if left < LEAST_TRANSITIONS:
        ends = _ends(trajectory)
        raise ValueError(
            f"since={since!r} leaves {left} steps, and a fit takes {LEAST_TRANSITIONS} at least: the record is from "
            f"{ends[0]} to {ends[1]}"
        )
    return row


def _row_of_date(trajectory: Trajectory, since: Any) -> int:
    dates = trajectory.dates(trajectory.t)
    if dates is None:
        raise ValueError(f"since={since!r} cannot be used: these data have no dates, so give a number of time")
    try:
        date = np.datetime64(since)
    except (ValueError, TypeError):
        date = np.datetime64("NaT")
    if np.isnat(date):
        raise ValueError(f"since={since!r} is no date: give one such as '2008-09-15'")
    return int(np.searchsorted(dates, date.astype(dates.dtype)))


def time_of(trajectory: Trajectory, row: int) -> float | str:
    """A short date or time at which this row, and not the one before it, has come."""
    t = float(trajectory.t[row])
    dates = trajectory.dates(trajectory.t[row : row + 1])
    if dates is not None:
        second = str(dates[0].astype("M8[s]"))
        return second.removesuffix("T00:00:00")
    before = float(trajectory.t[row - 1]) if row else t - 1.0
    short = (round(float(np.floor(t * 10.0**places)) / 10.0**places, max(places, 0)) for places in range(-15, 16))
    return next((each for each in short if before < each <= t), t)


def _ends(trajectory: Trajectory) -> list[str]:
    dates = trajectory.dates(trajectory.t[[0, -1]])
    return [f"{t:g}" for t in trajectory.t[[0, -1]]] if dates is None else [str(date)[:19] for date in dates]


def without_clockwork(trajectory: Trajectory) -> Trajectory:
    """As it was read: without the season and the trend that a fit added."""
    inputs = trajectory.inputs
    if inputs is None:
        return trajectory
    kept = outside(inputs.variables)
    return replace(trajectory, inputs=Inputs(kept, inputs.values) if kept else None)
