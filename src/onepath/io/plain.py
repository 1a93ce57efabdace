"""Long text files without quotes: checked and read part by part, so that the text is never in memory as a whole."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from onepath.io.errors import BadTable
from onepath.io.fields import LOOKED_AT
from onepath.io.text import Layout, layout_of, parsed

if TYPE_CHECKING:
    import pandas as pd

LEAST_BYTES = 1 << 22
"""Of a file that is read so; shorter ones are read with more care in no time."""

HEAD, PART = 1 << 16, 1 << 24
"""Bytes that tell how a table is laid out, and that are read at once."""

SPECIAL = b'"\r\x00'
"""Bytes that need more care wherever they stand."""


def read_plain(path: Path, missing: tuple[str, ...]) -> tuple["pd.DataFrame", list[str], tuple[str, ...]] | None:
    """As `read_text`: the table, what was decided, and marks of missing values; None of what needs more care."""
    with path.open("rb") as file:
        head = file.read(HEAD)
        layout = _layout(path, head[: head.rfind(b"\n") + 1], missing)
        if layout is None:
            return None
        file.seek(_begin(head, layout.skipped + layout.named))
        frames = []
        for part in _parts(file):
            if not _is_even(part, layout.separator.encode(), len(layout.names)):
                return None
            frames.append(_with_dates(parsed(path, io.BytesIO(part), layout._replace(named=False), missing)))
    columns = {name: _joined([frame.pop(name) for frame in frames]) for name in layout.names}
    if any(column is None for column in columns.values()):
        return None
    import pandas as pd

    return pd.DataFrame(columns, copy=False), layout.notes, layout.marks


def plain_frames(path: Path, missing: tuple[str, ...]) -> Iterator["pd.DataFrame"]:
    """The same as a stream: tables of the parts, one after another."""
    with path.open("rb") as file:
        head = file.read(HEAD)
        layout = _layout(path, head[: head.rfind(b"\n") + 1], missing)
        if layout is None:
            raise BadTable(
                f"{path} cannot be streamed: that takes even lines of UTF-8 text, comma, semicolon or tab between "
                "fields, and a heading of one line. Save it as Parquet"
            )
        begin = _begin(head, layout.skipped + layout.named)
        file.seek(begin)
        for number, part in enumerate(_parts(file)):
            if not _is_even(part, layout.separator.encode(), len(layout.names)):
                raise BadTable(
                    f"{path} has lines with more or fewer than {len(layout.names)} fields, or quotes, in its part "
                    f"{number + 1} of {PART >> 20} MB: mend them, or save it as Parquet"
                )
            yield _with_dates(parsed(path, io.BytesIO(part), layout._replace(named=False), missing))


def _layout(path: Path, head: bytes, missing: tuple[str, ...]) -> Layout | None:
    """How the first lines are laid out; None where that takes more than them to say."""
    try:
        text = head.decode("utf-8").replace("\r\n", "\n")
        layout = layout_of(path, text, missing)
    except (UnicodeDecodeError, BadTable):
        return None
    even = layout.separator != " " and text.endswith(layout.body) and text[0] != "\ufeff"
    return layout if even and layout.body.count("\n") > LOOKED_AT else None


def _begin(head: bytes, lines: int) -> int:
    """Where the line after so many begins."""
    place = 0
    for _ in range(lines):
        place = head.index(b"\n", place) + 1
    return place


def _parts(file: BinaryIO) -> Iterator[bytes]:
    """Whole lines, each of them ended; those at the end of the file that are blank are left out."""
    left = b""
    while block := file.read(PART):
        end = block.rfind(b"\n") + 1
        if end:
            yield (left + block[:end]).replace(b"\r\n", b"\n")
            left = block[end:]
        else:
            left += block
    if left.strip():
        yield left.rstrip(b"\r\n") + b"\n"


def _is_even(part: bytes, separator: bytes, width: int) -> bool:
    """Whether all lines have so many fields, and nothing that needs more care."""
    line = separator * (width - 1) + b"\n"
    marks = part.translate(None, bytes(set(range(256)) - set(line + SPECIAL)))
    return part.isascii() and marks == line * (len(marks) // width)


def _with_dates(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Text that is dates, the year first and all written alike, as dates, which take a tenth of the memory."""
    import pandas as pd
    from pandas.tseries.api import guess_datetime_format

    for name, column in frame.items():
        if column.dtype.kind in "iufb":
            continue
        form = guess_datetime_format(str(column.iloc[0]))
        if form is None or not form.startswith("%Y-%m-%d") or "%z" in form:
            continue
        dates = pd.to_datetime(column, format=form, errors="coerce")
        if dates.notna().all():
            frame[name] = dates
    return frame


def _joined(parts: list["pd.Series"]) -> "np.ndarray | pd.Series | None":
    """One column of its parts; None where they are of different kinds, whole numbers and others apart."""
    kinds = {part.dtype.kind for part in parts}
    if kinds <= set("if") or (len(kinds) == 1 and kinds <= set("ubM")):
        return np.concatenate([part.to_numpy() for part in parts])
    if len(kinds) > 1:
        return None
    import pandas as pd

    return pd.concat(parts, ignore_index=True)
