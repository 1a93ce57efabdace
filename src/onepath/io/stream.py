"""Streams: parts of one table that come one after another, from files, folders, data sets or any iterable."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from onepath.data.clocks import UNDATED, Clock, in_unit, natural_unit, physical
from onepath.data.reading import spaced
from onepath.data.streaming import LOOK, Look, Part, Streamed, Streaming, Told, joined
from onepath.data.time_units import UNITS
from onepath.io.chosen import Chosen
from onepath.io.clock import find_clock
from onepath.io.columns import choose_columns
from onepath.io.errors import BadTable
from onepath.io.pieces import files_in, frame_of, pieces_of, rows_in
from onepath.io.resume import Resume
from onepath.numerics.arrays import Floats, Integers

if TYPE_CHECKING:
    import pandas as pd

Watch = Callable[[int, int | None], None]
"""Called now and then with rows so far, and how many there are where that is known."""

HEAD = 10_000
"""Rows that say what the columns are."""


def is_stream(x: Any) -> bool:
    """Whether this comes in parts: an iterator, a PyArrow or Dask data set, or a path of a file or folder."""
    if isinstance(x, str | Path) or hasattr(x, "to_batches") or hasattr(x, "to_delayed"):
        return True
    known = hasattr(x, "__array__") or isinstance(x, list | tuple | dict | set)
    return isinstance(x, Iterable) and not known


@dataclass
class _Columns:
    """Which columns are taken, and how times become numbers."""

    chosen: Chosen  # every column by its name
    names: tuple[str, ...]
    unit: str | None
    clock: Clock
    origin: Any  # the first date; None where times are numbers
    codes: dict[Any, int]  # of records, by the name of their group
    counts: Integers  # rows of each record so far, where a constant step tells the time

    @property
    def needed(self) -> list[str] | None:
        """Names of columns to read; None is all."""
        chosen = self.chosen
        if chosen.time is None and chosen.dt is None:
            return None
        return [name for name in (chosen.time, *chosen.values, chosen.group) if name is not None]


def read_stream(
    source: Any,
    chosen: Chosen,
    gap: float,
    cells: Callable[[int], int],
    notes: list[str],
    watch: Watch,
    resume: Path | None = None,
) -> Streamed:
    """One pass over a source, after a look at its first rows. `cells` are those wanted in so many dimensions.

    With `resume`, how far it is is kept in that file, and reading of the same file or folder goes on from there.
    """
    total, passed = rows_in(source), 0
    pieces = pieces_of(source, None, chosen.missing)
    first = next(pieces, None)
    if first is None:
        raise BadTable("the stream has no rows, so there is nothing to learn from")
    columns = _columns(first.iloc[:HEAD], chosen, notes)
    if isinstance(source, str | Path) or hasattr(source, "to_batches") or hasattr(source, "to_delayed"):
        pieces = pieces_of(source, columns.needed, chosen.missing)  # from the start, and only what is needed
    else:
        pieces = chain([first], pieces)
    told = Told(columns.names, columns.unit, columns.clock, gap, cells(len(columns.names)))
    if hasattr(source, "to_delayed") and chosen.group is None and columns.chosen.time is not None:
        client = client_here()
        if client is not None:
            return _on_cluster(source, first, columns, told, client, watch)
    streaming, keeping = Streaming(told), None
    if resume is not None:
        keeping = Resume(resume, _key(source, columns, told))
        if (kept := keeping.kept(told)) is not None:
            streaming, passed, more = kept
            columns.codes, columns.counts = dict(map(tuple, more["codes"])), np.asarray(more["counts"], np.int64)
            notes.append(f"reading goes on after {spaced(passed)} rows")
            pieces = pieces_of(source, columns.needed, chosen.missing, passed)
    for piece in pieces:
        streaming.add(_part(piece, columns))
        passed += len(piece)
        watch(passed, total)
        if keeping is not None:
            more = {"codes": list(columns.codes.items()), "counts": columns.counts.tolist()}
            keeping.now_and_then(streaming, passed, more)
    found = streaming.end()
    if keeping is not None:
        keeping.done()
    return found


def _key(source: Any, columns: _Columns, told: Told) -> str:
    """What must not have changed for a reading to go on."""
    if not isinstance(source, str | Path):
        raise ValueError(
            "resume= needs the path of a file or a folder: other streams cannot be read from the middle on"
        )
    files = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files_in(Path(source))]
    return repr((version("onepath"), files, columns.chosen, told))


def _on_cluster(
    source: Any, first: "pd.DataFrame", columns: _Columns, told: Told, client: Any, watch: Watch
) -> Streamed:
    """Partitions of a Dask table where they are, each by itself after the look at the first; boxes of parts add up."""
    looking = Streaming(told)
    looking.add(_part(first.iloc[:LOOK], columns))
    own = source if columns.needed is None else source[columns.needed]
    look, done = looking.look(), 0
    parts = client.compute(list(np.ravel(np.asarray(own.to_delayed(), dtype=object))))
    pieces = [client.submit(_piece, part, columns, told, look, pure=False) for part in parts]
    del parts  # each is let go where it was worked on
    found = []
    for piece in pieces:
        found.append(piece.result())
        done += found[-1].rows
        watch(done, None)
    return joined(found)


def _piece(frame: "pd.DataFrame", columns: _Columns, told: Told, look: Look) -> Streaming:
    """What a worker does with a partition."""
    streaming = Streaming(told, look)
    for begin in range(0, len(frame), LOOK):
        streaming.add(_part(frame_of(frame.iloc[begin : begin + LOOK]), columns))
    return streaming.finished()


def client_here() -> Any:
    """The Dask client of this process, where there is one."""
    if "distributed" not in sys.modules:
        return None
    try:
        return sys.modules["distributed"].get_client()
    except ValueError:
        return None


def _columns(head: "pd.DataFrame", chosen: Chosen, notes: list[str]) -> _Columns:
    """What the first rows say."""
    if chosen.errors or chosen.inputs or chosen.wide:
        raise BadTable("inputs, standard errors and wide tables need all rows in memory, and these come as a stream")
    whole = head if chosen.group is None else head[head[chosen.group] == head[chosen.group].iloc[0]]
    clock, _ = find_clock(head, chosen, [])
    own = whole if chosen.group is None else whole.drop(columns=chosen.group)
    seen = choose_columns(own.reset_index(drop=True), chosen._replace(group=None))
    notes.extend(seen.notes)
    named = None if clock is None or clock.name not in head.columns else str(clock.name)
    names = tuple(str(name) for name in seen.x.columns)
    settled = chosen._replace(time=named, values=names)
    unit, origin, dated = seen.unit, None, UNDATED
    if seen.t is not None and seen.t.dtype.kind in "mM":
        times = seen.t.to_numpy()
        unit = UNITS[unit.lower()] if unit is not None and unit.lower() in UNITS else unit
        if unit is None:
            unit = natural_unit(np.diff(times))
        in_unit([times], [seen.x.to_numpy()], unit, "all")  # refuses what is none
        origin = times[0]
        dated = Clock(str(origin)) if times.dtype.kind == "M" else UNDATED
        notes.append(f"times are counted in {unit}s as they pass, weekends and months like all else")
    return _Columns(settled, names, unit, dated, origin, {}, np.zeros(0, np.int64))


def _part(piece: "pd.DataFrame", columns: _Columns) -> Part:
    """Rows as numbers."""
    chosen = columns.chosen
    record = _records(piece, columns)
    plain = [*chosen.values, *([chosen.time] if chosen.time else [])]
    if not chosen.missing and columns.origin is None and all(piece[name].dtype.kind == "f" for name in plain):
        x, t = piece[list(chosen.values)].to_numpy(float), None if chosen.time is None else piece[chosen.time]
    else:
        own = piece if chosen.group is None else piece.drop(columns=chosen.group)
        seen = choose_columns(own.reset_index(drop=True), chosen._replace(group=None))
        x, t = seen.x.to_numpy(float), seen.t
    if t is None:
        assert chosen.dt is not None
        return Part(x, _counted(record, columns) * chosen.dt, record)
    times = t.to_numpy()
    if columns.origin is not None:
        times = physical([times - columns.origin], str(columns.unit))[0]
    return Part(x, times, record)


def _records(piece: "pd.DataFrame", columns: _Columns) -> Integers:
    """Which record each row belongs to."""
    import pandas as pd

    group = columns.chosen.group
    if group is None:
        return np.zeros(len(piece), np.int64)
    codes, found = pd.factorize(piece[group])
    if np.any(codes < 0):
        raise BadTable(f"the group column {group!r} is empty in some rows: give every row its group")
    own = [columns.codes.setdefault(name, len(columns.codes)) for name in found.tolist()]
    return np.asarray(own, np.int64)[codes]


def _counted(record: Integers, columns: _Columns) -> Floats:
    """How many rows of its record come before each row."""
    most = int(record.max()) + 1
    if most > len(columns.counts):
        columns.counts = np.append(columns.counts, np.zeros(most - len(columns.counts), np.int64))
    if most == 1:
        before = columns.counts[0] + np.arange(len(record))
    else:
        order = np.argsort(record, kind="stable")
        begins = np.searchsorted(record[order], np.arange(most))
        before = np.empty(len(record), np.int64)
        before[order] = np.arange(len(record)) - begins[record[order]]
        before += columns.counts[record]
    columns.counts += np.bincount(record, minlength=len(columns.counts))
    return before.astype(float)
