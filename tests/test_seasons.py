"""Seasons and trends: phases by the calendar, found where there is one, and told to nobody who did not ask."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from onepath import SDE
from onepath.data.seasons import same_clockwork, with_clockwork
from onepath.data.trajectory import read_trajectory
from onepath.data.transitions import transitions_of


def yearly(years, seed=0, mean=1.5, noise=0.0, substeps=20):
    """Months of dX = -0.3 (X - mean cos φ) dt + 0.5 exp(noise cos φ) dW, φ the phase of the year."""
    rng, h = np.random.default_rng(seed), 1.0 / substeps
    x, now = np.zeros(12 * years + 1), 0.0
    for k in range(12 * years):
        for s, one in enumerate(rng.standard_normal(substeps)):
            wave = np.cos(2 * np.pi * (k + s * h) / 12)
            now += -0.3 * (now - mean * wave) * h + 0.5 * np.exp(noise * wave) * np.sqrt(h) * one
        x[k + 1] = now
    return x


def season_of(trajectory):
    """When the season's cycle began before each transition."""
    return trajectory.inputs.at_steps(trajectory.step, trajectory.t)[:, -1]


def walk(n, seed=0):
    return np.cumsum(np.random.default_rng(seed).normal(size=n))


def test_the_phase_of_a_step_is_that_of_its_middle():
    trajectory = with_clockwork(read_trajectory(walk(60), dt=0.5), 12, False)
    assert_allclose(season_of(trajectory), np.mod(0.5 * np.arange(59) + 0.25, 12))
    columns = transitions_of(trajectory).inputs
    phase = 2 * np.pi * (0.5 * np.arange(59) + 0.25) / 12
    assert_allclose(columns / np.sqrt(2), np.stack([np.cos(phase), np.sin(phase)], axis=1), atol=1e-12)


@pytest.mark.parametrize("season", [12, "year"])
def test_a_year_of_months_begins_in_january(season):
    months = pd.Series(walk(60), pd.date_range("2001-04-01", periods=60, freq="MS"))
    trajectory = with_clockwork(read_trajectory(months, unit="month"), season, False)
    wanted = np.mod(np.arange(3, 62) + 0.5, 12)
    assert_allclose(season_of(trajectory), wanted, atol=0.1)  # months are not all as long


def test_a_year_of_business_days_begins_in_january():
    days = pd.bdate_range("2005-07-01", periods=1500)
    trajectory = with_clockwork(read_trajectory(pd.Series(walk(1500), days)), "year", False)
    assert trajectory.clock.business is not None
    middle = days[:-1] + (days[1:] - days[:-1]) / 2
    wanted = (middle.day_of_year.to_numpy() - 1) / 365.25
    period = trajectory.inputs.variables[0].period
    apart = season_of(trajectory) / period - wanted
    assert np.max(np.abs(apart - np.round(apart))) < 0.02


def test_later_data_go_on_in_the_same_season_and_trend():
    """Cut anywhere, the second part of a record has the inputs that it has in the whole of it."""
    days = pd.Series(walk(900), pd.date_range("2011-03-05", periods=900))
    whole = with_clockwork(read_trajectory(days, unit="day", calendar="all"), "year", True)
    weekly = with_clockwork(read_trajectory(days, unit="day", calendar="all"), 7, True)
    later = read_trajectory(days.iloc[500:], unit="day", calendar="all")
    for one in (whole, weekly):
        rest = same_clockwork(later, one.inputs.variables, one.clock)
        there, here = (part.inputs.at_steps(part.step, part.t) for part in (one, rest))
        assert_allclose(here[:, 1], there[500:, 1])
        period = one.inputs.variables[0].period
        apart = (here[:, 0] - there[500:, 0]) / period
        assert np.max(np.abs(apart - np.round(apart))) < 0.002  # a year has 365 days, or 366


@pytest.mark.parametrize(
    ("season", "said"),
    [
        (-1, "a finite time above 0"),
        (1, "steps or more"),
        (200, "longer than half of the record"),
        ("fortnight", "is no unit of time"),
        ("year", "where the unit of time is known"),
    ],
)
def test_seasons_that_mean_nothing_are_refused(season, said):
    with pytest.raises(ValueError, match=said):
        SDE(season=season, learn=None, progress=False).fit(walk(200), dt=1.0)


def test_an_input_cannot_be_called_as_a_season_is():
    with pytest.raises(ValueError, match="called 'season'"):
        SDE(season=12, learn=None).fit(walk(100), dt=1.0, inputs={"season": walk(100, 1)})


@pytest.mark.slow
def test_a_season_is_found_and_then_no_fault_any_more():
    x = yearly(30, seed=3)
    months = pd.Series(x, pd.date_range("1980-01-01", periods=len(x), freq="MS"))
    sde = SDE(season="auto", progress=False, transition="euler").fit(months, unit="month")
    (season,) = sde.model_.variables
    assert (season.name, season.period) == ("season", 12.0)
    assert "season" not in sde.diagnose().faults
    at = np.array([-1.0, 0.0, 1.0])
    for month in (0.0, 3.0, 6.0, 9.0):
        wanted = -0.3 * (at - 1.5 * np.cos(2 * np.pi * month / 12))
        assert_allclose(sde.drift(at, inputs={"season": month}), wanted, atol=0.25)
    cycle = sde.forecast(12, paths=500, random_state=0).quantiles([0.5])[0, 1:, 0]
    assert np.ptp(cycle) > 1.0
    assert "season" in SDE(progress=False, transition="euler").fit(months, unit="month").diagnose().faults


@pytest.mark.slow
def test_a_season_of_the_noise_is_found():
    x = yearly(40, seed=1, mean=0.0, noise=0.6)
    sde = SDE(season="auto", progress=False, transition="euler").fit(x, dt=1.0, unit="month")
    (season,) = sde.model_.variables
    assert season.period == pytest.approx(12.0, rel=0.01)
    noise = [float(sde.diffusion([0.0], inputs=[month])[0]) for month in (0.0, 6.0)]
    assert noise[0] > 2.0 * noise[1]


@pytest.mark.slow
def test_without_a_season_there_are_no_inputs():
    x = yearly(30, seed=2, mean=0.0)
    sde = SDE(season="auto", progress=False, transition="euler").fit(x, dt=1.0)
    assert sde.inputs_ == ()


@pytest.mark.slow
def test_a_trend_of_the_drift():
    """dX = -(X - t / 50) dt + 0.5 dW over 100 units of time: the level at three times."""
    rng, n = np.random.default_rng(0), 2000
    x, now = np.zeros(n + 1), 0.0
    for k in range(n):
        for s, one in enumerate(rng.standard_normal(10)):
            now += -(now - (0.05 * k + 0.005 * s) / 50) * 0.005 + 0.5 * np.sqrt(0.005) * one
        x[k + 1] = now
    sde = SDE(trend=True, progress=False, transition="euler").fit(x, dt=0.05)
    for t in (20.0, 50.0, 80.0):
        drift = sde.drift([t / 50 - 0.5, t / 50, t / 50 + 0.5], inputs={"trend": t})
        assert_allclose(drift, [0.5, 0.0, -0.5], atol=0.2)
