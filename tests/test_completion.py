"""The MAP loss against the paper's formula and SciPy's densities; its derivatives against differences and averages."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from tinygp import kernels
from tinygp.kernels.distance import L2Distance

from onepath.data.cells import cells_of
from onepath.data.transitions import Transitions, Units
from onepath.graph.default import GraphOptions, build_graph
from onepath.graph.laws import LAWS
from onepath.inference.completion import (
    SOLVERS,
    FisherScoring,
    GradientDescent,
    Objective,
    complete,
    initial_weights,
    objective_of,
    smoothed_diffusion,
)
from onepath.inference.completion.objective import Cellwise

pytestmark = pytest.mark.usefixtures("double")

LAMBDA, SCALE, CELLS = 1e-3, 0.7, 64
LINKS = {"identity": lambda g: g, "exp": np.exp, "softplus": lambda g: np.log1p(np.exp(g))}
OFFSETS = {"identity": 0.0, "exp": 0.0, "softplus": np.log(np.expm1(1.0))}


def transitions(d, seed=0, distinct=60, copies=1):
    """Starts so far apart that no matrix is near singular; steps of several lengths."""
    random = np.random.default_rng(seed)
    x = np.stack([np.arange(distinct) + random.uniform(0, 0.3, distinct) for _ in range(d)], axis=1)
    dt = random.uniform(0.05, 0.2, distinct)
    y = random.normal(size=(copies * distinct, d)) * np.sqrt(np.tile(dt, copies))[:, None]
    return Transitions(np.tile(x, (copies, 1)), y, np.tile(dt, copies))


def problem(data, link="softplus", noise="diagonal"):
    """The objective of given transitions, in their own units, with all starts as points of the features."""
    d = data.x.shape[1]
    kernel = kernels.Matern52(scale=SCALE, distance=L2Distance())
    units = Units(np.zeros(d), np.ones(d), 1.0)
    graph = build_graph(GraphOptions(kernel, kernel, noise, link, LAMBDA), data, units)
    cells = cells_of(data, units, CELLS)
    return objective_of(graph.with_bases(cells, 0.0, CELLS), cells)


def random_weights(objective, seed=1):
    """A draw from the prior, made smaller so that σ stays away from zero."""
    return 0.3 * np.random.default_rng(seed).normal(size=objective.no_weights.shape)


def matern52(x):
    r = np.sqrt(5) * np.abs(x - x.T) / SCALE
    return (1 + r + r**2 / 3) * np.exp(-r)


def gaussians(objective, weights, link, noise, data):
    """Mean and covariance of each increment, from the values of the unknown functions, by hand."""
    n, d = data.x.shape
    cell = [np.flatnonzero(np.all(np.isclose(objective.cells.x, start), axis=1))[0] for start in data.x]
    latent = objective.latent(weights)[cell, :, 0]
    unit = np.sqrt(np.mean(data.y**2 / data.dt[:, None], axis=0))
    sigma = np.zeros((n, d, d))
    for i in range(d):
        sigma[:, i, i] = unit[i] * LINKS[link](latent[:, d + i])
    if noise == "full":
        for g, (i, j) in zip(latent[:, 2 * d :].T, zip(*np.tril_indices(d, -1), strict=True), strict=True):
            sigma[:, i, j] = unit[i] * g
    covariance = sigma @ np.swapaxes(sigma, 1, 2) * data.dt[:, None, None] + LAMBDA * np.eye(d)
    return latent[:, :d] * data.dt[:, None], covariance


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("seed", [0, 1])
def test_loss_is_half_the_papers(link, seed):
    """𝓛(f, σ) with f'K⁻¹f and g'G⁻¹g; g is σ itself under the identity link."""
    data = transitions(1, seed)
    objective = problem(data, link)
    weights = random_weights(objective, seed)
    mean, covariance = gaussians(objective, weights, link, "diagonal", data)
    f, g = objective.latent(weights)[: len(data.dt), :, 0].T
    g = g - OFFSETS[link]
    prior = matern52(data.x)
    unit = np.sqrt(np.mean(data.y[:, 0] ** 2 / data.dt))
    variance = covariance[:, 0, 0]
    loss = np.sum((data.y - mean)[:, 0] ** 2 / variance) + np.sum(np.log(variance))
    loss += f @ np.linalg.solve(prior, f) + g @ np.linalg.solve(prior, g) * (1 if link == "exp" else unit**2)
    assert objective.loss(weights) == pytest.approx(loss / 2, rel=1e-10)


@pytest.mark.parametrize("copies", [1, 3], ids=["single", "merged"])
@pytest.mark.parametrize(("d", "noise", "link"), [(1, "diagonal", "exp"), (2, "full", "softplus"), (2, "full", "exp")])
def test_loss_is_minus_the_log_density_of_every_increment(d, noise, link, copies):
    data = transitions(d, distinct=60, copies=copies)
    objective = problem(data, link, noise)
    assert set(objective.cells.weight) == {0.0, float(copies)}
    weights = random_weights(objective)
    means, covariances = gaussians(objective, weights, link, noise, data)
    density = sum(map(multivariate_normal.logpdf, data.y, means, covariances))
    expected = -density - len(data.dt) * d / 2 * np.log(2 * np.pi) + 0.5 * np.sum(np.square(weights))
    assert objective.loss(weights) == pytest.approx(expected, rel=1e-10)


def difference(values, step):
    """First derivative from values at -2, -1, 1 and 2 steps: the error is of fourth order."""
    return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)


CASES = [(1, "diagonal", "identity"), (1, "diagonal", "exp"), (2, "full", "softplus")]


@pytest.mark.parametrize(("d", "noise", "link"), CASES)
def test_gradient_and_hessian_are_limits_of_differences(d, noise, link):
    objective = problem(transitions(d, copies=2), link, noise)
    weights, step = random_weights(objective), 1e-5
    hessian = objective.hessian(weights)
    assert_allclose(hessian, hessian.T, atol=1e-12 * np.abs(hessian).max())
    for seed in range(5):
        direction = np.random.default_rng(seed).normal(size=weights.shape)
        along = [weights + k * step * direction for k in (-2, -1, 1, 2)]
        slope = np.sum(objective.gradient(weights) * direction)
        assert slope == pytest.approx(difference([objective.loss(at) for at in along], step), rel=1e-6)
        change = difference([objective.gradient(at).ravel() for at in along], step)
        assert_allclose(hessian @ direction.ravel(), change, rtol=0, atol=1e-7 * np.abs(change).max())


@pytest.mark.slow
@pytest.mark.parametrize(("d", "noise", "link"), CASES)
def test_fisher_matrix_is_the_average_hessian_over_increments_of_the_model(d, noise, link):
    """A cell of many draws has the sum of their Hessians; batches of them tell the error of the average."""
    data, draws, batches = transitions(d), 2000, 40
    objective = problem(data, link, noise)
    weights, random = random_weights(objective), np.random.default_rng(0)
    means, covariances = gaussians(objective, weights, link, noise, data)
    roots, n = np.linalg.cholesky(covariances), len(data.dt)
    directions = random.normal(size=(12, weights.size))
    fisher = objective.fisher(weights) - np.eye(weights.size)
    averages = []
    for _ in range(batches):
        y = means[:, None] + np.einsum("nij,nsj->nsi", roots, random.normal(size=(n, draws, d)))
        centred = y - y.mean(axis=1, keepdims=True)
        counts, mean, scatter = (np.zeros_like(part) for part in objective.cells[:1] + objective.cells[2:4])
        counts[:n], mean[:n], scatter[:n] = draws, y.mean(axis=1), np.einsum("nsi,nsj->nij", centred, centred)
        cells = objective.cells._replace(weight=counts, y=mean, scatter=scatter)
        drawn = Objective(Cellwise(objective.graph, cells), objective.features)
        averages.append((drawn.hessian(weights) - np.eye(weights.size)) / draws)
    measured = np.einsum("vi,bij,vj->bv", directions, np.stack(averages), directions)
    expected = np.einsum("vi,ij,vj->v", directions, fisher, directions)
    error = measured.std(axis=0, ddof=1) / np.sqrt(batches)
    assert np.max(np.abs(measured.mean(axis=0) - expected) / error) < 5
    assert np.linalg.norm(np.mean(averages, axis=0) - fisher) < 0.02 * np.linalg.norm(fisher)


def test_fisher_matrix_of_one_dimension_in_closed_form():
    """Blocks I + Φ'diag(Δt²/v)Φ for the drift and I + Φ'diag(2σ²Δt²/v²)Φ for σ, nothing between them."""
    data = transitions(1)
    objective = problem(data, "identity")
    weights = random_weights(objective)
    _, covariance = gaussians(objective, weights, "identity", "diagonal", data)
    v, n, p = covariance[:, 0, 0], len(data.dt), objective.phi.shape[3]
    unit = float(objective.graph.unit[0])
    phi_f, phi_s = objective.phi[:n, :, 0].transpose(1, 0, 2)
    expected = np.eye(2 * p)
    expected[:p, :p] += phi_f.T * (data.dt**2 / v) @ phi_f
    expected[p:, p:] += phi_s.T * (unit**2 * 2 * (v - LAMBDA) * data.dt / v**2) @ phi_s
    assert_allclose(objective.fisher(weights), expected, rtol=0, atol=1e-10 * expected.max())


def test_best_drift_is_the_papers():
    """f̄*(σ̄) = KΛ(ΛKΛ + Σ + λI)⁻¹Y."""
    data = transitions(1)
    objective = problem(data, "softplus")
    weights = random_weights(objective)
    _, covariance = gaussians(objective, weights, "softplus", "diagonal", data)
    prior, steps, n = matern52(data.x), np.diag(data.dt), len(data.dt)
    expected = prior @ steps @ np.linalg.solve(steps @ prior @ steps + np.diag(covariance[:, 0, 0]), data.y[:, 0])
    best = objective.latent(objective.with_best_drift(weights))[:, :, 0]
    assert_allclose(best[:n, 0], expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    assert_allclose(best[:, 1], objective.latent(weights)[:, 1, 0])


@pytest.mark.parametrize(("d", "noise", "link"), [CASES[0], CASES[2]])
def test_gradient_descent_sees_the_loss_with_the_drift_at_its_best(d, noise, link):
    """Its slope in the diffusion's weights, the drift following them, against differences."""
    objective = problem(transitions(d, copies=2), link, noise)
    weights, step = random_weights(objective), 1e-4
    profile = GradientDescent().begin(objective, weights).place
    assert_allclose(profile.latent[:, d:], objective.latent(weights)[:, d:], atol=1e-12)
    best = objective.with_best_drift(weights)
    assert_allclose(profile.latent, objective.latent(best), atol=1e-9)
    assert profile.loss == pytest.approx(objective.loss(best), rel=1e-12)
    slope = objective.gradient_at(profile)[d:]
    for seed in range(3):
        direction = np.random.default_rng(seed).normal(size=weights.shape)
        direction[:d] = 0.0
        moved = [weights + k * step * direction for k in (-2, -1, 1, 2)]
        along = [objective.loss(objective.with_best_drift(at)) for at in moved]
        assert np.sum(slope * direction[d:]) == pytest.approx(difference(along, step), rel=1e-6)


