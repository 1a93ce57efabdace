"""A weight beside every transition: one that weighs 2 is one seen twice, one that weighs 0 was never there."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from onepath.after.diagnose import law_checks, whitened
from onepath.compare.processes import PROCESSES
from onepath.data.cells import cells_of
from onepath.data.statistics import dimensions_correlate, mean_duration, mean_square, mean_square_rate, persistence
from onepath.data.transitions import Transitions, Units, units_of
from onepath.graph.default import GraphOptions, build_graph
from onepath.inference.completion import objective_of


def random_transitions(n, d, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, n).astype(float)
    weights[0] = 1.0
    x, y = rng.gamma(2.0, size=(n, d)), rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    return Transitions(x, y, 10.0 ** rng.uniform(-2, 0, n), weights)


def repeated(transitions):
    """The same without weights: each as often as it counts."""
    return replace(
        transitions.rows(np.repeat(np.arange(len(transitions)), transitions.weight.astype(int))), weights=None
    )


@pytest.mark.parametrize("d", [1, 2, 3])
def test_statistics_of_the_data(d):
    weighted = random_transitions(300, d)
    plain = repeated(weighted)
    assert weighted.total == plain.total == len(plain)
    for common in (False, True):
        here, there = units_of(weighted, common=common), units_of(plain, common=common)
        assert_allclose(here.location, there.location)
        assert_allclose(here.scale, there.scale)
    for statistic in (mean_square, mean_square_rate, mean_duration):
        assert_allclose(statistic(weighted), statistic(plain))


def test_statistics_of_neighbours_leave_out_what_counts_nothing():
    """A path whose first half is another one, of weight 0."""
    process = PROCESSES["van_der_pol"]
    path = process.simulate(2000, random_state=0)[0]
    whole = Transitions(path[:-1], np.diff(path, axis=0), np.full(2000, process.dt), (np.arange(2000) >= 1000) * 1.0)
    half = Transitions(path[1000:-1], np.diff(path[1000:], axis=0), np.full(1000, process.dt))
    assert_allclose(persistence(whole), persistence(half))
    assert dimensions_correlate(whole) == dimensions_correlate(half)


@pytest.mark.parametrize("n", [60, 500, 5000], ids=["no merging", "by splitting", "on a grid first"])
def test_cells_keep_weights_sums_and_scatter(n):
    """Whatever the cells are: their totals are those of the transitions."""
    weighted = random_transitions(n, 1)
    cells = cells_of(weighted, Units(np.zeros(1), np.ones(1), 1.0), 64 if n < 1000 else 16)
    weight, y = weighted.weight, weighted.y
    assert_allclose(cells.weight.sum(), weight.sum())
    assert_allclose(cells.weight @ cells.x, weight @ weighted.x)
    assert_allclose(cells.weight @ cells.y, weight @ y, atol=1e-10 * n)
    assert_allclose(cells.weight @ cells.dt, weight @ weighted.dt)

    def scatter(y, weight):
        centred = y - np.average(y, axis=0, weights=weight)
        return np.einsum("n,ni,nj->ij", weight, centred, centred)

    assert_allclose(cells.scatter.sum(axis=0) + scatter(cells.y, cells.weight), scatter(y, weight), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(("d", "noise"), [(2, "full")])
def test_loss_gradient_and_fisher_matrix(d, noise):
    """Of weighted transitions, one a cell, and of the same ones merged from their repetitions."""
    weighted = random_transitions(50, d)
    units = Units(np.zeros(d), np.ones(d), 1.0)
    graph = build_graph(GraphOptions(noise=noise), weighted, units)
    graph = graph.with_bases(cells_of(weighted, units, 128), 1e-3, 32)
    here, there = (objective_of(graph, cells_of(part, units, 128)) for part in (weighted, repeated(weighted)))
    weights = 0.3 * np.random.default_rng(1).normal(size=here.no_weights.shape)
    assert len(np.flatnonzero(here.cells.weight)) < len(np.flatnonzero(there.cells.weight))
    for what in ("loss", "gradient", "fisher", "hessian"):
        one, other = (getattr(objective, what)(weights) for objective in (here, there))
        assert_allclose(one, other, rtol=0, atol=1e-10 * np.abs(other).max(), err_msg=what)


def test_the_diagnosis_counts_as_often_as_the_fit():
    """Moments of residuals against repetitions; and a fault that is planted where nothing counts is no fault."""
    rng = np.random.default_rng(2)
    y, weights = rng.standard_normal((3000, 1)), np.where(np.arange(3000) < 1000, 0.0, 1.0)
    y[:1000] = 3.0 + 2.0 * y[:1000]  # another mean and another variance
    x = np.cumsum(y, axis=0) - y

    def law(at, _):
        return np.zeros_like(at), np.ones((len(at), 1, 1))

    def flagged(transitions):
        residuals = whitened(transitions, np.arange(len(transitions)), law)
        return {check.name for check in law_checks(residuals, "seconds") if check.matters and (check.log_p or 0) < -8}

    whole = Transitions(x, y, np.ones(3000))
    assert {"residuals", "noise over time"} <= flagged(whole)
    assert flagged(replace(whole, weights=weights)) == set()
    residuals = whitened(replace(whole, weights=weights), np.arange(3000), law)
    assert residuals.total == 2000
    assert_allclose(residuals.mean(residuals.z), y[1000:].mean(axis=0))
