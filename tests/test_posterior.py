"""The posterior against the paper's dense formulas in NumPy, and against averages over draws."""

from dataclasses import replace
from operator import itemgetter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import norm
from tinygp import kernels

from onepath import SDE
from onepath.compare.processes import PROCESSES

LAMBDA, STEPS, CELLS = 1e-4, 80, 128


def matern52(a, b, scale):
    r = np.sqrt(5) * np.abs(np.subtract.outer(a, b)) / scale
    return (1 + r + r**2 / 3) * np.exp(-r)


def exp_squared(a, b, scale):
    return np.exp(-0.5 * (np.subtract.outer(a, b) / scale) ** 2)


# tinygp kernels of the drift, and the same functions in NumPy
PRIORS = {
    "matern": (9.0 * kernels.Matern52(scale=0.6), lambda a, b: 9 * matern52(a, b, 0.6)),
    "linear": (kernels.DotProduct() + kernels.Constant(0.5), lambda a, b: np.multiply.outer(a, b) + 0.5),
    "nested": (
        4.0 * kernels.Matern52(scale=0.5) * kernels.DotProduct()
        + (kernels.Constant(0.7) + kernels.ExpSquared(scale=0.8)) * 2.0,
        lambda a, b: 4 * matern52(a, b, 0.5) * np.multiply.outer(a, b) + 2 * (0.7 + exp_squared(a, b, 0.8)),
    ),
}
DIFFUSION = 0.5 * kernels.Matern52(scale=1.5)


def record(steps, seed):
    """Times and states: every step 0.02, or steps of 0.01 to 0.05."""
    random = np.random.default_rng(seed)
    pieces = np.full(STEPS, 2) if steps == "regular" else random.integers(1, 6, STEPS)
    rows = np.concatenate([[0], np.cumsum(pieces)])
    path = PROCESSES["double_well_multiplicative"].simulate(rows[-1], dt=0.01, random_state=seed)[0, :, 0]
    return 0.01 * rows, path[rows]


def fitted(prior="matern", steps="regular", seed=0, **settings):
    t, x = record(steps, seed)
    model = SDE(
        PRIORS[prior][0],
        DIFFUSION,
        learn=None,
        transition="euler",
        **{"noise_variance": LAMBDA, "cells": CELLS, **settings},
    )
    return model.fit(x, t=t), t, x


def conditioned(kernel, x, y, dt, sigma, at):
    """f*(x) and the conditional covariance of f, given σ at the data."""
    data = dt[:, None] * kernel(x, x) * dt + np.diag(sigma**2 * dt + LAMBDA)
    cross = kernel(at, x) * dt
    mean = cross @ np.linalg.solve(data, y)
    return mean, kernel(at, at) - cross @ np.linalg.solve(data, cross.T)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("steps", ["regular", "irregular"])
@pytest.mark.parametrize("prior", PRIORS)
def test_drift_and_its_covariance_are_the_papers(prior, steps, seed):
    """At the data, between them and outside, point by point and jointly."""
    model, t, x = fitted(prior, steps, seed, tolerance=0.0)
    at = np.concatenate([x[:20], np.linspace(x.min() - 1, x.max() + 1, 20)])
    mean, covariance = conditioned(
        PRIORS[prior][1], x[:-1], np.diff(x), np.diff(t), median_diffusion(model, x[:-1]), at
    )
    assert_allclose(model.drift(at), mean, rtol=0, atol=1e-6 * np.abs(mean).max())
    lower, upper = model.drift_band(at, level=0.9)
    deviation = (upper - lower) / (2 * norm.ppf(0.95))
    assert_allclose(deviation**2, np.diag(covariance), rtol=0, atol=1e-6 * np.diag(covariance).max())
    assert_allclose(drawn_covariance(model, at), covariance, rtol=0, atol=1e-6 * np.diag(covariance).max())


def median_diffusion(model, at):
    """The link of the most probable weights: the middle of every band."""
    return np.mean(model.diffusion_band(at, level=1e-6), axis=0)


def drawn_covariance(model, at):
    """Covariance of what `draws` makes of standard normals: it is linear in them, so unit vectors tell all."""
    posterior, n = model.posterior_, len(at)
    functions, p = posterior.members.weights.shape[1:]
    numbers = np.vstack([np.zeros(functions * (p + n)), np.eye(functions * (p + n))])
    with jax.enable_x64(True):
        u = (at[:, None] - model.units_.location) / model.units_.scale
        normals, untouched = np.split(numbers, [functions * p], axis=1)
        draws = posterior.draws(u, np.zeros(len(numbers), int), normals, untouched.reshape(-1, functions, n))
    root = (draws[1:] - draws[0])[:, :, 0] * model.units_.scale / model.units_.time
    return root.T @ root