def test_smoothing_and_start_are_the_papers():
    """σ* = G(G + γI)⁻¹σ†, and a start from the quadratic variation smoothed likewise, around its mean."""
    data, gamma = transitions(1), 0.05
    objective = problem(data, "identity")
    weights, n = random_weights(objective), len(data.dt)
    unit = float(objective.graph.unit[0])
    smooth = matern52(data.x) @ np.linalg.inv(matern52(data.x) + gamma * np.eye(n))
    values = unit * objective.latent(weights)[:n, 1, 0]
    smoothing = np.array([gamma / unit**2])
    after = objective.latent(smoothed_diffusion(objective, weights, smoothing))[:, :, 0]
    assert_allclose(unit * after[:n, 1], smooth @ values, rtol=0, atol=1e-9 * np.abs(values).max())
    variation = data.y[:, 0] ** 2 / data.dt
    rough = smooth @ (variation - variation.mean()) + variation.mean()
    expected = smooth @ np.sqrt(np.maximum(rough, 0.01 * variation.mean()))
    start = objective.latent(initial_weights(objective, smoothing))[:, :, 0]
    assert_allclose(unit * start[:n, 1], expected, rtol=0, atol=1e-9 * expected.max())
    assert_allclose(start[:, 0], 0)


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_ends_where_the_gradient_vanishes(solver):
    objective = problem(transitions(1, copies=20), "softplus")
    done = complete(objective, SOLVERS[solver], objective.no_weights)
    assert done.steps <= SOLVERS[solver].most_steps
    assert objective.loss(done.weights) == pytest.approx(done.loss, rel=1e-12)
    assert np.max(np.abs(objective.gradient(done.weights))) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["full"])
