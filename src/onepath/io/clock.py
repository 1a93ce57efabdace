"""Which column of a table is the time, or which make it up together, and what its numbers are counted in."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from onepath.data.time_units import NANOSECONDS, in_other_unit, unit_named
from onepath.io.chosen import Chosen
from onepath.io.dates import looks_like_dates, parse_dates
from onepath.io.errors import BadTable, listed
from onepath.io.time_names import date_parts, read_time_name
from onepath.numerics.arrays import evenly

if TYPE_CHECKING:
    import pandas as pd

EARLIEST, LATEST = 1700, 2250
"""Years that dates can have."""

LOOKED_AT = 1000
"""Rows that tell whether a look at all of them is worth while."""


class Found(NamedTuple):
    """The time column, if any, and the columns that are no state because they tell the time."""

    clock: "pd.Series | None"
    spare: set[str]


def find_clock(frame: "pd.DataFrame", chosen: Chosen, notes: list[str]) -> Found:
    """The time column that was named, or the one that tells the time; none where the step is given."""
    free = [name for name in frame.columns if name not in (*chosen.values, chosen.group)]
    parts = _parts(frame, free)
    if chosen.time is not None:
        clock = _forward(_as_times(frame[chosen.time], chosen.time), notes)
        return Found(clock, {chosen.time, *parts.values()} | _copies(frame, clock, chosen, notes))
    named = [name for name in free if name not in parts.values() and _may_be_time(frame[name])]
    if not named and not parts:
        named = [name for name in free if _counts(frame[name], None if chosen.group is None else frame[chosen.group])]
    found = [*parts.values(), *named]
    if chosen.dt is not None:
        if found:
            notes.append(f"{listed(found)} not used, because --dt gives the step")
        return Found(None, set(found))
    if not found:
        raise BadTable(
            f"no column tells the time (the columns are {listed(frame.columns)}): pass --dt with the step between "
            "rows, or --time with the column's name"
        )
    clocks = [_as_times(frame[name], name) for name in named]
    clocks.sort(key=lambda clock: clock.dtype.kind != "M")  # dates first: they bring their unit with them
    if parts:
        clocks.insert(0, _joined(frame, parts))
        notes.append(f"{listed(parts.values())} joined to dates")
    if not all(_same_clock(clocks[0], other) for other in clocks[1:]):
        raise BadTable(f"several columns may be the time: {listed(found)}. Choose one with --time")
    clock = _forward(clocks[0], notes)
    return Found(clock, set(found) | _copies(frame, clock, chosen, notes))


def _parts(frame: "pd.DataFrame", names: list[str]) -> dict[str, str]:
    """Columns of years, months and so on: whole numbers, and months that are some."""
    found = date_parts([name for name in names if frame[name].dtype.kind in "iuf" and frame[name].notna().all()])
    if not found or not frame[found["month"]].between(1, 12).all():
        return {}
    return found if (frame[[found["year"], found["month"]]] % 1 == 0).all(axis=None) else {}


def _joined(frame: "pd.DataFrame", found: dict[str, str]) -> "pd.Series":
    """Dates from columns of years, months and so on."""
    import pandas as pd

    parts = pd.DataFrame({part: frame[name] for part, name in found.items()})
    possible = parts["year"].between(EARLIEST, LATEST)
    whole = (parts.drop(columns="second", errors="ignore") % 1 == 0).all(axis=1)
    days = parts if "day" in parts else parts.assign(day=1)
    dates = pd.to_datetime(days.where(possible & whole), errors="coerce")
    if dates.isna().any():
        row = int(dates.isna().to_numpy().argmax())
        got = ", ".join(f"{name} {frame[name].iloc[row]:g}" for name in found.values())
        raise BadTable(
            f"{listed(found.values())} make no date in row {row + 1} ({got}): mend that row, or choose the time with "
            f"--time. Years are written in full, from {EARLIEST} to {LATEST}"
        )
    return dates.rename(" ".join(found.values()))


def _forward(clock: "pd.Series", notes: list[str]) -> "pd.Series":
    """Ages before the present, with their sign changed, so that time runs forward."""
    said = read_time_name(clock.name)
    if said is None or not said.backwards or clock.dtype.kind not in "iuf":
        return clock
    notes.append(f"{clock.name!r} is an age before the present, and runs backwards: the time is minus the age")
    return -clock.astype(float)


def _copies(frame: "pd.DataFrame", clock: "pd.Series", chosen: Chosen, notes: list[str]) -> set[str]:
    """Numeric columns that run with the clock: row numbers, the same time in another unit."""
    kept = (*chosen.values, chosen.group, clock.name)
    numeric = [name for name in frame.columns if name not in kept and frame[name].dtype.kind in "iuf"]
    copies = {name for name in numeric if _same_clock(clock, frame[name])}
    if copies:
        notes.append(f"{listed(sorted(copies))} left out, being the clock again")
    return copies


def _same_clock(clock: "pd.Series", other: "pd.Series") -> bool:
    """Whether one is a straight line in the other."""
    if len(clock) < 3 or other.isna().any() or clock.isna().any():
        return False
    some = evenly(len(clock), LOOKED_AT)
    return _same_line(clock.iloc[some], other.iloc[some]) and _same_line(clock, other)


def _same_line(clock: "pd.Series", other: "pd.Series") -> bool:
    first, second = (
        np.asarray(part.astype("int64" if part.dtype.kind in "mM" else float), float) for part in (clock, other)
    )
    first, second = first - first[0], second - second[0]
    if first[-1] == 0 or second[-1] == 0:
        return False
    return bool(np.max(np.abs(first / first[-1] - second / second[-1])) < 1e-6)


def _may_be_time(column: "pd.Series") -> bool:
    """Dates are; numbers are if they are named like it and none is missing."""
    if column.dtype.kind in "mM":
        return True
    if column.dtype.kind not in "iuf":
        return column.dtype.kind != "b" and looks_like_dates(column)
    said = read_time_name(column.name)
    return said is not None and not said.counts and not column.isna().any()


def _counts(column: "pd.Series", group: "pd.Series | None") -> bool:
    """Whether it is named like a count of rows, and counts upwards, in each group if there are some."""
    said = read_time_name(column.name)
    if said is None or not said.counts or column.dtype.kind not in "iu":
        return False
    steps = column.diff() if group is None else column.groupby(group.to_numpy()).diff()
    return bool((steps.dropna() > 0).all())


def _as_times(column: "pd.Series", name: str) -> "pd.Series":
    """Numbers, durations or dates; 20201231 in a column of dates is a date."""
    if column.dtype.kind == "M":
        return column.dt.tz_convert(None) if getattr(column.dt, "tz", None) is not None else column
    if column.dtype.kind in "iu" and len(column) and column.between(19000101, 21001231).all():
        return parse_dates(column.astype(str), name)
    if column.dtype.kind in "iufm":
        if column.isna().any():
            row = int(column.isna().to_numpy().argmax()) + 1
            raise BadTable(f"the time column {name!r} is empty in row {row}: drop that row, or give it its time")
        return _exact(column, name)
    return parse_dates(column, name)


def _exact(column: "pd.Series", name: str) -> "pd.Series":
    """Whole numbers beyond 2⁵³, such as a clock's nanoseconds, from the first one on: floats would round them."""
    if column.dtype.kind not in "iu" or int(column.max()) <= 1 << 53:
        return column
    if column.dtype.kind == "u" and int(column.max()) >= 1 << 63:
        raise BadTable(
            f"the time column {name!r} has numbers beyond 2^63, up to {column.max()}: count from its first row on, "
            "such as t - t[0], before it is saved"
        )
    return column - column.iloc[0]


