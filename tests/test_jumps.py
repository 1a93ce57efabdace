"""Jumps: the mixture's likelihood and its cdf against brute force, and what is learned of jumps that are known."""

import io
import json
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

from onepath import SDE, load
from onepath.cli import app
from onepath.inference.disturbance.disturbance import Future, Steps
from onepath.inference.disturbance.far import guessed_jumps
from onepath.inference.disturbance.jumps import Jumps, beyond, none_found

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import disturbed

TWO = Jumps(
    rates=np.array([0.5, 0.2]),
    means=np.array([[2.0, -1.0], [-3.0, 0.5]]),
    covariances=np.array([[[1.0, 0.3], [0.3, 0.5]], [[0.2, 0.0], [0.0, 0.8]]]),
)


def some_steps(n=200, d=2, seed=0):
    """Increments, covariances, durations and weights of all kinds."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, d, d))
    covariance = root @ np.swapaxes(root, 1, 2) + 0.1 * np.eye(d)
    return Steps(
        3.0 * rng.standard_normal((n, d)), covariance, rng.uniform(0.1, 2.0, n), np.full(n, 0.5), rng.uniform(0.5, 2, n)
    )


def mixture(jumps, steps, i):
    """Shares and normal laws of one step, written out with SciPy."""
    total = jumps.rates.sum()
    chance = 1 - np.exp(-total * steps.dt[i])
    shares = [1 - chance, *(chance * jumps.rates / total)]
    laws = [stats.multivariate_normal(np.zeros(steps.dimension), steps.covariance[i])]
    unit = np.eye(steps.dimension)
    if jumps.step is not None:
        unit = np.linalg.cholesky(steps.covariance[i] * jumps.step / steps.dt[i])
    for mean, size in zip(jumps.means, jumps.covariances, strict=True):
        laws.append(stats.multivariate_normal(unit @ mean, steps.covariance[i] + unit @ size @ unit.T))
    return shares, laws


UNITS = pytest.mark.parametrize("jumps", [TWO, replace(TWO, step=0.7)], ids=["data's units", "the noise's units"])


@UNITS
def test_density_is_the_mixtures(jumps):
    steps = some_steps()
    slow = []
    for i, rest in enumerate(steps.rest):
        shares, laws = mixture(jumps, steps, i)
        slow.append(np.log(sum(share * law.pdf(rest) for share, law in zip(shares, laws, strict=True))))
    np.testing.assert_allclose(jumps.log_density(steps), slow, rtol=1e-10)


@UNITS
def test_normal_numbers_are_those_of_the_mixtures_distribution(jumps):
    """The first from its own distribution, the second from that given the first, by SciPy and by integration."""
    steps = some_steps(n=20, seed=1)
    z = jumps.normal(steps)
    for i, (first, second) in enumerate(steps.rest):
        shares, laws = mixture(jumps, steps, i)
        below = sum(
            share * stats.norm.cdf(first, law.mean[0], np.sqrt(law.cov[0, 0]))
            for share, law in zip(shares, laws, strict=True)
        )
        assert z[i, 0] == pytest.approx(stats.norm.ppf(below), abs=1e-9)
        side = np.sign(z[i, 1])  # far out, the probability beyond is what can be told
        far = max(side * law.mean[1] + 15 * np.sqrt(law.cov[1, 1]) for law in laws)
        grid = np.linspace(second, side * max(far, side * second + 1.0), 200_001)
        density = sum(
            share * law.pdf(np.column_stack([np.full_like(grid, first), grid]))
            for share, law in zip(shares, laws, strict=True)
        )
        marginal = sum(
            share * stats.norm.pdf(first, law.mean[0], np.sqrt(law.cov[0, 0]))
            for share, law in zip(shares, laws, strict=True)
        )
        assert z[i, 1] == pytest.approx(side * stats.norm.isf(side * np.trapezoid(density, grid) / marginal), abs=1e-5)


def test_normal_numbers_do_not_overflow_far_out():
    steps = Steps(np.array([[60.0], [-60.0]]), np.ones((2, 1, 1)), np.ones(2), np.ones(2), np.ones(2))
    z = Jumps(np.array([1e-3]), np.zeros((1, 1)), np.full((1, 1, 1), 25.0)).normal(steps)
    assert np.all(np.isfinite(z))
    np.testing.assert_allclose(z[0], -z[1])
    assert 11 < z[0, 0] < 13  # 60 / √26 at a share of 1e-3


def test_learning_makes_jumps_most_likely():
    """No nearby rate, mean or size is likelier, at unequal steps and weights."""
    rng, n = np.random.default_rng(2), 3000
    steps = some_steps(n, 1, 3)
    jumped = rng.random(n) < 1 - np.exp(-0.05 * steps.dt)
    noise = np.sqrt(steps.covariance[:, :, 0]) * rng.standard_normal((n, 1))
    steps = steps._replace(rest=noise + np.where(jumped, rng.normal(7, 2, n), 0.0)[:, None])
    start = Jumps(np.array([0.02]), np.array([[4.0]]), np.array([[[9.0]]]))
    found = start.learned(steps)

    def likelihood(jumps):
        return float(steps.weight @ jumps.log_density(steps))

    best = likelihood(found)
    for name in ("rates", "means", "covariances"):
        for factor in (0.95, 1.05):
            assert likelihood(replace(found, **{name: getattr(found, name) * factor})) < best + 1e-2
    assert found.rates[0] == pytest.approx(0.05, rel=0.25)
    assert found.means[0, 0] == pytest.approx(7.0, abs=1.0)


def test_what_is_no_larger_than_noise_is_no_jump():
    """A kind's mean stays clear of the noise, along its own direction, and all else of its sizes is as it was."""
    rng = np.random.default_rng(6)
    root = rng.standard_normal((2, 2))
    noise, mean = root @ root.T, root @ np.array([4.0, 3.0])  # five deviations of the noise
    for spread, kept in ((1.5, True), (2.5, False)):
        size = spread**2 * np.outer(mean, mean) / 25.0 + 0.01 * noise
        found, left = beyond(noise, mean, size)
        np.testing.assert_allclose(found, mean)
        if kept:
            np.testing.assert_array_equal(left, size)
            continue
        white = np.linalg.solve(root, np.linalg.solve(root, left).T)
        along = np.array([4.0, 3.0]) / 5.0
        assert np.sqrt(along @ white @ along) == pytest.approx(2.0)
        assert (across := np.array([-3.0, 4.0]) / 5.0) @ white @ across == pytest.approx(0.01)
    found, left = beyond(noise, 0.1 * mean, 0.0001 * noise)
    np.testing.assert_allclose(np.linalg.solve(root, found), 3.01 * np.array([4.0, 3.0]) / 5.0)
    np.testing.assert_allclose(left, 0.0001 * noise)


