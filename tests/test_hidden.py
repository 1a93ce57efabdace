"""Readings of hidden states: the filter against dense Gaussians, and what is learned against known truth."""

import io
import json
import re

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.linalg import expm
from scipy.stats import multivariate_normal
from tinygp import kernels
from typer.testing import CliRunner

from onepath import SDE, load
from onepath.cli import app
from onepath.compare.processes import PROCESSES
from onepath.data.transitions import Units
from onepath.inference.hidden.bands import with_information
from onepath.inference.hidden.blur import blurred
from onepath.inference.hidden.filter import Rows, Setting, filtered, judged, smoothed
from onepath.inference.hidden.learning import Path
from onepath.inference.hidden.observation import filtered_transitions
from onepath.inference.hidden.reading import Reading, Readings
from onepath.inference.hidden.steps import Steps, steps_from
from onepath.numerics.precision import in_double

RATE, SIGMA = 1.3, 0.8


def linear_rows(n=60, dimension=2, read=2, seed=0):
    """A linear system: irregular steps, missing readings, two records, noise that is given and that is learned."""
    rng = np.random.default_rng(seed)
    dt = rng.uniform(0.05, 0.4, n)
    turn = np.array([[-RATE, 0.7, 0.1], [-0.4, -0.9, 0.3], [0.2, -0.1, -0.5]])[:dimension, :dimension]
    flow = np.eye(dimension) + dt[:, None, None] * turn
    root = rng.normal(size=(dimension, dimension))
    covariance = dt[:, None, None] * (root @ root.T)
    near = rng.normal(size=(n, dimension))
    mean = np.einsum("nij,nj->ni", flow - np.eye(dimension), near) + 0.1
    seen = (rng.uniform(size=(n, read)) < 0.8).astype(float)
    begins = np.zeros(n)
    begins[[0, n // 3]] = 1.0
    given = np.tile(np.diag(np.full(read, 0.05)) + 0.02, (n, 1, 1))
    units = rng.uniform(0.5, 2.0, (n, read))
    z = seen * rng.normal(size=(n, read))
    setting = Setting(np.eye(read, dimension), np.full(dimension, 0.3), 2.0 * np.eye(dimension))
    return Rows(near, mean, flow, covariance, begins, z, seen, given, units), setting


def dense(rows, setting, scales):
    """Mean and covariance of all states together, and of all readings, by matrices of everything."""
    n, size = rows.near.shape
    mean, covariance = np.zeros((n, size)), np.zeros((n, size, n, size))
    for k in range(n):
        if rows.begins[k]:
            mean[k], covariance[k, :, k] = setting.mean, setting.covariance
            continue
        flow = rows.flow[k]
        mean[k] = rows.near[k] + rows.mean[k] + flow @ (mean[k - 1] - rows.near[k])
        covariance[k, :, :k] = np.tensordot(flow, covariance[k - 1, :, :k], axes=1)
        covariance[:k, :, k] = np.moveaxis(covariance[k, :, :k], 0, 2)
        covariance[k, :, k] = flow @ covariance[k - 1, :, k - 1] @ flow.T + np.exp(scales[0]) * rows.covariance[k]
    noise = rows.given + np.exp(scales[1:])[None, :, None] * rows.units[:, :, None] * np.eye(rows.z.shape[1])
    sees = np.zeros((n, rows.z.shape[1], n, size))
    sees[np.arange(n), :, np.arange(n)] = setting.seen
    kept = rows.read.ravel() > 0
    sees = sees.reshape(kept.size, n * size)[kept]
    own = np.zeros((n, rows.z.shape[1], n, rows.z.shape[1]))
    own[np.arange(n), :, np.arange(n)] = noise
    own = own.reshape(kept.size, kept.size)[np.ix_(kept, kept)]
    flat = covariance.reshape(n * size, n * size)
    return mean.ravel(), flat, sees, sees @ flat @ sees.T + own, rows.z.ravel()[kept]


@pytest.mark.parametrize(("dimension", "read"), [(1, 1), (2, 2), (3, 2)])
def test_the_filter_and_the_smoother_are_conditional_gaussians(dimension, read):
    rows, setting = linear_rows(dimension=dimension, read=read)
    scales = np.array([0.3, -1.0, -2.0])[: 1 + read]
    mean, covariance, sees, of_readings, z = dense(rows, setting, scales)
    found = in_double(filtered)(scales, rows, setting)
    value = in_double(judged)(scales, rows, setting).value
    assert value == pytest.approx(multivariate_normal(sees @ mean, of_readings).logpdf(z), rel=1e-9)
    gain = np.linalg.solve(of_readings, sees @ covariance).T
    best, left = mean + gain @ (z - sees @ mean), covariance - gain @ sees @ covariance
    smooth, spread = in_double(smoothed)(found, rows)
    np.testing.assert_allclose(smooth.ravel(), best, atol=1e-9)
    blocks = left.reshape(len(rows.z), dimension, len(rows.z), dimension)
    np.testing.assert_allclose(spread, blocks[np.arange(len(rows.z)), :, np.arange(len(rows.z))], atol=1e-9)
    np.testing.assert_allclose(found.state[-1], best[-dimension:], atol=1e-9)


def test_slopes_of_the_likelihood_are_those_of_differences():
    rows, setting = linear_rows(dimension=3, read=2)
    scales, step = np.array([0.3, -1.0, -2.0]), 1e-5
    slope = in_double(judged)(scales, rows, setting).slope
    for k, direction in enumerate(step * np.eye(3)):
        ends = [in_double(judged)(scales + sign * direction, rows, setting).value for sign in (-1, 1)]
        assert slope[k] == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-6)


def test_in_a_steady_filter_increments_are_what_the_state_is_moved_by():
    n, one = 400, np.ones((400, 1, 1))
    z = np.random.default_rng(0).normal(size=(n, 1))
    begins = np.eye(1, n)[0]
    rows = Rows(np.zeros((n, 1)), np.zeros((n, 1)), one, one, begins, z, np.ones((n, 1)), 0.5 * one, np.zeros((n, 1)))
    setting, scales = Setting(np.eye(1), np.zeros(1), np.eye(1)), np.zeros(2)
    found = in_double(filtered)(scales, rows, setting)
    readings = Readings(z, np.ones((n, 1)), begins, np.ones(n), 0.5 * one, np.zeros((n, 1)), Reading(0.7))
    made = filtered_transitions(readings, Path(rows, setting, scales, found, 1, None))
    np.testing.assert_allclose(made.y[200:], np.diff(found.state, axis=0)[200:], rtol=1e-9)


def ornstein_uhlenbeck(n, dt, seed, mean=0.0):
    """Exact transitions of dX = -RATE X dt + SIGMA dW; dt may be one for each step."""
    rng, dt = np.random.default_rng(seed), np.broadcast_to(dt, n)
    left = np.exp(-RATE * dt)
    size = SIGMA * np.sqrt((1 - left**2) / (2 * RATE))
    x = np.zeros(n + 1)
    for k in range(n):
        x[k + 1] = left[k] * x[k] + size[k] * rng.standard_normal()
    return x + mean


@pytest.fixture(scope="module")
def noisy():
    """Readings with noise as large as an increment, and a fit to them."""
    x = ornstein_uhlenbeck(3000, 0.02, seed=1)
    size = float(np.sqrt(np.mean(np.diff(x) ** 2)))
    z = x + size * np.random.default_rng(2).standard_normal(len(x))
    return x, z, size, SDE(measurement="learn", progress=False).fit(z, dt=0.02)


def test_noise_and_diffusion_are_told_apart(noisy):
    _, z, size, sde = noisy
    raw = SDE(progress=False).fit(z, dt=0.02)
    assert raw.diffusion([0.0])[0] > 1.5 * SIGMA
    assert sde.diffusion([0.0])[0] == pytest.approx(SIGMA, rel=0.08)
    deviation, lower, upper = (float(part[0]) for part in sde.measurement_)
    assert deviation == pytest.approx(size, rel=0.05)
    assert lower < size < upper
    assert "measurement noise" in raw.diagnose().faults
    assert sde.diagnose().fits
    assert sde.score(z[:1000], dt=0.02) > raw.score(z[:1000], dt=0.02) + 0.02
    assert sde.evidence_ > raw.evidence_ + 20


@in_double
def test_what_is_known_of_the_level_of_noise_is_said_by_draws(noisy):
    """Draws of σ² vary in their mean as was asked; drifts vary as they did, but for what they share with that level."""
    model = noisy[3].model_
    posterior, u = model.posterior.most_probable, np.linspace(-2.0, 2.0, 40)[:, None]
    rng, first = np.random.default_rng(0), posterior.graph.drifts
    normals, none = rng.standard_normal((4000, posterior.members.lower.shape[1])), np.zeros((4000, first + 1, 40))

    def levels(posterior):
        latent = posterior.draws(u, np.zeros(4000, int), normals, none)[:, :, first:]
        return np.log(np.mean(np.square(posterior.graph.entries(jnp.asarray(latent))), axis=(1, 2)))

    for level in (1e-4, 4e-4):
        told = with_information(posterior, u, 0.5, level)
        assert np.var(levels(told)) == pytest.approx(level, rel=0.1)
        moments = [each.moments(u) for each in (posterior, told)]
        np.testing.assert_array_equal(moments[1][0], moments[0][0])
        np.testing.assert_allclose(moments[1][1][:, 0, 0], moments[0][1][:, 0, 0], rtol=0.05)


def test_hidden_states_are_nearer_than_readings_and_within_their_bands(noisy):
    x, _, size, sde = noisy
    state = sde.state_
    off = [float(np.sqrt(np.mean((part[:, 0] - x) ** 2))) for part in (state.filtered, state.smoothed)]
    assert off[1] < off[0] < 0.9 * size
    lower, upper = state.band(0.9)
    assert np.mean((lower[:, 0] < x) & (x < upper[:, 0])) == pytest.approx(0.9, abs=0.03)
    table = state.frame()
    assert list(table.columns) == ["x", "x_lower", "x_upper", "x_filtered"]
    assert len(table) == len(x)


def test_forecasts_start_from_what_is_known_of_the_state(noisy):
    *_, size, sde = noisy
    of_states, of_readings = (sde.forecast(2, paths=4000, random_state=0, readings=each) for each in (False, True))
    known = float(sde.state_.filtered_deviation[-1, 0])
    assert of_states.x[:, 0].std() == pytest.approx(known, rel=0.05)
    assert of_readings.x[:, 0].std() == pytest.approx(np.hypot(known, size), rel=0.08)


def test_the_graph_is_drawn_with_what_is_read(noisy):
    drawn, plain = noisy[-1].draw(), noisy[-1].graph_.draw()
    assert "Zₙ" in drawn
    assert "Zₙ" not in plain
    assert drawn.count("<rect") == plain.count("<rect") + 2


def test_the_command_reads_errors_from_a_column(noisy, tmp_path):
    """The same answer as from arrays, said in JSON, in the summary and in the report."""
    _, z, size, _ = noisy
    table = tmp_path / "readings.csv"
    frame = pd.DataFrame({"t": 0.02 * np.arange(500), "x": z[:500], "sd": np.full(500, size)})
    frame.to_csv(table, index=False)
    found = CliRunner().invoke(app, ["fit", str(table), "--error", "sd", "--json"])
    assert found.exit_code == 0, found.output
    facts = json.loads(found.stdout)
    assert facts["readings"]["noise"] == pytest.approx([size], rel=1e-6)
    direct = SDE(progress=False, random_state=0).fit(z[:500], t=frame["t"].to_numpy(), error=frame["sd"].to_numpy())
    assert facts["log_evidence"] == pytest.approx(direct.evidence_, rel=1e-6)
    page = direct.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Readings have the errors that came with them." in page
    assert "Readings, and the state that was hidden" in page
    assert "Zₙ" in page
    refused = CliRunner().invoke(app, ["fit", str(table), "--error", "sd", "--value", "sd"])
    assert "a column is one of them" in refused.output


def test_a_model_file_keeps_readings(noisy, tmp_path):
    """And the command writes from it the path that was hidden, and what will be read."""
    sde = noisy[-1]
    again = load(sde.save(tmp_path / "noisy.onepath"))
    path = CliRunner().invoke(app, ["states", str(tmp_path / "noisy.onepath")])
    assert path.exit_code == 0, path.stderr
    table = pd.read_csv(io.StringIO(path.stdout))
    assert list(table) == ["t", "x", "x_lower", "x_upper", "x_filtered"]
    np.testing.assert_allclose(table["x"], sde.state_.smoothed[:, 0])
    words = ["forecast", str(tmp_path / "noisy.onepath"), "--steps", "2", "--paths", "500", "--json", "--seed", "0"]
    spread = []
    for more in ([], ["--readings"]):
        fan = json.loads(CliRunner().invoke(app, [*words, *more]).stdout)
        spread.append(fan["quantiles"][-1][0][0] - fan["quantiles"][0][0][0])
    assert spread[1] > 1.2 * spread[0]
    np.testing.assert_array_equal(again.state_.smoothed, sde.state_.smoothed)
    np.testing.assert_array_equal(again.measurement_, sde.measurement_)
    assert again.get_params()["measurement"] == "learn"


class Falls:
    """A law whose noise falls to next to nothing at zero, in one dimension or, with a velocity, two."""

    def __init__(self, d):
        self.units = Units(np.zeros(d), np.ones(d), 1.0)

    def increments(self, x, dt):
        d, size = x.shape[1], np.where(x[:, -1] < 0, 1.0, 1e-4)
        shared = 0.9 * np.ones((d, d)) + 0.1 * np.eye(d)
        return np.zeros(x.shape), np.broadcast_to(dt, len(x))[:, None, None] * size[:, None, None] ** 2 * shared


@pytest.mark.parametrize(("d", "dt"), [(1, [0.1]), (1, [0.05, 0.1]), (2, [0.1])], ids=["line", "durations", "plane"])
def test_variances_between_the_nodes_of_a_table_are_variances(d, dt):
    rng = np.random.default_rng(0)
    states, law = rng.uniform(-1, 1, (2000, d)), Falls(d)
    steps = steps_from(law, states, np.resize(dt, len(states)))
    assert np.linalg.eigvalsh(steps.covariance).min() > 0.0
    away = np.abs(states[:, -1]) > 0.4  # a spline rings beside a cliff
    expected = law.increments(states, np.resize(dt, len(states)))[1]
    np.testing.assert_allclose(steps.covariance[away], expected[away], rtol=1e-3)


def test_a_filter_that_loses_the_state_is_said_in_words(monkeypatch):
    gone = type("Gone", (), {"state": np.full((400, 1), np.nan), "covariance": np.ones((400, 1, 1))})()
    monkeypatch.setattr("onepath.inference.hidden.learning.filtered", lambda *_: gone)
    with pytest.raises(RuntimeError, match=r"lost the state.*outliers"):
        SDE(measurement="learn", progress=False).fit(ornstein_uhlenbeck(400, 0.01, 0), dt=0.01)


def test_hidden_states_are_the_same_in_other_units(noisy):
    _, z, _, sde = noisy
    other = SDE(measurement="learn", progress=False).fit(1e-3 * z, dt=20.0)
    assert float(other.measurement_.deviation[0]) == pytest.approx(
        1e-3 * float(sde.measurement_.deviation[0]), rel=1e-4
    )
    at = np.linspace(-0.5, 0.5, 5)
    np.testing.assert_allclose(other.diffusion(1e-3 * at), 1e-3 / np.sqrt(1000.0) * sde.diffusion(at), rtol=1e-3)


def test_several_records_in_any_order_with_errors_of_their_own():
    """Irregular steps, two records of different precision, a gap and missing rows: one answer, whatever the order."""
    rng, parts, sizes = np.random.default_rng(5), [], (0.05, 0.2)
    for seed, size in enumerate(sizes):
        dt = rng.uniform(0.01, 0.03, 1500)
        dt[700] = 5.0
        x = ornstein_uhlenbeck(1500, dt, seed)
        z = x + size * rng.standard_normal(len(x))
        z[[100, 400, 401]] = np.nan
        parts.append((z, np.concatenate([[0.0], np.cumsum(dt)]), np.full(len(z), size)))
    found = []
    for order in (parts, parts[::-1]):
        z, t, error = (list(each) for each in zip(*order, strict=True))
        with pytest.warns(UserWarning, match="recording gaps"):
            found.append(SDE(progress=False).fit(z, t=t, error=error))
    assert found[0].diffusion([0.0])[0] == pytest.approx(SIGMA, rel=0.12)
    np.testing.assert_allclose(found[0].diffusion([-0.3, 0.3]), found[1].diffusion([-0.3, 0.3]), rtol=1e-3)
    z, t, error = (list(each) for each in zip(*parts, strict=True))
    with pytest.warns(UserWarning, match="recording gaps"):
        scaled = SDE(measurement="learn", progress=False).fit(z, t=t, error=[0.5 * each for each in error])
    assert float(scaled.measurement_.deviation[0]) == pytest.approx(2.0, rel=0.15)


def test_means_over_an_exposure_have_their_own_moments():
    """Against sums over a fine grid, for a linear equation in one dimension."""
    rate, noise, dt, exposure, force = -3.0, 0.7, 0.1, 0.6, 0.5
    flow, whole = np.exp(rate * dt), noise * np.expm1(2 * rate * dt) / (2 * rate)
    given = Steps(np.array([[force * (flow - 1) / rate]]), np.array([[[flow]]]), np.array([[[whole]]]))
    found = blurred(given, np.array([dt]), exposure)
    s = dt * (1 - exposure + exposure * (np.arange(2000) + 0.5) / 2000)
    first, second = np.meshgrid(s, s)
    covariance = noise * np.exp(rate * np.abs(first - second)) * np.expm1(2 * rate * np.minimum(first, second))
    assert found.mean[0, 1] == pytest.approx(np.mean(force * np.expm1(rate * s) / rate), rel=1e-6)
    assert found.flow[0, 1, 0] == pytest.approx(np.mean(np.exp(rate * s)), rel=1e-6)
    with_end = np.exp(rate * (dt - s)) * noise * np.expm1(2 * rate * s) / (2 * rate)
    assert found.covariance[0, 0, 1] == pytest.approx(np.mean(with_end), rel=1e-4)
    assert found.covariance[0, 1, 1] == pytest.approx(np.mean(covariance) / (2 * rate), rel=1e-3)


@pytest.mark.slow
def test_blur_is_undone_where_the_exposure_is_known_and_where_it_is_learned():
    fine = ornstein_uhlenbeck(20 * 6000, 0.02 / 20, seed=3)[1:]
    z = fine.reshape(-1, 20).mean(axis=1)
    exact, given, learned = (SDE(progress=False, exposure=each).fit(z, dt=0.02) for each in (None, 1.0, "learn"))
    assert exact.diffusion([0.0])[0] < 0.86 * SIGMA
    for sde in (given, learned):
        assert sde.diffusion([0.0])[0] == pytest.approx(SIGMA, rel=0.05)
        assert "blur" not in sde.diagnose().faults
    assert learned.model_.observed.exposure == pytest.approx(1.0, abs=0.1)


@pytest.fixture(scope="module")
def swinging():
    """Positions of a damped spring, read with a tenth of a displacement's error, at exact transitions."""
    stiffness, friction, dt, n = 4.0, 1.0, 0.05, 4000
    turn = np.array([[0.0, 1.0], [-stiffness, -friction]])
    flow = expm(turn * dt)
    still = np.diag([SIGMA**2 / (2 * friction * stiffness), SIGMA**2 / (2 * friction)])
    root = np.linalg.cholesky(still - flow @ still @ flow.T)
    rng, path = np.random.default_rng(0), np.zeros((n, 2))
    for k in range(1, n):
        path[k] = flow @ path[k - 1] + root @ rng.standard_normal(2)
    size = 0.1 * float(np.sqrt(np.mean(np.diff(path[:, 0]) ** 2)))
    z = path[:, 0] + size * rng.standard_normal(n)
    return path, size, SDE(order=2, measurement="learn", progress=False).fit(z, dt=dt)


@pytest.mark.slow
def test_a_hidden_velocity_is_found_with_its_friction_force_and_noise(swinging, tmp_path):
    path, size, sde = swinging
    at = path[::40]
    slopes = np.linalg.lstsq(np.column_stack([at, np.ones(len(at))]), sde.drift(at)[:, 1], rcond=None)[0]
    assert slopes[0] == pytest.approx(-4.0, rel=0.1)
    assert slopes[1] == pytest.approx(-1.0, rel=0.2)
    assert np.mean(sde.diffusion(at)[:, 1, 1]) == pytest.approx(SIGMA, rel=0.05)
    np.testing.assert_allclose(sde.drift(at)[:, 0], at[:, 1], rtol=1e-9, atol=1e-12)
    assert float(sde.measurement_.deviation[0]) == pytest.approx(size, rel=0.06)
    off = sde.state_.smoothed - path
    assert np.std(off[:, 1]) < 0.25 * np.std(path[:, 1])
    lower, upper = sde.state_.band()
    assert np.mean((lower[:, 1] < path[:, 1]) & (path[:, 1] < upper[:, 1])) == pytest.approx(0.9, abs=0.04)
    assert sde.diagnose().fits
    assert list(sde.curves(3).columns)[:4] == ["along", "x", "x_velocity", "drift_x_velocity"]
    assert sde.forecast(3, paths=5, random_state=0).x.shape == (5, 4, 2)
    assert sde.forecast(3, paths=5, random_state=0, readings=True).x.shape == (5, 4, 1)
    again = load(sde.save(tmp_path / "swinging.onepath"))
    np.testing.assert_array_equal(again.state_.smoothed, sde.state_.smoothed)
    np.testing.assert_array_equal(again.drift(at), sde.drift(at))


def test_a_missing_channel_leaves_the_others():
    """A fifth of one channel is missing: neither is its row, nor the noise of either."""
    process = PROCESSES["spiral"]
    x = process.simulate(1500, random_state=1)[0]
    rng, size = np.random.default_rng(0), 0.05
    z = x + size * rng.standard_normal(x.shape)
    z[rng.uniform(size=len(z)) < 0.2, 1] = np.nan
    linear = {"drift": kernels.DotProduct() + kernels.Constant(1.0), "diffusion": kernels.Constant(1.0), "learn": None}
    sde = SDE(measurement="learn", noise="full", progress=False, transition="euler", **linear).fit(z, dt=process.dt)
    assert sde.trajectory_.transitions == 1500
    assert sde.measurement_.deviation == pytest.approx([size, size], rel=0.12)
    sigma, truth = sde.diffusion(x[::30]), process.diffusion(x[::30])
    products = [each @ np.swapaxes(each, 1, 2) for each in (sigma, truth)]
    assert np.linalg.norm(products[0] - products[1]) < 0.25 * np.linalg.norm(products[1])
    off = (sde.state_.smoothed - x)[np.isnan(z[:, 1]), 1]
    assert np.std(off) == pytest.approx(np.mean(sde.state_.smoothed_deviation[np.isnan(z[:, 1]), 1]), rel=0.15)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"measurement": "guess"}, "measurement='guess' cannot be used"),
        ({"measurement": -1.0}, "cannot be used"),
        ({"measurement": (0.1, 0.2)}, "one for each"),
        ({"order": 3}, "order=3 cannot be used"),
        ({"order": 2, "transition": "euler"}, "linearised law and diagonal noise"),
        ({"order": 2, "exposure": 1.0}, "not offered"),
        ({"exposure": 2.0}, "exposure=2.0 cannot be used"),
        ({"measurement": "learn", "exposure": "learn"}, "learn one of them and give the other"),
        ({"measurement": "learn", "periodic": 6.0}, "np.unwrap"),
    ],
)
def test_what_readings_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message):
        SDE(**settings, progress=False).fit(ornstein_uhlenbeck(200, 0.1, 0), dt=0.1)


