"""Factorisations against NumPy, pivoted Cholesky against a plain greedy loop, and precision that stays at home."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from onepath import SDE
from onepath.numerics.linalg import (
    cholesky,
    forward_solve,
    inverse_of,
    log_determinant,
    lower_root,
    lower_roots,
    lower_solved,
    pivots,
    small_cholesky,
    small_forward_solve,
    solved,
    square_root,
    upper_solved,
)
from onepath.numerics.precision import in_double


def positive_definite(size, seed, smallest=0.1):
    """A matrix with eigenvalues from `smallest` to 1."""
    random = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(random.normal(size=(size, size)))
    return rotation * np.linspace(smallest, 1, size) @ rotation.T


@pytest.mark.usefixtures("double")
def test_solves_and_log_determinant_are_numpys():
    matrix, right = positive_definite(20, 0), jnp.asarray(np.random.default_rng(1).normal(size=(20, 3)))
    lower = cholesky(jnp.asarray(matrix))
    assert_allclose(lower, np.linalg.cholesky(matrix), atol=1e-10)
    assert_allclose(forward_solve(lower, right), np.linalg.solve(lower, right), rtol=1e-9, atol=1e-9)
    assert log_determinant(lower) == pytest.approx(np.linalg.slogdet(matrix)[1], rel=1e-9)


@pytest.mark.parametrize("shape", [(20,), (20, 3)])
def test_lapacks_solves_are_numpys(shape):
    matrix, right = positive_definite(20, 0), np.random.default_rng(1).normal(size=shape)
    lower = lower_root(matrix)
    assert_allclose(lower, np.linalg.cholesky(matrix), atol=1e-10)
    assert_allclose(lower_solved(lower, right), np.linalg.solve(lower, right), rtol=1e-9, atol=1e-9)
    assert_allclose(upper_solved(lower, right), np.linalg.solve(lower.T, right), rtol=1e-9, atol=1e-9)
    assert_allclose(solved(lower, right), np.linalg.solve(matrix, right), rtol=1e-9, atol=1e-9)
    assert_allclose(inverse_of(lower), np.linalg.inv(matrix), rtol=1e-9, atol=1e-9)


def test_what_is_not_positive_definite_has_no_factor_and_no_error():
    assert np.all(np.isnan(lower_root(np.diag([1.0, -1.0]))))


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("factor", [cholesky, lower_root])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_a_singular_matrix_has_a_factor_in_any_units(scale, factor):
    column = np.random.default_rng(0).normal(size=(20, 1))
    matrix = scale * column @ column.T
    lower = np.asarray(factor(jnp.asarray(matrix) if factor is cholesky else matrix))
    assert np.all(np.isfinite(lower))
    assert np.max(np.abs(lower @ lower.T - matrix)) < 1e-11 * np.trace(matrix)


def test_square_root_squares_back_even_where_singular():
    factor = np.random.default_rng(0).normal(size=(12, 5))
    root = square_root(factor @ factor.T)
    assert_allclose(root @ root.T, factor @ factor.T, atol=1e-12)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_small_factorisations_are_numpys(d):
    matrix, right = positive_definite(d, d), np.random.default_rng(d).normal(size=(d, 2))
    lower = small_cholesky(jnp.asarray(matrix))
    assert_allclose(lower, np.linalg.cholesky(matrix), atol=1e-14)
    assert_allclose(
        small_forward_solve(lower, jnp.asarray(right)), np.linalg.solve(lower, right), rtol=1e-12, atol=1e-12
    )


@pytest.mark.usefixtures("double")
def test_a_singular_covariance_has_a_small_factor():
    """One Brownian motion in two dimensions, without measurement noise."""
    matrix = np.outer([1.0, 2.0], [1.0, 2.0])
    lower = np.asarray(small_cholesky(jnp.asarray(matrix)))
    assert_allclose(lower @ lower.T, matrix, atol=1e-11)
    nothing = small_cholesky(jnp.zeros((2, 2)))
    assert_allclose(nothing, 0.0, atol=1e-150)
    assert np.all(np.isfinite(small_forward_solve(nothing, jnp.zeros((2, 2)))))


def greedy(matrix, usable, tolerance):
    """Repeatedly condition on the point of largest remaining variance, by the textbook formula."""
    chosen, residual = [], matrix
    while True:
        variance = np.where(usable, np.diag(residual), 0)
        if variance.max() <= tolerance * np.median(np.diag(matrix)[usable]):
            return chosen
        chosen.append(int(np.argmax(variance)))
        block = np.linalg.solve(matrix[np.ix_(chosen, chosen)], matrix[chosen])
        residual = matrix - matrix[:, chosen] @ block


@pytest.mark.parametrize("tolerance", [0.3, 1e-2, 1e-4])
def test_pivots_are_the_points_of_largest_remaining_variance(tolerance):
    random = np.random.default_rng(3)
    x, usable = random.uniform(-2, 2, 64), random.random(64) < 0.8
    amplitude = 1 + 0.3 * np.sin(x)
    matrix = np.outer(amplitude, amplitude) * np.exp(-0.5 * np.subtract.outer(x, x) ** 2)
    chosen = pivots(matrix, usable, tolerance, 32)
    assert list(chosen) == greedy(matrix, usable, tolerance)
    assert usable[chosen].all()


def test_pivots_stop_where_there_is_no_more_room():
    chosen = pivots(np.eye(10), np.ones(10, bool), 1e-6, 4)
    assert len(chosen) == len(set(chosen)) == 4


def test_double_precision_stays_inside():
    @in_double
    def inside():
        return jnp.ones(1).dtype

    assert inside() == np.float64
    assert jnp.ones(1).dtype == np.float32


def test_a_fit_leaves_the_callers_precision_alone():
    path = np.cumsum(np.random.default_rng(0).normal(size=80))
    model = SDE(learn=None, transition="euler", cells=128).fit(path, dt=0.1)
    answers = (*model.drift_band(path[:5]), *model.diffusion_band(path[:5]), *model.functions(path[:5], draws=2))
    assert {answer.dtype for answer in answers} == {np.dtype(np.float64)}
    assert np.isfinite(model.score(path, dt=0.1))
    assert jnp.ones(1).dtype == np.float32
    assert jax.config.jax_enable_x64 is False


def test_lower_roots_of_covariances_in_units_far_apart_and_of_ones_that_rounding_spoiled():
    rng = np.random.default_rng(4)
    root = rng.normal(size=(20, 3, 3)) * np.array([1.0, 1e-40, 1e60])[:, None]
    covariance = root @ np.swapaxes(root, 1, 2)
    lower = lower_roots(covariance)
    np.testing.assert_allclose(lower @ np.swapaxes(lower, 1, 2), covariance, rtol=1e-9)
    assert np.all(np.triu(lower, 1) == 0.0)
    spoiled = np.array([[[1.0, 1.0 + 1e-9], [1.0 + 1e-9, 1.0]], [[4.0, 0.0], [0.0, 9.0]]])
    lower = lower_roots(spoiled)
    np.testing.assert_allclose(lower @ np.swapaxes(lower, 1, 2), spoiled, atol=1e-8)