def test_without_the_hessian_the_same_minimum_is_reached(noise):
    objective = problem(transitions(2, copies=5), noise=noise)
    exact, scoring = (complete(objective, FisherScoring(close=close), objective.no_weights) for close in (1.0, 0.0))
    assert scoring.loss == pytest.approx(exact.loss, rel=1e-11)
    assert np.max(np.abs(objective.gradient(scoring.weights))) < 1e-4
    assert scoring.steps > exact.steps


@pytest.mark.parametrize(("d", "noise", "link"), CASES)
def test_near_a_minimum_is_the_minimum_itself(d, noise, link):
    """Where φᵀ∇ℓ = -ŵ, (I + φᵀCφ)⁻¹ φᵀ(C q̂ - ∇ℓ) is ŵ, offsets or not; elsewhere it is one step of scoring."""
    objective = problem(transitions(d, copies=5), link, noise)
    done = complete(objective, FisherScoring(), initial_weights(objective))
    assert done.converged
    assert_allclose(objective.near(done.place), done.weights, rtol=0, atol=1e-6)
    weights = random_weights(objective)
    step = np.linalg.solve(objective.fisher(weights), objective.gradient(weights).ravel()).reshape(weights.shape)
    assert_allclose(objective.near(objective.at(weights)), weights - step, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("d", "noise", "link"), CASES)