@pytest.mark.parametrize("scaled", [True, False])
def test_sizes_may_grow_with_the_noise(scaled):
    """Up and down by 4 to 10 deviations of the noise where they happen, or of the noise on average."""
    rng, n = np.random.default_rng(4), 4000
    noise = np.exp(0.5 * rng.standard_normal(n))
    jumped = rng.random(n) < 0.02
    size = np.where(jumped, rng.uniform(4, 10, n) * rng.choice([-1, 1], n), 0.0) * (noise if scaled else 1.5)
    rest = noise * rng.standard_normal(n) + size
    steps = Steps(rest[:, None], np.square(noise)[:, None, None], np.full(n, 0.1), np.full(n, 0.1), np.ones(n))
    found = guessed_jumps(steps)
    assert (found.step is not None) == scaled
    assert found.rates.sum() * 0.1 == pytest.approx(jumped.mean(), rel=0.15)
    np.testing.assert_allclose(np.sort(found.means.ravel()) / (1.0 if scaled else 1.5), [-7.0, 7.0], atol=1.0)
    drawn = found.drawn(rng, Future(200, 50, 0.1, False))
    sizes = drawn.shift if scaled else drawn.jumps
    assert (drawn.jumps is None) == scaled
    assert np.sqrt(np.mean(np.square(sizes[sizes != 0]))) == pytest.approx(7.2 * (1.0 if scaled else 1.5), rel=0.1)


