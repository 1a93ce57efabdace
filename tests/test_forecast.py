"""Simulation and forecasts against closed forms, the posterior's own predictive law, and the truth."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from tinygp import kernels

from onepath import SDE
from onepath.after.forecast import EXPLODED, walk
from onepath.compare.metrics import crps
from onepath.compare.processes import PROCESSES
from onepath.gp.jets import Jet
from onepath.graph.laws import EULER
from onepath.inference.posterior.increments import MANY

LINEAR = {"drift": kernels.DotProduct() + kernels.Constant(1.0), "diffusion": kernels.Constant(1.0)}  # quick to compile
EVERYWHERE = (np.zeros(1), np.full(1, np.inf), np.array([[-np.inf], [np.inf]]))


@pytest.fixture(scope="module")
def x():
    return PROCESSES["double_well"].simulate(500, random_state=3)[0]


@pytest.fixture(scope="module")
def fitted(x):
    return SDE(transition="euler", progress=False).fit(x, dt=0.01)


@pytest.fixture(scope="module")
def plain(x):
    """The same with parameters that are not learned: one member, which is quick."""
    return SDE(learn=None, transition="euler").fit(x, dt=0.01)


@pytest.fixture(scope="module")
def growing():
    """A fit of a path that grows without bound."""
    return SDE(**LINEAR, learn=None, transition="euler").fit(
        np.exp(np.linspace(0, 5, 301)) + np.sin(np.arange(301)), dt=0.01
    )


def end_points(drift, diffusion, start, time, steps, paths=1 << 16, seed=0):
    """Where paths of known functions are in the end, under Euler's law."""
    dt = jnp.asarray(time / steps)

    def law(u):
        return jax.vmap(lambda v: EULER.gaussian(Jet(drift(v)), Jet(jnp.diag(diffusion(v))), dt))(u)

    normals = np.random.default_rng(seed).standard_normal((steps, paths, 1))
    begin = np.full((paths, 1), start)
    return np.asarray(jax.jit(lambda *path: walk(law, *path, EVERYWHERE)[-1])(steps, begin, normals))[:, 0]


def within_monte_carlo(values, mean, variance):
    """Mean and variance of a sample agree with these within four standard errors."""
    n, kurtosis = len(values), stats.kurtosis(values, fisher=False)
    assert abs(values.mean() - mean) < 4 * np.sqrt(variance / n)
    assert abs(values.var() - variance) < 4 * variance * np.sqrt((kurtosis - 1) / n)


@pytest.mark.usefixtures("double")
def test_weak_order_of_convergence_is_eulers(table):
    exact = (1 - np.exp(-2.0)) / 2  # variance of dX = -X dt + dW at time 1, from a fixed start
    counts = np.array([4, 8, 16])
    values = [end_points(lambda u: -u, jnp.ones_like, 0.3, 1.0, steps, 1 << 18).var() for steps in counts]
    errors = np.abs(np.array(values) - exact)
    order = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    table(f"weak error of Var X at 4, 8, 16 steps: {errors.round(4)}, order {order:.2f}")
    assert 0.9 < order < 1.25


@pytest.mark.usefixtures("double")
def test_moments_of_an_ornstein_uhlenbeck_process():
    values = end_points(lambda u: -2 * u, lambda u: jnp.full_like(u, 0.7), 1.5, 0.8, 800)
    within_monte_carlo(values, 1.5 * np.exp(-1.6), 0.49 / 4 * (1 - np.exp(-3.2)))


@pytest.mark.usefixtures("double")
def test_moments_of_a_square_root_process():
    values = end_points(lambda u: 2 * (1 - u), lambda u: 0.5 * jnp.sqrt(jnp.maximum(u, 0.0)), 2.0, 0.7, 700)
    decay = np.exp(-1.4)
    within_monte_carlo(values, 1 + decay, 0.25 / 2 * (2 * (decay - decay**2) + (1 - decay) ** 2 / 2))


def test_one_step_with_the_mean_is_the_mean_increment(plain):
    start, paths = np.array([0.4]), 4000
    mean, covariance = plain.model_.increments(start[None], 0.01)
    moved = plain.simulate(start, 1, paths=paths, random_state=0, uncertain=False).x[:, 1, 0] - start
    within_monte_carlo(moved, mean[0, 0], covariance[0, 0, 0])
    np.testing.assert_allclose(mean[0, 0], plain.drift(start)[0] * 0.01, rtol=1e-6)
    median, _ = plain.diffusion_band(start, level=1e-9)  # the link of the mean
    np.testing.assert_allclose(covariance[0, 0, 0], median[0] ** 2 * 0.01 + plain.noise_[0], rtol=1e-6)


