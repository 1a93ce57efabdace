"""A level of the noise that changes with time: the chain against integrals over an OU process, and a known level."""

import numpy as np
import pytest
from scipy import stats

from onepath import SDE, load
from onepath.data.cells import Cells
from onepath.inference.disturbance.chain import backward, forward, moved, stationary, unit_levels
from onepath.inference.disturbance.clustered import Guessed, guessed, is_clustered
from onepath.inference.disturbance.disturbance import Future, Steps, log_normal
from onepath.inference.disturbance.volatility import Volatility, blocks, given_levels
from onepath.inference.posterior.clustering import (
    Clustering,
    Level,
    clustering_of,
    correlated,
    in_proportion,
    within_record,
)


def wandering(n, spread, memory, rng):
    """An OU process at steps of 1, of mean 0 over the record."""
    left, level = np.exp(-1 / memory), np.empty(n)
    level[0] = spread * rng.standard_normal()
    for k, noise in enumerate(spread * np.sqrt(1 - left**2) * rng.standard_normal(n - 1)):
        level[k + 1] = left * level[k] + noise
    return level - level.mean()


def steps_of_sizes(sizes, rng, dt=1.0):
    """Increments of these standard deviations, where V is 1."""
    n = len(sizes)
    since = np.full(n, dt)
    since[0] = np.inf
    rest = sizes[:, None] * rng.standard_normal((n, 1))
    return Steps(rest, np.ones((n, 1, 1)), np.full(n, dt), since, np.ones(n))


def test_the_chain_has_the_moments_of_an_ou_process():
    start, levels = stationary(), unit_levels()
    assert start.sum() == pytest.approx(1.0)
    assert start @ levels**2 == pytest.approx(1.0)
    for left in (0.2, 0.9, 0.999):
        matrix = moved(left)
        np.testing.assert_allclose(matrix.sum(axis=1), 1.0)
        np.testing.assert_allclose(matrix @ levels, left * levels, atol=1e-10)
        np.testing.assert_allclose(start @ matrix, start, atol=1e-12)
    np.testing.assert_allclose(moved(0.9) @ moved(0.5), moved(0.45), atol=1e-12)


@pytest.mark.parametrize("memory", [2.0, 20.0])
def test_likelihood_and_path_are_integrals_over_the_process(memory):
    """Three increments, each integrated over a Gaussian grid of levels."""
    rest, spread, left = np.array([0.3, 2.5, -1.5]), 0.5, np.exp(-1 / memory)
    grid = np.linspace(-4, 4, 161) * spread
    width = grid[1] - grid[0]
    first = stats.norm.pdf(grid, 0.0, spread) * width
    onward = stats.norm.pdf(grid, left * grid[:, None], spread * np.sqrt(1 - left**2)) * width
    seen = [stats.norm.pdf(r, 0.0, np.exp(grid)) for r in rest]
    joint = np.einsum("i,ij,jk,i,j,k->ijk", first, onward, onward, *seen)
    likelihood = joint.sum()
    middle = joint.sum(axis=(0, 2)) / likelihood
    steps = Steps(rest[:, None], np.ones((3, 1, 1)), np.ones(3), np.array([np.inf, 1.0, 1.0]), np.ones(3))
    law = Volatility(spread, memory)
    assert law.log_density(steps).sum() == pytest.approx(np.log(likelihood), abs=3e-3)
    mean, deviation, precision = law.path(steps)
    assert mean[1] == pytest.approx(middle @ grid, abs=5e-3)
    assert deviation[1] == pytest.approx(np.sqrt(middle @ grid**2 - (middle @ grid) ** 2), abs=5e-3)
    assert precision[1] == pytest.approx(middle @ np.exp(-2 * grid), rel=1e-2)


