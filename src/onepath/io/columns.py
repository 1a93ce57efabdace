"""Which columns of a table are time, state and group: found where that is clear, asked for where it is not."""

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from onepath.data.clocks import SHORT_UNITS, UNITS
from onepath.io.dates import looks_like_dates, parse_dates
from onepath.io.errors import BadTable

if TYPE_CHECKING:
    import pandas as pd

TIME_NAME = re.compile(
    r"(t|x?times?|dates?|datum|datetime|timestamp|clock|months?|years?|days?|hours?|seconds?|epoch)",
)
UNIT_IN_NAME = re.compile(r"(?:t|time)[ _]*[\[(]?([a-z]+)[\])]?", re.IGNORECASE)
MOST_FOUND = 2
"""Value columns that are taken unasked; of three or more, the user must choose."""


class Chosen(NamedTuple):
    """What the user says of the columns; None is for the table to tell."""

    time: str | None = None
    values: tuple[str, ...] = ()
    group: str | None = None
    dt: float | None = None
    unit: str | None = None


class Readings(NamedTuple):
    """What `SDE.fit` takes, and what was decided on the way."""

    x: Any
    t: Any
    dt: float | None
    unit: str | None
    notes: list[str]

    @property
    def arguments(self) -> dict[str, Any]:
        return {"x": self.x, "t": self.t, "dt": self.dt, "unit": self.unit}


def choose_columns(frame: "pd.DataFrame", chosen: Chosen) -> Readings:
    """The trajectory or trajectories in a table."""
    notes: list[str] = []
    for name in (chosen.time, *chosen.values, chosen.group):
        if name is not None and name not in frame.columns:
            raise BadTable(f"there is no column {name!r}. The columns are {_listed(frame.columns)}")
    if chosen.time is not None and chosen.dt is not None:
        raise BadTable("--time and --dt were both given and may disagree: give one of them")
    clock, spare = _clock(frame, chosen, notes)
    names = _values(frame, chosen, spare, notes)
    states = frame[names].apply(lambda column: _numbers(column, str(column.name)))
    unit = chosen.unit or (_unit_of(clock) if clock is not None else None)
    notes.insert(0, _said(clock, names, chosen))
    pieces = [(states, clock)]
    if chosen.group is not None:
        pieces = _by_group(frame[chosen.group], states, clock, notes)
    pieces = [_ordered(part, times, notes, chosen) for part, times in pieces]
    several = chosen.group is not None
    x = [part for part, _ in pieces] if several else pieces[0][0]
    t = None if clock is None else ([times for _, times in pieces] if several else pieces[0][1])
    return Readings(x, t, chosen.dt, unit, notes)


def _listed(names: Any) -> str:
    shown = [repr(str(name)) for name in names]
    return ", ".join(shown[:12]) + (f" and {len(shown) - 12} more" if len(shown) > 12 else "")


def _said(clock: "pd.Series | None", names: list[str], chosen: Chosen) -> str:
    time = f"a constant step of {chosen.dt:g}" if clock is None else f"time from {clock.name!r}"
    state = f"state from {_listed(names)}" + (f", a state of {len(names)} dimensions" if len(names) > 1 else "")
    return f"{time}; {state}"


def _clock(frame: "pd.DataFrame", chosen: Chosen, notes: list[str]) -> tuple["pd.Series | None", set[str]]:
    """The time column, and the columns that only tell the time again."""
    if chosen.time is not None:
        clock = _as_times(frame[chosen.time], chosen.time)
        return clock, {chosen.time} | _copies(frame, clock, chosen, notes)
    found = [name for name in frame.columns if name not in (*chosen.values, chosen.group) and _may_be_time(frame[name])]
    if chosen.dt is not None:
        if found:
            notes.append(f"{_listed(found)} not used, because --dt gives the step")
        return None, set(found)
    if not found:
        raise BadTable(
            f"no column tells the time (the columns are {_listed(frame.columns)}): pass --dt with the step between "
            "rows, or --time with the column's name"
        )
    clocks = [_as_times(frame[name], name) for name in found]
    clocks.sort(key=lambda clock: clock.dtype.kind != "M")  # dates first: they bring their unit with them
    if not all(_same_clock(clocks[0], other) for other in clocks[1:]):
        raise BadTable(f"several columns may be the time: {_listed(found)}. Choose one with --time")
    return clocks[0], set(found) | _copies(frame, clocks[0], chosen, notes)


def _copies(frame: "pd.DataFrame", clock: "pd.Series", chosen: Chosen, notes: list[str]) -> set[str]:
    """Numeric columns that run with the clock: row numbers, the same time in another unit."""
    wanted = (*chosen.values, chosen.group, clock.name)
    numeric = [name for name in frame.columns if name not in wanted and frame[name].dtype.kind in "iuf"]
    copies = {name for name in numeric if _same_clock(clock, frame[name])}
    if copies:
        notes.append(f"{_listed(sorted(copies))} left out, being the clock again")
    return copies


def _same_clock(clock: "pd.Series", other: "pd.Series") -> bool:
    """Whether one is a straight line in the other."""
    if len(clock) < 3 or other.isna().any() or clock.isna().any():
        return False
    first, second = (
        np.asarray(part.astype("int64" if part.dtype.kind in "mM" else float), float) for part in (clock, other)
    )
    first, second = first - first[0], second - second[0]
    if first[-1] == 0 or second[-1] == 0:
        return False
    return bool(np.max(np.abs(first / first[-1] - second / second[-1])) < 1e-6)


