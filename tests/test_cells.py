"""Merging transitions into cells: laws that hold exactly, an error of second order, and what a million points cost."""

import tracemalloc
from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy.signal import lfilter

from onepath import SDE
from onepath.compare.metrics import relative_error
from onepath.compare.processes import PAPER_TRAJECTORIES, PROCESSES
from onepath.data.cells import cells_of
from onepath.data.transitions import Transitions, Units, units_of
from onepath.graph.default import GraphOptions, build_graph
from onepath.inference.completion import objective_of


def random_transitions(n, d, seed):
    """Skewed starts, correlated increments, durations over two decades."""
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(d, d))
    return Transitions(rng.gamma(2.0, size=(n, d)), rng.normal(size=(n, d)) @ mix, 10.0 ** rng.uniform(-2, 0, n))


def ornstein_uhlenbeck(n, seed=0, dt=0.01):
    """dX = -X dt + dW, exactly, from its recursion."""
    keep = np.exp(-dt)
    noise = np.random.default_rng(seed).normal(size=n) * np.sqrt((1 - keep**2) / 2)
    return lfilter([1.0], [1.0, -keep], noise)


def differences(data, dt, cells, reference, starts):
    """Relative L2 difference of drift and diffusion over the range of the starts."""
    grid = np.linspace(starts.min(), starts.max(), 200)
    model = SDE(learn=None, transition="euler", cells=cells).fit(data, dt=dt)
    return [
        relative_error(getattr(model, what)(grid), getattr(reference, what)(grid)) for what in ("drift", "diffusion")
    ]


def as_it_is(d):
    return Units(np.zeros(d), np.ones(d), 1.0)


def scatter_of(y, weights):
    centred = y - np.average(y, axis=0, weights=weights)
    return np.einsum("n,ni,nj->ij", weights, centred, centred)


@pytest.mark.parametrize("n", [40, 500, 5000], ids=["no merging", "by splitting", "on a grid first"])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_merging_keeps_counts_sums_and_scatter(n, d, seed):
    transitions = random_transitions(n, d, seed)
    x, y, dt = transitions.x, transitions.y, transitions.dt
    cells = cells_of(transitions, as_it_is(d), 64 if n < 1000 else 16)
    assert len(cells.weight) == (64 if n < 1000 else 16)
    assert cells.weight.sum() == n
    np.testing.assert_allclose(cells.weight @ cells.x, x.sum(axis=0))
    np.testing.assert_allclose(cells.weight @ cells.dt, dt.sum())
    assert np.all(np.linalg.eigvalsh(cells.scatter) >= -1e-10 * np.sum(y * y))
    if d > 1:  # then means and scatter are those beside a polynomial
        return
    np.testing.assert_allclose(cells.weight @ cells.y, y.sum(axis=0), atol=1e-10 * n)
    between = scatter_of(cells.y, cells.weight)
    total = scatter_of(y, np.ones(n))
    np.testing.assert_allclose(cells.scatter.sum(axis=0) + between, total, atol=1e-10 * np.trace(total))


@pytest.mark.parametrize(("d", "degree"), [(2, 3), (3, 3), (4, 2)])
def test_a_polynomial_drift_is_no_scatter(d, degree):
    """It moves the mean of a cell to where it leads from the cell's own start, and changes nothing else."""
    plain, rng = random_transitions(500, d, 0), np.random.default_rng(1)
    slopes = rng.normal(size=(d, d)) / 3

    def drift(x):
        return (x @ slopes) ** degree - 2 * x

    moved = replace(plain, y=plain.y + drift(plain.x) * plain.dt[:, None])
    before, after = (cells_of(each, as_it_is(d), 64) for each in (plain, moved))
    np.testing.assert_allclose(after.y, before.y + drift(before.x) * before.dt[:, None], atol=1e-10 * np.ptp(moved.y))
    np.testing.assert_allclose(after.scatter, before.scatter, atol=1e-9 * before.scatter.max())


@pytest.mark.parametrize("n", [1, 63, 64])
def test_one_transition_a_cell_while_there_is_room(n):
    transitions = random_transitions(n, 2, 0)
    cells = cells_of(transitions, as_it_is(2), 64)
    np.testing.assert_array_equal(cells.weight, np.arange(64) < n)
    for got, wanted in ((cells.x, transitions.x), (cells.y, transitions.y), (cells.dt, transitions.dt)):
        np.testing.assert_array_equal(got[:n], wanted)
    np.testing.assert_array_equal(cells.scatter, 0.0)


def test_every_cell_is_used_when_there_are_enough_points():
    cells = cells_of(random_transitions(3000, 2, 0), as_it_is(2), 128)
    assert np.all(cells.weight > 0)


