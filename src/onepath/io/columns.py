"""Which columns of a table are time, state and group: found where that is clear, asked for where it is not."""

import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from onepath.data.rounded import rounded_step
from onepath.io.chosen import Chosen
from onepath.io.clock import find_clock, time_units
from onepath.io.errors import BadTable, listed
from onepath.io.fields import COMMA_NUMBER, NUMBER
from onepath.io.time_names import read_time_name

if TYPE_CHECKING:
    import pandas as pd

MOST_FOUND = 2
"""Value columns that are taken unasked; of three or more, the user must choose."""


class Readings(NamedTuple):
    """What `SDE.fit` takes, and what was decided on the way."""

    x: Any
    t: Any
    dt: float | None
    unit: str | None
    notes: list[str]
    error: Any = None
    inputs: Any = None

    @property
    def arguments(self) -> dict[str, Any]:
        given = {"x": self.x, "t": self.t, "dt": self.dt, "unit": self.unit}
        more = {"error": self.error, "inputs": self.inputs}
        return given | {name: value for name, value in more.items() if value is not None}


def choose_columns(frame: "pd.DataFrame", chosen: Chosen) -> Readings:
    """The trajectory or trajectories in a table."""
    notes: list[str] = []
    for name in (chosen.time, *chosen.values, chosen.group, *chosen.errors, *chosen.inputs):
        if name is not None and name not in frame.columns:
            raise BadTable(f"there is no column {name!r}. The columns are {listed(frame.columns)}")
    if chosen.time is not None and chosen.dt is not None:
        raise BadTable("--time and --dt were both given and may disagree: give one of them")
    twice = [name for name in chosen.inputs if name in (chosen.time, *chosen.values, chosen.group)]
    if twice:
        raise BadTable(f"{listed(twice)} was given as an input and as something else: a column is one of them")
    clock, spare = find_clock(frame, chosen, notes)
    names = _values(frame, chosen, spare | {*chosen.errors, *chosen.inputs}, notes)
    _check_errors(names, chosen)
    states = frame[[*names, *chosen.errors]].apply(lambda column: _numbers(column, str(column.name), chosen.missing))
    if chosen.wide and len(names) < 2:
        raise BadTable(f"--wide makes a trajectory of each column, and {listed(names)} is the only one: leave it out")
    _say_missing(states[names], chosen, notes)
    notes.insert(0, _said(clock, names, chosen))
    units = time_units(clock, chosen, notes)
    if chosen.inputs:
        notes.append(f"inputs from {listed(chosen.inputs)}")
        states = states.join(frame[list(chosen.inputs)].apply(lambda column: _input(column, chosen.missing)))
    pieces = [(states, clock)]
    if chosen.group is not None:
        pieces = _by_group(frame[chosen.group], states, clock, notes)
    pieces = [_ordered(part, times, notes, chosen, units.own) for part, times in pieces]
    pieces = [(part, units.converted(times)) for part, times in pieces]
    if chosen.wide:
        pieces = [_record(part[[name, *chosen.inputs]], times) for part, times in pieces for name in names]
    several = chosen.wide or chosen.group is not None
    errors = [part[list(chosen.errors)].to_numpy() for part, _ in pieces] if chosen.errors else [None]
    driving = [part[list(chosen.inputs)] for part, _ in pieces] if chosen.inputs else [None]
    states_of = [part.drop(columns=[*chosen.errors, *chosen.inputs]) for part, _ in pieces]
    x = states_of if several else states_of[0]
    t = None if clock is None else ([times for _, times in pieces] if several else pieces[0][1])
    error = errors if several and chosen.errors else errors[0]
    inputs = driving if several and chosen.inputs else driving[0]
    return Readings(x, t, units.converted(chosen.dt), units.rates, notes, error, inputs)


def _check_errors(names: list[str], chosen: Chosen) -> None:
    if both := [name for name in chosen.errors if name in names]:
        raise BadTable(f"{listed(both)} is given as --value and as --error: a column is one of them")
    if chosen.errors and chosen.wide:
        raise BadTable("--error and --wide were both given: put trajectories below each other, with --group")
    if chosen.errors and len(chosen.errors) not in (1, len(names)):
        raise BadTable(f"--error names {len(chosen.errors)} columns for {len(names)} of the state: give one for each")


def _said(clock: "pd.Series | None", names: list[str], chosen: Chosen) -> str:
    time = f"a constant step of {chosen.dt:g}" if clock is None else f"time from {clock.name!r}"
    several = "each a trajectory of its own" if chosen.wide else f"a state of {len(names)} dimensions"
    state = f"state from {listed(names)}" + (f", {several}" if len(names) > 1 else "")
    errors = f"; standard errors from {listed(chosen.errors)}" if chosen.errors else ""
    return f"{time}; {state}{errors}"


def _values(frame: "pd.DataFrame", chosen: Chosen, spare: set[str], notes: list[str]) -> list[str]:
    if chosen.values:
        return list(chosen.values)
    left = [name for name in frame.columns if name not in spare and name != chosen.group]
    constant_text = [
        n for n in left if frame[n].dtype.kind not in "iuf" and frame[n].nunique() <= 1 and frame[n].notna().any()
    ]
    if constant_text and len(constant_text) < len(left):
        notes.append(f"{listed(constant_text)} left out, being text that never changes")
        left = [name for name in left if name not in constant_text]
    empty = [n for n in left if _is_remark(frame[n])]
    if empty:
        notes.append(f"{listed(empty)} left out, being text that some rows have and others not")
        left = [name for name in left if name not in empty]
    counters = [n for n in left if _may_count(str(n)) and _counts_rows(frame[n])]
    if counters:
        notes.append(f"{listed(counters)} left out, being row numbers")
        left = [name for name in left if name not in counters]
    if not left:
        raise BadTable(f"no column is left for the state besides the time: the columns are {listed(frame.columns)}")
    words = [name for name in left if frame[name].dtype.kind not in "iuf" and not _mostly_numbers(frame[name])]
    if words and len(left) > len(words):
        raise BadTable(
            f"{listed(words)} holds text: if it names several trajectories, pass --group {words[0]}; if not, choose "
            f"the state with --value, among {listed(name for name in left if name not in words)}"
        )
    if len(left) > MOST_FOUND and not chosen.wide:
        raise BadTable(
            f"{len(left)} columns may be the state: {listed(left)}. Choose with --value, once for each; if each is a "
            "trajectory of its own, pass --wide"
        )
    return left


