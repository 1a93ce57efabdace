"""Tables as people and services write them: times and their units, records side by side, prose, missing values."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from onepath.cli import app
from onepath.data.trajectory import read_trajectory
from onepath.io.columns import Chosen, choose_columns
from onepath.io.errors import BadTable
from onepath.io.tables import read_table
from onepath.io.time_names import read_time_name

N = 60
WALK = np.round(np.random.default_rng(3).normal(size=N).cumsum(), 3)


def table(**columns):
    return pd.DataFrame(columns)


def chosen(frame, **options):
    return choose_columns(frame, Chosen(**options))


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


# Names and units


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        *[("t [ms]", "millisecond"), ("Time/s", "second"), ("time_sec", "second"), ("minutes", "minute")],
        *[("elapsed", None), ("elapsed (h)", "hour"), ("t_us", "microsecond"), ("time (µs)", "microsecond")],
        *[("TIME_NS", "nanosecond"), ("years elapsed", "year"), ("ts", None), ("Time (yr)", "year"), ("sec", "second")],
    ],
)
def test_names_of_times_and_their_units(name, unit):
    seen = chosen(pd.DataFrame({name: np.arange(N) * 2.0, "x": WALK}))
    assert seen.unit == unit
    np.testing.assert_array_equal(seen.t, np.arange(N) * 2.0)


@pytest.mark.parametrize(
    "name", ["tmin", "min", "h", "T (°C)", "timeout_x", "s", "age", "t温度", "day (h)", "d t", "BPM"]
)
def test_names_that_are_no_times(name):
    assert read_time_name(name) is None


@pytest.mark.parametrize(
    ("name", "options", "unit", "step"),
    [
        ("time (h)", {"unit": "minute"}, "minute", 60.0),
        ("t_ms", {"unit": "second"}, "second", 0.001),
        ("t_ms", {"unit": "ns"}, "nanosecond", 1e6),
        ("t", {"unit": "minute"}, "minute", 1.0),
        ("t", {"time_unit": "minute"}, "minute", 1.0),
        ("t", {"time_unit": "h", "unit": "minute"}, "minute", 60.0),
        ("t_ms", {"time_unit": "us", "unit": "ms"}, "millisecond", 0.001),
        ("month", {"unit": "year"}, "year", 1 / 12),
        ("t", {"unit": "Myr"}, "Myr", 1.0),
        ("t", {"time_unit": "generation", "unit": "generation"}, "generation", 1.0),
    ],
)
def test_numbers_are_converted_to_the_unit_of_rates(name, options, unit, step):
    seen = chosen(pd.DataFrame({name: np.arange(N), "x": WALK}), **options)
    assert seen.unit == unit
    np.testing.assert_allclose(seen.t, step * np.arange(N), rtol=1e-15)
    assert any("converted" in note for note in seen.notes) == (step != 1.0)


def test_a_step_is_converted_too():
    seen = chosen(table(x=WALK), dt=50.0, time_unit="ms", unit="second")
    assert (seen.dt, seen.unit) == (0.05, "second")
    assert chosen(table(x=WALK), dt=50.0, time_unit="ms").arguments["unit"] == "millisecond"


def test_units_that_cannot_be_converted_are_refused():
    with pytest.raises(
        BadTable, match=r"counted in year and rates asked for per Myr.*'Myr' is.*--time-unit and --unit"
    ):
        chosen(pd.DataFrame({"year": np.arange(N), "x": WALK}), unit="Myr")
    dated = table(date=pd.date_range("2020", periods=N), x=WALK)
    with pytest.raises(BadTable, match=r"--time-unit hour says .* 'date' holds dates .*leave it out"):
        chosen(dated, time_unit="hour")


@pytest.mark.parametrize("name", ["frame", "Sample", "step", "index", "frame no."])
def test_counts_of_rows_have_no_unit(name):
    counted = pd.DataFrame({name: np.arange(5, N + 5), "x": WALK})
    seen = chosen(counted)
    assert seen.unit is None
    assert any("counts rows and has no unit" in note for note in seen.notes)
    assert any("each taken for one second" in note for note in chosen(counted, unit="second").notes)
    grouped = pd.DataFrame({name: np.arange(N) % 20, "x": WALK, "run": np.arange(N) // 20})
    assert [len(part) for part in chosen(grouped, group="run").t] == [20, 20, 20]


def test_a_count_gives_way_to_a_time_and_values_are_no_counts():
    both = pd.DataFrame({"frame": np.arange(N), "t": np.arange(N) ** 1.5, "x": WALK})
    seen = chosen(both)
    assert (seen.t.name, list(seen.x.columns)) == ("t", ["x"])
    measured = pd.DataFrame({"t": np.arange(N), "sample": WALK})
    assert list(chosen(measured).x.columns) == ["sample"]
    with pytest.raises(BadTable, match="no column tells the time"):
        chosen(pd.DataFrame({"step": np.r_[3, 1, 2, np.arange(N - 3)], "x": WALK}))


@pytest.mark.parametrize("turned", [1, -1])
def test_ages_run_backwards(turned):
    ages = 100.0 + 10.0 * np.arange(N)
    seen = chosen(pd.DataFrame({"Age_BP": ages[::turned], "x": WALK[::turned]}), unit="year")
    np.testing.assert_array_equal(seen.t, -ages[::-1])
    np.testing.assert_array_equal(seen.x["x"], WALK[::-1])
    assert any("age before the present" in note for note in seen.notes)
    assert read_time_name("age (yr BP)").unit == "year"


# Dates


def test_years_months_and_days_are_joined():
    days = pd.date_range("2019-12-20", periods=N, freq="3h")
    parts = {name: getattr(days, name) for name in ("year", "month", "day", "hour")}
    seen = chosen(table(**parts, x=WALK))
    assert np.array_equal(seen.t, days)
    assert "'year', 'month', 'day', 'hour' joined to dates" in seen.notes
    again = chosen(table(date=days.strftime("%Y-%m-%dT%H:%M"), **parts, x=WALK))
    assert list(again.x.columns) == ["x"]
    months = pd.date_range("1955-01-01", periods=N, freq="MS")
    seen = chosen(pd.DataFrame({"YEAR": months.year, "MO": months.month, "x": WALK}), unit="year")
    np.testing.assert_allclose(np.diff(read_trajectory(**seen.arguments).t), 1 / 12, rtol=1e-12)
    assert list(chosen(table(**parts, x=WALK), dt=3.0).x.columns) == ["x"]


def test_parts_that_make_no_date_are_refused():
    with pytest.raises(BadTable, match=r"make no date in row 2 \(year 2019, month 2, day 30\): mend"):
        chosen(table(year=[2019] * 3, month=[2] * 3, day=[28, 30, 31], x=[1.0, 2.0, 3.0]))
    with pytest.raises(BadTable, match="Years are written in full"):
        chosen(table(year=[99] * 3, month=[2] * 3, day=[1, 2, 3], x=[1.0, 2.0, 3.0]))


def test_rounded_times_end_with_the_step():
    rounded = np.round(0.05 * np.arange(N), 1)
    with pytest.raises(BadTable, match=r"'t' repeats.*times are rounded: pass --dt 0\.05;"):
        chosen(table(t=rounded, x=WALK))
    with pytest.raises(BadTable, match=r"pass --dt 0\.05 --time-unit millisecond"):
        chosen(table(t_ms=rounded, x=WALK), unit="second")
    stamps = pd.date_range("2020-01-01", periods=N, freq="250ms").floor("s")[1:]
    with pytest.raises(BadTable, match=r"pass --dt 0\.25 --time-unit second"):
        chosen(table(when=stamps, x=WALK[1:]))
    with pytest.raises(BadTable, match=r"repeats 30 times.*keep one row per time"):
        chosen(table(t=np.arange(N) // 2, x=WALK))


# Records side by side


def test_wide_tables():
    frame = table(t=np.arange(N), a=WALK, b=WALK + 1, c=np.r_[np.nan, WALK[1:40], np.full(20, np.nan)])
    seen = chosen(frame, wide=True)
    read = read_trajectory(**seen.arguments)
    assert (read.dimension, read.missing) == (1, 0)
    np.testing.assert_array_equal(np.bincount(read.record), [N, N, 39])
    np.testing.assert_array_equal(seen.t[2], np.arange(1, 40))
    np.testing.assert_array_equal(seen.x[2]["c"], WALK[1:40])
    assert "each a trajectory of its own" in seen.notes[0]
    assert len(chosen(frame, wide=True, values=("a", "b")).x) == 2
    assert chosen(table(a=WALK, b=WALK, c=WALK), wide=True, dt=0.1).t is None
    with pytest.raises(BadTable, match="--wide"):
        chosen(frame)
    with pytest.raises(BadTable, match="the only one: leave it out"):
        chosen(frame, wide=True, values=("a",))


# Missing values


def test_further_spellings_of_missing_values(tmp_path):
    text = [
        f"{i};{'n.d.' if i % 10 == 3 else '-999,0' if i == 7 else str(x).replace('.', ',')}" for i, x in enumerate(WALK)
    ]
    path = tmp_path / "x.csv"
    path.write_text("t;x\n" + "\n".join(text))
    with pytest.raises(BadTable, match=r"'n\.d\.' in row 4.*--na n\.d\."):
        chosen(read_table(path).frame)
    marks = ("n.d.", "-999")
    seen = choose_columns(read_table(path, missing=marks).frame, Chosen(missing=marks))
    assert np.flatnonzero(seen.x["x"].isna()).tolist() == [3, 7, 13, 23, 33, 43, 53]
    assert any("'n.d.', '-999' taken for missing values, of which there are 7" in note for note in seen.notes)
    times = chosen(table(t=np.arange(N), x=np.where(WALK > 0, 0.0, WALK)), missing=("0",))
    assert times.t.notna().all()
    assert times.x["x"].isna().sum() == np.sum(WALK > 0)


PROSE = "Daily mean temperature, Hamburg airport\nDegrees C, taken at noon, see notes. Missing Value= 1.E36 or 999\n"


def weather(header, remark):
    days = pd.date_range("1990-01-01", periods=N)
    values = [{7: "999.0", 8: "1.000E+36", 9: "999"}.get(i, f"{x:.3f}") for i, x in enumerate(WALK)]
    rows = [
        f" {d.year} {d.month:2d} {d.day:2d} {x:>11} {remark(i)}".rstrip()
        for i, (d, x) in enumerate(zip(days, values, strict=True))
    ]
    return PROSE + header + "\n".join(rows) + "\n"


WEATHER = {
    "named": (" year month day  temp remark\n", lambda i: "fog in the morning" if i % 3 == 0 else ""),
    "remark not named": (" year month day  temp\n", lambda i: "2 mm rain" if i % 3 == 1 else ""),
    "not named": ("", lambda i: "fog" if i == 0 else 'rain, "heavy"' if i == 50 else ""),
    "no remark": (" year month day  temp\n", lambda _: ""),
    "neither": ("", lambda _: ""),
}


@pytest.mark.parametrize("which", WEATHER)
def test_a_weather_services_table(tmp_path, which):
    path = tmp_path / "station.txt"
    path.write_text(weather(*WEATHER[which]))
    read = read_table(path)
    assert read.missing == ("1.E36", "999")
    assert "lines 1 to 2 skipped, being prose" in read.notes
    assert any("1.E36 and 999 stand for missing values" in note for note in read.notes)
    seen = choose_columns(read.frame, Chosen(missing=read.missing))
    assert np.array_equal(seen.t, pd.date_range("1990-01-01", periods=N))
    wanted = WALK.copy()
    wanted[[7, 8, 9]] = np.nan
    np.testing.assert_array_equal(seen.x.to_numpy()[:, 0], wanted)


@pytest.mark.parametrize("above", ["An index of the sea's temperature\n", ""])
def test_prose_of_as_many_words_as_there_are_columns_is_no_header(tmp_path, above):
    path = tmp_path / "index.txt"
    rows = "".join(f"{1950 + i // 12} {i % 12 + 1} 1 {x:.3f} {x + 1:.3f} warm phase now\n" for i, x in enumerate(WALK))
    path.write_text(above + "Base period 1981-2010, Missing Value= 1.E36 or 999\n" + rows)
    read = read_table(path)
    assert len(read.frame) == N
    assert "1.E36 and 999 stand for missing values" in " ".join(read.notes)
    np.testing.assert_allclose(pd.to_numeric(read.frame.iloc[:, 3]), np.round(WALK, 3))


def test_prose_above_commas_and_comments_that_name_missing_values(tmp_path):
    path = tmp_path / "x.csv"
    rows = "t,x\n" + "\n".join(f"{i},{-99 if i == 5 else x}" for i, x in enumerate(WALK))
    path.write_text(f"Measured by two of us in the old harbour\n\n{rows}\n")
    assert list(read_table(path).frame.columns) == ["t", "x"]
    path.write_text(f"# missing value: -99\n{rows}\n")
    read = read_table(path)
    assert np.isnan(choose_columns(read.frame, Chosen(missing=read.missing)).x["x"][5])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PROSE + "\n".join(f"{i} {i % 3}" if i % 4 else f"{i}" for i in range(N)), "Lines 1 to 2 read like prose"),
        (PROSE, "read like prose: put # before each of them, or take them out"),
        (weather(*WEATHER["named"]).replace(" 1990  1 20 ", " 1990 "), "uneven rows"),
        ("row name value\n" + "\n".join(f"{i} {i} {i % 3} {i % 5}" for i in range(N)), "line 1"),
        (",,,\n,,,\n", "x.txt"),
        ("a b c\n1 2 3\n4 5\n6 7 8\n", "line 3"),
    ],
)
def test_tables_that_stay_uneven_are_refused(tmp_path, text, reason):
    path = tmp_path / "x.txt"
    path.write_text(text)
    with pytest.raises(BadTable, match=re.escape(reason)):
        read_table(path)


# The command


def test_the_command_converts_counts_and_skips(tmp_path):
    x = np.random.default_rng(5).normal(size=200).cumsum()
    frame = pd.DataFrame({"time (h)": np.arange(200), "a": x, "b": x[::-1]})
    frame["a"] = np.where(np.arange(200) % 50 == 7, "n.d.", frame["a"].astype(str))
    frame.to_csv(tmp_path / "x.csv", index=False)
    done = run("fit", tmp_path / "x.csv", "--wide", "--na", "n.d.", "--unit", "minute", "--learn", "none", "--json")
    assert done.exit_code == 0, done.stdout
    facts = json.loads(done.stdout)
    assert (facts["unit"], facts["rows"], facts["missing"], facts["transitions"]) == ("minute", 400, 4, 390)
    assert any("converted from hours to minutes" in note for note in facts["data"]["notes"])


def test_fractions_of_a_step(tmp_path, monkeypatch):
    from onepath.sde import SDE

    steps = []

    def seen(*_, dt, **__):
        steps.append(dt)
        raise ValueError("enough is known")

    monkeypatch.setattr(SDE, "fit", seen)
    table(x=WALK).to_csv(tmp_path / "x.csv", index=False)
    for text in ("1/252", "0.25", "1e-3"):
        run("fit", tmp_path / "x.csv", "--dt", text)
    assert steps == [1 / 252, 0.25, 0.001]
    for text in ("1/0", "daily", "1/2/3", "1/", ""):
        done = run("fit", tmp_path / "x.csv", "--dt", text)
        assert done.exit_code == 2
        assert "neither a number nor a fraction" in re.sub(r"[\s│]+", " ", done.stderr)
    assert len(steps) == 3


def test_marks_that_nobody_named_are_noted(tmp_path):
    x = np.random.default_rng(5).normal(size=200).cumsum()
    x[[4, 5, 90]] = -999.0
    pd.DataFrame({"t": np.arange(200), "x": x}).to_csv(tmp_path / "x.csv", index=False)
    done = run("fit", tmp_path / "x.csv", "--learn", "none", "--json")
    assert any("--na -999" in note for note in json.loads(done.stdout)["data"]["notes"])
    cured = json.loads(run("fit", tmp_path / "x.csv", "--na", "-999", "--learn", "none", "--json").stdout)
    assert cured["missing"] == 3
    assert not any("far from all" in note for note in cured["data"]["notes"])
