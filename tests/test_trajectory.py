"""The door: every rule on what comes in, and every refusal by its message."""

import dataclasses
import math
import warnings
from itertools import pairwise

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepath.data.trajectory import Trajectory, read_trajectory

N = 30
WALK = np.random.default_rng(0).normal(size=N).cumsum()
PLANE = np.random.default_rng(1).normal(size=(N, 2)).cumsum(axis=0)
DAYS = pd.date_range("2024-01-01", periods=N, freq="D")


def changed(array, row, value):
    """A copy of `array` in which one row has another value."""
    array = np.array(array)
    array[row] = value
    return array


def same(a: Trajectory, b: Trajectory) -> bool:
    """Whether two trajectories agree in every field but the dates behind their times."""
    names = [field.name for field in dataclasses.fields(Trajectory) if field.name != "clock"]
    pairs = [(getattr(a, name), getattr(b, name)) for name in names]
    return all(np.array_equal(u, v, equal_nan=True) if isinstance(u, np.ndarray) else u == v for u, v in pairs)


# What is accepted


ARRAYS = [
    WALK.tolist(),
    tuple(WALK),
    WALK[:, None],
    WALK[:, None].tolist(),
    [WALK],
    (WALK[:, None],),
    np.ma.array(WALK),
]
SERIES = [pd.Series(WALK), pd.Series(WALK, index=DAYS), pd.Series(WALK, dtype="Float64"), pd.DataFrame(WALK)]


@pytest.mark.parametrize("x", [*ARRAYS, *SERIES, pd.Index(WALK)], ids=lambda x: type(x).__name__)
def test_every_container_reads_like_the_array(x):
    assert same(read_trajectory(x, dt=0.5, unit="s"), read_trajectory(WALK, dt=0.5, unit="s"))


@pytest.mark.parametrize("x", [jnp.float32(WALK), list(jnp.float32(WALK)), np.float32(WALK)])
def test_single_precision_is_widened(x):
    read = read_trajectory(x, dt=0.5)
    assert read.x.dtype == np.float64
    np.testing.assert_array_equal(read.x[:, 0], np.float32(WALK))


def test_fields_of_a_plain_array():
    read = read_trajectory(PLANE, dt=0.5)
    np.testing.assert_array_equal(read.x, PLANE)
    np.testing.assert_array_equal(read.t, 0.5 * np.arange(N))
    np.testing.assert_array_equal(read.record, np.zeros(N))
    np.testing.assert_array_equal(read.step, np.arange(N - 1))
    assert (read.gaps, read.missing, read.unit, read.dimension, read.transitions) == (0, 0, None, 2, N - 1)


def test_integers_and_masked_values():
    counts = np.arange(N) % 7
    np.testing.assert_array_equal(read_trajectory(counts, dt=1).x[:, 0], counts)
    masked = np.ma.masked_equal(counts, 3)
    np.testing.assert_array_equal(np.isnan(read_trajectory(masked, dt=1).x[:, 0]), counts == 3)


def test_nullable_and_integer_columns():
    frame = pd.DataFrame({"a": pd.array([pd.NA, *WALK[1:]], dtype="Float64"), "b": np.arange(N) ** 2})
    expected = np.stack([changed(WALK, 0, np.nan), np.arange(N) ** 2], axis=1)
    np.testing.assert_array_equal(read_trajectory(frame, dt=1).x, expected)


@pytest.mark.parametrize(
    ("x", "names"),
    [
        (WALK, ("x",)),
        (PLANE, ("x0", "x1")),
        (pd.Series(WALK, name="price"), ("price",)),
        (pd.DataFrame(PLANE), ("x0", "x1")),
        (pd.DataFrame(PLANE, columns=["prey", 7]), ("prey", "7")),
        (pd.DataFrame(PLANE, columns=["a", "a"]), ("a", "a")),
        ([pd.Series(WALK, name="run1"), pd.Series(WALK, name="run2")], ("x",)),
        ([pd.Series(WALK, name="run"), WALK], ("run",)),
    ],
)
def test_names(x, names):
    assert read_trajectory(x, dt=1).names == names