def test_many_increments_are_those_of_few(plain):
    x = np.random.default_rng(0).uniform(-2.0, 2.0, (MANY + 1, 1))
    together, apart = (plain.model_.increments(points, 0.01) for points in (x, x[:200]))
    for many, few in zip(together, apart, strict=True):
        np.testing.assert_allclose(many[:200], few, rtol=1e-5, atol=1e-5 * np.abs(few).max())


@pytest.mark.usefixtures("double")
def test_steps_with_uncertainty_have_the_predictive_spread(fitted):
    """From the edge of the data, over a long step, the drift's uncertainty is a large part of the whole."""
    start, dt, paths = fitted.transitions_.x.max(axis=0), 0.3, 4000
    moved = fitted.simulate(start, 1, dt=dt, paths=paths, random_state=1).x[:, 1, 0] - start
    u = (start[None] - fitted.units_.location) / fitted.units_.scale
    normals = np.random.default_rng(0).standard_normal((4000, 2))
    mean, covariance = fitted.posterior_.predictive(u, np.array([dt / fitted.units_.time]), normals)
    scale = fitted.units_.scale[0]
    assert abs(moved.mean() - mean[0, 0] * scale) < 0.1 * moved.std()
    np.testing.assert_allclose(moved.std(), np.sqrt(covariance[0, 0, 0]) * scale, rtol=0.05)
    sure = fitted.simulate(start, 1, dt=dt, paths=paths, random_state=1, uncertain=False).x[:, 1, 0]
    assert sure.std() < 0.9 * moved.std()


def test_shorter_steps_reach_the_same_law(plain):
    coarse = plain.forecast(8, dt=0.02, paths=4000, random_state=0, uncertain=False).x[:, -1, 0]
    fine = plain.forecast(128, dt=0.00125, paths=4000, random_state=1, uncertain=False).x[:, -1, 0]
    # both are averages over 4000 paths: four standard errors of a difference of means, and of a ratio of variances
    assert abs(coarse.mean() - fine.mean()) < 4 * fine.std() * np.sqrt(2 / 4000)
    assert abs(coarse.var() / fine.var() - 1) < 4 * np.sqrt(2 * 2 / 4000)


def test_paths_are_reproducible_and_as_long_as_asked(fitted, x):
    one, other = (fitted.forecast(130, paths=70, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(one.x, other.x)
    assert one.x.shape == (70, 131, 1)
    assert one.outside.shape == one.exploded.shape == (70,)
    np.testing.assert_array_equal(one.x[:, 0, 0], x[-1, 0])
    np.testing.assert_allclose(one.t, 5.0 + 0.01 * np.arange(131))
    assert not one.exploded.any()
    low, high = x.min(), x.max()
    np.testing.assert_allclose(one.outside, np.mean((one.x[:, 1:, 0] < low) | (one.x[:, 1:, 0] > high), axis=1))
    fan = one.quantiles([0.05, 0.5, 0.95])
    assert fan.shape == (3, 131, 1)
    assert np.all(np.diff(fan, axis=0) >= 0)


def test_forecasts_cover_what_happens(fitted, x, table):
    truth = PROCESSES["double_well"].simulate(100, paths=400, start=x[-1], random_state=9)
    fan = fitted.forecast(100, random_state=0)
    lower, upper = fan.quantiles([0.05, 0.95])[:, :, 0]
    shares = [float(np.mean((truth[:, k, 0] > lower[k]) & (truth[:, k, 0] < upper[k]))) for k in (1, 10, 100)]
    table(f"a 90 % forecast of a double well covers {shares} of true futures at 1, 10, 100 steps")
    assert min(shares) > 0.8
    assert max(shares) < 0.97


def test_exploding_paths_are_stopped_marked_and_counted(growing):
    with pytest.warns(UserWarning, match=r"\d+ of 30 paths went farther than 100 times"):
        paths = growing.forecast(600, paths=30, dt=0.1, random_state=0)
    assert paths.exploded.any()
    width = np.ptp(growing.trajectory_.x)
    for path in paths.x[paths.exploded, :, 0]:
        known = path[np.isfinite(path)]
        assert np.isnan(path[len(known) :]).all()
        assert np.abs(known[:-1]).max() < (EXPLODED + 2) * width
        assert np.abs(known[-1]) > (EXPLODED - 2) * width
    assert np.isfinite(paths.x[~paths.exploded]).all()
    assert np.isfinite(paths.quantiles([0.1, 0.9])).all()


def test_two_dimensions_and_correlated_noise():
    process = PROCESSES["spiral"]
    model = SDE(**LINEAR, noise="full", learn=None, transition="euler").fit(
        process.simulate(500, random_state=0)[0], dt=process.dt
    )
    start = np.array([0.5, -0.5])
    moved = model.simulate(start, 1, paths=4000, random_state=0).x[:, 1] - start
    _, covariance = model.model_.increments(start[None], process.dt)
    np.testing.assert_allclose(np.cov(moved.T), covariance[0], atol=0.1 * covariance[0].max())
    each = np.random.default_rng(0).normal(size=(100, 2))
    paths = model.simulate(each, 130, paths=100).x
    assert paths.shape == (100, 131, 2)
    np.testing.assert_allclose(paths[:, 0], each)
    assert np.isfinite(paths).all()


def test_a_forecast_starts_at_the_last_row_that_was_observed(x):
    rows = np.concatenate([x[:300, 0], [np.nan, np.nan]])
    future = SDE(**LINEAR, learn=None, transition="euler").fit(rows, dt=0.5).forecast(2, paths=3, random_state=0)
    np.testing.assert_array_equal(future.x[:, 0, 0], x[299, 0])
    np.testing.assert_allclose(future.t, [149.5, 150.0, 150.5])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "steps=0 cannot be used"),
        ({"steps": 2.5}, "steps=2.5 cannot be used"),
        ({"paths": True}, "paths=True cannot be used"),
        ({"dt": -1.0}, "dt=-1.0 cannot be used"),
        ({"x0": [1.0, 2.0]}, r"x0 has shape \(2,\)"),
        ({"x0": np.nan}, "x0 must be finite"),
    ],
)
def test_wrong_questions_are_refused(growing, change, message):
    with pytest.raises(ValueError, match=message):
        growing.simulate(**({"x0": 1.0, "steps": 3, "paths": 5} | change))
    with pytest.raises(ValueError, match="between 0 and 1"):
        growing.forecast(2, paths=3).quantiles([5, 95])


