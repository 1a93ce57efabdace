"""Features against kernel matrices written in NumPy: to rounding with all points, to the tolerance with chosen ones."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from tinygp import kernels
from tinygp.kernels import Kernel

from onepath.gp.features import Basis, Unknown, pad_together, with_bases
from onepath.gp.kernels import stacked

pytestmark = pytest.mark.usefixtures("double")

POINTS, ROOM = 100, 128


def starts(d, seed=0):
    """POINTS points and padding, in no order."""
    x = np.random.default_rng(seed).normal(size=(ROOM, d))
    return jnp.asarray(x), jnp.arange(ROOM) < POINTS


def function(kernel, d, outputs=1, location=0.0, scale=1.0, amplitude=1.0):
    return Unknown(stacked(kernel, outputs), jnp.full(outputs, amplitude), jnp.full(d, location), jnp.full(d, scale))


def rank(basis):
    return int(np.sum(basis.used))


def gram(completed, u):
    """φφ' for the first output."""
    phi = np.asarray(completed.features(u))[:, 0, 0]
    return phi @ phi.T


def matern52(a, b, scale):
    r = np.sqrt(5) * np.linalg.norm(a[:, None, :] - b[None, :, :], axis=2) / scale
    return (1 + r + r**2 / 3) * np.exp(-r)


def exp_squared(a, b, scale):
    return np.exp(-0.5 * np.square(a[:, None, :] - b[None, :, :]).sum(axis=2) / scale**2)


@pytest.mark.parametrize("d", [1, 2])
def test_all_points_give_the_kernel_matrix_to_rounding(d):
    u, usable = starts(d)
    matern = kernels.Matern52(scale=0.8, distance=kernels.stationary.L2Distance())
    kernel = matern * 2.0 + kernels.Constant(0.5) * kernels.DotProduct()
    completed = with_bases(function(kernel, d), u, usable, 0.0, ROOM)
    x = np.asarray(u)[:POINTS]
    expected = 2 * matern52(x, x, 0.8) + 0.5 * x @ x.T
    assert_allclose(gram(completed, u[:POINTS]), expected, rtol=0, atol=1e-10 * expected.max())


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_chosen_points_leave_no_more_variance_than_stated(d, tolerance):
    u, usable = starts(d)
    completed = with_bases(function(kernels.ExpSquared(scale=1.5), d), u, usable, tolerance, ROOM)
    x = np.asarray(u)[:POINTS]
    residual = exp_squared(x, x, 1.5) - gram(completed, u[:POINTS])
    assert rank(completed.bases[0]) < POINTS
    assert np.max(np.diag(residual)) <= tolerance + 1e-10
    assert np.min(np.linalg.eigvalsh(residual)) > -1e-10
    points = np.asarray(completed.bases[0].points)[: rank(completed.bases[0])]
    one_less = exp_squared(x, points[:-1], 1.5) @ np.linalg.solve(
        exp_squared(points[:-1], points[:-1], 1.5), exp_squared(points[:-1], x, 1.5)
    )
    assert np.max(1 - np.diag(one_less)) > tolerance, "more points were taken than needed"


@pytest.mark.slow
@pytest.mark.parametrize(("d", "linear", "cubic"), [(1, 2, 4), (2, 3, 10), (3, 4, 20)])
def test_a_kernel_of_finite_rank_gets_its_rank(d, linear, cubic):
    """Polynomials of order q in d variables: (d + q choose q)."""
    u, usable = starts(d)
    x = np.asarray(u)[:POINTS]
    for order, expected in ((1, linear), (3, cubic)):
        completed = with_bases(function(kernels.Polynomial(order=order, sigma=1.0), d), u, usable, 1e-8, ROOM)
        assert rank(completed.bases[0]) == expected
        matrix = (1 + x @ x.T) ** order
        assert_allclose(gram(completed, u[:POINTS]), matrix, rtol=0, atol=1e-9 * matrix.max())
        # features of a finite rank are exact off the points as well, and far away
        far = 5 + np.asarray(u)[:10]
        expected_far = (1 + far @ far.T) ** order
        assert_allclose(gram(completed, jnp.asarray(far)), expected_far, rtol=0, atol=1e-6 * expected_far.max())


def test_padding_changes_nothing():
    u, usable = starts(1)
    kernel = kernels.Polynomial(order=3, sigma=1.0) + kernels.Matern52(scale=0.8)
    with_padding = with_bases(function(kernel, 1), u, usable, 1e-6, ROOM)
    without = with_bases(function(kernel, 1), u[:POINTS], usable[:POINTS], 1e-6, ROOM)
    elsewhere = with_bases(function(kernel, 1), u.at[POINTS:].set(1e3), usable, 1e-6, ROOM)
    for other in (without, elsewhere):
        assert_allclose(gram(other, u), gram(with_padding, u), rtol=0, atol=1e-12 * np.max(gram(with_padding, u)))
    for basis, phi in zip(with_padding.bases, _by_term(with_padding, u), strict=True):
        assert np.all(phi[:, ~np.asarray(basis.used)] == 0)


def _by_term(completed, u):
    phi = np.asarray(completed.features(u))[:, 0, 0]
    return np.split(phi, np.cumsum([len(basis.used) for basis in completed.bases])[:-1], axis=1)


