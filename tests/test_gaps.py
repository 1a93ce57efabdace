"""Outages in a record: left out, they cost data and nothing else; taken for steps, they spoil the drift."""

import warnings

import numpy as np
import pytest
from tinygp import kernels

from onepath import SDE
from onepath.compare.metrics import relative_error
from onepath.compare.processes import PROCESSES

pytestmark = pytest.mark.slow

DT, ROWS, OUTAGES, LOST = 0.005, 40_000, 60, 299  # 299 rows lost make one step of 1.5
DRIFT = kernels.Matern52(scale=1.0)
GRID = np.linspace(-1.3, 1.3, 100)


@pytest.fixture(scope="module")
def whole():
    """Times and states of the uncut record."""
    x = PROCESSES["double_well"].simulate(ROWS - 1, dt=DT, substeps=1, random_state=0)[0, :, 0]
    return DT * np.arange(ROWS), x


@pytest.fixture(scope="module")
def kept():
    """Which rows survive: one outage in each of 60 equal stretches."""
    stretch = ROWS // OUTAGES
    begin = stretch * np.arange(OUTAGES) + np.random.default_rng(1).integers(1, stretch - LOST, OUTAGES)
    rows = np.ones(ROWS, bool)
    rows[(begin[:, None] + np.arange(LOST)).ravel()] = False
    return rows


@pytest.fixture(scope="module")
def uncut(whole):
    return SDE(DRIFT, learn=None, transition="euler").fit(whole[1], dt=DT)


@pytest.fixture(scope="module")
def cut(whole, kept):
    t, x = whole
    with pytest.warns(UserWarning, match=f"{OUTAGES} of {kept.sum() - 1} steps .* left out as recording gaps"):
        return SDE(DRIFT, learn=None, transition="euler").fit(x[kept], t=t[kept])


def share_within(model, other):
    """Share of the grid where the other's drift and diffusion lie in this model's 90 % bands."""
    shares = []
    for what in ("drift", "diffusion"):
        low, high = getattr(model, f"{what}_band")(GRID, level=0.9)
        value = getattr(other, what)(GRID)
        shares.append(float(np.mean((low <= value) & (value <= high))))
    return shares


def test_outages_cost_data_and_nothing_else(cut, uncut, kept, table):
    assert cut.trajectory_.gaps == OUTAGES
    assert len(cut.transitions_.dt) == kept.sum() - 1 - OUTAGES
    shares = share_within(cut, uncut)
    table(f"share of the grid within the 90 % bands: drift {shares[0]:.2f}, diffusion {shares[1]:.2f}")
    assert min(shares) >= 0.95


def test_missing_rows_are_outages_too(whole, kept, cut):
    _, x = whole
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what is marked as missing needs no guess and no warning
        marked = SDE(DRIFT, learn=None, transition="euler").fit(np.where(kept, x, np.nan), dt=DT)
    assert marked.trajectory_.gaps == 0
    assert marked.trajectory_.missing == OUTAGES * LOST
    assert len(marked.transitions_.dt) == len(cut.transitions_.dt)
    np.testing.assert_allclose(marked.drift(GRID), cut.drift(GRID), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(marked.diffusion(GRID), cut.diffusion(GRID), rtol=1e-6)


def test_taking_outages_for_steps_gives_a_wrong_drift(whole, kept, cut, table):
    """Within 1.5 time units the double well has forgotten its start, so these steps see too weak a drift."""
    t, x = whole
    bridged = SDE(DRIFT, learn=None, transition="euler").fit(x[kept], t=t[kept], gap=np.inf)
    assert bridged.trajectory_.gaps == 0
    truth = GRID - GRID**3
    errors, shares = [], []
    for model in (cut, bridged):
        low, high = model.drift_band(GRID)
        errors.append(relative_error(model.drift(GRID), truth))
        shares.append(float(np.mean((low <= truth) & (truth <= high))))
    table(f"drift, gaps left out and taken for steps: error {np.round(errors, 2)}, share of truth in band {shares}")
    assert errors[1] > 2 * errors[0]
    assert shares[0] > 0.9
    assert shares[1] < 0.7
