"""Inputs: what drives drift and diffusion besides the state and is known at the start of a step.

Numbers, a few classes, the phase of a season, and time itself. Each has one value u a row, as a user says it, and is
coded as one column or several: a season as the point on its circle, a class as a corner of a simplex.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from onepath.data.labelled import is_labelled, read_labelled
from onepath.data.reading import REAL, is_from_pandas, printable, read_array
from onepath.numerics.arrays import Floats

NUMBER, CLASS, SEASON, TREND = "number", "class", "season", "trend"

MOST_CLASSES = 12
"""Of one input."""

ACCEPTED = (
    "pass an array (n,) or (n, q), a pandas Series or DataFrame, or a dictionary of columns, each with a row for x's"
)
ROOT = np.sqrt(2.0)


class Input(NamedTuple):
    """One input. Of a season, u is the time since the last beginning of its cycle; of a trend, the time."""

    name: str
    kind: str = NUMBER
    levels: tuple[str, ...] = ()  # of a class, whose u is the number of one
    period: float = 0.0  # of a season
    offset: float = 0.0  # of clockwork, at time 0: how long the cycle has gone on

    @property
    def columns(self) -> int:
        return {CLASS: len(self.levels), SEASON: 2}.get(self.kind, 1)

    @property
    def is_clockwork(self) -> bool:
        """Whether it follows from the time, and so is known for ever."""
        return self.kind in (SEASON, TREND)

    def at(self, t: Floats) -> Floats:
        """u at times (n,), of clockwork."""
        return np.mod(t + self.offset, self.period) if self.kind == SEASON else t + self.offset

    def coded(self, u: Floats) -> Floats:
        """(n,) → (n, columns); those of a season and of a class are about as wide as those of standardised numbers."""
        if self.kind == SEASON:
            angle = 2 * np.pi * u / self.period
            return ROOT * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        if self.kind == CLASS:
            return ROOT * (u[:, None] == np.arange(len(self.levels)))
        return u[:, None]

    def said(self, u: float) -> str:
        """A value in words."""
        return self.levels[int(u)] if self.kind == CLASS else f"{u:.4g}"


Variables = tuple[Input, ...]


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the inputs of a trajectory are, and their values at its rows, but for clockwork, which comes last."""

    variables: Variables
    values: np.ndarray  # (n, e), NaN where missing

    def at_steps(self, step: np.ndarray, t: np.ndarray) -> Floats:
        """u (m, q) of the steps from these rows on; clockwork at the middle of each, which is right to second order."""
        middle = (t[step] + t[step + 1]) / 2
        return with_clockwork(self.variables, self.values[step], middle)


def with_clockwork(variables: Variables, values: Floats, t: Floats) -> Floats:
    """u (n, q) of all inputs, from the values (n, e) of those that are no clockwork, and times (n,)."""
    return np.column_stack([values, *(one.at(t) for one in variables if one.is_clockwork)])


def coded(variables: Variables, u: Floats) -> Floats:
    """u (n, q) in columns (n, k)."""
    return np.concatenate([one.coded(column) for one, column in zip(variables, u.T, strict=True)], axis=1)


def in_equations(variables: Variables, u: Floats) -> Floats:
    """u (n, q) as equations have it (n, k): numbers as they are, of a season cos and sin of its phase."""
    return coded(variables, u) * in_equation_units(variables)


def in_equation_units(variables: Variables) -> Floats:
    """What one of each column is there (k,)."""
    return np.concatenate([[1.0 / ROOT if one.kind == SEASON else 1.0] * one.columns for one in variables])


def owners(variables: Variables) -> tuple[int, ...]:
    """Which input each column belongs to."""
    return tuple(i for i, one in enumerate(variables) for _ in range(one.columns))


def outside(variables: Variables) -> Variables:
    """Those that are no clockwork."""
    return tuple(one for one in variables if not one.is_clockwork)


