"""Weekends and dates: which days count is what the data do, a year is a year, and dates come back."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tinygp import kernels
from typer.testing import CliRunner

import onepath
from onepath import SDE
from onepath.cli import app
from onepath.data.calendar import WEEKDAYS, Business
from onepath.data.clocks import Clock
from onepath.data.trajectory import read_trajectory
from onepath.data.transitions import transitions_of
from onepath.data.weekends import Weekends
from onepath.show.sentences import weekends

YEARS, VOLATILITY = 8, 0.2
SATURDAY, SUNDAY = 5, 6
ENDS = ("", "_lower", "_upper")
FIXED_DAYS = ["01-01", "05-01", "12-24", "12-25", "12-26", "12-31"]
QUICK = {
    "drift": kernels.DotProduct() + kernels.Constant(1.0),
    "diffusion": kernels.Constant(1.0),
    "learn": None,
    "transition": "euler",
}


def walk(seed, *, off=(SATURDAY, SUNDAY), moves=False, holidays=True):
    """The logarithm of a price on the days of a market; while it is closed it stands still, or `moves` on."""
    days = pd.date_range("2012-01-02", periods=round(365.25 * YEARS))
    open_ = ~days.day_of_week.isin(off) & ~(holidays & days.strftime("%m-%d").isin(FIXED_DAYS))
    per_year = 365.25 if moves else open_.sum() / YEARS
    steps = VOLATILITY / np.sqrt(per_year) * np.random.default_rng(seed).standard_normal(len(days))
    path = pd.Series(np.cumsum(steps if moves else np.where(open_, steps, 0.0)), index=days, name="price")
    return path[open_]


def volatility(read):
    seen = transitions_of(read)
    return float(np.sqrt(np.mean(np.square(seen.y[:, 0]) / seen.dt)))


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("holidays", [False, True])
def test_yearly_volatility_is_right_whether_or_not_weekends_move(moves, holidays):
    found = []
    for seed in range(20):
        read = read_trajectory(walk(seed, moves=moves, holidays=holidays), unit="year")
        assert (read.clock.business is None) == moves
        found.append(volatility(read))
    assert np.median(found) == pytest.approx(VOLATILITY, rel=0.01)
    assert np.abs(np.array(found) / VOLATILITY - 1).max() < 4 / np.sqrt(2 * 5 / 7 * 365 * YEARS)  # standard errors


def test_the_choice_can_be_made():
    still, moving = walk(0), walk(0, moves=True)
    everything = read_trajectory(still, unit="day", calendar="all")
    np.testing.assert_array_equal(np.diff(everything.t), np.diff(still.index) / np.timedelta64(1, "D"))
    assert abs(volatility(read_trajectory(still, unit="year", calendar="all")) / VOLATILITY - 1) > 0.05
    assert np.diff(read_trajectory(moving, calendar="business").t).max() < 5


def test_units_longer_than_a_day_are_the_calendars_and_a_day_is_a_business_day():
    series = walk(1, holidays=False)
    step = {unit: np.diff(read_trajectory(series, unit=unit).t) for unit in ("hour", "day", "week", "month", "year")}
    for unit, length in {"hour": 24, "day": 1, "week": 1 / 5, "month": 12 / WEEKDAYS, "year": 1 / WEEKDAYS}.items():
        np.testing.assert_allclose(step[unit], length, rtol=1e-9)
    with_holidays = read_trajectory(walk(1), unit="year")
    assert with_holidays.clock.business.year == pytest.approx(len(walk(1)) / YEARS, rel=2e-3)
    assert with_holidays.t[-1] == pytest.approx(YEARS, rel=2e-3)


def test_days_that_are_missing_at_random_count():
    complete = walk(2, holidays=False)
    kept = np.random.default_rng(2).random(len(complete)) > 0.1
    read = read_trajectory(complete[kept], unit="year")
    assert read.clock.business.holidays is None
    assert volatility(read) == pytest.approx(VOLATILITY, rel=0.06)
    np.testing.assert_array_equal(read.dates(read.t), complete.index[kept])


def test_a_state_that_is_held_back_is_not_taken_to_stand_still():
    """Over three days it has forgotten where it was, so that increments grow by 1.4 only, weekends counted or not."""
    x = np.zeros(3000)
    noise = np.random.default_rng(5).standard_normal(3000)
    for k in range(1, 3000):
        x[k] = 0.4 * x[k - 1] + noise[k]
    days = pd.date_range("2012-01-02", periods=3000)
    assert read_trajectory(pd.Series(x, days)[days.day_of_week < SATURDAY]).clock.business is None
    only_weekdays = pd.Series(x[:2000], pd.bdate_range("2012-01-02", periods=2000))
    assert read_trajectory(only_weekdays).clock.business is not None


@pytest.mark.parametrize(
    ("shown", "off"),
    [
        (lambda index: index, (SATURDAY, SUNDAY)),
        (lambda index: index, (4, SATURDAY)),  # Friday and Saturday
        (lambda index: index + pd.Timedelta("16h"), (SATURDAY, SUNDAY)),
        (lambda index: index.tz_localize("Asia/Tokyo"), (SATURDAY, SUNDAY)),  # Sunday to Thursday in UTC
        (lambda index: index.tz_localize("Europe/London"), (SATURDAY, SUNDAY)),
        (lambda index: index.to_period("D"), (SATURDAY, SUNDAY)),
    ],
)
def test_weekends_are_found_by_what_is_skipped(shown, off):
    series = walk(3, off=off)
    read = read_trajectory(pd.Series(series.to_numpy(), shown(series.index)))
    np.testing.assert_allclose(np.diff(read.t), 1.0, atol=1e-9)
    assert read.unit == "day"


def test_a_few_sessions_on_weekends_lie_between_their_neighbours():
    series = walk(4, holidays=False)
    extra = pd.Series(series.iloc[4], pd.DatetimeIndex(["2012-01-07"]))  # a Saturday
    read = read_trajectory(pd.concat([series, extra]).sort_index())
    np.testing.assert_allclose(read.t[3:8], [3, 4, 4 + 1 / 3, 5, 6])


@pytest.mark.parametrize(
    "index",
    [
        pd.date_range("2012-01-02", periods=600),
        pd.date_range("2012-01-02", periods=600, freq="W"),
        pd.date_range("2012-01-02", periods=600, freq="h"),
        pd.bdate_range("2012-01-02", periods=40),  # too few weekends to say
    ],
)
def test_other_dates_are_counted_as_they_were(index):
    read = read_trajectory(pd.Series(np.cumsum(np.random.default_rng(0).standard_normal(len(index))), index))
    assert read.clock.business is None
    since = (index - index[0]) / pd.Timedelta(1, {"W": "W", "h": "h"}.get(index.freqstr[0], "D"))
    np.testing.assert_allclose(read.t, since, rtol=1e-12)


@pytest.mark.parametrize(
    ("times", "calendar", "reason"),
    [
        ({"dt": 1.0}, "business", "times are numbers"),
        ({"t": pd.date_range("2012-01-02", periods=60)}, "business", "fall on each day of the week"),
        ({"t": pd.date_range("2012-01-02", periods=60, freq="h")}, "business", "different times of the day"),
        ({"dt": 1.0}, "lunar", "'lunar', which is none: pass one of 'auto', 'business', 'all'"),
    ],
)
def test_calendars_that_cannot_work_are_refused(times, calendar, reason):
    with pytest.raises(ValueError, match=reason):
        read_trajectory(np.arange(60.0) ** 0.5, **times, calendar=calendar)


# Dates come back


@pytest.mark.parametrize("unit", [None, "day", "week", "year"])
@pytest.mark.parametrize(
    "index",
    [
        walk(0).index,
        pd.date_range("1968-11-01", periods=300, freq="MS"),
        pd.date_range("1968-11-30", periods=300, freq="ME"),
        pd.date_range("2001-01-01 09:30", periods=300, freq="10min"),
        pd.date_range("2001-01-01", periods=300, freq="250ms"),
        pd.DatetimeIndex(np.datetime64("2001-01-01", "ns") + np.arange(300)),
        pd.date_range("1700-01-01", periods=300, freq="YS"),
    ],
)
def test_times_are_the_dates_again(index, unit):
    read = read_trajectory(pd.Series(np.cumsum(np.random.default_rng(0).standard_normal(len(index))), index), unit=unit)
    off = np.abs(read.dates(read.t) - index.to_numpy()) / np.timedelta64(1, "s")
    assert off.max() <= (0.0 if unit is None else 1e-3)


def test_numbers_and_durations_have_no_dates():
    for times in ({"dt": 1.0, "unit": "day"}, {"t": pd.timedelta_range(0, periods=60, freq="D")}):
        read = read_trajectory(np.arange(60.0) ** 0.5, **times)
        assert read.dates(read.t) is None


@pytest.fixture(scope="module")
def market():
    return SDE(**QUICK).fit(walk(0), unit="year")


def test_forecasts_step_over_weekends(market):
    fan = market.forecast(15, paths=20, random_state=0)
    expected = pd.bdate_range(walk(0).index[-1], periods=16)
    table = fan.quantiles_frame([0.1, 0.9])
    assert table.index.equals(pd.DatetimeIndex(expected, name="date", freq=None).as_unit(table.index.unit))
    assert list(table.columns) == ["price_0.1", "price_0.9"]
    np.testing.assert_array_equal(table.to_numpy(), fan.quantiles([0.1, 0.9])[:, :, 0].T)
    paths = fan.frame()
    np.testing.assert_array_equal(paths.loc[7, "price"], fan.x[7, :, 0])
    assert paths.index.names == ["path", "date"]
    assert list(market.simulate(1.0, 4, paths=2).dates) == list(fan.dates[:5])


def test_the_choice_is_said_and_kept(market, tmp_path):
    said = weekends(market.model_)
    assert said.startswith("Weekends are not counted: over one, price moves as in 1.")
    assert "a year has 256 of them" in said
    assert said in market.summary()
    again = onepath.load(market.save(tmp_path / "market.onepath"))
    np.testing.assert_array_equal(again.forecast(9, paths=2).dates, market.forecast(9, paths=2).dates)
    new = walk(9)[:20]  # too short to say by itself
    steps = new.index.to_series().diff().dt.days.to_numpy()[1:]
    assert (steps == 3).any()
    expected = market.score(new.to_numpy(), dt=1 / market.trajectory_.clock.business.year)
    assert again.score(new) == pytest.approx(expected, rel=1e-9)
    assert again.score(new, calendar="all") != pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("clock", [Clock("no date"), Clock("2012-01-02", None, Weekends(Business("0000000")))])
def test_a_clock_that_is_none_is_refused(market, clock, tmp_path):
    wrong = replace(market.model_, trajectory=replace(market.trajectory_, clock=clock))
    with pytest.raises(ValueError, match="damaged or forged"):
        onepath.load(SDE.from_model(wrong, {}).save(tmp_path / "wrong.onepath"))


def test_weekends_that_count_are_said():
    counted = SDE(**QUICK).fit(walk(0, moves=True))
    assert weekends(counted.model_).startswith(
        "Weekends are counted, though no rows fall on them: over one, price moves"
    )


def test_curves_are_a_table_under_the_names_of_the_data(market):
    table = market.curves(level=0.5)
    assert list(table.columns) == ["price", *(f"{f}{end}" for f in ("drift", "diffusion") for end in ENDS)]
    assert len(table) == 101
    assert table["price"].iloc[[0, -1]].tolist() == [walk(0)[:-1].min(), walk(0)[:-1].max()]
    np.testing.assert_allclose(table["drift"], market.drift(table["price"]))
    np.testing.assert_allclose(table[["diffusion_lower", "diffusion_upper"]].T, market.diffusion_band(table.price, 0.5))
    assert len(market.curves(7)) == 7
    assert market.curves([0.1, 0.2])["price"].tolist() == [0.1, 0.2]
    with pytest.raises(ValueError, match="at least 2"):
        market.curves(1)


def test_curves_of_a_plane_run_along_each_coordinate(plane):
    table, (first, second) = plane.curves(11), plane.model_.names
    assert table["along"].tolist() == [first] * 11 + [second] * 11
    median = np.median(plane.transitions_.x, axis=0)
    assert (table.loc[table["along"] == first, second] == median[1]).all()
    at = table[[first, second]].to_numpy()
    np.testing.assert_allclose(table[f"drift_{second}"], plane.drift(at)[:, 1])
    np.testing.assert_allclose(table[f"diffusion_{second}_{first}_upper"], plane.diffusion_band(at)[1][:, 1, 0])


# The command

PLAIN = ("--learn", "none", "--drift", "DotProduct()+Constant(1.0)", "--diffusion", "Constant(1.0)")


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What `onepath fit --json` writes and says of a table with dates."""
    folder = tmp_path_factory.mktemp("market")
    walk(0).rename_axis("date").reset_index().to_csv(folder / "price.csv", index=False)
    said = run("fit", folder / "price.csv", "--unit", "year", *PLAIN, "--model", folder / "m", "--json").stdout
    (folder / "said.json").write_text(said)
    return folder