def test_a_new_record_begins_anew():
    rng = np.random.default_rng(0)
    steps = steps_of_sizes(np.ones(8), rng)
    since = steps.since.copy()
    since[4] = np.inf
    logs = given_levels(np.square(steps.rest[:, 0]), 1, 0.5 * unit_levels())
    both = forward(logs, since, 5.0)
    apart = [forward(part, np.array([np.inf, 1, 1, 1]), 5.0) for part in (logs[:4], logs[4:])]
    np.testing.assert_allclose(both.log_density, np.concatenate([part.log_density for part in apart]))
    smooth = backward(both, since, 5.0)
    np.testing.assert_allclose(smooth[:4], backward(apart[0], np.array([np.inf, 1, 1, 1]), 5.0))
    square, count, between = blocks(np.arange(8.0), np.ones(8), since, 3)
    np.testing.assert_allclose(square, [0 + 1 + 2, 3, 4 + 5 + 6, 7])
    np.testing.assert_allclose(count, [3, 1, 3, 1])
    np.testing.assert_allclose(between, [np.inf, 3, np.inf, 3])


def test_spread_memory_and_path_are_found(table):
    rng = np.random.default_rng(1)
    level = wandering(5000, 0.5, 80.0, rng)
    steps = steps_of_sizes(np.exp(level), rng)
    law = Volatility(0.0, 5000.0).learned(steps).described(steps)
    assert law.bands["spread"].lower < 0.5 < law.bands["spread"].upper
    assert law.bands["memory"].lower < 80.0 < law.bands["memory"].upper
    mean, deviation, _ = law.path(steps)
    covered = np.mean(np.abs(mean - level) < 1.645 * deviation)
    table(f"level: correlation {np.corrcoef(mean, level)[0, 1]:.3f}, covered {covered:.2f}")
    assert np.corrcoef(mean, level)[0, 1] > 0.85
    assert 0.8 < covered < 0.97
    z = law.normal(steps)[:, 0]
    assert stats.kstest(z, "norm").pvalue > 0.01
    assert abs(np.corrcoef(z[1:] ** 2, z[:-1] ** 2)[0, 1]) < 0.05
    assert (law.log_density(steps) - log_normal(steps.rest, steps.covariance)).sum() > 300


def test_simulated_levels_begin_where_the_data_end():
    law = Volatility(0.5, 10.0, last=(1.0, 0.0))
    drawn = law.drawn(np.random.default_rng(0), Future(20_000, 30, 1.0, onwards=True)).stretch
    left = np.exp(-np.arange(1, 31) / 10.0)
    np.testing.assert_allclose(np.log(drawn).mean(axis=0), left, atol=0.02)
    np.testing.assert_allclose(np.log(drawn).std(axis=0), 0.5 * np.sqrt(1 - left**2), atol=0.02)
    anywhere = law.drawn(np.random.default_rng(0), Future(20_000, 3, 1.0, onwards=False)).stretch
    np.testing.assert_allclose(np.log(anywhere).std(axis=0), 0.5, atol=0.02)


def test_what_a_level_leaves_is_that_of_whole_matrices():
    """(2I + K)⁻¹ by three diagonals, and K by sums, against matrices written out, over two records."""
    rng, n, variance, memory = np.random.default_rng(2), 60, 0.8, 7.0
    since = rng.uniform(0.5, 2.0, n)
    since[[0, 25]] = np.inf
    time = np.cumsum(np.where(np.isfinite(since), since, 0.0))
    record = np.cumsum(~np.isfinite(since))
    together = record[:, None] == record
    k = np.where(together, variance * np.exp(-np.abs(time[:, None] - time) / memory), 0.0)
    columns = rng.standard_normal((n, 3))
    np.testing.assert_allclose(
        in_proportion(columns, since, variance, memory), 2 * np.linalg.solve(2 * np.eye(n) + k, columns), atol=1e-9
    )
    np.testing.assert_allclose(correlated(columns, since, memory), k @ columns / variance, atol=1e-9)
    rows, spread = rng.standard_normal((n, 1, 3)), np.eye(n) + 0.5 * k
    seen = rows[:, 0].T @ rows[:, 0]
    sandwich = seen @ np.linalg.inv(rows[:, 0].T @ spread @ rows[:, 0]) @ seen
    np.testing.assert_allclose(Clustering(spread, learned=False).information(rows), sandwich, atol=1e-9)
    np.testing.assert_allclose(Clustering(np.eye(n), learned=False).information(rows), seen, atol=1e-9)


