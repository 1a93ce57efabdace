"""A long table: which columns name the series, tell the time and hold the state, and the series in it."""

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from onepath.data.trajectory import read_trajectory
from onepath.io.chosen import Chosen
from onepath.io.clock import find_clock
from onepath.io.columns import choose_columns
from onepath.io.errors import BadTable, listed

if TYPE_CHECKING:
    import pandas as pd

IDS = ("unique_id", "series_id", "item_id", "series", "id")
"""How columns that name the series are called, the likeliest first."""

FORECASTERS = {"unique_id": "unique_id", "time": "ds", "value": "y"}
"""The names that tables for forecasting have."""

LOOKED_AT = 20
"""Series that are tried until one of them says what the columns are."""


class Layout(NamedTuple):
    """Which column names the series, what the others are, and the unit that all rates are per."""

    key: str
    chosen: Chosen
    gap: float = 10.0
    calendar: str = "auto"

    @property
    def columns(self) -> list[str] | None:
        """All that is needed of the table; None is everything."""
        if not self.chosen.values or (self.chosen.time is None and self.chosen.dt is None):
            return None  # the time is joined from columns of years, months and so on
        time = [] if self.chosen.time is None else [self.chosen.time]
        return [self.key, *time, *self.chosen.values, *self.chosen.errors, *self.chosen.inputs]


class Series(NamedTuple):
    """One series of a table, and what must not have changed for what was kept of it to stand."""

    name: Any  # as the table has it
    frame: "pd.DataFrame"  # its rows
    recipe: str

    @property
    def key(self) -> str:
        return str(self.name)


def read_layout(frame: "pd.DataFrame", key: str | None, chosen: Chosen, gap: float, calendar: str) -> Layout:
    """What the columns are: as was said, as forecasters call them, or as the first series that can be read has them."""
    key = _key(frame, key)
    if chosen.time is None and chosen.dt is None and FORECASTERS["time"] in frame.columns:
        chosen = chosen._replace(time=FORECASTERS["time"])
    if not chosen.values and FORECASTERS["value"] in frame.columns and key == FORECASTERS["unique_id"]:
        chosen = chosen._replace(values=(FORECASTERS["value"],))
    trouble: Exception | None = None
    for name in frame[key].drop_duplicates().iloc[:LOOKED_AT]:
        part = frame[frame[key] == name].drop(columns=key)
        try:
            return Layout(key, _settled(part, chosen, calendar, gap), gap, calendar)
        except (ValueError, TypeError) as error:
            trouble = trouble or error
    if chosen.values and (chosen.time is not None or chosen.dt is not None):
        return Layout(key, chosen, gap, calendar)  # each of them says why it cannot be used
    raise BadTable(f"none of the first series can be read, and so not which columns to take. Of the first: {trouble}")


def _key(frame: "pd.DataFrame", key: str | None) -> str:
    """The column that names the series."""
    if len(frame) == 0:
        raise BadTable("the table has no rows")
    if key is None:
        lower = {str(name).lower(): str(name) for name in frame.columns}
        key = next((lower[name] for name in IDS if name in lower), None)
    if key is None or key not in frame.columns:
        missing = "no column is called as those that name series are" if key is None else f"there is no column {key!r}"
        raise BadTable(f"{missing}: say which it is with series= (--id). The columns are {listed(frame.columns)}")
    if (empty := int(frame[key].isna().sum())) > 0:
        raise BadTable(
            f"the column {key!r}, which names the series, is empty in {empty} rows: give every row its "
            "name (in a text file, NA and the like are no names)"
        )
    return key


def _settled(part: "pd.DataFrame", chosen: Chosen, calendar: str, gap: float) -> Chosen:
    """With the names of all columns, and one unit for the rates of all series, as one series says them."""
    clock, _ = find_clock(part, chosen, [])
    seen = choose_columns(in_order(part, chosen.time), chosen)
    named = None if clock is None or clock.name not in part.columns else str(clock.name)
    if seen.unit is None and chosen.unit is None:
        unit = read_trajectory(**seen.arguments, gap=gap, calendar=calendar).unit
        chosen = chosen._replace(unit=unit)
    errors = set(chosen.errors)
    return chosen._replace(time=named, values=tuple(str(name) for name in seen.x.columns if name not in errors))


def in_order(part: "pd.DataFrame", time: str | None) -> "pd.DataFrame":
    """Rows of one series in the order of their times, where those are numbers or dates: parts come in any order."""
    if time is None or part[time].dtype.kind not in "iufM":
        return part
    return part.sort_values(time, kind="stable")


def series_in(frame: "pd.DataFrame", layout: Layout, recipe: str) -> Iterator[Series]:
    """The series of a table, in the order in which they come; the rows of each in the order of their times."""
    import pandas as pd

    own = frame if layout.columns is None else frame[layout.columns]
    rows = own.groupby(layout.key, sort=False, observed=True).indices
    names = {str(name) for name in rows}
    if len(names) < len(rows):
        raise BadTable(
            f"the column {layout.key!r} has names that are written alike, such as 1 and '1': give each series its own"
        )
    states, clock = own.drop(columns=layout.key), layout.chosen.time
    hashes = pd.util.hash_pandas_object(states, index=False).to_numpy()
    times = None if clock is None or own[clock].dtype.kind not in "iufM" else own[clock].to_numpy()
    for name, found in rows.items():
        index = np.asarray(found)
        if times is not None:
            index = index[np.argsort(times[index], kind="stable")]
        digest = hashlib.sha256(recipe.encode() + hashes[index].tobytes()).hexdigest()
        yield Series(name, states.iloc[index].reset_index(drop=True), digest)
