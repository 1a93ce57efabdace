"""CSV and its relatives: encoding, separator, header and decimal sign found, and every line checked."""

import csv
import io
import re
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from onepath.io.errors import BadTable
from onepath.io.fields import (
    COMMA_NUMBER,
    LOOKED_AT,
    MISSING,
    NUMBER,
    SEPARATORS,
    even_separator,
    is_header,
    number_names,
    rows_of,
    widths_of,
)
from onepath.io.prose import Below, below_prose, is_remark, marks_in, prose_lines

if TYPE_CHECKING:
    import pandas as pd

MOST_COLUMNS = 10_000
OPENING_QUOTE = re.compile(r'(^|[,;\t])\s*"')


class Layout(NamedTuple):
    """How a table is written."""

    body: str  # its text
    separator: str
    names: list[str]
    named: bool  # whether its first line is the names
    decimal: str
    skipped: int  # lines above it
    notes: list[str]  # what was decided
    marks: tuple[str, ...]  # how the text says that missing values are written


def read_text(
    path: Path, content: bytes, encoding: str | None, missing: tuple[str, ...] = ()
) -> tuple["pd.DataFrame", list[str], tuple[str, ...]]:
    """The table in a text, what was decided to read it, and how the text says that missing values are written."""
    text, notes = _decoded(path, content, encoding)
    layout = layout_of(path, text, missing)
    _check_lines(path, layout)
    return parsed(path, io.StringIO(layout.body), layout, missing), notes + layout.notes, layout.marks


def layout_of(path: Path, text: str, missing: tuple[str, ...]) -> Layout:
    """How the table in a text is written, by its first lines."""
    for number, line in enumerate(islice(io.StringIO(text), LOOKED_AT), 1):
        columns = max(map(line.count, SEPARATORS)) + 1
        if columns > MOST_COLUMNS:
            raise BadTable(f"{path} has {columns} columns in line {number}, and rows are times: is it transposed?")
    notes: list[str] = []
    comments = skipped = _comment_lines(text)
    body = text[_offset(text, skipped) :]
    _check_quotes(path, body, skipped)
    separator = shown = None if is_remark(body.partition("\n")[0]) else _separator(path, body)
    if separator is None:
        prose, body, separator, shown = _below_prose(path, body, skipped)
        notes += [f"lines {skipped + 1} to {skipped + prose} skipped, being prose"] if prose else []
        skipped += prose
    marks = marks_in(text[: _offset(text, skipped)])
    if marks:
        notes.append(f"by the lines above the table, {' and '.join(marks)} stand for missing values")
    first = next(rows_of(body, separator))
    named = is_header(first, missing)
    names = _names(path, first) if named else number_names(islice(rows_of(body, separator), LOOKED_AT))
    decimal = "," if separator != "," and _decimal_comma(body, separator, named) else "."
    notes.append(_said(shown or separator, len(names), named, comments, decimal))
    return Layout(body, separator, names, named, decimal, skipped, notes, marks)


def _said(separator: str, columns: int, named: bool, skipped: int, decimal: str) -> str:
    parts = [f"{columns} columns separated by {SEPARATORS[separator]}" if columns > 1 else "one column"]
    parts += [] if named else ["without a header"]
    parts += [f"{skipped} comment lines skipped"] if skipped else []
    parts += ["decimal commas"] if decimal == "," else []
    return ", ".join(parts)


