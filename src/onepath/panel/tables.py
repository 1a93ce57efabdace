"""Tidy tables from records: a row for each series, and curves with their bands."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from onepath.panel.one import Record

if TYPE_CHECKING:
    import pandas as pd

FIRST, LAST = ("fitted", "reason"), ("notes", "seconds")
"""Columns of the table of series that every row has."""


def series_table(key: str, names: Sequence[Any], records: Sequence[Record]) -> "pd.DataFrame":
    """A row for each series; what one that was not fitted has not is empty."""
    import pandas as pd

    rows = [record["row"] for record in records]
    found = dict.fromkeys(name for row in sorted(rows, key=len, reverse=True)[:1] for name in row)
    found |= dict.fromkeys(name for row in rows for name in row)
    between = [name for name in found if name not in FIRST + LAST]
    frame = pd.DataFrame(rows, columns=[*FIRST, *between, *LAST])
    for name in between:
        kinds = {type(row[name]) for row in rows if name in row}
        if kinds == {str}:
            frame[name] = frame[name].fillna("")
        elif kinds == {bool}:
            frame[name] = frame[name].astype("boolean")
        elif kinds == {int}:
            frame[name] = frame[name].astype("Int64")
    frame.insert(0, key, list(names), allow_duplicates=True)
    return frame


def curves_table(key: str, names: Sequence[Any], records: Sequence[Record]) -> "pd.DataFrame":
    """A row for each point of each series that was fitted."""
    import pandas as pd

    some = [(name, record["curves"]) for name, record in zip(names, records, strict=True) if record["curves"]]
    columns = dict.fromkeys(column for _, curves in some for column in curves)
    lengths = [len(next(iter(curves.values()))) for _, curves in some]
    joined = {
        column: np.concatenate(
            [curves.get(column, [np.nan] * length) for (_, curves), length in zip(some, lengths, strict=True)]
        )
        for column in columns
    }
    frame = pd.DataFrame(joined)
    which = np.repeat(np.arange(len(some)), lengths)
    frame.insert(0, key, pd.Series([name for name, _ in some]).iloc[which].to_numpy(), allow_duplicates=True)
    return frame
