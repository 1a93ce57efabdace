"""Pieces of a source as pandas tables, one after another, none of which memory minds."""

from collections.abc import Generator, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from onepath.io.errors import BadTable
from onepath.io.plain import plain_frames
from onepath.io.tables import PER_BYTE, PER_PLAIN_BYTE
from onepath.numerics.extras import needs
from onepath.numerics.memory import available

if TYPE_CHECKING:
    import pandas as pd

ROWS = 1 << 18
"""Of a piece of a file."""

PARQUET, NUMPY, TEXT = (".parquet", ".pq"), (".npy",), (".csv", ".tsv", ".txt")

BUFFER = 1 << 20
"""Bytes of a column that are read at once, where a row group is large."""

LARGE = 0.5
"""Share of the memory that is free from which a file is streamed."""


def pieces_of(
    source: Any, columns: list[str] | None, missing: tuple[str, ...] = (), skip: int = 0
) -> Iterator["pd.DataFrame"]:
    """Of a file, a folder of Parquet files, a PyArrow or Dask data set, or an iterable of tables or arrays.

    Of files, so many of the first rows are left out; where the file allows, they are not read either.
    """
    if isinstance(source, str | Path):
        yield from _of_path(Path(source), columns, missing, skip)
    elif hasattr(source, "to_batches"):
        yield from _of_arrow(source, columns)
    elif hasattr(source, "to_delayed"):
        own = source if columns is None or not hasattr(source, "columns") else source[columns]
        for part in np.ravel(np.asarray(own.to_delayed(), dtype=object)):
            yield frame_of(part.compute())
    else:
        for part in source:
            frame = frame_of(part)
            if len(frame):
                yield frame


def rows_in(source: Any) -> int | None:
    """How many rows there are, where that is known beforehand."""
    if isinstance(source, str | Path):
        files = files_in(Path(source))
        if all(path.suffix.lower() in PARQUET for path in files):
            parquet = needs("pyarrow.parquet", "to read Parquet files", "parquet")
            return sum(parquet.read_metadata(path).num_rows for path in files)
        if files[0].suffix.lower() in NUMPY:
            return len(np.load(files[0], mmap_mode="r"))
        return None
    return int(source.count_rows()) if hasattr(source, "count_rows") else None


def files_in(path: Path) -> list[Path]:
    """A file; or the Parquet files in a folder, in the order of their names."""
    if not path.exists():
        raise BadTable(f"{path} does not exist")
    if not path.is_dir():
        return [path]
    files = sorted(each for each in path.rglob("*") if each.suffix.lower() in PARQUET)
    if not files:
        raise BadTable(f"{path} is a folder without Parquet files: give a folder of those, or a file")
    return files


def is_too_large(path: Path) -> bool:
    """Whether a file is better streamed than read: a folder, or one that would fill the memory."""
    if path.is_dir():
        return True
    if not path.is_file() or path.suffix.lower() not in (*PARQUET, *NUMPY, *TEXT):
        return False
    size, free = float(path.stat().st_size), available()
    per_byte = PER_PLAIN_BYTE if path.suffix.lower() in TEXT else PER_BYTE
    return free is not None and per_byte * size > LARGE * free


def frame_of(part: Any) -> "pd.DataFrame":
    """A table, from what a stream may be made of: pandas, PyArrow, or an array (n,) or (n, d)."""
    import pandas as pd

    if hasattr(part, "to_pandas"):
        part = part.to_pandas()
    if isinstance(part, pd.Series):
        part = part.to_frame(part.name if part.name is not None else "x")
    if isinstance(part, pd.DataFrame):
        says = any(name is not None for name in part.index.names) or part.index.dtype.kind not in "iu"
        frame = part.reset_index(names=_index_names(part)) if says else part.reset_index(drop=True)
        frame.columns = [str(name) for name in frame.columns]
        return frame
    values = np.asarray(part)
    if values.dtype.kind not in "iufb" or values.ndim not in (1, 2):
        raise TypeError(
            f"a part of the stream is of type {type(part).__name__}, shape {np.shape(part)}: parts are tables, or "
            "arrays of shape (n,) or (n, d)"
        )
    values = values.reshape(len(values), -1)
    names = ["x"] if values.shape[1] == 1 else [f"x{i}" for i in range(values.shape[1])]
    return pd.DataFrame(values.astype(float), columns=names)


def _index_names(frame: "pd.DataFrame") -> list[str]:
    """An index without a name is the time."""
    return [str(name) if name is not None else f"time{k or ''}" for k, name in enumerate(frame.index.names)]


def _of_path(path: Path, columns: list[str] | None, missing: tuple[str, ...], skip: int) -> Iterator["pd.DataFrame"]:
    for file in files_in(path):
        if file.suffix.lower() in PARQUET:
            skip = yield from _of_parquet(file, columns, skip)
        elif file.suffix.lower() in NUMPY:
            array = np.load(file, mmap_mode="r", allow_pickle=False)
            yield from (frame_of(array[begin : begin + ROWS]) for begin in range(skip, len(array), ROWS))
        else:
            yield from _without(plain_frames(file, missing), skip)


def _without(frames: Iterator["pd.DataFrame"], rows: int) -> Iterator["pd.DataFrame"]:
    """Without so many of the first rows."""
    for frame in frames:
        if rows < len(frame):
            yield frame.iloc[rows:].reset_index(drop=True) if rows else frame
        rows = max(rows - len(frame), 0)


def _of_parquet(path: Path, columns: list[str] | None, skip: int) -> Generator["pd.DataFrame", None, int]:
    """All row groups but those of the first rows; gives how many rows are to be left out of the next file."""
    pyarrow, parquet = (needs(name, "to read Parquet files", "parquet") for name in ("pyarrow", "pyarrow.parquet"))
    try:
        with parquet.ParquetFile(path, buffer_size=BUFFER) as file:
            ends = np.cumsum([file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)])
            left = [k for k, end in enumerate(ends.tolist()) if end > skip]
            if not left:
                return skip - int(file.metadata.num_rows)
            before = int(ends[left[0] - 1]) if left[0] else 0
            # one after another: PyArrow keeps what it has read of those that it is asked for together
            batches = chain.from_iterable(
                file.iter_batches(batch_size=ROWS, columns=columns, row_groups=[k]) for k in left
            )
            yield from _without((batch.to_pandas() for batch in batches), skip - before)
            return 0
    except (pyarrow.ArrowException, OSError) as error:
        raise BadTable(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}") from error


def _of_arrow(source: Any, columns: list[str] | None) -> Iterator["pd.DataFrame"]:
    """A data set, a scanner, or a table of PyArrow."""
    if hasattr(source, "count_rows") and columns is not None and hasattr(source, "schema"):
        batches: Iterable[Any] = source.to_batches(columns=columns, batch_size=ROWS)
    else:
        batches = source.to_batches()
    yield from (batch.to_pandas() for batch in batches if batch.num_rows)
