"""What the name of a column says of time: that it is one, its unit, and whether it runs backwards."""

import re
from typing import NamedTuple

from onepath.data.time_units import LONG_UNITS, UNITS

BETWEEN = re.compile(r"[\s_./:,\-\[\](){}]+")
TIMES = {
    *("t", "ts", "time", "times", "xtime", "xtimes", "elapsed", "clock", "epoch", "timestamp"),
    *("date", "dates", "datum", "datetime"),
}
COUNTERS = {"frame", "frames", "sample", "samples", "step", "steps", "index"}
NUMBERED = {"number", "no", "nr"}
AGES = {"age", "cal", "bp", "ka", "kyr", "ma", "myr"}

PARTS = {
    "year": ("year", "yr", "yyyy"),
    "month": ("month", "mo", "mon", "mm"),
    "day": ("day", "dy", "dd"),
    "hour": ("hour", "hr", "hh"),
    "minute": ("minute",),
    "second": ("second", "sec", "ss"),
}
"""Columns that make a date together, and how they are called."""


class TimeName(NamedTuple):
    """What a name says of a time column."""

    unit: str | None = None
    counts: bool = False  # rows, with no unit
    backwards: bool = False  # an age, before the present


def read_time_name(name: object) -> TimeName | None:
    """What the name of a time column says, such as `t [ms]`, `elapsed (h)`, `frame` or `Age_BP`; None of others."""
    words = [word for word in BETWEEN.split(str(name).lower()) if word]
    units = [word for word in words if word in UNITS]
    others = {word for word in words if word not in UNITS}
    if len(units) > 1 or not words or len(others) + len(units) < len(words):
        return None
    unit = UNITS[units[0]] if units else None
    if "bp" in others and others <= AGES | TIMES:
        return TimeName(unit, backwards=True)
    if not units and others & COUNTERS and others <= COUNTERS | NUMBERED | TIMES:
        return TimeName(counts=True)
    clear = not units or units[0] in LONG_UNITS or (bool(others) and words[-1] == units[0])
    return TimeName(unit) if clear and others <= TIMES else None


def date_parts(names: list[str]) -> dict[str, str]:
    """Which columns are year, month and so on, where at least those two are there and none between is missing."""
    found = {}
    for part, spellings in PARTS.items():
        named = [name for name in names if name.strip().lower() in spellings]
        if len(named) != 1:
            break
        found[part] = named[0]
    return found if len(found) > 1 else {}
