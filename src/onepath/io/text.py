"""CSV and its relatives: encoding, separator, header and decimal sign found, and every line checked."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from onepath.io.errors import BadTable

if TYPE_CHECKING:
    import pandas as pd

MOST_COLUMNS = 10_000
LOOKED_AT = 200
"""Lines that decide about the separator; all of them are then checked."""

SEPARATORS = {"\t": "tab", ";": "semicolon", ",": "comma", " ": "blanks"}
MISSING = ("", ".", "-", "NA", "N/A", "#N/A", "NaN", "nan", "NAN", "null", "NULL", "None", "none", "missing")
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*|\s*[+-]?(nan|inf|infinity)\s*", re.IGNORECASE)
OPENING_QUOTE = re.compile(r'(^|[,;\t])\s*"')
COMMA_NUMBER = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")


def read_text(path: Path, content: bytes, encoding: str | None) -> tuple["pd.DataFrame", list[str]]:
    """The table in a text, and what was decided to read it."""
    text, notes = _decoded(path, content, encoding)
    for number, line in enumerate(islice(io.StringIO(text), LOOKED_AT), 1):
        columns = max(map(line.count, SEPARATORS)) + 1
        if columns > MOST_COLUMNS:
            raise BadTable(f"{path} has {columns} columns in line {number}, and rows are times: is it transposed?")
    skipped = _comment_lines(text)
    body = text[_offset(text, skipped) :]
    _check_quotes(path, body, skipped)
    separator = _separator(path, body, skipped)
    first = next(_rows(body, separator))
    named = _is_header(first)
    names = _names(path, first) if named else [f"column{i + 1}" for i in range(len(first))]
    _check_lines(path, body, separator, len(first), skipped, named)
    decimal = "," if separator != "," and _decimal_comma(body, separator, named) else "."
    notes.append(_said(separator, len(names), named, skipped, decimal))
    return _frame(path, body, separator, names, named, decimal), notes


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


def _rows(body: str, separator: str) -> Iterator[list[str]]:
    """Rows that are not blank."""
    if separator == " ":
        return (line.split() for line in io.StringIO(body) if line.strip())
    return (row for row in csv.reader(io.StringIO(body), delimiter=separator) if any(field.strip() for field in row))


def _check_quotes(path: Path, body: str, skipped: int) -> None:
    """A quotation mark that opens a field and is never closed would swallow all rows after it."""
    if body.count('"') % 2 == 0:
        return
    for number, line in enumerate(io.StringIO(body), skipped + 1):
        if line.count('"') % 2 and OPENING_QUOTE.search(line):
            raise BadTable(f"{path}: line {number} has a quotation mark that is not closed. Close it, or take it out")


def _separator(path: Path, body: str, skipped: int) -> str:
    """The one that splits the first lines into equally many fields; one column where none splits anything."""
    if not body.strip():
        raise BadTable(f"{path} has comments only, and no table")
    widths: dict[str, Counter[int]] = {}
    for mark in SEPARATORS:
        try:
            widths[mark] = Counter(len(row) for row in islice(_rows(body, mark), LOOKED_AT))
        except csv.Error as error:
            raise BadTable(f"{path} cannot be split into fields: {error}") from error
    even = [mark for mark, count in widths.items() if len(count) == 1 and next(iter(count)) > 1]
    if even:
        return even[0]
    if all(set(count) == {1} for mark, count in widths.items() if mark != " "):
        return ","
    common = {mark: count.most_common(1)[0] for mark, count in widths.items()}
    best = max((mark for mark in common if mark != " "), key=lambda mark: (common[mark][0] > 1, common[mark][1]))
    width = common[best][0]
    line = next(i for i, row in enumerate(_rows(body, best), 1) if len(row) != width) + skipped
    raise BadTable(
        f"{path} mixes separators or has uneven rows: most lines have {width} fields separated by {SEPARATORS[best]}, "
        f"line {line} has not. Save it with one separator throughout"
    )


def _is_header(first: list[str]) -> bool:
    """Names, unless every field is a number, a date or missing."""
    return any(
        field.strip() not in MISSING and not NUMBER.fullmatch(field) and not COMMA_NUMBER.fullmatch(field)
        and not re.match(r"\s*\d", field)
        for field in first
    )  # fmt: skip


def _names(path: Path, first: list[str]) -> list[str]:
    names = [field.strip() for field in first]
    repeated = [name for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        raise BadTable(f"{path} has several columns called {', '.join(map(repr, repeated))}: give each its own name")
    return [name or f"unnamed{i + 1}" for i, name in enumerate(names)]


def _check_lines(path: Path, body: str, separator: str, width: int, skipped: int, named: bool) -> None:
    """Every row must have as many fields as the first: a row that is short would silently become missing values."""
    count = 0
    for count, row in enumerate(_rows(body, separator), 1):
        if len(row) != width:
            raise BadTable(
                f"{path}: line {count + skipped} has {len(row)} fields and the first line has {width}, separated by "
                f"{SEPARATORS[separator]}. Mend that line"
            )
    rows = count - named
    if rows < 2:
        what = "a header and no rows" if named and rows == 0 else "one row only"
        raise BadTable(f"{path} has {what}, and a trajectory needs many")


def _decimal_comma(body: str, separator: str, named: bool) -> bool:
    """Whether numbers are written 1,5: some are, and none is written 1.5."""
    sample = list(islice(_rows(body, separator), int(named), LOOKED_AT))
    fields = [field for row in sample for field in row]
    return any(map(COMMA_NUMBER.fullmatch, fields)) and not any("." in f and NUMBER.fullmatch(f) for f in fields)


def _frame(path: Path, body: str, separator: str, names: list[str], named: bool, decimal: str) -> "pd.DataFrame":
    import pandas as pd

    try:
        return pd.read_csv(
            io.StringIO(body),
            sep=r"\s+" if separator == " " else separator,
            header=None,
            names=names,
            index_col=False,
            skiprows=int(named),
            decimal=decimal,
            na_values=list(MISSING),
            keep_default_na=False,
            skipinitialspace=True,
            low_memory=False,
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise BadTable(f"{path} cannot be read as a table: {str(error).strip()}") from error