def test_records_follow_each_other_and_are_not_joined():
    read = read_trajectory([WALK, WALK[:12, None], pd.Series(WALK[:12]), *[WALK[:1]] * 90], dt=0.5)
    np.testing.assert_array_equal(read.record, np.repeat(np.arange(93), [N, 12, 12, *[1] * 90]))
    np.testing.assert_array_equal(read.t, 0.5 * np.r_[np.arange(N), np.arange(12), np.arange(12), np.zeros(90)])
    np.testing.assert_array_equal(read.step, np.r_[: N - 1, N : N + 11, N + 12 : N + 23])


def test_result_is_an_immutable_copy():
    x, t = WALK.copy(), np.arange(N, dtype=float)
    read = read_trajectory(x, t=t)
    for array, given_array in ((read.x, x), (read.t, t), (read.record, x), (read.step, x)):
        assert not array.flags.writeable
        assert not np.shares_memory(array, given_array)
        assert given_array.flags.writeable
    with pytest.raises(dataclasses.FrozenInstanceError):
        read.unit = "day"


# Times


DATES = [DAYS, DAYS.to_series(), DAYS.to_numpy(), DAYS.to_numpy().astype("M8[D]"), DAYS.tz_localize("UTC")]
SPANS = [DAYS - DAYS[0], (DAYS - DAYS[0]).to_numpy(), (DAYS - DAYS[0]).to_series(), DAYS.to_period("D")]
NUMBERS = [range(N), list(range(N)), jnp.arange(N), pd.Index(range(N)), pd.Series(range(N), dtype="Int64")]


@pytest.mark.parametrize("t", DATES + SPANS + NUMBERS, ids=lambda t: f"{type(t).__name__} {getattr(t, 'dtype', '')}")
def test_kinds_of_times(t):
    np.testing.assert_array_equal(read_trajectory(WALK, t=t).t, np.arange(N))


@pytest.mark.parametrize("index", [DAYS, DAYS - DAYS[0], DAYS.to_period("D"), DAYS.tz_localize("UTC")])
def test_dated_index_needs_no_times_and_can_be_overridden(index):
    series = pd.Series(WALK, index=index)
    assert same(read_trajectory(series), read_trajectory(WALK, dt=1.0, unit="day"))
    assert same(read_trajectory(series, dt=1 / 252, unit="year"), read_trajectory(WALK, dt=1 / 252, unit="year"))
    assert same(read_trajectory(series, t=range(N)), read_trajectory(WALK, dt=1.0))


def test_time_zone_is_utc_so_a_change_of_clocks_is_no_short_day():
    local = pd.date_range("2024-03-30", periods=N, freq="D", tz="Europe/Berlin")
    hours = np.diff(read_trajectory(pd.Series(WALK, index=local), unit="h").t)
    np.testing.assert_allclose(hours, [24, 23] + [24] * (N - 3))


@pytest.mark.parametrize(
    ("freq", "unit", "step"),
    [
        ("3ns", "nanosecond", 3),
        ("20us", "microsecond", 20),
        ("250ms", "millisecond", 250),
        ("1500ms", "second", 1.5),
        ("15s", "second", 15),
        ("90min", "hour", 1.5),
        ("58min", "hour", 58 / 60),  # within 5% of an hour
        ("D", "day", 1),
        ("W", "week", 1),
        ("730.5h", "month", 1),  # 365.25 / 12 days of 24 hours
        ("8766h", "year", 1),  # 365.25 days of 24 hours
    ],
)
def test_natural_unit(freq, unit, step):
    read = read_trajectory(pd.Series(WALK, index=pd.date_range("2000-01-01", periods=N, freq=freq)))
    assert read.unit == unit
    np.testing.assert_allclose(read.t, step * np.arange(N), rtol=1e-12)


def test_calendar_months_and_years():
    months = pd.Series(WALK, index=pd.period_range("2023-01", periods=N, freq="M"))
    assert read_trajectory(months).unit == "month"
    np.testing.assert_allclose(read_trajectory(months, unit="day").t[:3], [0, 31, 59])
    years = read_trajectory(WALK, t=np.arange("2000", "2030", dtype="M8[Y]"))
    assert years.unit == "year"
    np.testing.assert_array_equal(years.t, np.arange(N))