def test_the_command_says_which_days_count_and_gives_whole_curves(folder):
    said = json.loads((folder / "said.json").read_text())
    assert said["calendar"] == "business"
    assert said["weekends"] in said["data"]["notes"]
    table = pd.DataFrame(said["curves"])
    assert len(table) == 101
    assert (table["diffusion_lower"] < table["diffusion"]).all()
    run("curves", folder / "m", "--points", 7, "--level", 0.5, "-o", folder / "curves.csv")
    expected = onepath.load(folder / "m").curves(7, 0.5)
    pd.testing.assert_frame_equal(pd.read_csv(folder / "curves.csv"), expected)
    assert json.loads(run("curves", folder / "m", "--json").stdout)["curves"] == said["curves"]
    assert CliRunner().invoke(app, ["curves", str(folder / "m"), "-o", str(folder / "curves.csv")]).exit_code == 2
    assert CliRunner().invoke(app, ["curves", str(folder / "m"), "--level", "2"]).exit_code == 2


def test_the_calendar_can_be_chosen_on_the_command(folder):
    said = json.loads(run("fit", folder / "price.csv", "--calendar", "all", *PLAIN, "--json").stdout)
    assert (said["calendar"], said["weekends"]) == ("all", None)
    wrong = CliRunner().invoke(app, ["fit", str(folder / "price.csv"), "--calendar", "lunar"])
    assert (wrong.exit_code, "'lunar'" in wrong.output) == (2, True)


