"""A yardstick, no rival: maximum likelihood told that drift and noise are polynomials, and of which degrees.

What a method pays for not knowing the form can be seen beside it. It is told nothing about where zero is, as onepath's
prior is not: shifted data give a shifted answer.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

LEAST_VARIANCE = 1e-3
"""Of a diffusion, squared, in units of the training data's mean: beyond them a polynomial may be zero or negative."""


class Form(NamedTuple):
    """Degree of the drift; which function of a coordinate's noise is a polynomial in it, and of what degree."""

    drift: int
    noise: str
    degree: int


FORMS = {
    "exponential": Form(1, "ln σ", 2),
    "gbm": Form(1, "σ", 1),
    "ou": Form(1, "σ", 0),
    "ou_slow": Form(1, "σ", 0),
    "double_well": Form(3, "σ", 0),
    "double_well_multiplicative": Form(3, "σ²", 2),
    "cir": Form(1, "σ²", 1),
    "quadratic_noise": Form(1, "σ²", 2),
    "logistic": Form(2, "σ", 1),
    "spiral": Form(1, "correlated", 0),
    "van_der_pol": Form(3, "σ²", 2),
    "double_well_2d": Form(3, "σ²", 2),
}

VARIANCE: dict[str, Callable] = {
    "σ": np.square,
    "σ²": lambda value: value,
    "ln σ": lambda value: np.exp(2 * np.clip(value, -50, 50)),
}
START: dict[str, Callable] = {"σ": np.sqrt, "σ²": lambda variance: variance, "ln σ": lambda v: 0.5 * np.log(v)}
"""From a variance back to the function that is a polynomial."""


def products(u, degree):
    """All products of powers up to this degree, constant first: (n, d) → (n, terms)."""
    from onepath.after.equation import monomials

    return np.prod(u[:, None, :] ** monomials(u.shape[1], degree), axis=2)


def fit(name, x, y, dt):
    """Drift (n, d) and diffusion (n, d, d) as functions of points, from increments y that start at x and last dt."""
    form, centre, width, d = FORMS[name], x.mean(axis=0), x.std(axis=0), x.shape[1]

    def standardised(at):
        return (at - centre) / width

    terms = products(standardised(x), form.drift)
    if form.noise == "correlated":
        weights = np.linalg.lstsq(terms * dt, y, rcond=None)[0]
        rest = y - terms @ weights * dt
        sigma = np.linalg.cholesky(rest.T @ rest / len(rest) / dt)
        return (
            lambda at: products(standardised(at), form.drift) @ weights,
            lambda at: np.broadcast_to(sigma, (len(at), d, d)),
        )
    usual = np.mean(np.square(y), axis=0) / dt

    def variance(i, noise_terms, coefficients):
        return np.maximum(VARIANCE[form.noise](noise_terms @ coefficients), LEAST_VARIANCE * usual[i])

    def coordinate(i):
        start = np.eye(1, form.degree + 1)[0] * START[form.noise](usual[i])
        return _likeliest(terms, partial(variance, i, _own(standardised(x), i, form.degree)), y[:, i], dt, start)

    each = [coordinate(i) for i in range(d)]

    def drift(at):
        return np.stack([products(standardised(at), form.drift) @ weights for weights, _ in each], axis=1)

    def diffusion(at):
        u = standardised(at)
        scale = [np.sqrt(variance(i, _own(u, i, form.degree), found)) for i, (_, found) in enumerate(each)]
        return np.stack(scale, axis=1)[:, :, None] * np.eye(d)

    return drift, diffusion


def _own(u, i, degree):
    return products(u[:, i : i + 1], degree)


def _likeliest(terms, variance, y, dt, start):
    """Coefficients of one coordinate's drift and noise: for each noise the best drift is weighted least squares."""

    def best_drift(coefficients):
        root = np.sqrt(variance(coefficients))
        return np.linalg.lstsq(terms * dt / root[:, None], y / root, rcond=None)[0]

    def negative_log_likelihood(coefficients):
        residual, at = y - terms @ best_drift(coefficients) * dt, variance(coefficients)
        return np.sum(np.square(residual) / (2 * at * dt) + 0.5 * np.log(at))

    options = {"maxiter": 4000, "xatol": 1e-6 * abs(start[0]), "fatol": 1e-6}
    found = minimize(negative_log_likelihood, start, method="Nelder-Mead", options=options).x
    return best_drift(found), found
