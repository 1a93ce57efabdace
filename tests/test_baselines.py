"""The benchmark's coordinates one by one, and the length scale against a double sum; its rows are in test_paper."""

import numpy as np
import pytest

from onepath.compare.baselines import GPRegression, mean_pairwise_distance
from onepath.compare.processes import PROCESSES


def test_each_coordinate_has_its_own_regression():
    process = PROCESSES["spiral"]
    path = process.simulate(150, random_state=0)[0]
    x, y = path[:-1], np.diff(path, axis=0)
    both = GPRegression("linear").fit(x, y, process.dt)
    swapped = GPRegression("linear").fit(x, y[:, ::-1], process.dt)
    assert both.drift(x).shape == (150, 2)
    assert both.diffusion(x).shape == (150, 2, 2)
    np.testing.assert_allclose(swapped.drift(x), both.drift(x)[:, ::-1])
    np.testing.assert_allclose(swapped.diffusion(x), both.diffusion(x)[:, ::-1, ::-1])
    noise_of_each = np.diagonal(both.diffusion(x), axis1=1, axis2=2)
    np.testing.assert_allclose(noise_of_each, 0.5, rtol=0.2)


def test_unknown_kernel_and_forgotten_dimension_are_refused():
    x = np.zeros((5, 1))
    with pytest.raises(ValueError, match="only"):
        GPRegression("cubic").fit(x, x, 0.1)
    with pytest.raises(ValueError, match="must be"):
        GPRegression().fit(x, x[:, 0], 0.1)


@pytest.mark.parametrize("d", [1, 3])
def test_mean_pairwise_distance_is_the_double_sum(d):
    x = np.random.default_rng(d).normal(size=(40, d))
    double_sum = sum(np.linalg.norm(a - b) for a in x for b in x)
    assert mean_pairwise_distance(x) == pytest.approx(double_sum / (40 * 39))


def test_mean_pairwise_distance_of_many_points_is_near_the_exact_one():
    """Uniform points on [0, 1] are 1/3 apart on average."""
    x = np.linspace(0, 1, 50_001)[:, None]
    assert mean_pairwise_distance(x) == pytest.approx(1 / 3, rel=1e-3)
    assert mean_pairwise_distance(x) == mean_pairwise_distance(x)


def test_mean_pairwise_distance_needs_pairs():
    with pytest.raises(ValueError, match="shape"):
        mean_pairwise_distance(np.zeros((1, 1)))
