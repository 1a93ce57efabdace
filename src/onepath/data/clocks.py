"""Times: from steps, numbers, dates or a pandas index to numbers in one unit."""

from typing import Any

import numpy as np

from onepath.data.calendar import calendar_months
from onepath.data.reading import KINDS, REAL, is_from_pandas, read_array, read_numbers, read_scalar
from onepath.data.rounded import rounded_step
from onepath.data.time_units import NANOSECONDS, UNITS

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


def in_unit(clocks: list[np.ndarray], unit: str | None) -> tuple[list[np.ndarray], str | None]:
    """Times as numbers: plain numbers as they are, dates in `unit` since the first row of the first trajectory.

    Dates on the same day of each month are counted in calendar months where the unit is a month or a year.
    """
    kinds = {KINDS.get(clock.dtype.kind, "numbers") for clock in clocks}
    if len(kinds) > 1:
        raise TypeError(f"times are both {' and '.join(sorted(kinds))}, which share no clock: pass one kind for all")
    if kinds == {"numbers"}:
        return clocks, unit
    if unit is not None and unit.lower() not in UNITS:
        raise ValueError(f"unit {unit!r} is none that dates can be counted in: pass one of {', '.join(NANOSECONDS)}")
    since = [clock - clocks[0][0] for clock in clocks]
    name = UNITS[unit.lower()] if unit is not None else natural_unit(np.concatenate([np.diff(part) for part in since]))
    if kinds == {"dates"} and name in ("month", "year") and (months := calendar_months(clocks)) is not None:
        return [part / (12 if name == "year" else 1) for part in months], name
    if name in TICKS:
        return [part / TICKS[name] for part in since], name
    return [part / SECOND / (NANOSECONDS[name] / NANOSECONDS["second"]) for part in since], name


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
