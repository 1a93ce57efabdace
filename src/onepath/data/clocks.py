"""Times: from steps, numbers, dates or a pandas index to numbers in one unit, and from those to dates again."""

from typing import Any, NamedTuple

import numpy as np

from onepath.data.calendar import Business, calendar_months, midnights, months_after
from onepath.data.reading import KINDS, REAL, is_from_pandas, read_array, read_numbers, read_scalar
from onepath.data.rounded import rounded_step
from onepath.data.time_units import NANOSECONDS, UNITS
from onepath.data.weekends import Weekends, read_weekends

SECOND = np.timedelta64(1, "s")
TICKS = {
    "nanosecond": np.timedelta64(1, "ns"),
    "microsecond": np.timedelta64(1, "us"),
    "millisecond": np.timedelta64(1, "ms"),
}
"""Units below the second, in which stamps are whole numbers."""


def split_times(t: Any, count: int, several: bool) -> list[Any]:
    """What was given as `t`, one entry per trajectory."""
    if t is None or not several:
        return [t] * count
    if not isinstance(t, list | tuple):
        raise TypeError(f"x is a list but t is of type {type(t).__name__}: pass a list of times, one per trajectory")
    if len(t) != count:
        raise ValueError(f"x lists {count} trajectories but t lists {len(t)}: pass a list of times, one for each")
    return list(t)


def read_clock(what: str, n: int, index: Any, t: Any, dt: float | None) -> np.ndarray:
    """Times of a trajectory of n rows, increasing: float64, datetime64 or timedelta64. `index` is pandas', if any."""
    if dt is not None:
        times = np.arange(n, dtype=float)
        times *= read_scalar(dt, "dt")
        return times
    if t is not None:
        return _read_times(t, n, "t" + what[1:])
    if index is None:
        raise ValueError(f"{what} comes without times: pass dt= for a constant step or t= with one time per row")
    times = _pandas_times(index)
    if times.dtype.kind not in "Mm":
        cure = "series.index" if times.dtype.kind in REAL else "pd.to_datetime(series.index)"
        raise ValueError(f"{what} has an index of {index.dtype}: pass t={cure} if it is the time, else dt=")
    return _read_times(times, n, f"{what}.index")


def _read_times(t: Any, n: int, what: str) -> np.ndarray:
    times = _pandas_times(t) if is_from_pandas(t) and np.ndim(t) == 1 else read_array(t, what)
    if times.shape != (n,):
        raise ValueError(f"{what} has shape {times.shape} but x has {n} rows: pass one time per row, shape ({n},)")
    kind = times.dtype.kind
    if kind in "Mm":
        calendar = np.datetime_data(times.dtype)[0] in "YM"  # which count no fixed number of seconds
        times = times.astype(f"{kind}8[s]") if calendar else times
    elif kind in REAL:
        times = read_numbers(t if np.ma.isMaskedArray(t) else times, what)
    else:
        got = KINDS.get(kind, times.dtype)
        raise TypeError(f"{what} holds {got}, no measure of time: pass numbers or dates (pd.to_datetime reads text)")
    _check_increasing(times, what)
    return times


def _pandas_times(times: Any) -> np.ndarray:
    """NumPy times of a pandas index or column: time zones become UTC, periods their start."""
    import pandas as pd

    index = pd.Index(times)
    if isinstance(index, pd.PeriodIndex):
        index = index.to_timestamp()
    if isinstance(index, pd.DatetimeIndex) and index.tz is not None:
        index = index.tz_convert(None)
    plain = index.dtype.kind not in REAL or index.dtype == np.float64
    return index.to_numpy() if plain else index.to_numpy(dtype=float, na_value=np.nan)


def _check_increasing(times: np.ndarray, what: str) -> None:
    if np.all(times[1:] > times[:-1]) and np.all(np.isfinite(times[[0, -1]])):
        return
    step_back, step_none = np.r_[False, times[1:] < times[:-1]], np.r_[False, times[1:] == times[:-1]]
    faults = [
        (~np.isfinite(times), "are missing or infinite", "drop those rows or mend their times"),
        (step_back, "are unsorted (earlier than the row before)", "sort x and t by np.argsort(t)"),
        (step_none, "are repeated", "keep one row per time"),
    ]
    for wrong, fault, cure in faults:
        if wrong.any():
            if wrong is step_none and (step := rounded_step(times)) is not None:
                cure = f"the times are rounded, of rows that are evenly spaced. Pass {step.argument} instead of t"
            row = wrong.argmax()
            raise ValueError(f"{what} has {wrong.sum()} times that {fault}, first in row {row} ({times[row]}): {cure}")


