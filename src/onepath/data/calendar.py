"""Months by the calendar: dates on the same day of each month are whole months apart, however long those are."""

import numpy as np

MONTH, DAY, HOUR = (np.timedelta64(1, unit) for unit in ("M", "D", "h"))


def calendar_months(clocks: list[np.ndarray]) -> list[np.ndarray] | None:
    """Months since the first date of dates (n,) on the same day of each month, or on its last; None of any others."""
    dates = np.concatenate(clocks)
    days = (dates + 12 * HOUR).astype("M8[D]")  # the nearest midnight: one that was local, now in UTC, is itself
    months = days.astype("M8[M]")
    late = dates - days
    if not np.isin(late - late.min(), (0 * HOUR, HOUR)).all():  # an hour, where clocks are changed in summer
        return None
    day = (days - months.astype("M8[D]")) // DAY
    last = ((months + MONTH).astype("M8[D]") - months.astype("M8[D]")) // DAY - 1
    if np.any(day != np.minimum(day.max(), last)):
        return None
    since = (months - months[0]).astype(float)
    parts = np.split(since, np.cumsum([len(clock) for clock in clocks])[:-1])
    return parts if all(np.all(np.diff(part) > 0) for part in parts) else None