def test_more_padding_in_a_basis_changes_nothing():
    u, usable = starts(1)
    completed = with_bases(function(kernels.Matern52(scale=0.5), 1), u, usable, 1e-4, ROOM)
    basis = completed.bases[0]
    more = Basis(jnp.concatenate([basis.points, basis.points[:7] + 3]), jnp.pad(basis.used, (0, 7)))
    padded = Unknown(completed.kernel, completed.amplitude, completed.location, completed.scale, (more,))
    assert_allclose(padded.features(u)[..., :-7], completed.features(u), rtol=0, atol=1e-10)
    assert np.all(np.asarray(padded.features(u)[..., -7:]) == 0)


def test_functions_pad_together_are_the_same_functions():
    u, usable = starts(1)
    fine = with_bases(function(kernels.DotProduct() + kernels.Matern52(scale=0.3), 1), u, usable, 1e-4, ROOM)
    coarse = with_bases(function(kernels.DotProduct() + kernels.Matern52(scale=3.0), 1), u, usable, 1e-4, ROOM)
    assert len(coarse.bases[1].used) < len(fine.bases[1].used)
    same, padded = pad_together([fine, coarse])
    assert [len(basis.used) for basis in padded.bases] == [len(basis.used) for basis in fine.bases]
    for before, after in ((fine, same), (coarse, padded)):
        assert_allclose(gram(after, u), gram(before, u), rtol=0, atol=1e-12 * np.max(gram(before, u)))


def test_a_sum_is_a_concatenation():
    u, usable = starts(1)
    parts = (kernels.Matern52(scale=0.5), kernels.DotProduct(), kernels.Constant(0.3))
    whole = with_bases(function(parts[0] + (parts[1] + parts[2]), 1), u, usable, 1e-4, ROOM)
    alone = [replace(function(part, 1), bases=(basis,)) for part, basis in zip(parts, whole.bases, strict=True)]
    assert [rank(basis) for basis in whole.bases[1:]] == [1, 1]
    assert_allclose(whole.features(u), jnp.concatenate([part.features(u) for part in alone], axis=3))


def test_a_term_is_as_fine_as_the_whole_function_needs():
    """A faint term takes fewer points than the same term alone."""
    u, usable = starts(1)
    loud, faint = kernels.DotProduct(), 1e-3 * kernels.Matern52(scale=0.3)
    both = with_bases(function(loud + faint, 1), u, usable, 1e-4, ROOM)
    alone = with_bases(function(faint, 1), u, usable, 1e-4, ROOM)
    assert 1 <= rank(both.bases[1]) < rank(alone.bases[0])


def test_units_and_amplitude_are_those_stated():
    """g(u) = amplitude φ(location + scale u)·w: its covariance is amplitude² k(x, x')."""
    u, usable = starts(1)
    settings = {"location": 3.0, "scale": 2.0, "amplitude": 0.25}
    completed = with_bases(function(kernels.Matern52(scale=0.9), 1, **settings), u, usable, 0.0, ROOM)
    x = 3 + 2 * np.asarray(u)[:POINTS]
    expected = 0.25**2 * matern52(x, x, 0.9)
    assert_allclose(gram(completed, u[:POINTS]), expected, rtol=0, atol=1e-11)
    assert_allclose(completed.prior_covariance(u[:POINTS], u[:POINTS])[0], expected, rtol=0, atol=1e-14)
    assert_allclose(completed.prior_variance(u[:POINTS])[:, 0], np.diag(expected), rtol=0, atol=1e-14)


def test_outputs_have_their_own_parameters_and_share_points():
    u, usable = starts(1)
    scales = (0.5, 2.0)
    both = Unknown(kernels.Matern52(scale=jnp.asarray(scales)), jnp.ones(2), jnp.zeros(1), jnp.ones(1))
    phi = np.asarray(with_bases(both, u, usable, 1e-8, ROOM).features(u[:POINTS]))[:, :, 0]
    x = np.asarray(u)[:POINTS]
    for output, scale in enumerate(scales):
        assert_allclose(phi[:, output] @ phi[:, output].T, matern52(x, x, scale), rtol=0, atol=1e-5)


class Brownian(Kernel):
    """A user's own kernel: min(|x|, |x'|) for a common sign, else 0, a two-sided Brownian motion's."""

    def evaluate(self, X1, X2):
        return jnp.where(X1[0] * X2[0] > 0, jnp.minimum(jnp.abs(X1[0]), jnp.abs(X2[0])), 0.0)


def test_a_users_own_kernel_works():
    u, usable = starts(1)
    x = np.asarray(u)[:POINTS, 0]
    expected = np.where(np.multiply.outer(x, x) > 0, np.minimum.outer(np.abs(x), np.abs(x)), 0)
    for tolerance, close in ((0.0, 1e-8), (1e-3, 1e-3 * np.abs(x).max())):
        completed = with_bases(function(Brownian(), 1), u, usable, tolerance, ROOM)
        assert_allclose(gram(completed, u[:POINTS]), expected, rtol=0, atol=close)


@pytest.mark.parametrize("tolerance", [0.0, 1e-8])
def test_repeated_points_do_no_harm(tolerance):
    u, usable = starts(1)
    repeated = jnp.asarray(np.resize(np.asarray(u)[:20], (ROOM, 1)))
    completed = with_bases(function(kernels.Matern52(scale=0.8), 1), repeated, usable, tolerance, ROOM)
    x = np.asarray(u)[:20]
    assert_allclose(gram(completed, u[:20]), matern52(x, x, 0.8), rtol=0, atol=1e-7)
    if tolerance:
        assert rank(completed.bases[0]) <= 20
