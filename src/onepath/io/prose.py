"""Lines of prose above a table, and tables as weather services write them: aligned by blanks, remarks at the end."""

import re
from collections import Counter
from itertools import takewhile
from typing import NamedTuple

from onepath.io.fields import MISSING, NUMBER, even_separator, number_names, rows_of

MOST_LINES = 40
"""Lines that may stand above a table."""

WORD = re.compile(r"[^\W\d_]{2,}[.,;:!?]*")
VALUE = re.compile(r"\d[\d:/.-]*(T[\d:.]+Z?)?")
ONE_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
MARKS = re.compile(
    rf"missing(?:[ _-]*(?:values?|data|code))?(?:\s*(?:=|:|is|are|as))?\s*"
    rf"({ONE_NUMBER}(?:\s*(?:,|or|and|/)\s*{ONE_NUMBER})*)",
    re.IGNORECASE,
)


class Below(NamedTuple):
    """A table below some lines of prose."""

    lines: int  # that are prose
    body: str
    separator: str
    shown: str  # the separator in the file itself


def is_prose(line: str) -> bool:
    """Whether a line has words side by side, and does not begin like a row of numbers."""
    return len([word for word in line.split() if WORD.fullmatch(word)]) > 1 and not re.match(r"\s*[+-]?[\d.]", line)


def prose_lines(body: str) -> int:
    """How many lines at the top read like prose, blank ones between them included."""
    lines = body.split("\n")[:MOST_LINES]
    return sum(1 for _ in takewhile(lambda line: not line.strip() or is_prose(line), lines))


def marks_in(text: str) -> tuple[str, ...]:
    """Numbers that a text says stand for missing values."""
    return tuple(dict.fromkeys(mark for said in MARKS.findall(text) for mark in re.findall(ONE_NUMBER, said)))


def is_remark(line: str) -> bool:
    """Whether a line says what stands for missing values: no header, though it may have as many fields."""
    return MARKS.search(line) is not None and is_prose(line)


def below_prose(body: str) -> Below | None:
    """The table below the fewest lines of prose with which one separator does, or columns and remarks; None if none.

    The line above a table that has one field fewer is no prose: it may be a header that lacks a name.
    """
    lines = body.split("\n")
    for count in range(1, prose_lines(body) + 1):
        table = "\n".join(lines[count:])
        if not is_remark(table.partition("\n")[0]) and (separator := even_separator(table)) is not None:
            width = len(next(rows_of(table, separator)))
            above = [len(row) for row in rows_of("\n".join(lines[:count]), separator)]
            return None if above[-1:] == [max(width - 1, 2)] else Below(count, table, separator, separator)
    return _with_remarks(lines)


def _with_remarks(lines: list[str]) -> Below | None:
    """Columns aligned by blanks, of which the last is a remark in words, or empty; with tabs in place of the blanks."""
    begin = next((i for i, line in enumerate(lines) if _values(line) > 1), len(lines))
    rows = [line for line in lines[begin:] if line.strip()]
    counts = [_values(line) for line in rows]
    if begin > MOST_LINES or len(rows) < 2:
        return None
    width = Counter(counts).most_common(1)[0][0]
    remarks = [line.split()[width:] for line in rows]
    longer = [words for words, count in zip(remarks, counts, strict=True) if count > width]
    if min(counts) < width or width < 2 or not any(remarks) or any(not any(map(WORD.search, w)) for w in longer):
        return None
    table = [[*line.split()[:width], " ".join(words)] for line, words in zip(rows, remarks, strict=True)]
    above = max((i for i in range(begin) if lines[i].strip()), default=None)
    names = None if above is None else _names(lines[above], width)
    header = names or [*number_names(row[:width] for row in table), "remark"]
    text = "\n".join("\t".join(row).replace('"', "'") for row in (header, *table))
    return Below(begin if names is None or above is None else above, text, "\t", " ")


def _values(line: str) -> int:
    """How many fields at the beginning of a line are numbers, dates or missing."""
    return sum(1 for _ in takewhile(lambda f: f in MISSING or NUMBER.fullmatch(f) or VALUE.fullmatch(f), line.split()))


def _names(line: str, width: int) -> list[str] | None:
    """Names of all columns, or of all but the remark."""
    names = line.split()
    plain = all(not NUMBER.fullmatch(name) and name[-1] not in ".,;:=" for name in names)
    if len(names) not in (width, width + 1) or not plain or len(set(names)) < len(names):
        return None
    return names if len(names) > width else [*names, "remark"]