def jumping(n=2500, rate=1.0, dt=0.02, seed=0):
    """dX = -2 X dt + (.5 + .2 X²)^½ dW, and jumps up of .8 ± .1, with ten substeps: x, which steps jumped."""
    rng = np.random.default_rng(seed)
    x, jumped, state = np.zeros(n + 1), rng.random(n) < 1 - np.exp(-rate * dt), 0.0
    noise = rng.standard_normal((n, 10)) * np.sqrt(dt / 10)
    for k in range(n):
        for each in noise[k]:
            state += -2.0 * state * dt / 10 + np.sqrt(0.5 + 0.2 * state**2) * each
        state += jumped[k] * rng.normal(0.8, 0.1)
        x[k + 1] = state
    return x, jumped


@pytest.fixture(scope="module")
def jumped():
    x, steps = jumping()
    return x, steps, SDE(jumps=True).fit(x, dt=0.02)


def test_jumps_are_found_and_leave_drift_and_diffusion_free(jumped):
    x, steps, sde = jumped
    found, grid = sde.jumps_, np.linspace(-0.5, 1.0, 20)
    true = np.sqrt(0.5 + 0.2 * grid**2)
    assert found.rate.lower < steps.sum() / 50.0 < found.rate.upper
    assert found.rate.value == pytest.approx(steps.sum() / 50.0, rel=0.1)
    assert found.mean[0].lower < 0.8 < found.mean[0].upper
    assert np.mean(found.probability[steps] > 0.5) > 0.95
    assert found.steps.tolist() == np.flatnonzero(found.probability > 0.5).tolist()
    plain = SDE().fit(x, dt=0.02)
    errors = [np.sqrt(np.mean(np.square(model.diffusion(grid) - true))) for model in (sde, plain)]
    assert errors[0] < 0.05 < 0.2 < errors[1]  # a deviation of .01 is what 2500 steps leave of one number
    assert sde.score(x, dt=0.02) > plain.score(x, dt=0.02) + 0.05
    assert "jumps" in plain.diagnose().faults
    assert sde.diagnose().fits, sde.diagnose()


def test_simulations_jump(jumped):
    """Over many steps, as often and as far as it says; also where steps are of another length."""
    _, _, sde = jumped
    x = sde.simulate(0.0, 40, dt=0.04, paths=500, random_state=0).x[:, :, 0]
    far = np.diff(x, axis=1) > 0.55
    still = SDE.from_model(replace(sde.model_, disturbance=none_found(1)), sde.get_params())
    quiet = np.diff(still.simulate(0.0, 40, dt=0.04, paths=500, random_state=0).x[:, :, 0], axis=1) > 0.55
    share = 1 - np.exp(-sde.jumps_.rate.value * 0.04)
    assert far.mean() - quiet.mean() == pytest.approx(share, rel=0.2)


def test_a_path_without_jumps_is_left_as_it_is():
    x, _ = jumping(n=1500, rate=0.0, seed=1)
    plain, sde = SDE().fit(x, dt=0.02), SDE(jumps=True).fit(x, dt=0.02)
    grid = np.linspace(-0.5, 0.5, 9)
    assert sde.jumps_.rate.value == sde.jumps_.rate.lower == 0.0
    assert 0 < sde.jumps_.rate.upper < 0.5
    np.testing.assert_array_equal(sde.diffusion(grid), plain.diffusion(grid))
    np.testing.assert_array_equal(sde.simulate(0.0, 5, random_state=1).x[:, 0], 0.0)


@pytest.mark.slow
def test_a_plain_fit_that_took_jumps_for_structure_does_not_outbid_them():
    """Eleven jumps that made σ(x) wiggle: the plain fit's likelihood was the larger one, its evidence 210 lower."""
    path = disturbed.paths_of("jumps", "cir", 102)[0.002]
    sde, plain = path.fit(jumps=True), path.fit(equations="off")
    found = sde.jumps_
    assert found.rate.lower < np.count_nonzero(path.jumps) / (len(path.jumps) * path.process.dt) < found.rate.upper
    assert path.judged(sde)["diffusion"] < 0.5 * path.judged(plain)["diffusion"]