def test_a_step_that_is_trusted_leads_nearly_to_the_minimum(d, noise, link):
    """From .4 standard deviations away one step that nobody looks at leaves a twentieth and hardly any loss."""
    objective = problem(transitions(d, copies=20), link, noise)
    done = complete(objective, FisherScoring(), initial_weights(objective))
    fisher, move = objective.fisher(done.weights), random_weights(objective)
    away = 0.4 * move / np.sqrt(move.ravel() @ fisher @ move.ravel())
    found = complete(objective, FisherScoring().loosened(), done.weights + away)
    left = (found.weights - done.weights).ravel()
    assert found.steps == 1
    assert found.blocks is not None
    assert np.sqrt(left @ fisher @ left) < 0.05
    assert found.loss == pytest.approx(done.loss, abs=0.01)
    assert_allclose(found.place.latent, objective.latent(found.weights))


@pytest.mark.parametrize(("d", "law"), [(1, "euler"), (2, "euler"), (1, "linearised"), (2, "linearised")])
def test_the_hessian_is_left_out_where_it_is_dear(d, law):
    graph = build_graph(GraphOptions(noise="diagonal"), transitions(d), Units(np.zeros(d), np.ones(d), 1.0))
    assert (FisherScoring().for_graph(graph.with_law(LAWS[law])).close == 0.0) == (d == 2 and law == "linearised")