@pytest.mark.parametrize(
    ("dates", "months"),
    [
        (pd.date_range("1968-11-01", periods=N, freq="MS"), 1),
        (pd.date_range("1968-11-01", periods=N, freq="ME"), 1),
        (pd.date_range("1968-11-01", periods=N, freq="MS") + pd.Timedelta("14D 09:30:00"), 1),
        (pd.date_range("2001-01-30", periods=N, freq="MS") + pd.Timedelta("29D"), None),  # 30 January, then 2 March
        ([pd.Timestamp("2001-01-30") + pd.DateOffset(months=i) for i in range(N)], 1),  # 28 February between
        (pd.date_range("2001-01-01", periods=N, freq="MS", tz="Europe/Berlin"), 1),
        (pd.date_range("2001-01-01", periods=N, freq="MS", tz="America/New_York"), 1),
        (pd.date_range("2001-01-01", periods=N, freq="QE"), 3),
        (pd.date_range("1900-01-01", periods=N, freq="YE"), 12),
        (pd.date_range("2001-01-01", periods=N, freq="30D"), None),
        (pd.date_range("2001-01-01", periods=N, freq="h"), None),
    ],
)
def test_dates_on_the_same_day_of_each_month_are_whole_months_apart(dates, months):
    series = pd.Series(WALK, index=pd.DatetimeIndex(dates))
    spans = [np.diff(read_trajectory(series, unit=unit).t) for unit in ("month", "year", "day")]
    if months is None:
        np.testing.assert_allclose(spans[0], spans[2] * 12 / 365.25, rtol=1e-12)
    else:
        np.testing.assert_array_equal(spans[0], months)
        np.testing.assert_allclose(spans[1], months / 12, rtol=1e-12)
        assert np.ptp(spans[2]) > 0.5


def test_records_of_months_share_one_calendar():
    first, second = (pd.date_range(start, periods=N, freq="MS") for start in ("2001-01-01", "2010-03-01"))
    read = read_trajectory([WALK, WALK], t=[first, second])
    np.testing.assert_array_equal(read.t, np.r_[np.arange(N), 110 + np.arange(N)])


@pytest.mark.parametrize(
    ("given_unit", "unit", "per_day"),
    [
        ("ns", "nanosecond", 86400e9),
        ("µs", "microsecond", 86400e6),
        ("msec", "millisecond", 86400e3),
        ("s", "second", 86400),
        ("minutes", "minute", 1440),
        ("min", "minute", 1440),
        ("hours", "hour", 24),
        ("D", "day", 1),
        ("w", "week", 1 / 7),
        ("mo", "month", 12 / 365.25),
        ("years", "year", 1 / 365.25),
    ],
)
def test_units_of_dates(given_unit, unit, per_day):
    read = read_trajectory(WALK, t=DAYS, unit=given_unit)
    assert read.unit == unit
    np.testing.assert_allclose(read.t, per_day * np.arange(N), rtol=1e-14)


def test_dated_records_share_one_clock():
    read = read_trajectory([pd.Series(WALK, index=DAYS), pd.Series(WALK, index=DAYS + pd.Timedelta("100D"))])
    np.testing.assert_array_equal(read.t, np.r_[np.arange(N), 100 + np.arange(N)])
    assert read_trajectory(WALK, t=np.arange(N) + 5.0, unit="Myr").t[0] == 5.0


# Transitions