def test_errors_must_be_those_of_the_values():
    x = ornstein_uhlenbeck(200, 0.1, 0)
    with pytest.raises(ValueError, match=r"error has shape \(3,\)"):
        SDE(progress=False).fit(x, dt=0.1, error=np.ones(3))
    with pytest.raises(ValueError, match="in row 4: a standard error is a number from 0 on"):
        SDE(progress=False).fit(x, dt=0.1, error=np.where(np.arange(201) == 4, -1.0, 1.0))


def test_what_a_step_forgets_is_said_to_be_hardly_known():
    """One reading per relaxation time: noise and diffusion are told apart by little."""
    x = ornstein_uhlenbeck(800, 1.0 / RATE, 0)
    z = x + 0.2 * np.random.default_rng(1).standard_normal(len(x))
    sde = SDE(measurement="learn", progress=False).fit(z, dt=1.0 / RATE)
    assert re.search("hardly (tell|told)", sde.summary())


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_coarse_steps_are_not_all_taken_for_noise(seed):
    """From a random walk, turns led to a state that stands still, or half way there.

    These records are likeliest with less noise than there is, under the true law's form too: bands hold what is true.
    """
    x = ornstein_uhlenbeck(2000, 1.0 / RATE, seed)
    size = 0.5 * np.std(x)
    z = x + size * np.random.default_rng(seed + 9).standard_normal(len(x))
    sde = SDE(measurement="learn", progress=False).fit(z, dt=1.0 / RATE)
    noise, (lower, upper) = sde.measurement_, sde.diffusion_band([0.0])
    assert noise.deviation[0] < 1.5 * size
    assert noise.lower[0] <= size <= noise.upper[0] < 2.0 * size
    assert lower[0] <= SIGMA <= upper[0]


def test_nothing_is_hidden_unless_asked():
    sde = SDE(progress=False).fit(ornstein_uhlenbeck(200, 0.1, 0), dt=0.1)
    assert sde.measurement_ is None
    with pytest.raises(ValueError, match="no state is hidden"):
        _ = sde.state_


def test_a_flow_that_no_linear_equation_has_does_not_end_a_fit():
    """A first fit to blurred readings may have slopes that throw a state to the other side of where it was."""
    flow = np.array([[[-3.5]], [[0.9]]])
    made = in_double(blurred)(Steps(np.zeros((2, 1)), flow, np.full((2, 1, 1), 0.02)), np.full(2, 0.02), 1.0)
    assert all(np.all(np.isfinite(part)) for part in made)
    np.testing.assert_allclose(made.flow[1, 0, 0], 0.9)
    assert np.all(np.linalg.eigvalsh(made.covariance) > 0)
