"""Polynomials with errors: exact ones are found, terms that are not there are left out, numbers are written rightly."""

import numpy as np
import pytest

from onepath.after.equation import Polynomial, fit_polynomial, monomials, with_error, written


def test_monomials_are_counted():
    assert len(monomials(1, 3)) == 4
    assert len(monomials(2, 3)) == 10
    assert len(monomials(3, 3)) == 20
    assert monomials(2, 1).tolist() == [[0, 0], [1, 0], [0, 1]]


def noisy(x, truth, spread, rng):
    """A posterior whose mean is the truth plus one draw of its own errors, in all cubic directions."""
    basis = np.prod(x[:, None, :] ** monomials(x.shape[1], 3), axis=2)
    errors = spread * rng.standard_normal((501, basis.shape[1])) @ basis.T
    return truth + errors[0], truth + errors[0] + errors[1:]


def test_a_double_well_is_found_as_one():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.5, 1.5, (200, 1))
    mean, draws = noisy(x, x[:, 0] - x[:, 0] ** 3, 0.01, rng)
    polynomial = fit_polynomial(x, mean, draws)
    assert polynomial.explained > 0.999
    assert polynomial.misfit < 1.0
    assert polynomial.exponents[-2:, 0].tolist() == [1, 3]
    np.testing.assert_allclose(polynomial.coefficients[-2:], [1.0, -1.0], atol=4 * polynomial.errors[-2:].max())


@pytest.mark.parametrize("spread", [0.0, 1e-170])
def test_what_is_known_as_exactly_as_numbers_are_is_no_polynomial_either(spread):
    """Errors whose squares are no numbers any more: noise that is nearly nothing over part of the data."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1.5, 1.5, (200, 1))
    mean = 1e6 * np.sin(6 * x[:, 0])
    polynomial = fit_polynomial(x, mean, mean + spread * rng.standard_normal((500, 200)))
    assert 1e5 < polynomial.misfit < np.inf


def test_what_is_no_polynomial_is_not_taken_for_one():
    rng = np.random.default_rng(2)
    x = rng.uniform(-1.5, 1.5, (200, 1))
    mean, draws = noisy(x, np.sin(6 * x[:, 0]), 0.01, rng)
    assert fit_polynomial(x, mean, draws).misfit > 5.0


def test_errors_cover_the_truth():
    rng = np.random.default_rng(1)
    x = rng.uniform(-1.0, 1.0, (100, 2))
    inside = []
    for _ in range(200):
        mean, draws = noisy(x, 3.0 * x[:, 0] - 2.0 * x[:, 1], 0.05, rng)
        polynomial = fit_polynomial(x, mean, draws)
        values = {tuple(e): (c, s) for e, c, s in zip(*polynomial[:3], strict=True)}
        for exponents, truth in (((1, 0), 3.0), ((0, 1), -2.0)):
            value, error = values[exponents]
            inside.append(abs(value - truth) < 2 * error)
    assert 0.88 < np.mean(inside) <= 1.0


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.9812, 0.061, "0.98(6)"),
        (1.0234, 0.0132, "1.023(13)"),
        (12.3, 4.4, "12(4)"),
        (1234.0, 56.0, "1230(60)"),
        (0.349, 0.254, "0.3(3)"),
        (349.0, 254.0, "300(300)"),
        (3.49e9, 2.5e8, "3.5(2)e+9"),
        (1.0, 1e-9, "1.0000000000(10)"),
        (3.2e-9, 4e-10, "3.2(4)e-9"),
        (0.5, 0.0, "0.5"),
    ],
)
def test_numbers_carry_their_errors(value, error, text):
    assert with_error(value, error) == text


def test_equations_read_like_equations():
    polynomial = Polynomial(np.array([[1], [3]]), np.array([0.98, -1.02]), np.array([0.06, 0.07]), 1.0, 0.0)
    assert written(polynomial, ("x",)) == "0.98(6) x - 1.02(7) x^3"
    polynomial = Polynomial(np.array([[0, 0], [1, 1]]), np.array([-2.0, 0.5]), np.array([0.3, 0.2]), 1.0, 0.0)
    assert written(polynomial, ("T", "h")) == "-2.0(3) + 0.5(2) T h"
