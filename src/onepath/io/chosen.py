"""What the user says of a table."""

from typing import NamedTuple


class Chosen(NamedTuple):
    """What the user says of the columns; None is for the table to tell."""

    time: str | None = None
    values: tuple[str, ...] = ()
    group: str | None = None
    dt: float | None = None
    unit: str | None = None  # that rates are per
    time_unit: str | None = None  # that numbers in the time column, and dt, are counted in
    wide: bool = False  # whether each column of values is a trajectory of its own
    missing: tuple[str, ...] = ()  # further spellings of missing values
    errors: tuple[str, ...] = ()  # columns of standard errors, one in common or one for each column of values
    inputs: tuple[str, ...] = ()  # what drives the state besides
