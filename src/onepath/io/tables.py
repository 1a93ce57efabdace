"""Tables from files: CSV and its relatives, Parquet, NumPy's formats. What cannot be read is refused."""

import io
import os
import zipfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from onepath.io.errors import BadTable, Damaged
from onepath.io.npy import array_from_bytes
from onepath.io.text import read_text
from onepath.numerics.extras import needs
from onepath.numerics.memory import available, check_memory

if TYPE_CHECKING:
    import pandas as pd

PER_BYTE = 10.0
"""Bytes of memory, at the most crowded moment of a fit, for each byte of numbers or text (measured with 2 million rows:
npy 9.5, csv 8.6, parquet 8.3, npz 5.3)."""

SHORTER = "keep every tenth row, only the columns that are needed, or a part of it"


class Table(NamedTuple):
    """Columns with names, and what had to be decided to read them."""

    frame: "pd.DataFrame"
    notes: list[str]
    missing: tuple[str, ...] = ()  # how the file itself says that missing values are written


def read_table(path: str | Path, encoding: str | None = None, missing: tuple[str, ...] = ()) -> Table:
    """The table in a file, by its content more than by its name; `missing` are further spellings of missing values."""
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
    return Table(*read_text(path, content, encoding, missing))


def _bytes_of(path: Path) -> bytes:
    if path.is_dir():
        raise BadTable(f"{path} is a folder: give the name of a file in it")
    if not path.exists():
        raise BadTable(f"{path} does not exist")
    if not os.access(path, os.R_OK):
        raise BadTable(f"{path} may not be read by you: change its permissions, or copy it to where you may")
    if path.is_char_device() or path.is_block_device():
        raise BadTable(f"{path} is a device, no file: give the name of a file, or a pipe")
    _check_size(path, path.stat().st_size)
    free = available()
    most = -1 if free is None else int(free / PER_BYTE)
    try:
        with path.open("rb") as file:  # a pipe does not say how much it has, and may have no end
            content = file.read(most)
            more = most >= 0 and bool(file.read(1))
    except OSError as error:
        raise BadTable(f"{path} cannot be read: {error.strerror}") from error
    if more:
        raise BadTable(f"{path} has more than {most / 2**20:.3g} MB, which memory does not allow: {SHORTER}")
    if not content.strip():
        raise BadTable(f"{path} is empty")
    return content


def _check_size(path: Path, size: float) -> None:
    """Refuse a table whose numbers, or text, take so many bytes that memory would not do."""
    try:
        check_memory(f"{path}, {size / 2**20:.3g} MB unpacked,", PER_BYTE * size, SHORTER)
    except ValueError as error:
        raise BadTable(str(error)) from None


def _parquet(path: Path, content: bytes) -> Table:
    pyarrow, parquet = (needs(name, "to read Parquet files", "parquet") for name in ("pyarrow", "pyarrow.parquet"))
    try:
        file = parquet.ParquetFile(io.BytesIO(content))
        _check_columns(path, file.schema_arrow, pyarrow)
        _check_size(path, _unpacked(file.metadata))
        texts = [field.name for field in file.schema_arrow if _is_text(field.type, pyarrow.types)]
        once = parquet.ParquetFile(io.BytesIO(content), read_dictionary=texts).read(columns=texts)
        _check_size(path, sum(_text_size(chunk) for column in once.columns for chunk in column.chunks))
        frame = file.read().to_pandas()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, BadTable):
            raise
        raise BadTable(f"{path} is a damaged Parquet file: {str(error).splitlines()[0]}") from error
    return _with_index(frame)


def _unpacked(metadata: Any) -> float:
    """Bytes of its numbers, or of all that it holds if those are more."""
    packed = sum(metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))
    return max(8.0 * metadata.num_rows * metadata.num_columns, float(packed))


def _is_text(kind: Any, types: Any) -> bool:
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind))


def _text_size(texts: Any) -> float:
    """Bytes of texts when each row has its own, where the file may have one for a million rows."""
    if not hasattr(texts, "dictionary"):
        return float(texts.nbytes)
    lengths = np.array([len(text or "") for text in texts.dictionary.to_pylist()], float)
    return float(np.sum(lengths[texts.indices.drop_null().to_numpy()]))


def _with_index(frame: "pd.DataFrame") -> Table:
    """An index that says something becomes columns."""
    import pandas as pd

    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index(names=[name or f"index{i or ''}" for i, name in enumerate(frame.index.names)])
    frame.columns = [str(name) for name in frame.columns]
    return Table(frame, [])


def _check_columns(path: Path, schema: Any, pyarrow: Any) -> None:
    """Names that are there once, and no column of lists or records."""
    repeated = [name for name, count in Counter(schema.names).items() if count > 1]
    if repeated:
        raise BadTable(f"{path} has several columns called {', '.join(map(repr, repeated))}: give each its own name")
    nested = [field for field in schema if pyarrow.types.is_nested(field.type)]
    if nested:
        raise BadTable(
            f"{path}: the column {nested[0].name!r} holds {nested[0].type}, where each row needs one number: write a "
            "column for each of its parts"
        )


def _array(content: bytes, path: Path) -> np.ndarray:
    try:
        return array_from_bytes(content, str(path))
    except Damaged as error:
        raise BadTable(str(error)) from error


def _npz(path: Path, content: bytes) -> Table:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_size(path, sum(item.file_size for item in archive.infolist()))
            names = [name for name in archive.namelist() if name.endswith(".npy")]
            if not names:
                raise BadTable(f"{path} is a zip archive without arrays: give a CSV, Parquet, NPY or NPZ file")
            arrays = {name.removesuffix(".npy"): _array(archive.read(name), path) for name in names}
    except (zipfile.BadZipFile, zipfile.zlib.error, EOFError) as error:  # type: ignore[attr-defined]
        raise BadTable(f"{path} is cut short or damaged ({error})") from error
    except (NotImplementedError, RuntimeError) as error:  # encrypted, or packed by another method
        raise BadTable(f"{path} is packed in a way that cannot be opened ({error}): save it by np.savez") from error
    return Table(_array_frame(arrays, path), [f"arrays: {', '.join(arrays)}"])


def _array_frame(arrays: dict[str, np.ndarray], path: Path) -> "pd.DataFrame":
    """One column for each one-dimensional array, several for one of shape (n, d)."""
    import pandas as pd

    columns = {}
    _check_size(path, 8.0 * sum(array.size for array in arrays.values()))  # numbers of one byte become eight
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
