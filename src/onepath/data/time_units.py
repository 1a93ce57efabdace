"""Units of time: how long they are, how they are written, and numbers of one in another."""

from typing import Any

NANOSECONDS = {
    "nanosecond": 1,
    "microsecond": 10**3,
    "millisecond": 10**6,
    "second": 10**9,
    "minute": 60 * 10**9,
    "hour": 3600 * 10**9,
    "day": 86400 * 10**9,
    "week": 7 * 86400 * 10**9,
    "month": 2629800 * 10**9,  # a twelfth of a year
    "year": 31557600 * 10**9,  # 365.25 days
}
SHORT_UNITS = {
    **{"ns": "nanosecond", "us": "microsecond", "µs": "microsecond", "μs": "microsecond", "ms": "millisecond"},
    **{"s": "second", "min": "minute", "h": "hour", "hr": "hour", "d": "day", "w": "week", "wk": "week"},
    **{"mo": "month", "y": "year", "yr": "year"},
}
"""Too short to say, alone, that a column is a time; µ is written by two characters that look alike."""

LONG_UNITS = {
    **{name + end: name for name in NANOSECONDS for end in ("", "s")},
    **{"nsec": "nanosecond", "usec": "microsecond", "msec": "millisecond", "sec": "second", "secs": "second"},
    **{"mins": "minute", "hrs": "hour", "wks": "week", "yrs": "year"},
}
UNITS = LONG_UNITS | SHORT_UNITS


def unit_named(text: str | None) -> str | None:
    """The full name of a unit that is known, any other text as it is."""
    return text if text is None else UNITS.get(text.strip().lower(), text)


def in_other_unit(times: Any, unit: str, other: str) -> Any:
    """Numbers counted in `unit`, counted in `other`; ratios are whole where they can be, so that digits stay."""
    long, short = NANOSECONDS[unit], NANOSECONDS[other]
    return times * (long / short) if long >= short else times / (short / long)