@pytest.mark.slow
@pytest.mark.parametrize("d", [2])
def test_padding_does_not_change_the_loss(d):
    transitions = random_transitions(50, d, 0)
    units = as_it_is(d)
    few, many = cells_of(transitions, units, 64), cells_of(transitions, units, 512)
    with jax.enable_x64(True):
        graph = build_graph(GraphOptions(noise="full"), transitions, units)
        graph = graph.with_bases(few, 1e-6, 512)
        objectives = [objective_of(graph, cells) for cells in (few, many)]
        weights = np.random.default_rng(1).normal(size=objectives[0].no_weights.shape)
        losses = [objective.loss(weights) for objective in objectives]
        slopes = [objective.gradient(weights) for objective in objectives]
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-9, atol=1e-9 * np.abs(slopes[0]).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exponential-1", "gbm"])
def test_merging_the_papers_records_changes_hardly_anything(name, table):
    """Its 500 points in 128 cells, against one transition a cell."""
    record = PAPER_TRAJECTORIES[name]
    x = record.x_train
    drift, diffusion = differences(
        x, record.dt, 128, SDE(learn=None, transition="euler", cells=512).fit(x, dt=record.dt), x
    )
    table(f"{name}: drift {drift:.2%}, diffusion {diffusion:.3%}")
    assert drift < 0.01
    assert diffusion < 0.01


def antithetic(process, starts):
    """From every start one increment f Δt + σ √Δt and one f Δt - σ √Δt, as records of two rows.

    Noise cancels at every start, so that what is left of merging is its bias. On noisy increments the difference of two
    estimates also has a random part, of first order, because a cell forgets where in it each increment began.
    """
    centre = starts + process.drift(starts) * process.dt
    reach = process.diffusion(starts)[:, :, 0] * np.sqrt(process.dt)
    return [
        np.stack([start, end]) for sign in (1, -1) for start, end in zip(starts, centre + sign * reach, strict=True)
    ]


@pytest.mark.slow
def test_merging_is_of_second_order(table):
    """Four times less for every halving of the cells, on the median over processes."""
    sizes, rows = [64, 128, 256], []
    for name in ("double_well", "wiggly", "quadratic_noise", "washboard"):
        process = PROCESSES[name]
        for seed in range(1):
            starts = np.sort(np.random.default_rng(seed).uniform(-2, 2, size=(1000, 1)), axis=0)
            records = antithetic(process, starts)
            unmerged = SDE(learn=None, transition="euler", cells=2048).fit(records, dt=process.dt)
            rows.append([differences(records, process.dt, cells, unmerged, starts) for cells in sizes])
    medians = np.median(rows, axis=0)
    slopes = -np.polyfit(np.log(sizes), np.log(medians), 1)[0]
    for cells, (drift, diffusion) in zip(sizes, medians, strict=True):
        table(f"{cells:>4} cells: drift {drift:.3%}, diffusion {diffusion:.4%}")
    table(f"order: drift {slopes[0]:.2f}, diffusion {slopes[1]:.2f}")
    assert np.all(slopes > 1.5)


@pytest.mark.slow
def test_an_outlier_among_many_does_not_coarsen_the_rest():
    """A second record that starts 100 standard deviations away, with one ordinary increment."""
    x = ornstein_uhlenbeck(100_001)
    far = 100 * x.std() + np.array([0.0, -0.05])
    grid = np.linspace(-1.5, 1.5, 100)
    alone = SDE(learn=None, transition="euler").fit(x, dt=0.01)
    both = SDE(learn=None, transition="euler").fit([x, far], dt=0.01)
    for what in ("drift", "diffusion"):
        low, high = getattr(alone, f"{what}_band")(grid)
        value = getattr(both, what)(grid)
        assert np.mean((low <= value) & (value <= high)) > 0.95
    assert both.outcome_.startswith("converged")


def test_a_million_points_are_read_once_and_never_copied(monkeypatch, table):
    """Counted: rows that are standardised, and the most memory that is held beside the data."""
    x = ornstein_uhlenbeck(1_000_001)[:, None]
    transitions = Transitions(x[:-1], np.diff(x, axis=0), np.full(1_000_000, 0.01))
    units, rows = units_of(transitions, common=False), []
    standardised = Units.standardised

    def counted(self, part):
        rows.append(len(part))
        return standardised(self, part)

    monkeypatch.setattr(Units, "standardised", counted)
    tracemalloc.start()
    cells = cells_of(transitions, units, 256)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(rows) == 1_000_000
    assert cells.weight.sum() == 1_000_000
    table(f"a million points into cells: at most {most / x.nbytes:.2f} of the data's own memory beside them")
    assert most < x.nbytes