class Clock(NamedTuple):
    """How dates became times; the defaults are for times that came as numbers."""

    origin: str | None = None  # the first date
    day: int | None = None  # of the month, from 0, where time is counted in calendar months
    weekends: Weekends = Weekends()

    @property
    def business(self) -> Business | None:
        """The days that count, where not all do."""
        return self.weekends.business

    def dates(self, t: np.ndarray, unit: str | None) -> np.ndarray | None:
        """Times in this unit as dates (datetime64); None where there never were any."""
        if self.origin is None or unit is None:
            return None
        origin = np.datetime64(self.origin)
        if self.business is not None:
            return self.business.after(origin, t * _days_in(unit, self.business)).astype("M8[us]")
        if self.day is not None:
            return months_after(origin, t * (12 if unit == "year" else 1), self.day).astype("M8[us]")
        if unit in TICKS:
            return np.asarray(origin + t.round().astype(int) * TICKS[unit])
        digits = 3 if NANOSECONDS[unit] >= NANOSECONDS["hour"] else 6  # what sums in double precision keep
        seconds = np.round(t * (NANOSECONDS[unit] / NANOSECONDS["second"]), digits)
        return np.asarray(origin + (1e6 * seconds).round().astype("m8[us]"))


UNDATED = Clock()


def in_unit(
    clocks: list[np.ndarray], values: list[np.ndarray], unit: str | None, calendar: str | Clock
) -> tuple[list[np.ndarray], str | None, Clock]:
    """Times as numbers: plain numbers as they are, dates in `unit` since the first row of the first trajectory.

    Dates on the same day of each month are counted in calendar months where the unit is a month or a year, and daily
    ones in business days by `calendar`, or as another clock counts them.
    """
    kinds = {KINDS.get(clock.dtype.kind, "numbers") for clock in clocks}
    if len(kinds) > 1:
        raise TypeError(f"times are both {' and '.join(sorted(kinds))}, which share no clock: pass one kind for all")
    if calendar == "business" and kinds != {"dates"}:
        raise ValueError(
            f"calendar='business' skips weekends, and times are {kinds.pop()}: pass dates, or leave it out"
        )
    if kinds == {"numbers"}:
        return clocks, unit, UNDATED
    if unit is not None and unit.lower() not in UNITS:
        raise ValueError(f"unit {unit!r} is none that dates can be counted in: pass one of {', '.join(NANOSECONDS)}")
    since = [clock - clocks[0][0] for clock in clocks]
    name = UNITS[unit.lower()] if unit is not None else natural_unit(np.concatenate([np.diff(part) for part in since]))
    if kinds == {"dates"}:
        times, clock = _dated(clocks, values, name, calendar)
        return times, name, clock
    return physical(since, name), name, UNDATED


def _dated(
    clocks: list[np.ndarray], values: list[np.ndarray], unit: str, calendar: str | Clock
) -> tuple[list[np.ndarray], Clock]:
    """Times of dates, by business days or months where they are such, else as they pass."""
    origin = str(clocks[0][0])
    asked = (calendar.business or "all") if isinstance(calendar, Clock) else calendar
    weekends = Weekends() if asked == "all" else read_weekends(clocks, values, asked)
    if (business := weekends.business) is not None:
        first, days = business.before(midnights(clocks[0][0])), _days_in(unit, business)
        return [business.since(first, midnights(clock)) / days for clock in clocks], Clock(origin, None, weekends)
    if unit in ("month", "year") and (months := calendar_months(clocks)) is not None:
        return [part / (12 if unit == "year" else 1) for part in months.parts], Clock(origin, months.day)
    return physical([clock - clocks[0][0] for clock in clocks], unit), Clock(origin, None, weekends)


def _days_in(unit: str, business: Business) -> float:
    """Business days in a unit: a day is one of them, and a year has as many as there are in one by the calendar."""
    days = NANOSECONDS[unit] / NANOSECONDS["day"]
    return days if days <= 1 else days * business.year / 365.25


def physical(since: list[np.ndarray], unit: str) -> list[np.ndarray]:
    """Durations in a unit of fixed length."""
    if unit in TICKS:
        return [part / TICKS[unit] for part in since]
    return [part / SECOND / (NANOSECONDS[unit] / NANOSECONDS["second"]) for part in since]


def natural_unit(steps: np.ndarray) -> str:
    """The longest unit within the usual step, with 5% to spare for uneven months and years."""
    usual = 1.05 * NANOSECONDS["second"] * median_length(steps / SECOND)
    within = [name for name, length in NANOSECONDS.items() if length <= usual]
    return max(within, key=NANOSECONDS.__getitem__, default="nanosecond" if steps.size else "second")


def median_length(lengths: np.ndarray) -> float:
    """The median step; of regular steps, which differ by rounding alone, any one will do."""
    if lengths.size == 0:
        return np.nan
    regular = lengths.max() - lengths.min() <= 1e-9 * abs(lengths[0])
    return float(lengths[0] if regular else np.median(lengths))
