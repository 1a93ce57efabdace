"""What is understood of a file: which columns, which times, and what has to be asked."""

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from onepath.io.columns import Readings, choose_columns
from onepath.io.dates import looks_like_dates
from onepath.io.tables import Table, read_table
from onepath.studio.said import Said

if TYPE_CHECKING:
    import pandas as pd

    from onepath.data.trajectory import Trajectory

SHOWN_ROWS, SHOWN_COLUMNS, LONGEST = 5, 60, 60
"""Rows and columns of a table that are shown, and characters of a cell."""


class Ask(NamedTuple):
    """An option of the command that an error names, as the page has it."""

    control: str
    label: str
    question: str


ASKS = {
    "--value": Ask("state", "the role State", "Which columns are the state?"),
    "--dt": Ask("dt", "Step", "How far apart are the rows?"),
    "--time": Ask("time", "the role Time", "Which column tells the time?"),
    "--group": Ask("group", "the role Group", "Which column names the trajectories?"),
    "--wide": Ask("wide", "Each column is a trajectory of its own", "One state, or a trajectory in each column?"),
    "--na": Ask("missing", "Missing values", "How are missing values written?"),
    "--time-unit": Ask("time_unit", "Times are counted in", "What are the times counted in?"),
    "--unit": Ask("unit", "Rates are per", "In which unit should rates be?"),
    "--encoding": Ask("encoding", "Encoding", "How is the text of the file encoded?"),
    "--error": Ask("error", "the role Error", "Which columns hold standard errors?"),
    "--input": Ask("input", "the role Input", "Which columns drive the state?"),
}
OPTION = re.compile("|".join(sorted(ASKS, key=len, reverse=True)))


def question_of(message: str) -> dict[str, Any] | None:
    """What the page should ask, where an error names options of the command; None where it names none."""
    named = list(dict.fromkeys(OPTION.findall(message)))
    if not named:
        return None
    told = OPTION.sub(lambda found: f"“{ASKS[found[0]].label}”", message).replace("pass “", "use “")
    return {
        "question": ASKS[named[0]].question,
        "told": told[:1].upper() + told[1:],
        "controls": [ASKS[name].control for name in named],
    }


def opened(path: Path, name: str, said: Said) -> Table:
    """The table in an upload; arrays in a file are called as its client called it."""
    table = read_table(path, said.encoding, said.missing)
    stem = name.rpartition(".")[0] or name
    renamed = (
        {each: stem + each.removeprefix(path.stem) for each in table.frame.columns} if path.suffix == ".npy" else {}
    )
    return table._replace(frame=table.frame.rename(columns=renamed))


def look(path: Path, name: str, said: Said) -> dict[str, Any]:
    """Everything that the page shows of a file before a fit, and whether one can begin."""
    try:
        table = opened(path, name, said)
    except ValueError as error:
        return {"columns": [], "notes": [], **_trouble(error, path, name)}
    found: dict[str, Any] = {"columns": columns_of(table.frame), "rows": len(table.frame), "notes": list(table.notes)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            from onepath.data.trajectory import read_trajectory

            seen = choose_columns(table.frame, said.chosen(table.missing))
            trajectory = read_trajectory(**seen.arguments, **said.times)
        except (ValueError, TypeError) as error:
            return found | _trouble(error, path, name)
    found["notes"] += [
        *seen.notes,
        *dict.fromkeys(str(each.message) for each in caught if each.category is UserWarning),
    ]
    return found | {"roles": roles_of(table.frame, seen, said), "facts": facts_of(trajectory, seen), "ready": True}


def _trouble(error: Exception, path: Path, name: str) -> dict[str, Any]:
    message = str(error).replace(str(path), name)
    asked = question_of(message)
    return {"ready": False, "question": asked, "error": None if asked else message}


def columns_of(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Names, kinds and the first values of columns."""
    found = []
    for name in frame.columns[:SHOWN_COLUMNS]:
        column = frame[name]
        first = [
            "" if missing else str(value)[:LONGEST]
            for value, missing in zip(column.head(SHOWN_ROWS), column.head(SHOWN_ROWS).isna(), strict=True)
        ]
        found.append({"name": str(name), "kind": _kind(column), "missing": int(column.isna().sum()), "first": first})
    return found


def _kind(column: "pd.Series") -> str:
    if column.dtype.kind in "mM":
        return "dates"
    if column.dtype.kind in "iuf":
        return "numbers"
    if column.dtype.kind == "b":
        return "yes or no"
    return "dates" if looks_like_dates(column) else "text"


def roles_of(frame: "pd.DataFrame", seen: Readings, said: Said) -> dict[str, str]:
    """What each column was taken for."""
    first = seen.x[0] if isinstance(seen.x, list) else seen.x
    state = [str(part.columns[0]) for part in seen.x] if said.wide else list(map(str, first.columns))
    clock = seen.t[0] if isinstance(seen.t, list) else seen.t
    roles = dict.fromkeys(map(str, frame.columns), "unused") | dict.fromkeys(state, "state")
    if clock is not None and str(clock.name) in roles:
        roles[str(clock.name)] = "time"
    return roles | {
        name: role for name, role in said.roles.items() if role in ("input", "error", "group") and name in roles
    }


def facts_of(trajectory: "Trajectory", seen: Readings) -> list[tuple[str, str]]:
    """What was read, in words: the same as a report's, before anything is learned."""
    from onepath.data.calendar import written

    step = np.diff(trajectory.t)[trajectory.step]
    low, high, records = float(step.min()), float(step.max()), int(trajectory.record.max()) + 1
    unit = trajectory.unit or "units of time"
    even = high - low <= 1e-6 * high
    length = f"{np.median(step):.4g}" + ("" if even else f", from {low:.4g} to {high:.4g}")
    facts = [
        ("State", ", ".join(trajectory.names)),
        ("Rows", f"{len(trajectory.t)}" + (f" in {records} trajectories" if records > 1 else "")),
        ("Step", f"{length} {unit}" + ("s" if trajectory.unit and length != "1" else "")),
    ]
    dates = trajectory.dates(trajectory.t[[0, -1]])
    if dates is not None and records == 1:
        facts.append(("From, to", " to ".join(written(dates))))
    elif records == 1:
        facts.append(("From, to", f"{trajectory.t[0]:.6g} to {trajectory.t[-1]:.6g}"))
    if trajectory.unit is None:
        facts.append(("Unit of time", "not known: rates are per unit of time"))
    facts.append(("Missing rows", str(trajectory.missing) if trajectory.missing else "none"))
    facts.append(("Gaps", f"{trajectory.gaps}, left out" if trajectory.gaps else "none"))
    if seen.inputs is not None:
        facts.append(
            ("Inputs", ", ".join(map(str, (seen.inputs[0] if isinstance(seen.inputs, list) else seen.inputs).columns)))
        )
    return facts