def _decoded(path: Path, content: bytes, encoding: str | None) -> tuple[str, list[str]]:
    if encoding is None and content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadTable(f"{path} begins with the byte-order mark of UTF-16: pass --encoding utf-16, or save it as UTF-8")
    if encoding is None and b"\x00" in content:
        raise BadTable(f"{path} is no text: it has zero bytes. Give a CSV, TSV, Parquet, NPY or NPZ file")
    marked = content.startswith(b"\xef\xbb\xbf")
    try:
        text = content.decode("utf-8-sig" if encoding is None or marked else encoding)
    except LookupError as error:
        raise BadTable(f"{encoding!r} is no encoding that is known: try utf-8, latin-1 or utf-16") from error
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        byte = f"0x{content[error.start]:02x}"
        hint = "another one" if encoding else "latin-1, if it is in that encoding (old Excel files often are)"
        raise BadTable(
            f"{path} is no text in {encoding or 'UTF-8'}: line {line} has the byte {byte}. Pass --encoding {hint}, or "
            "save the file as UTF-8"
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n"), ["a byte-order mark was skipped"] if marked else []


def _comment_lines(text: str) -> int:
    """How many lines stand before the table: comments and blank ones."""
    count = 0
    for line in io.StringIO(text):
        if line.strip() and not line.lstrip().startswith(("#", "%")):
            break
        count += 1
    return count


def _offset(text: str, lines: int) -> int:
    place = 0
    for _ in range(lines):
        place = text.index("\n", place) + 1 if "\n" in text[place:] else len(text)
    return place


def _check_quotes(path: Path, body: str, skipped: int) -> None:
    """A quotation mark that opens a field and is never closed would swallow all rows after it."""
    if body.count('"') % 2 == 0:
        return
    for number, line in enumerate(io.StringIO(body), skipped + 1):
        if line.count('"') % 2 and OPENING_QUOTE.search(line):
            raise BadTable(f"{path}: line {number} has a quotation mark that is not closed. Close it, or take it out")


def _separator(path: Path, body: str) -> str | None:
    """The one that splits the first lines into equally many fields, a comma for one column; None where none does."""
    if not body.strip():
        raise BadTable(f"{path} has comments only, and no table")
    try:
        widths = widths_of(body)
    except csv.Error as error:
        raise BadTable(f"{path} cannot be split into fields: {error}") from error
    if len(widths) < len(SEPARATORS):
        raise BadTable(f"{path} has separators and nothing between them: is it the right file?")
    one = all(set(count) == {1} for mark, count in widths.items() if mark != " ") and _usual(widths[" "]) == 1
    return even_separator(body) or ("," if one else None)


def _usual(count: Counter[int]) -> int:
    return count.most_common(1)[0][0]


def _below_prose(path: Path, body: str, skipped: int) -> Below:
    """The lines of prose above a table, and the table; refused where there is none to be found."""
    if (found := below_prose(body)) is not None:
        return found
    widths = widths_of(body)
    best = max(widths, key=lambda mark: (_usual(widths[mark]) > 1, mark != " ", max(widths[mark].values())))
    width = _usual(widths[best])
    odd = [i for i, row in enumerate(rows_of(body, best), 1) if len(row) != width]
    prose = prose_lines(body)
    hint = (
        f". Lines {skipped + 1} to {skipped + prose} read like prose: put # before each of them, or take them out"
        if prose
        else ""
    )
    raise BadTable(
        f"{path} mixes separators or has uneven rows: most lines have {width} fields separated by {SEPARATORS[best]}, "
        f"line {(odd or [1])[0] + skipped} has not. Save it with one separator throughout{hint}"
    )


def _names(path: Path, first: list[str]) -> list[str]:
    names = [field.strip() for field in first]
    repeated = [name for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        raise BadTable(f"{path} has several columns called {', '.join(map(repr, repeated))}: give each its own name")
    return [name or f"unnamed{i + 1}" for i, name in enumerate(names)]


def _check_lines(path: Path, layout: Layout) -> None:
    """Every row must have as many fields as the first: a row that is short would silently become missing values."""
    count, width, named = 0, len(layout.names), layout.named
    for count, row in enumerate(rows_of(layout.body, layout.separator), 1):
        if len(row) != width:
            raise BadTable(
                f"{path}: line {count + layout.skipped} has {len(row)} fields and the first line has {width}, "
                f"separated by {SEPARATORS[layout.separator]}. Mend that line"
            )
    rows = count - named
    if rows < 2:
        what = "a header and no rows" if named and rows == 0 else "one row only"
        raise BadTable(f"{path} has {what}, and a trajectory needs many")


def _decimal_comma(body: str, separator: str, named: bool) -> bool:
    """Whether numbers are written 1,5: some are, and none is written 1.5."""
    sample = list(islice(rows_of(body, separator), int(named), LOOKED_AT))
    fields = [field for row in sample for field in row]
    return any(map(COMMA_NUMBER.fullmatch, fields)) and not any("." in f and NUMBER.fullmatch(f) for f in fields)


def parsed(path: Path, body: IO[Any], layout: Layout, missing: tuple[str, ...]) -> "pd.DataFrame":
    """The table in a body of this layout."""
    import pandas as pd

    try:
        return pd.read_csv(
            body,
            sep=r"\s+" if layout.separator == " " else layout.separator,
            header=None,
            names=layout.names,
            index_col=False,
            skiprows=int(layout.named),
            decimal=layout.decimal,
            na_values=[*MISSING, *(mark for mark in missing if not NUMBER.fullmatch(mark))],
            keep_default_na=False,
            skipinitialspace=True,
            low_memory=False,
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise BadTable(f"{path} cannot be read as a table: {str(error).strip()}") from error
