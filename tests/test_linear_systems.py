"""Linear systems with correlated noise: as good as ordinary least squares, which knows that they are linear."""

import numpy as np
import pytest
from tinygp import kernels

from onepath import SDE
from onepath.compare.processes import PROCESSES

pytestmark = pytest.mark.slow

SEEDS, STEPS = 12, 5000
BROAD = 100.0


def least_squares(x, dt):
    """Drift matrix and σσᵀ from the regression of increments on a constant and the state."""
    y = np.diff(x, axis=0)
    design = np.column_stack([np.ones(len(y)), x[:-1]])
    coefficients = np.linalg.lstsq(design, y, rcond=None)[0]
    residual = y - design @ coefficients
    return coefficients[1:].T / dt, residual.T @ residual / len(y) / dt


def fitted(x, dt):
    """The same two from a fit with a linear drift and a constant diffusion."""
    d = x.shape[1]
    drift = kernels.DotProduct() * BROAD + kernels.Constant(BROAD)
    model = SDE(drift, kernels.Constant(BROAD), noise="full", learn=None, transition="euler").fit(x, dt=dt)
    at = model.drift(np.vstack([np.zeros(d), np.eye(d)]))
    sigma = model.diffusion(np.zeros((1, d)))[0]
    return (at[1:] - at[0]).T, sigma @ sigma.T


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spiral", "linear_3d"])
def test_as_good_as_least_squares(name, table):
    process = PROCESSES[name]
    matrix = process.drift(np.eye(process.dimension)).T
    sigma = process.diffusion(process.start)
    truth = matrix, sigma @ sigma.T
    paths = process.simulate(STEPS, paths=SEEDS, random_state=0)
    errors = {
        method.__name__: [
            [np.linalg.norm(got - wanted) for got, wanted in zip(method(x, process.dt), truth, strict=True)]
            for x in paths
        ]
        for method in (least_squares, fitted)
    }
    medians = {method: np.median(each, axis=0) for method, each in errors.items()}
    table(f"{name}: median error over {SEEDS} seeds, {STEPS} steps of {process.dt}")
    for method, (drift, covariance) in medians.items():
        table(f"  {method:<14}  drift matrix {drift:.4f}   σσᵀ {covariance:.5f}")
    assert np.all(medians["fitted"] <= 1.1 * medians["least_squares"])