@pytest.mark.slow
def test_units_change_nothing_but_units(jumped):
    x, _, sde = jumped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = SDE(jumps=True).fit(1e3 * x + 5.0, dt=2.0)
    assert other.jumps_.rate.value == pytest.approx(sde.jumps_.rate.value / 100, rel=1e-3)
    assert other.jumps_.mean[0].value == pytest.approx(1e3 * sde.jumps_.mean[0].value, rel=1e-3)


def test_jumps_travel_with_a_model_file(jumped, tmp_path):
    x, _, sde = jumped
    back = load(sde.save(tmp_path / "jumps.onepath"))
    assert back.jumps_.rate == sde.jumps_.rate
    np.testing.assert_array_equal(back.jumps_.probability, sde.jumps_.probability)
    assert back.score(x, dt=0.02) == sde.score(x, dt=0.02)
    np.testing.assert_array_equal(*(m.forecast(5, paths=9, random_state=0).x for m in (back, sde)))


@pytest.mark.slow
def test_in_two_dimensions_both_coordinates_jump_at_once():
    rng, n, dt = np.random.default_rng(5), 1500, 0.05
    x, jumped = np.zeros((n + 1, 2)), rng.random(n) < 0.03
    for k in range(n):
        state = x[k]
        for noise in rng.standard_normal((10, 2)):
            state = state - state * dt / 10 + np.array([0.4, 0.8]) * np.sqrt(dt / 10) * noise
        x[k + 1] = state + jumped[k] * rng.multivariate_normal([1.0, -1.5], [[0.05, 0.0], [0.0, 0.05]])
    sde = SDE(jumps=True, noise="diagonal").fit(x, dt=dt)
    assert sde.jumps_.rate.value == pytest.approx(jumped.sum() / n / dt, rel=0.1)
    np.testing.assert_allclose([each.value for each in sde.jumps_.mean], [1.0, -1.5], atol=0.15)
    np.testing.assert_allclose(np.diagonal(sde.diffusion([[0.0, 0.0]])[0]), [0.4, 0.8], rtol=0.06)
    assert np.mean(sde.jumps_.probability[jumped] > 0.5) > 0.95
    assert "jumps" not in sde.diagnose().faults


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jumps": "yes"}, "give True"),
        ({"jumps": True, "tails": "learn"}, "cannot be learned together"),
        ({"tails": "heavy"}, "give 'learn'"),
        ({"tails": 0.5}, "from 1 on"),
        ({"tails": True}, "give 'learn'"),
    ],
)
def test_what_means_nothing_is_refused(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        SDE(**options).fit(np.zeros(3), dt=1.0)


def test_the_command_learns_jumps_and_says_so(tmp_path):
    x, steps = jumping(n=800, rate=1.5, seed=7)
    pd.DataFrame({"t_s": 0.02 * np.arange(len(x)), "height": x}).to_csv(tmp_path / "series.csv", index=False)
    written = ("--model", tmp_path / "m.onepath", "--report", tmp_path / "r.html")
    words = [str(word) for word in ("fit", tmp_path / "series.csv", "--learn", "none", "--jumps", *written, "--json")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)["jumps"]
    assert found["rate"]["lower"] < steps.sum() / 16 < found["rate"]["upper"]
    assert set(found["steps"]) <= set(range(800))
    assert len(found["steps"]) == len(found["times"]) == len(found["probability"])
    said = CliRunner().invoke(app, ["info", str(tmp_path / "m.onepath")]).stdout
    assert "dW + jumps" in said
    assert "steps probably jumped" in said
    page = (tmp_path / "r.html").read_text()
    assert "dW + jumps" in page
    assert "steps probably jumped" in page
    assert "after a jump" in page
    assert page.count("jumpₙ") == 1
    assert ">jumpₙ</text>" in load(tmp_path / "m.onepath").draw()
    refused = CliRunner().invoke(app, [*words[:5], "--tails", "learn"])
    assert refused.exit_code != 0
    assert "cannot be learned together" in refused.stderr
    table = pd.read_csv(io.StringIO(CliRunner().invoke(app, ["states", str(tmp_path / "m.onepath")]).stdout))
    assert list(table) == ["t", "probability"]
    assert np.flatnonzero(table["probability"] > 0.5).tolist() == found["steps"]
