"""Metrics against SciPy's densities, NumPy's Cholesky factor and sums done by hand."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from onepath.compare.metrics import coverage, crps, delta_diffusion, delta_drift, loss, lower_factor, relative_error

POINTS = 7


def random_problem(d):
    random = np.random.default_rng(d)
    y, drift = random.normal(size=(2, POINTS, d))
    return y, drift, random.normal(size=(POINTS, d, d))


def random_rotations(d):
    return np.linalg.qr(np.random.default_rng(10 + d).normal(size=(POINTS, d, d)))[0]


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("dt", [0.1, np.linspace(0.05, 0.4, POINTS)], ids=["one-step", "own-steps"])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_loss_is_the_mean_negative_log_density_less_its_constant(d, dt, noise):
    y, drift, diffusion = random_problem(d)
    steps = np.broadcast_to(dt, POINTS)
    densities = [
        multivariate_normal.logpdf(y[i], drift[i] * h, diffusion[i] @ diffusion[i].T * h + noise * np.eye(d))
        for i, h in enumerate(steps)
    ]
    expected = -np.mean(densities) - d / 2 * np.log(2 * np.pi)
    assert loss(y, drift, diffusion, dt, noise) == pytest.approx(expected, rel=1e-9)


def test_loss_of_a_singular_noise_needs_measurement_noise():
    y, drift = np.ones((2, 1)), np.zeros((2, 1))
    with pytest.raises(ValueError, match="noise > 0"):
        loss(y, drift, np.zeros((2, 1, 1)), 0.1)
    assert loss(y, drift, np.zeros((2, 1, 1)), 0.1, noise=1.0) == pytest.approx(0.5)


def test_relative_error_by_hand():
    assert relative_error(np.array([[3.0], [0.0]]), np.array([[3.0], [4.0]])) == pytest.approx(0.8)
    assert delta_drift(np.array([[3.0, 0.0]]), np.array([[3.0, 4.0]])) == pytest.approx(0.8)


def test_relative_error_of_a_zero_truth():
    zero = np.zeros((2, 1))
    assert relative_error(zero, zero) == 0
    assert relative_error(zero + 1, zero) == np.inf


def test_delta_diffusion_compares_absolute_values_in_one_dimension():
    estimate, truth = np.array([1.0, -2.0, 0.0]), np.array([-1.0, 1.0, 2.0])
    expected = np.sqrt(0 + 1 + 4) / np.sqrt(1 + 1 + 4)
    assert delta_diffusion(estimate[:, None, None], truth[:, None, None]) == pytest.approx(expected)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_delta_diffusion_sees_neither_sign_nor_rotation(d):
    diffusion = random_problem(d)[2]
    assert delta_diffusion(-diffusion @ random_rotations(d), diffusion) == pytest.approx(0, abs=1e-9)
    assert delta_diffusion(1.5 * diffusion, diffusion) == pytest.approx(0.5)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_lower_factor_is_the_cholesky_factor(d):
    diffusion = random_problem(d)[2]
    expected = np.linalg.cholesky(diffusion @ np.swapaxes(diffusion, 1, 2))
    np.testing.assert_allclose(lower_factor(diffusion), expected, rtol=1e-7, atol=1e-9)


def test_lower_factor_of_a_singular_noise_is_unique():
    """One Brownian motion in three dimensions, entering by any column of σ."""
    direction = np.array([0.0, 2.0, -1.0])
    expected = np.zeros((3, 3))
    expected[:, 1] = direction
    for column in range(3):
        sigma = np.zeros((3, 3))
        sigma[:, column] = -direction
        np.testing.assert_allclose(lower_factor(sigma), expected, atol=1e-12)
    np.testing.assert_array_equal(lower_factor(np.zeros((2, 3, 3))), np.zeros((2, 3, 3)))


def test_coverage_by_hand():
    lower, upper = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[1.0], [2.0], [3.0], [4.0]])
    truth = np.array([[0.5], [2.0], [3.5], [2.5]])
    assert coverage(lower, upper, truth) == 0.5


def test_a_forgotten_dimension_is_refused():
    y = np.zeros((4, 1))
    with pytest.raises(ValueError, match="drift has shape"):
        loss(y, np.zeros(4), np.ones((4, 1, 1)), 0.1)
    with pytest.raises(ValueError, match="diffusion has shape"):
        loss(y, y, np.ones((4, 1)), 0.1)
    with pytest.raises(ValueError, match="estimate has shape"):
        delta_diffusion(np.ones((4, 1)), np.ones((4, 1, 1)))
    with pytest.raises(ValueError, match="estimate has shape"):
        relative_error(np.zeros(4), y)
    with pytest.raises(ValueError, match="upper has shape"):
        coverage(y, np.zeros(4), y)


def test_crps_of_few_paths_by_hand():
    """|X - y| is 1, 0 and 3; pairs of paths are 1, 3 and 4 apart."""
    score = crps(np.array([[0.0], [1.0], [4.0]]), np.array([1.0]))
    np.testing.assert_allclose(score, [4 / 3 - (8 / 3) / 2], atol=1e-12)


@pytest.mark.parametrize(
    ("ensemble", "message"),
    [(np.zeros((5, 3)), "are needed"), (np.zeros((1, 4)), "two paths"), (np.full((5, 4), np.nan), "finite numbers")],
)
def test_ensembles_that_cannot_be_scored_are_refused(ensemble, message):
    with pytest.raises(ValueError, match=message):
        crps(ensemble, np.zeros(4))
