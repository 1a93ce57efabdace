"""Weekends: whether dates skip them, whether the state moves while they last, and which days count therefore."""

from typing import NamedTuple

import numpy as np

from onepath.data.calendar import DAY, WEEKDAYS, Business, at_one_hour, midnights, skipped_week, without_rows

AROUND = 21
"""Steps whose mean size is the unit of those in the middle, since noise may change with state and time."""

LEAST = 8
"""Steps over weekends that say whether the state moves while they last."""

CLEARLY = 1.1
"""How much larger increments over several days must be than over one, to tell the one from the others."""

SURELY = 2.0
"""Standard errors."""


class Weekends(NamedTuple):
    """Days that count, None where all do; and how many ordinary days' movement a weekend brings, NaN if not known."""

    business: Business | None = None
    moves: float = np.nan


def read_weekends(clocks: list[np.ndarray], values: list[np.ndarray], calendar: str | Business) -> Weekends:
    """Whether weekends count, for dates (n,) and states (n, d) of each trajectory.

    "auto" leaves them out where rows are daily, skip them, and increments over them are nearer to those of one day than
    to those of three. Other days without rows are judged likewise, by increments over two days within a week.
    """
    dates = np.concatenate(clocks)
    days = [midnights(clock) for clock in clocks]
    steps = np.concatenate([np.diff(part) for part in days])
    each_its_day = steps.size > 0 and at_one_hour(dates) and bool(np.all(steps >= DAY))
    week = skipped_week(np.concatenate(days)) if each_its_day else None
    if isinstance(calendar, Business):
        week = week and calendar.week
    if week is None or (calendar == "auto" and np.median(steps) > DAY):
        if calendar == "auto":
            return Weekends()
        raise ValueError(_refused(each_its_day))
    increments = [Increments.of(x, part, week) for x, part in zip(values, days, strict=True)]
    moves = _moves(increments, over=(1, 3, 1), days=3)
    if calendar == "auto" and not moves < np.sqrt(3.0):
        return Weekends(None, moves)
    return Weekends(_business(np.concatenate(days), week, increments, calendar), moves)


def _refused(each_its_day: bool) -> str:
    if not each_its_day:
        got = "rows come at different times of the day, of which some may not be traded either"
    else:
        got = "more than a few rows fall on each day of the week"
    return f"calendar='business' cannot be used: it counts whole days and skips weekends, and {got}. Pass 'all'"


def _business(days: np.ndarray, week: str, increments: list["Increments"], calendar: str | Business) -> Business:
    """With days that nobody has a row on as holidays, unless the state surely moves on them: there are few to tell."""
    holidays = without_rows(days, week)
    if isinstance(calendar, Business):
        return calendar._replace(holidays=None if calendar.holidays is None else holidays)
    if _moves(increments, over=(1, None, 2), days=2, errors=SURELY) >= np.sqrt(2.0):
        return Business(week)
    rows = len(np.unique(days))
    return Business(week, holidays, WEEKDAYS * rows / (rows + len(holidays)))


class Increments(NamedTuple):
    """Of one trajectory: states in units of the movement around them, and what day each row is."""

    x: np.ndarray  # (n, d)
    unit: np.ndarray  # (n, d)
    day: np.ndarray  # (n,), by the calendar
    weekday: np.ndarray  # (n,), of those that are not weekends

    @classmethod
    def of(cls, x: np.ndarray, days: np.ndarray, week: str) -> "Increments":
        size = np.abs(np.diff(x, axis=0, append=np.nan))
        window = np.ones(min(AROUND, len(x)))
        known = np.isfinite(size)
        sums = [
            np.convolve(np.where(k, s, 0.0), window, "same") / np.maximum(np.convolve(k, window, "same"), 1.0)
            for s, k in zip(size.T, known.T, strict=True)
        ]
        unit = np.stack(sums, axis=1)
        weekday = Business(week).since(Business(week).before(days[0]), days)
        return cls(x, np.where(unit > 0.0, unit, np.nan), days.astype(int), weekday)

    def sizes(self, rows: int, days: int | None, weekdays: int) -> np.ndarray:
        """Of increments over so many rows, that last so many days and so many days that are no weekends."""
        chosen = self.weekday[rows:] - self.weekday[:-rows] == weekdays
        if days is not None:
            chosen &= self.day[rows:] - self.day[:-rows] == days
        size = np.abs(self.x[rows:][chosen] - self.x[:-rows][chosen]) / self.unit[:-rows][chosen]
        return size[np.isfinite(size)]


def _moves(increments: list[Increments], over: tuple[int, int | None, int], days: int, errors: float = 0.0) -> float:
    """How many ordinary days bring movement of this size, less some errors; NaN where too little is known to say.

    Between the mean size of increments over one day and over several, all within a week, on a logarithmic scale: what
    holds a state back, or is not in its movement, is in both.
    """

    def sizes(*which: int | None) -> np.ndarray:
        return np.concatenate([each.sizes(*which) for each in increments])  # type: ignore[arg-type]

    asked, one, several = sizes(*over), sizes(1, 1, 1), sizes(days, days, days)
    if min(map(len, (asked, one, several))) < LEAST:
        return np.nan
    least = asked.mean() - errors * asked.std() / np.sqrt(len(asked))
    low, middle, high = one.mean(), max(least, np.finfo(float).tiny), several.mean()
    return float(days ** (np.log(middle / low) / np.log(high / low))) if high > CLEARLY * low else np.nan
