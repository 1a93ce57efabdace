"""Processes against closed forms, and the paper's six records against their known points."""

import numpy as np
import pytest
from scipy.linalg import solve_continuous_lyapunov

from onepath.compare.processes import PAPER_TRAJECTORIES, PROCESSES

# X[1], X[2], X[N], X[2N]
PAPER_POINTS = {
    "exponential-1": (0.08820262, 0.10364530, 0.05387910, 0.08766087),
    "exponential-2": (-0.00005279, -0.02754029, -0.44408147, 0.38092584),
    "trigonometric-1": (0.40060129, 0.40823817, 0.43356159, 0.30697992),
    "trigonometric-2": (0.57703375, 0.58057205, 0.63467043, 0.52890946),
    "gbm": (0.94606419, 0.95021663, 1.24255912, 1.69749823),
    "ou": (1.05078423, 1.05818439, -0.20372750, 0.11219676),
}
STANDARD_ERRORS = 4


@pytest.mark.parametrize("name", PAPER_TRAJECTORIES)
def test_paper_records_have_the_known_points(name):
    record = PAPER_TRAJECTORIES[name]
    x = record.points()
    np.testing.assert_allclose(x[[1, 2, record.n, 2 * record.n], 0], PAPER_POINTS[name], rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", PAPER_TRAJECTORIES)
def test_paper_record_is_halved_at_a_shared_point(name):
    record = PAPER_TRAJECTORIES[name]
    assert record.x_train.shape == record.x_test.shape == (record.n + 1, 1)
    np.testing.assert_array_equal(record.x_train[-1], record.x_test[0])
    assert record.x_train[0, 0] == record.start


def test_paper_truth_is_scaled_and_unsigned():
    x = np.linspace(-1, 1, 9)[:, None]
    np.testing.assert_allclose(PAPER_TRAJECTORIES["exponential-1"].drift(x), -5 * x)
    np.testing.assert_allclose(PAPER_TRAJECTORIES["exponential-1"].diffusion(x)[:, :, 0], 0.5 * np.exp(-(x**2)))
    cosine = PAPER_TRAJECTORIES["trigonometric-2"].diffusion(x)
    assert cosine.shape == (9, 1, 1)
    np.testing.assert_allclose(cosine[:, :, 0], 0.5 * np.abs(np.cos(2 * np.pi * x)))


@pytest.mark.parametrize("name", PROCESSES)
def test_drift_and_diffusion_act_on_any_batch_as_on_one_point(name):
    process = PROCESSES[name]
    d = process.dimension
    x = process.start + np.random.default_rng(0).normal(size=(2, 3, d))
    drift, diffusion = process.drift(x), process.diffusion(x)
    assert process.name == name
    assert drift.shape == (2, 3, d)
    assert diffusion.shape == (2, 3, d, d)
    np.testing.assert_allclose(drift[1, 2], process.drift(x[1, 2]))
    np.testing.assert_allclose(diffusion[1, 2], process.diffusion(x[1, 2]))


@pytest.mark.parametrize("name", sorted(PROCESSES.keys() - {"gbm"}))
def test_long_records_stay_near_home(name):
    """Plain Euler at the observed step is the least stable way to run each process."""
    x = PROCESSES[name].simulate(20_000, paths=4, substeps=1, random_state=0)
    assert np.all(np.isfinite(x))
    assert np.abs(x).max() < (60 if name == "lorenz" else 15)


def test_short_gbm_has_the_closed_form_mean():
    """E X_t = exp(2t), Var X_t = exp(4t) (exp(t) - 1)."""
    x = PROCESSES["gbm"].simulate(500, paths=10_000, substeps=1, random_state=1)[:, -1, 0]
    t = 0.5
    standard_error = np.sqrt(np.exp(4 * t) * np.expm1(t) / len(x))
    assert abs(x.mean() - np.exp(2 * t)) < STANDARD_ERRORS * standard_error


def test_ou_has_the_closed_form_mean_and_variance():
    """X_t ~ N(exp(-5t), (1 - exp(-10t)) / 10)."""
    paths, dt = 20_000, 0.01
    x = PROCESSES["ou"].simulate(20, dt=dt, paths=paths, substeps=20, random_state=2)[:, :, 0]
    t = dt * np.arange(1, 21)
    mean, variance = np.exp(-5 * t), -np.expm1(-10 * t) / 10
    assert np.all(np.abs(x[:, 1:].mean(axis=0) - mean) < STANDARD_ERRORS * np.sqrt(variance / paths))
    assert np.all(np.abs(x[:, 1:].var(axis=0) / variance - 1) < STANDARD_ERRORS * np.sqrt(2 / paths))


@pytest.mark.parametrize(
    ("name", "steps", "matrix", "sigma"),
    [
        ("spiral", 400, [[-0.5, -2], [2, -0.5]], [[0.5, 0], [0.3, 0.4]]),
        (
            "linear_3d",
            120,
            [[-1, 0.5, 0], [-0.5, -1, 1], [0.3, -1, -0.8]],
            [[0.6, 0, 0], [0.3, 0.5, 0], [-0.2, 0.2, 0.4]],
        ),
    ],
)
def test_linear_process_reaches_its_stationary_covariance(name, steps, matrix, sigma):
    """A C + C A' + σσ' = 0."""
    paths = 4000
    x = PROCESSES[name].simulate(steps, paths=paths, random_state=3)[:, -1]
    covariance = solve_continuous_lyapunov(np.array(matrix), -np.array(sigma) @ np.transpose(sigma))
    variances = np.diagonal(covariance)
    standard_error = np.sqrt((np.outer(variances, variances) + covariance**2) / paths)
    assert np.all(np.abs(np.cov(x.T) - covariance) < STANDARD_ERRORS * standard_error)


def test_substeps_remove_bias_at_weak_order_one():
    """E X_0.2 = exp(-1); twice the substeps halve the distance to it."""

    def bias(substeps):
        x = PROCESSES["ou"].simulate(1, dt=0.2, paths=400_000, substeps=substeps, random_state=4)
        return x[:, -1].mean() - np.exp(-1)

    assert bias(2) / bias(4) == pytest.approx(2, abs=0.4)
    assert bias(4) / bias(8) == pytest.approx(2, abs=0.4)


def test_simulate_is_reproducible_and_starts_where_told():
    process = PROCESSES["van_der_pol"]
    starts = np.arange(6.0).reshape(3, 2) / 4
    first = process.simulate(5, paths=3, start=starts, random_state=5)
    again = process.simulate(5, paths=3, start=starts, random_state=np.random.default_rng(5))
    other = process.simulate(5, paths=3, start=starts, random_state=6)
    assert first.shape == (3, 6, 2)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first[:, 0], starts)
    assert not np.allclose(first[:, 1], other[:, 1])


@pytest.mark.parametrize("bad", [{"substeps": 0}, {"dt": 0.0}, {"dt": -0.1}])
def test_simulate_refuses_steps_that_lead_nowhere(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        PROCESSES["ou"].simulate(3, **bad)
