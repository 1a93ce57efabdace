"""Dates by the calendar: whole months, however long they are, and business days, whatever lies between them."""

from typing import Any, NamedTuple

import numpy as np

MONTH, DAY, HOUR = (np.timedelta64(1, unit) for unit in ("M", "D", "h"))

WEEKDAYS = 365.25 * 5 / 7
"""In a year."""

NEARLY_NONE = 0.01
"""Share of rows that may fall on weekends that are otherwise skipped."""

LONGEST_HOLIDAY = 5
"""Weekdays without a row, one after another, that may be holidays; more are a gap in the record."""


def midnights(dates: Any) -> Any:
    """The nearest midnight of each date: one that was local, and is now in UTC, is itself."""
    return (dates + 12 * HOUR).astype("M8[D]")


def written(dates: np.ndarray) -> list[str]:
    """Dates as text, with the time of the day where one of them is not at midnight."""
    whole = bool(np.all(dates == dates.astype("M8[D]")))
    return [text.replace("T", " ") for text in np.datetime_as_string(dates, "D" if whole else "s").tolist()]


def at_one_hour(dates: np.ndarray) -> bool:
    """Whether all are at one time of the day, but for an hour where clocks are changed in summer."""
    late = dates - midnights(dates)
    return bool(late.max() - late.min() <= HOUR)


class Months(NamedTuple):
    """Months since the first date, for each trajectory, and the day of the month that dates fall on, from 0."""

    parts: list[np.ndarray]
    day: int


def calendar_months(clocks: list[np.ndarray]) -> Months | None:
    """Months since the first date of dates (n,) on the same day of each month, or on its last; None of any others."""
    dates = np.concatenate(clocks)
    days = midnights(dates)
    months = days.astype("M8[M]")
    late = dates - days
    if not np.isin(late - late.min(), (0 * HOUR, HOUR)).all():
        return None
    day = (days - months.astype("M8[D]")) // DAY
    if np.any(_same_day(months, day.max()) != days):
        return None
    since = (months - months[0]).astype(float)
    parts = np.split(since, np.cumsum([len(clock) for clock in clocks])[:-1])
    return Months(parts, int(day.max())) if all(np.all(np.diff(part) > 0) for part in parts) else None


def months_after(origin: Any, months: np.ndarray, day: int) -> np.ndarray:
    """Dates on the same day of each month, this many months after the first; between them, in proportion."""
    first = midnights(origin)
    whole = np.floor(months + 1e-9)
    begin, end = (_same_day(first.astype("M8[M]") + (whole.astype(int) + k) * MONTH, day) for k in (0, 1))
    rest = np.maximum(months - whole, 0.0) * (end - begin).astype(float) * 86400
    return begin + (origin - first) + (1000 * rest).round().astype("m8[ms]")


def _same_day(months: np.ndarray, day: int) -> np.ndarray:
    """This day, from 0, of each month, or its last."""
    begin = months.astype("M8[D]")
    last = ((months + MONTH).astype("M8[D]") - begin) // DAY - 1
    return np.asarray(begin + np.minimum(day, last) * DAY)


class Business(NamedTuple):
    """Which days count: those of the week, as NumPy writes them from Monday on, less holidays (days since 1970)."""

    week: str = "1111100"
    holidays: np.ndarray | None = None
    year: float = WEEKDAYS  # how many days of them a year has

    @property
    def calendar(self) -> np.busdaycalendar:
        return np.busdaycalendar(self.week, [] if self.holidays is None else self.holidays.astype("M8[D]"))

    def before(self, day: np.ndarray) -> np.ndarray:
        """The day itself if it counts, else the last one before it that does."""
        return np.busday_offset(day, 0, roll="backward", busdaycal=self.calendar)

    def since(self, first: np.ndarray, days: np.ndarray) -> np.ndarray:
        """How many days after the first, which counts, each one is; one that does not is between its neighbours."""
        count = np.busday_count(first, days, busdaycal=self.calendar).astype(float)
        off = ~np.is_busday(days, busdaycal=self.calendar)
        if off.any():
            before, after = (
                np.busday_offset(days[off], 0, roll=side, busdaycal=self.calendar) for side in ("backward", "forward")
            )
            count[off] += (days[off] - before) / (after - before) - 1.0
        return count

    def after(self, origin: Any, count: np.ndarray) -> np.ndarray:
        """Dates this many days after the first that counts, at the hour of `origin`."""
        whole = np.floor(count + 1e-6)
        days = np.busday_offset(self.before(midnights(origin)), whole.astype(int), busdaycal=self.calendar)
        rest = np.where(np.abs(count - whole) < 1e-6, 0.0, (count - whole) * 86400)
        return days + (origin - midnights(origin)) + (1000 * rest).round().astype("m8[ms]")


def skipped_week(days: np.ndarray) -> str | None:
    """The five days of the week that days (n,) fall on, as NumPy writes them; None where no two others are skipped.

    Where several pairs are, Saturday and Sunday: dates in UTC, or of other countries, may skip others.
    """
    counts = np.bincount((days.astype(int) + 3) % 7, minlength=7)
    first = min((5, 4, 6, 3, 0, 2, 1), key=lambda day: counts[day] + counts[(day + 1) % 7])
    off = (first, (first + 1) % 7)
    if sum(counts[day] for day in off) > NEARLY_NONE * len(days):
        return None
    return "".join("0" if day in off else "1" for day in range(7))


def without_rows(days: np.ndarray, week: str) -> np.ndarray:
    """Days of the week on which nobody has a row, few enough in a row to be holidays, as days since 1970."""
    seen = np.unique(days[np.is_busday(days, week)])
    every = np.arange(seen[0], seen[-1] + DAY)
    every = every[np.is_busday(every, week)]
    place = np.searchsorted(every, seen)
    short = np.flatnonzero((np.diff(place) > 1) & (np.diff(place) <= 1 + LONGEST_HOLIDAY))
    found = [every[place[k] + 1 : place[k + 1]] for k in short]
    return np.concatenate(found).astype(int) if found else np.zeros(0, int)