@st.composite
def recordings(draw):
    """Records with holes and long steps; the first is long and whole, so that there is enough to learn from."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = [80, *draw(st.lists(st.integers(1, 40), max_size=3))]
    x = [rng.normal(size=(n, 2)) for n in lengths]
    for record in x[1:]:
        record[rng.random(record.shape) < draw(st.sampled_from([0.0, 0.1, 0.5]))] = np.nan
    often = draw(st.sampled_from([0.0, 0.1, 0.3]))
    spans = [np.where(rng.random(n) < often, 7.0, 1.0) * rng.uniform(0.9, 1.1, n) for n in lengths]
    t = [rng.normal() + np.cumsum(span) for span in spans]
    return x, t


@settings(deadline=None, max_examples=50)
@given(recordings(), st.sampled_from([1.5, 5.0, math.inf]))
def test_transitions_agree_with_a_slow_loop(recording, gap):
    x, t = recording
    median = np.median([b - a for times in t for a, b in pairwise(times)])
    step, gaps, missing, start = [], 0, 0, 0
    for states, times in zip(x, t, strict=True):
        for i, state in enumerate(states):
            missing += any(math.isnan(value) for value in state)
            if i + 1 == len(states) or any(math.isnan(value) for value in (*state, *states[i + 1])):
                continue
            if times[i + 1] - times[i] > gap * median:
                gaps += 1
            else:
                step.append(start + i)
        start += len(states)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read = read_trajectory(x, t=t, gap=gap)
    assert (read.step.tolist(), read.gaps, read.missing) == (step, gaps, missing)


def test_gaps_are_counted_in_one_warning():
    t = np.arange(N) * 0.5 + 100 * (np.arange(N) >= 10) + 100 * (np.arange(N) >= 20)
    x = changed(WALK, 10, np.nan)  # next to a gap that is thus left out as missing
    with pytest.warns(UserWarning, match="recording gaps") as caught:
        read = read_trajectory(x, t=t)
    assert [str(warning.message) for warning in caught] == [
        "1 of 27 steps are longer than 10 times the median step (0.5) and were left out as recording gaps; "
        "pass gap= to change this"
    ]
    assert (read.gaps, read.missing, read.transitions) == (1, 1, 26)
    assert read_trajectory(x, t=t, gap=np.inf).transitions == 27


def test_plain_lists_that_are_long_are_trajectories():
    runs = [WALK.tolist(), WALK[:12].tolist()]
    assert same(read_trajectory(runs, dt=0.5), read_trajectory([WALK, WALK[:12]], dt=0.5))
    assert same(read_trajectory(PLANE.T.tolist(), dt=0.5), read_trajectory(list(PLANE.T), dt=0.5))
    pairs = [PLANE.tolist(), PLANE[:15].tolist()]
    assert same(read_trajectory(pairs, dt=0.5), read_trajectory([PLANE, PLANE[:15]], dt=0.5))
    times = [list(range(N)), list(range(12))]
    assert same(read_trajectory(runs, t=times), read_trajectory([WALK, WALK[:12]], dt=1.0))
    assert read_trajectory(PLANE.tolist(), dt=0.5).dimension == 2


@pytest.mark.parametrize("mark", [999.0, -999.0, -9999.0, 1e36, 99.99, 123456.0])
def test_numbers_that_seem_to_stand_for_missing_values_are_said(mark):
    with pytest.warns(
        UserWarning, match=rf"x has {mark:.9g} \(3 times\), far .*--na {mark:.9g} to the".replace("+", r"\+")
    ):
        read = read_trajectory(changed(WALK, [4, 5, 20], mark), dt=1.0)
    assert read.missing == 0
    read_trajectory(changed(WALK, [4, 20], mark), dt=1.0)  # twice is no habit


def test_two_marks_are_both_said_and_large_values_are_no_marks():
    with pytest.warns(UserWarning, match=r"1e\+36 \(3 times\) and 999 \(4 times\)"):
        read_trajectory(changed(changed(WALK, [4, 5, 20], 1e36), [7, 8, 21, 22], 999.0), dt=1.0)
    read_trajectory(np.r_[WALK, 3 * WALK.max(), 3 * WALK.max(), 3 * WALK.max(), 0.0], dt=1.0)
    read_trajectory(np.where(np.arange(N) % 3 == 0, 999.0, 0.0), dt=1.0)  # two states, not a mark and a constant


# Refusals

REFUSED_VALUES = {
    "None": (None, TypeError, r"type NoneType.*pass an array.*pandas Series or DataFrame.*list of arrays"),
    "string": ("walk", TypeError, "x is of type str, which is no array: pass an array"),
    "dict": ({"a": WALK}, TypeError, "x is of type dict, which is no array: pass an array"),
    "mixed list": ([WALK, 1.0], TypeError, r"mixes arrays with others, x\[1\] being of type float"),
    "list of states": ([np.ones(3)] * 20, ValueError, r"20 arrays of length 3.*pass np.stack\(x\).*\(n, 1\)"),
    "ragged": ([[1.0, 2.0], [3.0]], ValueError, "x makes no array .*pass rows of equal length"),
    "no axis": (np.array(1.0), ValueError, r"x has shape \(\): pass \(n,\) or \(n, d\)"),
    "three axes": (np.ones((4, N, 2)), ValueError, r"x has shape \(4, 30, 2\).*several trajectories as a list"),
    "empty list": ([], ValueError, r"x is empty, of shape \(0,\)"),
    "empty series": (pd.Series([], dtype=float), ValueError, r"x is empty, of shape \(0, 1\)"),
    "empty record": ([WALK, WALK[:0]], ValueError, r"x\[1\] is empty"),
    "zero columns": (np.ones((N, 0)), ValueError, r"x is empty, of shape \(30, 0\).*pass rows and columns"),
    "transposed": (PLANE.T, ValueError, r"30 columns but 2 rows.*transposed, pass x\.T"),
    "short lists": (PLANE[:10].T.tolist(), ValueError, r"transposed.*np\.transpose\(x\).*\[:, :, None\]"),
    "dimensions": ([PLANE, WALK], ValueError, r"x\[0\] has 2 columns but x\[1\] has 1: pass the same dimensions"),
    "column order": ([pd.DataFrame(PLANE, columns=list(c)) for c in ("ab", "ba")], ValueError, "rename or reorder"),
    "complex": (WALK + 1j, TypeError, r"x holds complex numbers.*z\.real, z\.imag"),
    "boolean": (WALK > 0, TypeError, r"x holds booleans.*x\.astype\(float\)"),
    "objects": ([1.0, None, 2.0], TypeError, r"x holds objects.*np\.asarray\(x, dtype=float\), missing values as NaN"),
    "text": (["1", "2"], TypeError, "x holds text.*convert with"),
    "dates": (DAYS.to_numpy(), TypeError, "x holds dates.*pass times as t="),
    "columns": (pd.DataFrame({"a": WALK, "who": "me", "up": True}), TypeError, r"who \(\w+\), up \(bool\)"),
    "nullable boolean": (pd.Series(WALK > 0, dtype="boolean"), TypeError, r"numbers: 0 \(boolean\)\. Leave them out"),
    "infinite": (changed(WALK, [4, 9], np.inf), ValueError, "2 infinite values, the first in row 4: pass NaN"),
    "minus infinity": ([PLANE, changed(PLANE, 3, -np.inf)], ValueError, r"x\[1\] has 2 infinite values.* in row 3"),
    "constant": (np.ones(N), ValueError, "x is constant in all transitions.*leave it out"),
    "constant column": (pd.DataFrame({"a": WALK, "b": 2}), ValueError, "b is constant in all transitions"),
    "constant where used": (np.r_[np.ones(N), np.nan, 5.0, np.nan], ValueError, "x is constant"),
    "short": (WALK[:10], ValueError, "9 transitions .*0 touch a missing row, 0 are.*at least 10, 10 per dimension"),
    "short for a plane": (PLANE[:20], ValueError, "19 transitions .*too few.*at least 20, 10 per dimension"),
    "short for missing rows": (changed(WALK[:12], 5, np.nan), ValueError, "9 transitions .*2 touch a missing row"),
    "every second missing": (
        changed(WALK, range(1, N, 2), np.nan),
        ValueError,
        "0 transitions .*drop the missing rows, so that the step, and dt, is twice as long",
    ),
    "all missing": (np.full(N, np.nan), ValueError, "0 transitions .*29 touch a missing row"),
    "single rows": ([WALK[:1, None]] * 30, ValueError, "0 transitions"),
}


@pytest.mark.parametrize(("x", "error", "message"), REFUSED_VALUES.values(), ids=REFUSED_VALUES)
def test_refused_values(x, error, message):
    with pytest.raises(error, match=message):
        read_trajectory(x, dt=1.0)


REFUSED_TIMES = {
    "none": (WALK, None, ValueError, "x comes without times: pass dt= .* or t="),
    "length": (WALK, np.arange(7), ValueError, r"t has shape \(7,\) but x has 30 rows: pass one time per row"),
    "column name": (WALK, "time", ValueError, r"t has shape \(\) but x has 30 rows"),
    "two axes": (WALK, DAYS.to_frame(), ValueError, r"t has shape \(30, 1\)"),
    "unsorted": (WALK, changed(np.arange(N), 8, 3), ValueError, r"t has 1 times that are unsorted.*row 8 \(3.0\)"),
    "repeated": (WALK, changed(np.arange(N), 8, 7), ValueError, r"1 times that are repeated.*row 8 \(7.0\): keep one"),
    "rounded": (WALK, np.round(0.05 * np.arange(N), 1), ValueError, r"repeated.*times are rounded.*Pass dt=0\.05 "),
    "rounded far from zero": (WALK, np.round(1e6 + 0.3 * np.arange(N)), ValueError, r"are rounded.*Pass dt=0\.3 "),
    "rounded dates": (
        WALK,
        pd.date_range("2024-01-01", periods=N, freq="400ms").floor("s"),
        ValueError,
        r"are rounded.*Pass dt=0\.4, unit='second' ",
    ),
    "each time twice": (WALK, np.arange(N) // 2, ValueError, "repeated.*keep one row per time"),
    "NaN": (WALK, changed(np.arange(30.0), 6, np.nan), ValueError, r"missing or infinite, first in row 6 \(nan\)"),
    "infinite": (WALK, changed(np.arange(30.0), -1, np.inf), ValueError, r"row 29 \(inf\): drop those rows or mend"),
    "NaT": (WALK, changed(DAYS, 5, "NaT"), ValueError, r"missing or infinite, first in row 5 \(NaT\)"),
    "masked": (WALK, np.ma.masked_equal(np.arange(N), 2), ValueError, r"first in row 2 \(nan\)"),
    "text index": (WALK, DAYS.astype(str), TypeError, "t holds objects, no measure of time: .*pd.to_datetime"),
    "text": (WALK, [str(day) for day in DAYS], TypeError, "t holds text, no measure of time"),
    "boolean": (WALK, WALK > 0, TypeError, "t holds booleans"),
    "complex": (WALK, WALK + 1j, TypeError, "t holds complex numbers"),
    "list without": ([WALK, WALK], None, ValueError, r"x\[0\] comes without times"),
    "list with an array": ([WALK, WALK], np.arange(N), TypeError, "t is of type ndarray: pass a list of times"),
    "list too short": ([WALK, WALK], [np.arange(N)], ValueError, "x lists 2 trajectories but t lists 1"),
    "list of kinds": ([WALK, WALK], [np.arange(N), DAYS], TypeError, "both dates and numbers, which share no clock"),
    "list unsorted": ([WALK, WALK], [DAYS, DAYS[::-1]], ValueError, r"t\[1\] has 29 times that are unsorted"),
    "index unsorted": (pd.Series(WALK, index=DAYS[::-1]), None, ValueError, r"x\.index has 29 times .*2024-01-29"),
    "index of numbers": (pd.Series(WALK), None, ValueError, r"index of int64: pass t=series\.index.*else dt="),
    "index of text": (pd.Series(WALK, index=DAYS.astype(str)), None, ValueError, r"t=pd\.to_datetime\(series\.index\)"),
    "gaps": (WALK[:11], np.r_[:6, 95:100], ValueError, "9 transitions .*0 touch a missing row, 1 are recording gaps"),
}


@pytest.mark.parametrize(("x", "t", "error", "message"), REFUSED_TIMES.values(), ids=REFUSED_TIMES)
def test_refused_times(x, t, error, message):
    with pytest.raises(error, match=message):
        read_trajectory(x, t=t)


REFUSED_OPTIONS = {
    "t and dt": ({"t": DAYS, "dt": 1.0}, ValueError, "t and dt were both given"),
    "dt zero": ({"dt": 0}, ValueError, "dt is 0, but time moves forward by finite steps: pass dt > 0"),
    "dt negative": ({"dt": -1.0}, ValueError, r"dt is -1\.0"),
    "dt infinite": ({"dt": np.inf}, ValueError, "dt is inf"),
    "dt NaN": ({"dt": np.nan}, ValueError, "dt is nan"),
    "dt array": ({"dt": np.ones(N)}, TypeError, "dt is of type ndarray, but the same for all steps: pass one number"),
    "dt text": ({"dt": "1h"}, TypeError, "dt is of type str"),
    "dt duration": ({"dt": pd.Timedelta("1h")}, TypeError, "dt is of type Timedelta"),
    "unknown unit": ({"t": DAYS, "unit": "fortnight"}, ValueError, "unit 'fortnight' is none .*second, minute"),
    "unit type": ({"dt": 1.0, "unit": 3}, TypeError, "unit is of type int.*pass text such as 'day'"),
    "gap one": ({"dt": 1.0, "gap": 1.0}, ValueError, r"gap is 1\.0, which would .* ordinary steps: pass a factor > 1"),
    "gap NaN": ({"dt": 1.0, "gap": np.nan}, ValueError, "gap is nan"),
    "gap text": ({"dt": 1.0, "gap": "1h"}, TypeError, "gap is of type str"),
}


@pytest.mark.parametrize(("options", "error", "message"), REFUSED_OPTIONS.values(), ids=REFUSED_OPTIONS)
def test_refused_options(options, error, message):
    with pytest.raises(error, match=message):
        read_trajectory(WALK, **options)