def test_tables_that_the_command_writes_have_dates(folder):
    dates = pd.bdate_range(walk(0).index[-1], periods=6).strftime("%Y-%m-%d").tolist()
    run("forecast", folder / "m", "--steps", 5, "--paths", 10, "--out", folder / "fan.csv")
    fan = pd.read_csv(folder / "fan.csv")
    assert list(fan.columns) == ["date", "t", *(f"price_{level}" for level in (0.05, 0.25, 0.5, 0.75, 0.95))]
    assert fan["date"].tolist() == dates
    run("simulate", folder / "m", "--steps", 5, "--paths", 2, "--out", folder / "paths.csv")
    paths = pd.read_csv(folder / "paths.csv")
    assert list(paths.columns) == ["path", "date", "t", "price"]
    assert paths["date"].tolist() == 2 * dates
    assert json.loads(run("forecast", folder / "m", "--steps", 5, "--paths", 10, "--json").stdout)["dates"] == dates


def test_time_axes_and_the_report_show_dates(market, tmp_path):
    from matplotlib.dates import num2date

    for what in ("trajectory", "forecast"):
        axes = market.plot(what).axes[-1]
        assert num2date(axes.get_xlim()[1]).year in (2019, 2020)
        assert not axes.get_xlabel()
    page = market.report(tmp_path / "r.html").read_text()
    assert "2012-01-02 to 2019-12-30, 7.99" in page
    assert weekends(market.model_) in page