@pytest.mark.parametrize("which", ["line", "plane"])
def test_means_by_representers_are_those_by_features(which, request):
    """k(x, Z)·α and φ(x)·w, with their derivatives, averaged over members."""
    posterior = replace(request.getfixturevalue(which).posterior_, formulas=None)
    u = np.random.default_rng(0).normal(size=(7, posterior.graph.dimension))
    with jax.enable_x64(True):
        expected, _ = posterior.moments(u, order=2)
        mean = jax.jit(lambda member, alpha: posterior.graph_of(member).represented(jnp.asarray(u), alpha, order=2))
        each = enumerate(posterior.representers())
        means = [mean(jax.tree.map(itemgetter(s), posterior.members), alpha) for s, alpha in each]
    assert_allclose(np.tensordot(posterior.mass, means, axes=1), expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_drawn_functions_have_the_posteriors_mean_and_deviation():
    model, _, x = fitted()
    draws, at = 4000, np.linspace(x.min() - 3, x.max() + 3, 30)
    drift, diffusion = model.functions(at, draws=draws, random_state=1)
    assert drift.shape == diffusion.shape == (draws, 30)
    for drawn, centre, band in (
        (drift, model.drift(at), model.drift_band(at, level=0.9)),
        (softplus_inverse(diffusion, model), softplus_inverse(median_diffusion(model, at), model), None),
    ):
        deviation = drawn.std(axis=0, ddof=1)
        assert np.max(np.abs(drawn.mean(axis=0) - centre) / deviation) < 4.5 / np.sqrt(draws)
        if band is not None:
            expected = (band[1] - band[0]) / (2 * norm.ppf(0.95))
            assert_allclose(deviation / expected, 1, atol=4.5 / np.sqrt(2 * draws))
    error = diffusion.std(axis=0, ddof=1) / np.sqrt(draws)
    assert np.max(np.abs(diffusion.mean(axis=0) - model.diffusion(at)) / error) < 4.5
    lower, upper = model.diffusion_band(at, level=0.8)
    inside = np.mean((diffusion > lower) & (diffusion < upper), axis=0)
    assert_allclose(inside, 0.8, atol=4.5 * np.sqrt(0.8 * 0.2 / draws))


def softplus_inverse(diffusion, model):
    """The unconstrained function, whose posterior is normal."""
    unit = float(np.sqrt(np.mean(np.diff(record("regular", 0)[1]) ** 2 / 0.02)))
    assert model.link == "softplus"
    return np.log(np.expm1(diffusion / unit))


def test_far_from_the_data_bands_are_the_priors():
    model, _, _ = fitted("matern", link="identity")
    far = np.array([-60.0, 80.0])
    lower, upper = model.drift_band(far, level=0.9)
    assert_allclose(upper - lower, 2 * norm.ppf(0.95) * 3.0, rtol=1e-9)
    lower, upper = model.diffusion_band(far, level=0.9)
    assert_allclose(upper - lower, 2 * norm.ppf(0.95) * np.sqrt(0.5), rtol=1e-9)
    assert_allclose(model.drift(far), 0, atol=1e-9)


def test_bands_grow_with_their_level_and_hold_the_middle():
    model, _, x = fitted()
    at = np.linspace(x.min() - 2, x.max() + 2, 40)
    for middle, band in ((model.drift(at), model.drift_band), (median_diffusion(model, at), model.diffusion_band)):
        inner = (middle, middle)
        for level in (0.1, 0.5, 0.9, 0.99):
            lower, upper = band(at, level=level)
            assert np.all(lower < inner[0])
            assert np.all(upper > inner[1])
            inner = (lower, upper)
    for level in (0.0, 1.0, 90):
        with pytest.raises(ValueError, match="probability"):
            model.drift_band(at, level=level)


@pytest.mark.slow
def test_score_is_the_log_predictive_density():
    """A Gaussian with the mean and variance of the increment over drift, diffusion and noise, all drawn."""
    model, _, x = fitted()
    new = record("regular", 5)[1]
    start, y, draws = new[:-1], np.diff(new), 40_000
    random = np.random.default_rng(0)
    drift, diffusion = (
        np.concatenate(part)
        for part in zip(
            *(model.functions(start, draws=draws // 20, random_state=seed) for seed in range(20)), strict=True
        )
    )
    noise = random.normal(size=drift.shape)
    increment = drift * 0.02 + diffusion * np.sqrt(0.02) * noise + np.sqrt(LAMBDA) * random.normal(size=drift.shape)
    expected = norm.logpdf(y, increment.mean(axis=0), increment.std(axis=0)).mean()
    assert model.score(new, dt=0.02) == pytest.approx(expected, abs=0.01)
    # close to the data the mixture itself, averaged over all draws, is that Gaussian nearly
    spread = np.sqrt(diffusion**2 * 0.02 + LAMBDA)
    mixture = logsumexp(norm.logpdf(y, drift * 0.02, spread), axis=0) - np.log(draws)
    near = (start > x.min()) & (start < x.max())
    single = norm.logpdf(y, increment.mean(axis=0), increment.std(axis=0))
    assert np.mean(mixture[near]) == pytest.approx(np.mean(single[near]), abs=0.05)