# from what a user hands in


def read_inputs(pieces: Sequence[Any], lengths: Sequence[int], several: bool) -> Inputs:
    """Inputs of several trajectories, one after another."""
    tables: list[dict[str, np.ndarray]] = []
    for i, (piece, n) in enumerate(zip(pieces, lengths, strict=True)):
        what = f"inputs[{i}]" if several else "inputs"
        table = _table(piece, what)
        _check_lengths(table, n, what)
        if tables and list(table) != list(tables[0]):
            raise ValueError(f"{what} has the columns {', '.join(table)}, and inputs[0] {', '.join(tables[0])}")
        tables.append(table)
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    variables = tuple(_variable(name, column) for name, column in columns.items())
    return Inputs(variables, _values(variables, list(columns.values())))


def read_known(variables: Variables, given: Any, n: int, what: str = "inputs") -> Floats:
    """Values (n, e) of the same inputs, those that are no clockwork, at other rows; NaN where missing."""
    wanted = outside(variables)
    table = _table(given, what, wanted)
    _check_lengths(table, n, what)
    return _values(wanted, _matched(table, wanted, what))


def read_at(variables: Variables, given: Any, usual: Floats, n: int) -> Floats:
    """u (n, q) to ask at: one value of each input for all points, or one for each; `usual` (q,) where not said."""
    if isinstance(given, Mapping):
        unknown = [str(name) for name in given if name not in [one.name for one in variables]]
        if unknown:
            raise ValueError(f"inputs names {', '.join(unknown)}, and this model reads {listed(variables)}")
        said = [given.get(one.name, usual[i]) for i, one in enumerate(variables)]
        numbers = [one.name not in given for one in variables]
    elif is_from_pandas(given) and np.ndim(given) == 2:
        return read_at(variables, {name: given[name] for name in given.columns}, usual, n)
    else:
        rows = np.asarray(given, dtype=object)
        rows = rows[:, None] if rows.ndim == 1 and len(variables) == 1 and len(rows) == n else np.atleast_2d(rows)
        if rows.ndim != 2 or rows.shape[1] != len(variables) or len(rows) not in (1, n):
            raise ValueError(
                f"inputs has shape {np.shape(given)}: give one value for each of {listed(variables)}, or a row of them "
                "for each point, or a dictionary by name"
            )
        said, numbers = list(rows.T), [False] * len(variables)
    columns = []
    for one, values, done in zip(variables, said, numbers, strict=True):
        column = np.ravel(np.asarray(values, dtype=object))
        if len(column) not in (1, n):
            raise ValueError(f"inputs has {len(column)} values of {one.name} for {n} points: give one, or one for each")
        known = column.astype(float) if done else _values((one,), [column])[:, 0]
        if np.any(np.isnan(known)):
            raise ValueError(f"{one.name} is missing among the inputs that were asked at")
        known = np.mod(known, one.period) if one.kind == SEASON else known
        columns.append(np.broadcast_to(known, n))
    return np.stack(columns, axis=1)


def listed(variables: Variables) -> str:
    """Names, for a sentence."""
    names = [one.name for one in variables]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def check_vary(inputs: Inputs, step: np.ndarray) -> None:
    """Refuse inputs that are the same in all transitions."""
    for one, column in zip(inputs.variables, inputs.values.T, strict=False):
        if len(step) and np.all(column[step] == column[step[0]]):
            raise ValueError(
                f"The input {one.name} is the same in all transitions, so nothing depends on it: leave it out"
            )


