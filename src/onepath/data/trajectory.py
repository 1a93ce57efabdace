"""The door: arrays, pandas and lists of them become one immutable `Trajectory`; what cannot be used is refused here."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from onepath.data.clocks import UNDATED, Clock, in_unit, median_length, read_clock, split_times
from onepath.data.inputs import Inputs, Variables, check_vary, listed, outside, read_inputs, read_known
from onepath.data.labelled import is_labelled, read_labelled
from onepath.data.marks import check_marks
from onepath.data.reading import REAL, is_from_pandas, printable, read_array, read_numbers, read_scalar, spaced
from onepath.data.soundness import LEAST_TRANSITIONS, check_sound
from onepath.numerics.caution import caution

ACCEPTED = (
    "pass an array of shape (n,) or (n, d), a list of numbers, a pandas Series or DataFrame, an xarray DataArray or "
    "Dataset, or a list of arrays"
)
CALENDARS = ("auto", "business", "all")
"""Which days count where times are dates."""


class Whole(NamedTuple):
    """Of a stream, which was never in memory: what a trajectory is a sample of."""

    rows: int
    transitions: int
    records: int
    stretches: int  # of consecutive rows in the sample

    def told(self, looked_at: int) -> str:
        """At how much of it a question looked."""
        share = f"{spaced(looked_at)} of {spaced(self.transitions)} steps"
        return f"looked at {share}, in {self.stretches} stretches spread evenly"


@dataclass(frozen=True, eq=False)
class Trajectory:
    """What was observed: rows in time order, records one after another; of a stream, a sample of its rows."""

    x: np.ndarray  #: (n, d), rows with NaN are missing
    t: np.ndarray  #: (n,), in `unit`, from the start of the first record or as given
    record: np.ndarray  #: (n,), which of the trajectories handed in a row belongs to
    step: np.ndarray  #: (m,), rows i such that i -> i + 1 is a transition
    gaps: int  #: steps between observed rows, left out as recording gaps
    missing: int  #: rows with a missing value
    names: tuple[str, ...]  #: one for each dimension
    unit: str | None  #: the time unit that rates are per
    clock: Clock = UNDATED  #: how dates became times
    period: np.ndarray | None = None  #: (d,), of angles; 0 for what is none
    error: np.ndarray | None = None  #: (n, d), standard errors of single readings, where they were given
    inputs: Inputs | None = None  #: what drives it besides
    whole: Whole | None = None  #: what this is a sample of

    @property
    def dimension(self) -> int:
        """Of the readings."""
        return self.x.shape[1]

    @property
    def transitions(self) -> int:
        """How many steps there are to learn from."""
        return len(self.step) if self.whole is None else self.whole.transitions

    @property
    def rows(self) -> int:
        """How many were read."""
        return len(self.t) if self.whole is None else self.whole.rows

    @property
    def records(self) -> int:
        """How many trajectories were handed in."""
        return int(self.record.max()) + 1 if self.whole is None else self.whole.records

    @property
    def times(self) -> str:
        """What time is counted in."""
        return f"{self.unit}s" if self.unit else "units of time"

    def dates(self, t: np.ndarray) -> np.ndarray | None:
        """Times (n,) as dates, in UTC where those of the data had a zone; None where the data had none."""
        return self.clock.dates(t, self.unit)


class Table(NamedTuple):
    """One trajectory handed in, and what pandas or xarray know of it."""

    what: str  # its name in messages
    values: np.ndarray  # (n, d)
    names: tuple[str, ...] | None = None
    index: Any = None
    t: Any = None  # its own times, where labels say numbers


def read_trajectory(
    x: Any,
    *,
    t: Any = None,
    dt: float | None = None,
    unit: str | None = None,
    gap: float = 10.0,
    calendar: str | Clock = "auto",
    error: Any = None,
    partly: bool = False,
    inputs: Any = None,
    variables: Variables | None = None,
) -> Trajectory:
    """Check what the user hands in, once, and return it in the one form the package works with.

    Times come from `t`, from the constant step `dt`, or from the dates in a pandas index. Steps longer than `gap` times
    the median step are left out as recording gaps, and no transition bridges a missing row. `calendar` says which days
    count: all, business days, whichever the data say, or those that count for another trajectory's clock. `error` is
    the standard error of each value. With `partly`, a row with some of its values is not missing. Where an input is
    missing at its start, a step is left out. `variables` are the inputs of a model that data are read for.
    """
    pieces, several = _split(x)
    _check_options(t, dt, unit, gap, calendar)
    tables = [_read_table(piece, f"x[{i}]" if several else "x") for i, piece in enumerate(pieces)]
    names = _common_names(tables)
    ts = split_times(t, len(tables), several)
    if t is None and dt is None:
        ts = [table.t for table in tables]
    clocks = [
        read_clock(table.what, len(table.values), table.index, ti, dt) for table, ti in zip(tables, ts, strict=True)
    ]
    times, unit, clock = in_unit(clocks, [table.values for table in tables], unit, calendar)

    values = np.concatenate([table.values for table in tables])
    time = np.concatenate(times) if several or t is not None else times[0]  # made here, so nobody else's
    record = np.repeat(np.arange(len(tables), dtype=np.int32), [len(table.values) for table in tables])
    # column by column: over a short last axis NumPy is many times slower
    whole = ~np.logical_or.reduce([np.isnan(column) for column in values.T])
    observed = ~np.logical_and.reduce([np.isnan(column) for column in values.T]) if partly else whole
    driven = _inputs(inputs, tables, several, variables)
    known = observed if driven is None else observed & ~np.isnan(driven.values).any(axis=1)

    step, gaps, left_out, said = _steps(time, record, observed, known, gap)
    if driven is not None and variables is None:
        check_vary(driven, step)
    check_sound(values, time, step[whole[step] & whole[step + 1]] if partly else step, names, left_out)
    check_marks(values, names)
    if gaps:
        caution(said)
    errors = None if error is None else _read_errors(error, tables, several)
    for array in (values, time, record, step, errors):
        if array is not None:
            array.flags.writeable = False
    own = (values, time, record, step, gaps, int(np.sum(~known)), names, unit, clock)
    return Trajectory(*own, error=errors, inputs=driven)


def _read_errors(error: Any, tables: list[Table], several: bool) -> np.ndarray:
    """Standard errors (n, d) of all values, from what has their shape, or (n,) where a row has one in common."""
    pieces = list(error) if several else [error]
    if len(pieces) != len(tables):
        raise ValueError(f"error has {len(pieces)} parts for {len(tables)} trajectories: give one for each")
    found = []
    for k, (piece, table) in enumerate(zip(pieces, tables, strict=True)):
        what = f"error[{k}]" if several else "error"
        values = read_numbers(piece, what)
        shape = table.values.shape
        if values.shape not in (shape, shape[:1], (shape[0], 1)):
            raise ValueError(f"{what} has shape {values.shape} for values of shape {shape}: give one for each value")
        own = np.broadcast_to(values.reshape(shape[0], -1), shape)
        wrong = ~((own >= 0) & np.isfinite(own)) & ~np.isnan(table.values)
        if np.any(wrong):
            row = int(np.argwhere(wrong)[0, 0])
            raise ValueError(f"{what} is {own[row].tolist()} in row {row}: a standard error is a number from 0 on")
        found.append(own)
    return np.concatenate(found)


def _inputs(inputs: Any, tables: list[Table], several: bool, variables: Variables | None) -> Inputs | None:
    """Inputs of these trajectories, one for each; those of a model where it says them."""
    wanted = () if variables is None else outside(variables)
    if inputs is None and not wanted:
        return None
    if inputs is None:
        raise ValueError(f"This model reads {listed(wanted)}: pass inputs=, with a row for each of the data")
    if variables is not None and not wanted:
        raise ValueError("inputs were given, and this model reads none: leave them out")
    if several and not (isinstance(inputs, list | tuple) and len(inputs) == len(tables)):
        got = f"{len(inputs)}" if isinstance(inputs, list | tuple) else f"one {type(inputs).__name__}"
        raise ValueError(f"x lists {len(tables)} trajectories but inputs are {got}: pass a list, one for each")
    pieces, lengths = list(inputs) if several else [inputs], [len(table.values) for table in tables]
    for table, piece in zip(tables, pieces, strict=True):
        index = getattr(piece, "index", None) if is_from_pandas(piece) else None
        comparable = table.index is not None and index is not None and len(index) == len(table.index)
        if comparable and not table.index.equals(index):
            raise ValueError(f"inputs have another index than {table.what}: pass inputs.loc[x.index]")
    if variables is None:
        return read_inputs(pieces, lengths, several)
    return Inputs(wanted, np.concatenate([read_known(wanted, *pair) for pair in zip(pieces, lengths, strict=True)]))


def _steps(
    time: np.ndarray, record: np.ndarray, observed: np.ndarray, known: np.ndarray, gap: float
) -> tuple[np.ndarray, int, str, str]:
    """Rows that begin a transition, how many steps are recording gaps, and in words what was left out and why.

    Rows where it begins must be `known`, inputs too; where it ends, `observed`.
    """
    length = time[1:] - time[:-1]
    within = record[1:] == record[:-1]
    whole = within & observed[1:] & known[:-1]
    median = median_length(length if within.all() else length[within])
    too_long = whole & (length > gap * median)
    gaps = int(too_long.sum())
    left_out = f"{np.sum(within & ~whole)} touch a missing row, {gaps} are recording gaps"
    said = (
        f"{gaps} of {whole.sum()} steps are longer than {gap:g} times the median step ({median:.4g}) and were left "
        "out as recording gaps; pass gap= to change this"
    )
    return np.flatnonzero(whole & ~too_long), gaps, left_out, said


def read_bounds(bounds: Any, trajectory: Trajectory) -> np.ndarray | None:
    """Bounds (d, 2) that the state cannot leave, from a pair or one for each dimension, which the data must keep."""
    if bounds is None:
        return None
    ends, d = np.asarray(read_array(bounds, "bounds"), float), trajectory.dimension
    ends = ends[None] if ends.shape == (2,) and d == 1 else ends
    if ends.shape != (d, 2) or np.any(np.isnan(ends)) or not np.all(ends[:, 0] < ends[:, 1]):
        wanted = "(low, high)" if d == 1 else f"{d} pairs (low, high), one for each dimension"
        raise ValueError(f"bounds={bounds!r} cannot be used: give {wanted}, with -inf or inf where there is none")
    for name, column, (low, high) in zip(trajectory.names, trajectory.x.T, ends, strict=True):
        outside = int(np.sum((column < low) | (column > high)))
        if outside:
            raise ValueError(f"{name} is outside of its bounds {low:g} to {high:g} in {outside} rows: give wider ones")
    return ends


def with_period(trajectory: Trajectory, period: Any, bounds: np.ndarray | None) -> Trajectory:
    """The same trajectory, with coordinates that are angles: one period, or one for each dimension, None for others."""
    if period is None:
        return trajectory
    d, given = trajectory.dimension, list(np.ravel(np.asarray(period, dtype=object)))
    numbers = [0.0 if each is None else float(read_scalar(each, "periodic")) for each in given]
    positive = all(each is None or 0 < number < np.inf for each, number in zip(given, numbers, strict=True))
    if len(numbers) != d or not positive or not any(numbers):
        wanted = "one number above 0" if d == 1 else f"{d} numbers above 0, None for what is no angle"
        raise ValueError(f"periodic={period!r} cannot be used: give {wanted}, such as 360 for degrees")
    turns = np.asarray(numbers)
    if bounds is not None and np.any(np.isfinite(bounds[turns > 0])):
        raise ValueError("periodic and bounds are both given for a coordinate, and an angle has no bounds: give one")
    return replace(trajectory, period=turns)


def _split(x: Any) -> tuple[list[Any], bool]:
    """The trajectories in `x`, and whether it is a list of several."""
    if hasattr(x, "__array__"):
        return [x], False
    if not isinstance(x, list | tuple):
        raise TypeError(f"x is of type {type(x).__name__}, which is no array: {ACCEPTED}")
    is_array = [is_labelled(item) or (hasattr(item, "__array__") and np.ndim(item) > 0) for item in x]
    if not any(is_array):
        return (list(x), True) if _lists_runs(x) else ([x], False)
    if not all(is_array):
        odd = is_array.index(False)
        raise TypeError(f"x mixes arrays with others, x[{odd}] being of type {type(x[odd]).__name__}: {ACCEPTED}")
    shapes = {() if is_labelled(item) else np.shape(item) for item in x}
    if len(shapes) == 1 and len(shape := shapes.pop()) == 1 and shape[0] < 10:
        raise ValueError(
            f"x lists {len(x)} arrays of length {shape[0]}, which is ambiguous: pass np.stack(x) if each is a state of "
            "one trajectory, and arrays of shape (n, 1) if each is a trajectory"
        )
    return list(x), True


def _lists_runs(x: list[Any] | tuple[Any, ...]) -> bool:
    """Whether plain lists are trajectories: each is longer than any state could be of so few rows, and long enough."""
    longest = max(len(x), LEAST_TRANSITIONS)
    return len(x) > 0 and all(isinstance(item, list | tuple) and len(item) > longest for item in x)


def _check_options(t: Any, dt: Any, unit: Any, gap: Any, calendar: Any) -> None:
    if t is not None and dt is not None:
        raise ValueError("t and dt were both given and may disagree: pass t for uneven times, dt for a constant step")
    if dt is not None and not 0 < read_scalar(dt, "dt") < np.inf:
        raise ValueError(f"dt is {dt}, but time moves forward by finite steps: pass dt > 0")
    if unit is not None and not isinstance(unit, str):
        raise TypeError(f"unit is of type {type(unit).__name__}, but it names a unit of time: pass text such as 'day'")
    if not read_scalar(gap, "gap") > 1:
        raise ValueError(f"gap is {gap}, which would leave out ordinary steps: pass a factor > 1, np.inf to keep all")
    if not isinstance(calendar, Clock) and calendar not in CALENDARS:
        raise ValueError(f"calendar is {calendar!r}, which is none: pass one of {', '.join(map(repr, CALENDARS))}")


def _read_table(data: Any, what: str) -> Table:
    """One trajectory as float64 of shape (n, d), its values checked."""
    if is_labelled(data):
        labelled = read_labelled(data, what)
        table = _read_table(labelled.data, what)
        return table._replace(index=table.index if labelled.dated else None, t=labelled.t)
    table = _read_pandas(data, what) if is_from_pandas(data) else Table(what, read_numbers(data, what))
    shape = table.values.shape
    if len(shape) not in (1, 2):
        raise ValueError(f"{what} has shape {shape}: pass (n,) or (n, d), and several trajectories as a list of those")
    if 0 in shape:
        raise ValueError(f"{what} is empty, of shape {shape}, so there is nothing to learn from: pass rows and columns")
    infinite = np.isinf(table.values)
    if infinite.any():
        row = np.argwhere(infinite)[0, 0]
        raise ValueError(f"{what} has {infinite.sum()} infinite values, the first in row {row}: pass NaN if missing")
    return table._replace(values=table.values.reshape(shape[0], -1))


def _read_pandas(data: Any, what: str) -> Table:
    import pandas as pd

    frame = data if isinstance(data, pd.DataFrame) else pd.Series(data).to_frame()
    dtypes = zip(frame.columns, frame.dtypes, strict=True)
    odd = ", ".join(f"{name} ({dtype})" for name, dtype in dtypes if dtype.kind not in REAL)
    if odd:
        raise TypeError(f"{what} has columns that are not real numbers: {odd}. Leave them out, pass times as t=")
    names = None if isinstance(frame.columns, pd.RangeIndex) else tuple(printable(str(name)) for name in frame.columns)
    plain = all(dtype == np.float64 for dtype in frame.dtypes)
    values = frame.to_numpy() if plain else frame.to_numpy(dtype=float, na_value=np.nan)
    return Table(what, values, names, frame.index)


def _common_names(tables: list[Table]) -> tuple[str, ...]:
    """One name per dimension, after checking that all trajectories have the same dimensions."""
    n, d = sum(len(table.values) for table in tables), tables[0].values.shape[1]
    for table in tables:
        if (other := table.values.shape[1]) != d:
            raise ValueError(f"x[0] has {d} columns but {table.what} has {other}: pass the same dimensions in each")
    if d > 1 and d >= n:
        raise ValueError(
            f"x has {d} columns but {n} rows, and rows are times: it is probably transposed, pass x.T (of a list, "
            "np.transpose(x)). If each row is a trajectory of its own, pass list(np.asarray(x)[:, :, None])"
        )
    given = list(dict.fromkeys(table.names for table in tables if table.names is not None))
    if d > 1 and len(given) > 1:
        raise ValueError(f"columns are named {given[0]} here but {given[1]} there: rename or reorder them to agree")
    if len(given) == 1:
        return given[0]
    return ("x",) if d == 1 else tuple(f"x{i}" for i in range(d))
