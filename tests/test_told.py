"""The yardstick of the population benchmark: it finds the coefficients it is told to look for."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import told

from onepath.after.equation import monomials
from onepath.compare.processes import PROCESSES


@pytest.mark.slow
@pytest.mark.parametrize("name", told.FORMS)
def test_many_data_give_the_true_functions(name):
    """Noise to some per cent; drift to some of its standard errors, which are about σ/√T times the number of terms."""
    process, dt, steps = PROCESSES[name], 0.01, 5000
    rng = np.random.default_rng(1)
    centre = process.simulate(500, random_state=2)[0]
    x = rng.uniform(centre.min(axis=0), centre.max(axis=0), (steps, process.dimension))
    noise = rng.standard_normal((steps, process.dimension, 1))
    y = process.drift(x) * dt + np.sqrt(dt) * (process.diffusion(x) @ noise)[..., 0]
    drift, diffusion = told.fit(name, x, y, dt)
    at = x[:200]
    sigma = process.diffusion(at)
    error = np.sqrt(np.mean(np.square(diffusion(at) - sigma)))
    assert error < 0.05 * np.sqrt(np.mean(np.square(sigma)))
    terms = len(monomials(process.dimension, told.FORMS[name].drift))
    expected = np.sqrt(np.mean(np.square(sigma)) * terms / (steps * dt))
    assert np.sqrt(np.mean(np.square(drift(at) - process.drift(at)))) < 3 * expected