class TimeUnits(NamedTuple):
    """What numbers of time are counted in, and what rates are reported per; None is not known."""

    own: str | None
    rates: str | None

    def converted(self, times: Any) -> Any:
        """Numbers of the one in the other; dates, which know no `own`, as they are."""
        if times is None or self.own is None or self.rates is None or self.own == self.rates:
            return times
        return in_other_unit(times, self.own, self.rates)


def time_units(clock: "pd.Series | None", chosen: Chosen, notes: list[str]) -> TimeUnits:
    """Numbers are counted in --time-unit, or in what the column's name says, and rates are reported per --unit.

    Where one of both is not known, the other is for both.
    """
    if clock is not None and clock.dtype.kind in "mM":
        if chosen.time_unit is not None:
            raise BadTable(
                f"--time-unit {chosen.time_unit} says what numbers are counted in, and {clock.name!r} holds dates or "
                "durations, which say so themselves: leave it out. --unit is what rates are reported per"
            )
        return TimeUnits(None, chosen.unit)
    said = None if clock is None else read_time_name(clock.name)
    own, rates = unit_named(chosen.time_unit or (said.unit if said else None)), unit_named(chosen.unit)
    if clock is not None and said is not None and said.counts:
        notes.append(_counted(clock, own or rates))
    if own is None or rates is None or own == rates:
        return TimeUnits(own or rates, own or rates)
    unknown = [unit for unit in (own, rates) if unit not in NANOSECONDS]
    if unknown:
        raise BadTable(
            f"times are counted in {own} and rates asked for per {rates}, and how long {listed(unknown)} is, is not "
            f"known: give --time-unit and --unit alike, or units among {', '.join(NANOSECONDS)}"
        )
    notes.append(f"times converted from {own}s to {rates}s")
    return TimeUnits(own, rates)


def _counted(clock: "pd.Series", unit: str | None) -> str:
    if unit is None:
        return f"{clock.name!r} counts rows and has no unit of time, so rates are per row: --dt gives steps a length"
    return f"{clock.name!r} counts rows, each taken for one {unit}: --dt gives steps another length"
