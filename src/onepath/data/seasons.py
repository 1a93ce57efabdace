"""Clockwork: seasons and trends, inputs that follow from the time."""

from dataclasses import replace
from typing import Any

import numpy as np

from onepath.data.clocks import Clock
from onepath.data.inputs import SEASON, TREND, Input, Inputs, Variables, outside
from onepath.data.reading import read_scalar
from onepath.data.time_units import NANOSECONDS, UNITS, in_other_unit
from onepath.data.trajectory import Trajectory

LEAST_STEPS, LEAST_CYCLES = 2.5, 2.0
"""Of a season: steps in a cycle, and cycles in the record."""

A_YEAR = 0.01
"""Share of a year by which a season may differ from it and still be that of the calendar."""


def with_clockwork(trajectory: Trajectory, season: Any, trend: bool) -> Trajectory:
    """The same trajectory, driven by the phase of a season, a period in its unit of time, and by time itself."""
    added = []
    if season is not None:
        period = _read_period(season, trajectory)
        added.append(Input("season", SEASON, (), period, begun(trajectory.clock, trajectory.unit, period)))
    if trend:
        added.append(Input("trend", TREND))
    if not added:
        return trajectory
    given = Inputs((), np.zeros((len(trajectory.t), 0))) if trajectory.inputs is None else trajectory.inputs
    taken = [one.name for one in given.variables if one.name in ("season", "trend")]
    if taken:
        raise ValueError(f"An input is called {taken[0]!r}, which is what the {taken[0]} of time is called: rename it")
    return replace(trajectory, inputs=replace(given, variables=(*given.variables, *added)))


def same_clockwork(trajectory: Trajectory, variables: Variables, origin: Clock) -> Trajectory:
    """Another trajectory, driven as one was that has these inputs and this clock."""
    if not variables:
        return trajectory
    late = 0.0
    if origin.origin is not None and trajectory.clock.origin is not None and trajectory.unit is not None:
        apart = (np.datetime64(trajectory.clock.origin) - np.datetime64(origin.origin)) / np.timedelta64(1, "s")
        late = float(apart) * (NANOSECONDS["second"] / NANOSECONDS[trajectory.unit])
    own = []
    for one in variables:
        if one.kind == SEASON and trajectory.clock.origin is not None and origin.origin is not None:
            calendar = begun(trajectory.clock, trajectory.unit, one.period)
            one = one._replace(offset=calendar if calendar else one.offset + late)
        own.append(one._replace(offset=one.offset + late) if one.kind == TREND else one)
    given = np.zeros((len(trajectory.t), 0)) if trajectory.inputs is None else trajectory.inputs.values
    return replace(trajectory, inputs=Inputs((*outside(variables), *own[len(outside(variables)) :]), given))


def year_in(clock: Clock, unit: str) -> float:
    """How long a year is in this unit, by the days that count."""
    if clock.business is not None and NANOSECONDS[unit] <= NANOSECONDS["day"]:
        return float(clock.business.year * NANOSECONDS["day"] / NANOSECONDS[unit])
    return float(in_other_unit(1.0, "year", unit))


def is_a_year(clock: Clock, unit: str | None, period: float) -> bool:
    """Whether a period is a year of the calendar that times are counted by."""
    if clock.origin is None or unit is None:
        return False
    year = year_in(clock, unit)
    return abs(period - year) <= A_YEAR * year


def begun(clock: Clock, unit: str | None, period: float) -> float:
    """How long a cycle has gone on at time 0: since New Year, where it is a year and there are dates; else 0."""
    if not is_a_year(clock, unit, period):
        return 0.0
    origin = np.datetime64(str(clock.origin)).astype("M8[s]")
    new_year = origin.astype("M8[Y]")
    length = (new_year + 1).astype("M8[s]") - new_year.astype("M8[s]")
    return float((origin - new_year.astype("M8[s]")) / length) * period


def _read_period(season: Any, trajectory: Trajectory) -> float:
    """A period in the trajectory's unit of time, from a number or the name of a unit such as "year"."""
    unit, clock = trajectory.unit, trajectory.clock
    if isinstance(season, str):
        name = UNITS.get(season.lower())
        if name is None or UNITS.get(str(unit).lower()) is None:
            known = "" if name else f"; {season!r} is no unit of time"
            raise ValueError(
                f"season={season!r} cannot be used{known}: give a number of units of time, 'auto', or, where the unit "
                "of time is known, the name of another, such as 'year'"
            )
        own = UNITS[str(unit).lower()]
        period = year_in(clock, own) if name == "year" else float(in_other_unit(1.0, name, own))
    else:
        period = read_scalar(season, "season")
    step = float(np.median(trajectory.t[trajectory.step + 1] - trajectory.t[trajectory.step]))
    spans = [np.ptp(trajectory.t[trajectory.record == k]) for k in range(int(trajectory.record[-1]) + 1)]
    if not 0 < period < np.inf:
        raise ValueError(f"season={season!r} cannot be used: a cycle takes a finite time above 0, such as 12 months")
    if period < LEAST_STEPS * step:
        raise ValueError(
            f"season={season!r} is {period / step:.2g} steps long, and a cycle that is seen takes {LEAST_STEPS:g} "
            f"steps or more: it is a number of {trajectory.times}, of which a step is {step:.4g}"
        )
    if period * LEAST_CYCLES > max(spans):
        raise ValueError(
            f"season={season!r} takes longer than half of the record, {max(spans):.4g} {trajectory.times}: a cycle "
            "that is not seen twice may be anything; pass trend=True instead"
        )
    return period