def test_crps_of_a_normal_forecast_has_its_closed_form():
    ensemble = np.random.default_rng(0).normal(1.0, 2.0, size=(20_000, 3))
    truth = np.array([-2.0, 1.0, 4.5])
    z = (truth - 1.0) / 2.0
    exact = 2.0 * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi))
    np.testing.assert_allclose(crps(ensemble, truth), exact, atol=0.04)
    small = np.random.default_rng(1).normal(1.0, 2.0, size=(4000, 5, 3))
    np.testing.assert_allclose(np.mean([crps(few, truth) for few in small], axis=0), exact, atol=0.08)


def test_bounds_are_kept_and_reflect():
    """A walk between two walls ends up anywhere between them, and never beyond."""
    rng = np.random.default_rng(0)
    x = np.abs(np.mod(np.cumsum(0.1 * rng.standard_normal(400)) + 1, 4) - 2) / 2  # reflected at 0 and 1
    settings = {"learn": None, "transition": "euler", "progress": False}
    free, held = (SDE(**settings, bounds=bounds).fit(x, dt=0.01) for bounds in (None, (0, 1)))
    loose, kept = (sde.forecast(200, paths=200, random_state=0).x[:, -1, 0] for sde in (free, held))
    assert loose.min() < 0.0 < 1.0 < loose.max()
    assert 0.0 <= kept.min() < 0.1
    assert 0.9 < kept.max() <= 1.0
    np.testing.assert_array_equal(free.drift(x[:5]), held.drift(x[:5]))
    half = SDE(**settings, bounds=(0, np.inf)).fit(x, dt=0.01).forecast(200, paths=200, random_state=0).x
    assert half.min() >= 0.0
    assert half.max() > 1.0


@pytest.mark.parametrize("bounds", [(1, 0), (0, 0.5), 3, [(0, 1), (0, 1)], (np.nan, 1), "0,1"])
def test_bounds_that_cannot_be_are_refused(bounds):
    x = np.random.default_rng(0).uniform(size=50)
    with pytest.raises((ValueError, TypeError)):
        SDE(learn=None, bounds=bounds).fit(x, dt=0.01)


def test_no_path_starts_outside_of_the_bounds():
    x = np.random.default_rng(0).uniform(size=50)
    sde = SDE(learn=None, transition="euler", bounds=(0, 1), progress=False).fit(x, dt=0.01)
    with pytest.raises(ValueError, match="outside of the model's bounds"):
        sde.simulate(2.0, 5)