def _is_remark(column: "pd.Series") -> bool:
    """Text in some rows only, which can name no trajectories."""
    return column.dtype.kind not in "iufb" and bool(column.isna().any()) and not _mostly_numbers(column)


def _may_count(name: str) -> bool:
    said = read_time_name(name)
    return name.startswith(("unnamed", "Unnamed", "index")) or (said is not None and said.counts)


def _counts_rows(column: "pd.Series") -> bool:
    return column.dtype.kind in "iu" and bool((column.diff().iloc[1:] == 1).all())


def _mostly_numbers(column: "pd.Series") -> bool:
    import pandas as pd

    filled = column.dropna()
    return len(filled) > 0 and pd.to_numeric(filled, errors="coerce").notna().mean() >= 0.5


def _numbers(column: "pd.Series", name: str, missing: tuple[str, ...]) -> "pd.Series":
    """A column as numbers; text in it is refused with the row where it stands."""
    import pandas as pd

    if column.dtype.kind in "mM":
        what = "dates" if column.dtype.kind == "M" else "durations"
        raise BadTable(f"the column {name!r} holds {what}, and a state is made of numbers: pass it as --time")
    if column.dtype.kind == "b":
        raise BadTable(f"the column {name!r} holds true and false, and a state is made of numbers")
    if column.dtype.kind not in "iuf":
        column = column.mask(column.astype(str).str.strip().isin(missing))
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    wrong = (numbers.isna() & column.notna()).to_numpy()
    if wrong.any():
        odd = wrong & ~column.astype(str).str.fullmatch(COMMA_NUMBER).to_numpy()
        wrong = odd if odd.any() else wrong  # beside words, decimal commas are right
        row = int(wrong.argmax())
        text = str(column.iloc[row])
        raise BadTable(
            f"the column {name!r} has text where numbers should be, {int(wrong.sum())} times: {text!r} in row "
            f"{row + 1}. Leave missing values empty, or say how they are written: --na {shlex.quote(text)}"
        )
    for mark in filter(NUMBER.fullmatch, missing):  # to single precision, in which such marks are often kept
        numbers = numbers.mask(np.isclose(numbers, float(mark), rtol=1e-7, atol=0.0))
    if numbers.isna().all():
        raise BadTable(f"the column {name!r} has no value in any row: every one is missing")
    return numbers


def _input(column: "pd.Series", missing: tuple[str, ...]) -> "pd.Series":
    """A column that drives the state: numbers, or classes by their names."""
    if column.dtype.kind in "iuf" or (column.dtype.kind != "b" and _mostly_numbers(column)):
        return _numbers(column, str(column.name), missing)
    return column.mask(column.astype(str).str.strip().isin(missing))


def _say_missing(states: "pd.DataFrame", chosen: Chosen, notes: list[str]) -> None:
    """How many values are missing, however they are written."""
    if chosen.missing:
        count = int(states.isna().sum().sum())
        notes.append(f"{listed(chosen.missing)} taken for missing values, of which there are {count}")


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


def _record(states: "pd.DataFrame", clock: "pd.Series | None") -> tuple["pd.DataFrame", "pd.Series | None"]:
    """One column from its first value to its last: records in one table need not be equally long."""
    rows = np.flatnonzero(states.notna().to_numpy()[:, 0])
    seen = slice(rows[0], rows[-1] + 1) if len(rows) else slice(0, 1)
    return states.iloc[seen].reset_index(drop=True), None if clock is None else clock.iloc[seen].reset_index(drop=True)


def _ordered(
    states: "pd.DataFrame", clock: "pd.Series | None", notes: list[str], chosen: Chosen, unit: str | None
) -> tuple["pd.DataFrame", "pd.Series | None"]:
    """Newest-first tables are turned round; other disorder is refused."""
    if clock is None or _grows(times := clock.to_numpy()):
        return states.reset_index(drop=True), None if clock is None else clock.reset_index(drop=True)
    if _grows(times[::-1]):
        if (note := "rows turned round, being newest first") not in notes:
            notes.append(note)
        return states.iloc[::-1].reset_index(drop=True), clock.iloc[::-1].reset_index(drop=True)
    more = "" if chosen.group else "; if the table holds several trajectories, name their column with --group"
    if (step := rounded_step(times)) is not None:
        cure = step._replace(unit=step.unit or unit).option
        raise BadTable(f"the time column {clock.name!r} repeats, but evenly: the times are rounded: pass {cure}{more}")
    repeated = int(clock.duplicated().sum())
    what, cure = (f"repeats {repeated} times", "keep one row per time") if repeated else ("is not in order", "sort it")
    wrong = clock.duplicated() if repeated else clock.diff() < clock.diff().iloc[:0].sum()
    row = int(wrong.to_numpy().argmax())
    raise BadTable(f"the time column {clock.name!r} {what}, first in row {row + 1} ({clock.iloc[row]}): {cure}{more}")


def _grows(times: np.ndarray) -> bool:
    """Whether each time is later than the one before."""
    return bool(np.all(times[1:] > times[:-1]))