def test_cells_do_together_what_their_steps_do():
    """A step a cell gives the matrices themselves; padding says what it always did."""
    n, since = 30, np.r_[np.inf, np.ones(29)]
    u = np.linspace(0, 1, n)[:, None]
    zero = np.zeros((n + 2, 1))
    cells = Cells(np.r_[np.ones(n), 0, 0], np.concatenate([u, u[:1], u[:1]]), zero, np.zeros((n + 2, 1, 1)), zero[:, 0])
    found = clustering_of(Level(0.5, 4.0, learned=False), cells, u, since).matrix
    rho = np.exp(-np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / 4.0)
    np.testing.assert_allclose(found[:n, :n], np.exp(0.5) * np.eye(n) + 0.5 * np.expm1(0.5) * rho)
    np.testing.assert_array_equal(found[n:, n:], np.eye(2))


def test_clustering_is_seen_where_it_is_and_nowhere_else():
    seen = {"clustered": 0, "normal": 0, "heavy": 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        heavy = 1 / np.sqrt(rng.chisquare(4, 2000) / 4)
        for name, sizes in (("normal", np.ones(2000)), ("heavy", heavy), ("clustered", None)):
            sizes = np.exp(wandering(2000, 0.4, 40.0, rng)) if sizes is None else sizes
            seen[name] += is_clustered(steps_of_sizes(sizes, rng))
    assert seen["clustered"] == 40
    assert seen["normal"] == seen["heavy"] == 0


def test_a_constant_sigma_is_told_from_one_that_is_not():
    rng = np.random.default_rng(3)
    level = wandering(3000, 0.5, 60.0, rng)
    x = np.sin(np.arange(3000) / 9.0)[:, None]
    flat, tilted = (steps_of_sizes(np.exp(level) * size, rng) for size in (np.ones(3000), 1.0 + 0.5 * x[:, 0]))
    assert guessed(flat, x).constant > 0.8
    assert guessed(tilted, x).constant < 1e-3


def clustered(n=2500, memory=100.0, seed=0):
    """dX = -2 X dt + .6 e^ℓ dW, in ten substeps: x and the level."""
    rng = np.random.default_rng(seed)
    level = wandering(n, 0.5, memory, rng) if memory else np.zeros(n)
    x, state, dt = np.zeros(n + 1), 0.0, 0.02
    noise = rng.standard_normal((n, 10)) * np.sqrt(dt / 10)
    for k in range(n):
        for each in noise[k]:
            state += -2.0 * state * dt / 10 + 0.6 * np.exp(level[k]) * each
        x[k + 1] = state
    return x, level


@pytest.fixture(scope="module")
def volatile():
    x, level = clustered()
    return x, level, SDE(volatility="learn").fit(x, dt=0.02), SDE().fit(x, dt=0.02)


def test_a_level_is_found_and_leaves_the_diffusion_free(volatile):
    x, level, sde, plain = volatile
    found, grid = sde.volatility_, np.quantile(x, np.linspace(0.05, 0.95, 20))
    assert np.corrcoef(np.log(found.level), level)[0, 1] > 0.85
    assert found.memory.lower < 100 * 0.02 < found.memory.upper
    assert np.all((found.lower < found.level) & (found.level < found.upper))
    np.testing.assert_allclose(sde.diffusion(grid), 0.6, atol=0.05)
    assert sde.constant_noise_ > 0.5
    assert sde.score(x, dt=0.02) > plain.score(x, dt=0.02) + 0.05
    assert not plain.diagnose().fits
    assert sde.diagnose().fits, sde.diagnose()
    assert "e^ℓ dW" in sde.summary()


def test_bands_know_of_a_level_that_nobody_asked_for(volatile):
    x, level, _, plain = volatile
    grid = np.quantile(x, np.linspace(0.05, 0.95, 20))
    (lower, upper), average = plain.diffusion_band(grid), 0.6 * np.sqrt(np.mean(np.exp(2 * level)))
    # of 2500 steps with a memory of 100, twenty-five count or so
    assert np.median(upper - lower) > 3 * 2 * 1.645 * average / np.sqrt(2 * 2500)
    assert np.mean((lower < average) & (average < upper)) > 0.5
    assert plain.volatility_ is None


def test_a_spread_counts_as_far_as_its_levels_are_in_the_record():
    """Mean squares of a record of M levels: their scatter is that of the moments while s is small, and then is not."""
    rng, records = np.random.default_rng(0), 400
    dt, since = np.ones(800), np.append(np.inf, np.ones(799))
    for spread, kept in ((0.4, True), (3.0, False)):
        squares = np.exp(2 * spread * rng.standard_normal((records, 40))).mean(axis=1)  # 40 levels of 20 steps
        claimed = 2 * spread**2 + np.log(np.expm1(4 * spread**2) / 40) / 2  # ln of their standard deviation
        assert (np.log(squares.std()) > claimed - 0.7) == kept
        counted = within_record(spread, 10.0, dt, since)
        assert counted == spread if kept else counted < 1.5
    assert 0.5 < within_record(3.0, 400.0, dt, since) < 0.7  # a change, and not a level: as of two


def test_estimates_stay_where_a_level_may_stand_for_noise_that_depends_on_the_state(monkeypatch):
    x = np.exp(np.cumsum(0.05 * np.random.default_rng(1).standard_normal(600)))
    monkeypatch.setattr("onepath.inference.fit.is_clustered", lambda _: False)
    plain = SDE(equations="off", progress=False).fit(x, dt=0.01)
    monkeypatch.setattr("onepath.inference.fit.is_clustered", lambda _: True)
    monkeypatch.setattr("onepath.inference.fit.guessed", lambda steps, _: Guessed(Volatility(0.3, 0.2), steps, 0.999))
    sde = SDE(progress=False).fit(x, dt=0.01)
    (lower, upper), (least, most) = sde.diffusion_band(x), plain.diffusion_band(x)
    assert np.all(upper - lower > most - least)
    assert np.all((lower <= sde.diffusion(x)) & (sde.diffusion(x) <= upper))
    np.testing.assert_allclose(sde.diffusion(x), plain.diffusion(x), rtol=0.05)
    assert sde.constant_noise_ == plain.constant_noise_


def test_forecasts_and_files_keep_the_level(volatile, tmp_path):
    x, _, sde, _ = volatile
    back = load(sde.save(tmp_path / "level.onepath"))
    np.testing.assert_array_equal(back.volatility_.level, sde.volatility_.level)
    assert back.score(x, dt=0.02) == sde.score(x, dt=0.02)
    ahead = sde.forecast(1, paths=4000, random_state=0, uncertain=False).x[:, 1, 0]
    spread = sde.diffusion([x[-1]])[0] * np.sqrt(0.02) * sde.volatility_.level[-1]
    assert np.std(ahead) == pytest.approx(spread, rel=0.15)
    drawn = sde.plot("level").axes[0].lines[0]
    np.testing.assert_array_equal(drawn.get_ydata(), sde.volatility_.level)


def test_a_level_that_stays_is_left_as_it_is():
    x, _ = clustered(n=1500, memory=0.0, seed=4)
    plain, sde = SDE().fit(x, dt=0.02), SDE(volatility="learn").fit(x, dt=0.02)
    assert sde.volatility_.spread.value == 0.0
    np.testing.assert_array_equal(sde.diffusion([0.0, 0.3]), plain.diffusion([0.0, 0.3]))
    np.testing.assert_array_equal(sde.diffusion_band([0.0, 0.3]), plain.diffusion_band([0.0, 0.3]))