def _may_be_time(column: "pd.Series") -> bool:
    """Dates are; numbers are if they are named like it and never step back and forth."""
    if column.dtype.kind in "mM":
        return True
    if column.dtype.kind not in "iuf":
        return column.dtype.kind != "b" and looks_like_dates(column)
    name = str(column.name).strip().lower()
    named = TIME_NAME.fullmatch(name) or ((unit := UNIT_IN_NAME.fullmatch(name)) and unit[1] in UNITS)
    return bool(named) and not column.isna().any()


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


def _unit_of(clock: "pd.Series") -> str | None:
    """The unit that a numeric time column is named by, such as `year`, `t_s` or `time [h]`."""
    name = str(clock.name).strip().lower()
    if clock.dtype.kind == "M":
        return None
    if name in UNITS and name not in SHORT_UNITS:
        return UNITS[name]
    found = UNIT_IN_NAME.fullmatch(name)
    return UNITS.get(found[1]) if found else None


def _values(frame: "pd.DataFrame", chosen: Chosen, spare: set[str], notes: list[str]) -> list[str]:
    if chosen.values:
        return list(chosen.values)
    left = [name for name in frame.columns if name not in spare and name != chosen.group]
    constant_text = [
        n for n in left if frame[n].dtype.kind not in "iuf" and frame[n].nunique() <= 1 and frame[n].notna().any()
    ]
    if constant_text and len(constant_text) < len(left):
        notes.append(f"{_listed(constant_text)} left out, being text that never changes")
        left = [name for name in left if name not in constant_text]
    counters = [n for n in left if str(n).startswith(("unnamed", "Unnamed", "index")) and _counts_rows(frame[n])]
    if counters:
        notes.append(f"{_listed(counters)} left out, being row numbers")
        left = [name for name in left if name not in counters]
    if not left:
        raise BadTable(f"no column is left for the state besides the time: the columns are {_listed(frame.columns)}")
    words = [name for name in left if frame[name].dtype.kind not in "iuf" and not _mostly_numbers(frame[name])]
    if words and len(left) > len(words):
        raise BadTable(
            f"{_listed(words)} holds text: if it names several trajectories, pass --group {words[0]}; if not, choose "
            f"the state with --value, among {_listed(name for name in left if name not in words)}"
        )
    if len(left) > MOST_FOUND:
        raise BadTable(f"{len(left)} columns may be the state: {_listed(left)}. Choose with --value, once for each")
    return left


def _counts_rows(column: "pd.Series") -> bool:
    return column.dtype.kind in "iu" and bool((column.diff().iloc[1:] == 1).all())


def _mostly_numbers(column: "pd.Series") -> bool:
    import pandas as pd

    filled = column.dropna()
    return len(filled) > 0 and pd.to_numeric(filled, errors="coerce").notna().mean() >= 0.5


def _numbers(column: "pd.Series", name: str) -> "pd.Series":
    """A column as numbers; text in it is refused with the row where it stands."""
    import pandas as pd

    if column.dtype.kind in "mM":
        what = "dates" if column.dtype.kind == "M" else "durations"
        raise BadTable(f"the column {name!r} holds {what}, and a state is made of numbers: pass it as --time")
    if column.dtype.kind == "b":
        raise BadTable(f"the column {name!r} holds true and false, and a state is made of numbers")
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    wrong = (numbers.isna() & column.notna()).to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        raise BadTable(
            f"the column {name!r} has text where numbers should be, {int(wrong.sum())} times: "
            f"{str(column.iloc[row])!r} in row {row + 1}. Leave missing values empty"
        )
    if numbers.isna().all():
        raise BadTable(f"the column {name!r} has no value in any row: every one is missing")
    return numbers


def _by_group(
    group: "pd.Series", states: "pd.DataFrame", clock: "pd.Series | None", notes: list[str]
) -> list[tuple["pd.DataFrame", "pd.Series | None"]]:
    """One trajectory for each value of the group, in the order in which they come."""
    rows = states.groupby(group.to_numpy(), sort=False).indices
    enough = [index for index in rows.values() if len(index) > 1]
    if group.isna().any():
        raise BadTable(f"the group column {group.name!r} is empty in some rows: give every row its group")
    if not enough:
        raise BadTable(
            f"no group of {group.name!r} has two rows, so there are no trajectories: is it the right column?"
        )
    left_out = len(rows) - len(enough)
    notes.append(
        f"{len(enough)} trajectories by {group.name!r}" + (f", {left_out} of one row left out" if left_out else "")
    )
    return [(states.iloc[index], None if clock is None else clock.iloc[index]) for index in enough]


def _ordered(
    states: "pd.DataFrame", clock: "pd.Series | None", notes: list[str], chosen: Chosen
) -> tuple["pd.DataFrame", "pd.Series | None"]:
    """Newest-first tables are turned round; other disorder is refused."""
    if clock is None or (clock.is_monotonic_increasing and clock.is_unique):
        return states.reset_index(drop=True), None if clock is None else clock.reset_index(drop=True)
    if clock.is_monotonic_decreasing and clock.is_unique:
        if (note := "rows turned round, being newest first") not in notes:
            notes.append(note)
        return states.iloc[::-1].reset_index(drop=True), clock.iloc[::-1].reset_index(drop=True)
    repeated = int(clock.duplicated().sum())
    what, cure = (f"repeats {repeated} times", "keep one row per time") if repeated else ("is not in order", "sort it")
    wrong = clock.duplicated() if repeated else clock.diff() < clock.diff().iloc[:0].sum()
    row = int(wrong.to_numpy().argmax())
    more = "" if chosen.group else "; if the table holds several trajectories, name their column with --group"
    raise BadTable(f"the time column {clock.name!r} {what}, first in row {row + 1} ({clock.iloc[row]}): {cure}{more}")
