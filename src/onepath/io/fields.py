"""Lines of text split into fields: by which separator, and which fields are numbers, missing or names."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

LOOKED_AT = 200
"""Lines that decide about the separator; all of them are then checked."""

SEPARATORS = {"\t": "tab", ";": "semicolon", ",": "comma", " ": "blanks"}
MISSING = ("", ".", "-", "NA", "N/A", "#N/A", "NaN", "nan", "NAN", "null", "NULL", "None", "none", "missing")
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*|\s*[+-]?(nan|inf|infinity)\s*", re.IGNORECASE)
COMMA_NUMBER = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")


def rows_of(body: str, separator: str) -> Iterator[list[str]]:
    """Rows that are not blank."""
    if separator == " ":
        return (line.split() for line in io.StringIO(body) if line.strip())
    return (row for row in csv.reader(io.StringIO(body), delimiter=separator) if any(field.strip() for field in row))


def widths_of(body: str) -> dict[str, Counter[int]]:
    """How many of the first rows have how many fields, for each separator that leaves rows at all."""
    widths = {mark: Counter(len(row) for row in islice(rows_of(body, mark), LOOKED_AT)) for mark in SEPARATORS}
    return {mark: count for mark, count in widths.items() if count}


def even_separator(body: str) -> str | None:
    """The one that splits the first lines into equally many fields, more than one; blanks must split all lines so."""
    even = (mark for mark, count in widths_of(body).items() if len(count) == 1 and next(iter(count)) > 1)
    mark = next(even, None)
    return None if mark == " " and len(set(map(len, rows_of(body, mark)))) > 1 else mark


def is_header(first: Sequence[str], missing: tuple[str, ...] = ()) -> bool:
    """Names, unless every field is a number, a date or missing, or half of them, the first among them, are numbers."""
    numbers = [NUMBER.fullmatch(field) is not None for field in first]
    if numbers[0] and sum(numbers) > 1 and 2 * sum(numbers) >= len(first):
        return False
    return any(
        field.strip() not in (*MISSING, *missing) and not NUMBER.fullmatch(field) and not COMMA_NUMBER.fullmatch(field)
        and not re.match(r"\s*\d", field)
        for field in first
    )  # fmt: skip


def number_names(rows: Iterable[list[str]]) -> list[str]:
    """Names for the columns of rows without a header: year, month and day where the first three can be nothing else."""
    first, *rest = rows
    names = [f"column{i + 1}" for i in range(len(first))]
    some = [row[:3] for row in (first, *rest)]
    if len(first) < 4 or not all(field.strip().isdecimal() for row in some for field in row):
        return names
    days = [tuple(map(int, row)) for row in some]
    dates = all(1700 < year < 2250 and 0 < month < 13 and 0 < day < 32 for year, month, day in days)
    ordered = days in (sorted(set(days)), sorted(set(days), reverse=True))
    return ["year", "month", "day", *names[3:]] if dates and ordered else names