def _table(given: Any, what: str, names: Variables | None = None) -> dict[str, np.ndarray]:
    """Columns by name; those of arrays have the names that are expected, or u, u0, u1 ..."""
    if isinstance(given, Mapping):
        return {printable(str(name)): _plain(values) for name, values in given.items()}
    if is_labelled(given):
        given = read_labelled(given, what).data
    if is_from_pandas(given):
        import pandas as pd

        if isinstance(given, pd.DataFrame):
            return {printable(str(name)): _plain(given[name]) for name in given.columns}
        alone = "u" if names is None or len(names) != 1 else names[0].name
        name = given.name if getattr(given, "name", None) is not None else alone
        return {printable(str(name)): _plain(given)}
    array = read_array(given, what)
    if array.ndim not in (1, 2) or array.size == 0:
        raise ValueError(f"{what} has shape {array.shape}: {ACCEPTED}")
    columns = array[:, None].T if array.ndim == 1 else array.T
    if names is not None and len(names) == len(columns):
        return {one.name: column for one, column in zip(names, columns, strict=True)}
    return {"u" if array.ndim == 1 or len(columns) == 1 else f"u{i}": column for i, column in enumerate(columns)}


def _plain(values: Any) -> np.ndarray:
    """As an array: of real numbers where it is one, missing values as NaN."""
    if is_from_pandas(values):
        kind = getattr(values.dtype, "kind", "O")
        return values.to_numpy(dtype=float, na_value=np.nan) if kind in REAL else values.to_numpy(dtype=object)
    return np.asarray(values)


def _check_lengths(table: dict[str, np.ndarray], n: int, what: str) -> None:
    for name, column in table.items():
        if column.shape != (n,):
            raise ValueError(f"{what} has {len(column)} rows of {name} but x has {n}: {ACCEPTED}")


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or value != value


def _variable(name: str, column: np.ndarray) -> Input:
    """A number or a class, by what a column holds."""
    if column.dtype.kind in "mMc":
        raise TypeError(f"The input {name} holds {column.dtype}: inputs are real numbers or classes; times go to t=")
    if column.dtype.kind in REAL or _all_numbers(column):
        return Input(name)
    levels = sorted({str(value) for value in column.tolist() if not _is_missing(value)})
    if len(levels) > MOST_CLASSES:
        raise ValueError(
            f"The input {name} has {len(levels)} classes, {levels[0]!r}, {levels[1]!r} ..., and at most {MOST_CLASSES} "
            "can be told apart: pass numbers, or merge some"
        )
    return Input(name, CLASS, tuple(levels))


def _all_numbers(column: np.ndarray) -> bool:
    """Whether an array of objects holds numbers alone, none of them true or false."""
    return column.dtype.kind == "O" and all(
        isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)
        for value in column.tolist()
        if not _is_missing(value)
    )


def _matched(table: dict[str, np.ndarray], wanted: Variables, what: str) -> list[np.ndarray]:
    missing = [one for one in wanted if one.name not in table]
    if missing:
        raise ValueError(f"{what} has the columns {', '.join(table)}, and this model reads {listed(wanted)}")
    return [table[one.name] for one in wanted]


def _values(variables: Variables, columns: Sequence[np.ndarray]) -> Floats:
    """u (n, q), classes by their number; NaN where missing."""
    found: list[Any] = []
    for one, column in zip(variables, columns, strict=True):
        if one.kind == CLASS:
            number = {level: float(k) for k, level in enumerate(one.levels)}
            unknown = sorted({str(v) for v in column.tolist() if not _is_missing(v) and str(v) not in number})
            if unknown:
                raise ValueError(
                    f"{one.name} has the class {unknown[0]!r}, and the model knows {', '.join(one.levels)}"
                )
            found.append([np.nan if _is_missing(value) else number[str(value)] for value in column.tolist()])
            continue
        try:
            numbers = np.asarray([np.nan if _is_missing(v) else v for v in column.tolist()], float)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{one.name} is a number, and inputs hold something else: {error}") from error
        if np.any(np.isinf(numbers)):
            raise ValueError(f"The input {one.name} has {np.isinf(numbers).sum()} infinite values: pass NaN if missing")
        found.append(numbers)
    return np.stack([np.asarray(column, float) for column in found], axis=1)
