"""Dates in a column of text: one format throughout, or a refusal."""

import re
from typing import TYPE_CHECKING

from onepath.io.errors import BadTable

if TYPE_CHECKING:
    import pandas as pd

DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d.%m.%Y"),
    *("%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
)
MONTHS = ("%Y-%m", "%Y/%m", "%b %Y", "%B %Y", "%b-%Y")
HOURS = tuple(f"{day} %H:%M{rest}" for day in ("%Y/%m/%d", "%d.%m.%Y") for rest in ("", ":%S"))
FORMATS = DAYS + MONTHS + HOURS
EITHER_WAY = tuple(
    (f"%d{mark}%m{mark}%Y{rest}", f"%m{mark}%d{mark}%Y{rest}") for mark in "/-" for rest in ("", " %H:%M", " %H:%M:%S")
)
"""Written alike with the day or the month first."""

ISO_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
DATE_LIKE = re.compile(
    r"\s*(\d{1,4}[-/.]\d{1,2}([-/.]\d{1,4})?|\d{1,2}[ -][A-Za-z]{3,9}|[A-Za-z]{3,9}[ -]\d|\d{4}Q\d).*"
)


def looks_like_dates(column: "pd.Series") -> bool:
    """Whether most of a column's text is written like dates."""
    text = column.dropna().astype(str)
    return len(text) > 0 and text.str.fullmatch(DATE_LIKE).mean() > 0.5


def _shape(text: str) -> str:
    """2020-01-31 and 2021-12-01 have the shape 0-0-0; fractions of a second do not matter."""
    return re.sub(r"[A-Za-z]{3,}", "A", re.sub(r"\d+", "0", re.sub(r"(:\d+)[.,]\d+", r"\1", text.strip())))


def parse_dates(column: "pd.Series", name: str) -> "pd.Series":
    """All dates by one format; refused where there is none, or where the day and the month cannot be told apart."""
    import pandas as pd

    if column.isna().any():
        row = int(column.isna().to_numpy().argmax()) + 1
        raise BadTable(f"the time column {name!r} is empty in row {row}: drop that row, or give it its time")
    text = column.astype(str).str.strip()
    shapes = text.map(_shape)
    if shapes.nunique() > 1:
        row = int((shapes != shapes.iloc[0]).to_numpy().argmax())
        raise BadTable(
            f"the time column {name!r} is written in several formats: {text.iloc[0]!r} in row 1, {text.iloc[row]!r} in "
            f"row {row + 1}. Write all its dates in one format, best as 2020-12-31"
        )
    if text.str.fullmatch(ISO_TIME).all():
        zoned = bool(re.search(r"([+-]\d\d:?\d\d|Z)$", text.iloc[0]))
        times = pd.to_datetime(text, format="ISO8601", errors="coerce", utc=zoned)
        if times.notna().all():
            return times.dt.tz_localize(None) if zoned else times
    return _by_format(text, name)


def _by_format(text: "pd.Series", name: str) -> "pd.Series":
    import pandas as pd

    if text.str.fullmatch(r"\d{4}Q\d").all():
        return pd.PeriodIndex(text, freq="Q").to_timestamp().to_series(index=text.index)
    for form in FORMATS:
        times = pd.to_datetime(text, format=form, errors="coerce")
        if times.notna().all():
            return times
    for pair in EITHER_WAY:
        fits = [times for form in pair if (times := pd.to_datetime(text, format=form, errors="coerce")).notna().all()]
        forward = [times for times in fits if times.is_monotonic_increasing or times.is_monotonic_decreasing]
        if len(fits) == 1 or len(forward) == 1:
            return (fits if len(fits) == 1 else forward)[0]
        if fits:
            raise BadTable(
                f"{text.iloc[0]!r} in the time column {name!r} may be day/month or month/day: write 2020-12-31"
            )
    raise BadTable(
        f"the time column {name!r} has no one date format that fits all rows, the first being {text.iloc[0]!r}: write "
        "all its dates as 2020-12-31 or 2020-12-31T23:59:59"
    )
