"""Tables from files: CSV and its relatives, Parquet, NumPy's formats. What cannot be read is refused."""

import io
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from onepath.io.errors import BadTable, Damaged
from onepath.io.npy import array_from_bytes
from onepath.io.text import read_text

if TYPE_CHECKING:
    import pandas as pd

LARGEST_UNPACKED = 4 << 30
"""Bytes that a compressed .npz file may unpack to."""


class Table(NamedTuple):
    """Columns with names, and what had to be decided to read them."""

    frame: "pd.DataFrame"
    notes: list[str]


def read_table(path: str | Path, encoding: str | None = None) -> Table:
    """The table in a file, by its content more than by its name."""
    path = Path(path)
    content = _bytes_of(path)
    if content.startswith(b"PAR1"):
        return _parquet(path, content)
    if content.startswith(b"\x93NUMPY"):
        return Table(_array_frame({path.stem: _array(content, path)}, path), [])
    if content.startswith(b"PK"):
        return _npz(path, content)
    if content.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
        raise BadTable(f"{path} is compressed: unpack it first")
    if path.suffix.lower() in (".parquet", ".pq", ".npy", ".npz"):
        raise BadTable(f"{path} is called {path.suffix}, but its content is not of that kind: it may be cut short")
    return Table(*read_text(path, content, encoding))


def _bytes_of(path: Path) -> bytes:
    if path.is_dir():
        raise BadTable(f"{path} is a folder: give the name of a file in it")
    if not path.exists():
        raise BadTable(f"{path} does not exist")
    if not os.access(path, os.R_OK):
        raise BadTable(f"{path} may not be read by you: change its permissions, or copy it to where you may")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadTable(f"{path} cannot be read: {error.strerror}") from error
    if not content.strip():
        raise BadTable(f"{path} is empty")
    return content


def _parquet(path: Path, content: bytes) -> Table:
    import pandas as pd
    import pyarrow

    try:
        frame = pd.read_parquet(io.BytesIO(content), engine="pyarrow")
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise BadTable(f"{path} is a damaged Parquet file: {str(error).splitlines()[0]}") from error
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index(names=[name or f"index{i or ''}" for i, name in enumerate(frame.index.names)])
    frame.columns = [str(name) for name in frame.columns]
    return Table(frame, [])


def _array(content: bytes, path: Path) -> np.ndarray:
    try:
        return array_from_bytes(content, str(path))
    except Damaged as error:
        raise BadTable(str(error)) from error


def _npz(path: Path, content: bytes) -> Table:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(item.file_size for item in archive.infolist())
            if unpacked > LARGEST_UNPACKED:
                raise BadTable(f"{path} would unpack to {unpacked >> 20} MiB and was not opened: save it as .npy")
            names = [name for name in archive.namelist() if name.endswith(".npy")]
            if not names:
                raise BadTable(f"{path} is a zip archive without arrays: give a CSV, Parquet, NPY or NPZ file")
            arrays = {name.removesuffix(".npy"): _array(archive.read(name), path) for name in names}
    except (zipfile.BadZipFile, zipfile.zlib.error, EOFError) as error:  # type: ignore[attr-defined]
        raise BadTable(f"{path} is cut short or damaged ({error})") from error
    return Table(_array_frame(arrays, path), [f"arrays: {', '.join(arrays)}"])


def _array_frame(arrays: dict[str, np.ndarray], path: Path) -> "pd.DataFrame":
    """One column for each one-dimensional array, several for one of shape (n, d)."""
    import pandas as pd

    columns = {}
    for name, array in arrays.items():
        if array.ndim not in (1, 2):
            raise BadTable(f"{path}: {name} has shape {array.shape}; (n,) and (n, d) can be used, rows being times")
        if array.ndim == 2 and array.shape[1] > max(array.shape[0], 1):
            raise BadTable(f"{path}: {name} has shape {array.shape}, and rows are times: it is probably transposed")
        several = array.ndim == 2 and array.shape[1] > 1
        for i, column in enumerate(array.reshape(len(array), -1).T):
            columns[f"{name}{i}" if several else name] = column
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise BadTable(f"{path}: its arrays have different numbers of rows: {lengths}")
    if next(iter(lengths.values()), 0) == 0:
        raise BadTable(f"{path} has no rows")
    return pd.DataFrame(columns)
