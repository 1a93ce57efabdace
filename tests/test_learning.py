"""Criteria against finite differences, optimisers against known minima, and learning against what it should find."""

import sys
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest
from scipy.special import ndtr
from tinygp import kernels

from onepath import SDE
from onepath.compare.baselines import mean_pairwise_distance
from onepath.compare.processes import PAPER_TRAJECTORIES, PROCESSES
from onepath.data.cells import cells_of
from onepath.data.trajectory import read_trajectory
from onepath.data.transitions import random_halves, transitions_of, units_of
from onepath.gp.parameters import learnable, parameters_of
from onepath.graph.default import GraphOptions, build_graph
from onepath.graph.laws import LAWS
from onepath.graph.links import LINKS
from onepath.inference.completion import SOLVERS, FisherScoring, objective_of
from onepath.inference.learning.criterion import Stage
from onepath.inference.learning.crossval import judge_split
from onepath.inference.learning.evidence import judge_evidence
from onepath.inference.learning.learned import LearnedTheta, standard_points
from onepath.inference.learning.optimisers import Optimum, descend, explore, settle
from onepath.inference.learning.prior import ParameterPrior
from onepath.inference.learning.robust import RandomisedLoss, robust_learning
from onepath.inference.learning.search import learned_mask
from onepath.inference.posterior.mixture import importance

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from evidence import compare

CELLS = 64


def graph_and_transitions(name, noise, law):
    process = PROCESSES[name]
    path = process.simulate(120, random_state=3)[0]
    transitions = transitions_of(read_trajectory(path, dt=process.dt))
    units = units_of(transitions, common=False)
    graph = build_graph(GraphOptions(noise=noise), transitions, units).with_law(LAWS[law])
    return graph.with_bases(cells_of(transitions, units, CELLS), 1e-3, 32), transitions, units


def test_the_prior_of_parameters_is_normal_and_has_exponential_tails():
    prior, h = ParameterPrior(np.array([0.5, -1.0]), np.array([0.7, 1.5])), 1e-6
    for z in (np.array([0.3, -1.9]), np.array([2.5, -4.0]), np.array([-5.0, 1.0])):
        at = prior.mean + prior.spread * z
        value, slope = prior.negative_log(at)
        expected = np.where(np.abs(z) <= 2, 0.5 * z**2, 2 * np.abs(z) - 2)
        assert value == pytest.approx(expected.sum())
        differences = [(prior.negative_log(at + e)[0] - prior.negative_log(at - e)[0]) / (2 * h) for e in h * np.eye(2)]
        np.testing.assert_allclose(slope, differences, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(
    ("name", "noise", "law", "criterion"),
    [
        ("double_well", "diagonal", "euler", "crossval"),
    ],
)
def test_slopes_are_finite_differences(name, noise, law, criterion):
    graph, transitions, units = graph_and_transitions(name, noise, law)
    mask = learnable(graph.parameters)
    rng = np.random.default_rng(5)
    first, second = random_halves(len(transitions.dt), rng)
    halves = [Stage.of(graph, mask, cells_of(transitions.rows(i), units, CELLS)) for i in (first, second)]
    centre = halves[0].source.theta
    start = halves[0].objective(centre).no_weights

    def judged(theta):
        if criterion == "evidence":
            return judge_evidence(theta, halves[0], SOLVERS["fisher"], start)
        return judge_split(theta, *halves, SOLVERS["fisher"], start)

    theta = centre + 0.4 * rng.standard_normal(len(centre))
    slope = judged(theta).slope
    directions = rng.standard_normal((4, len(theta)))
    step = 1e-4
    for direction in directions:
        ends = [judged(theta + sign * step * direction).value for sign in (1, -1)]
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(slope @ direction, rel=1e-4, abs=1e-4)


LINE = [("double_well", "diagonal", "euler", link) for link in LINKS]
BENT = ("double_well", "diagonal", "linearised", "exp")
PLANE = [("spiral", "isotropic", "euler", "exp"), ("spiral", "full", "euler", "softplus")]


@pytest.mark.parametrize("case", [*LINE, *(pytest.param(case, marks=pytest.mark.slow) for case in (*PLANE, BENT))])
def test_the_evidence_and_its_slope_are_those_of_automatic_differentiation(case):
    """Some of what `python benchmarks/evidence.py` compares, which is every structure, link and law."""
    value, slope = compare(case)
    assert value < 1e-9
    assert slope < 1e-9


@pytest.mark.slow
@pytest.mark.usefixtures("double")
def test_a_candidate_is_worth_what_its_completion_is_also_where_the_solver_stopped_early():
    graph, transitions, units = graph_and_transitions("double_well", "diagonal", "euler")
    mask = learnable(graph.parameters)
    cells = [cells_of(transitions.rows(slice(i, None, 2)), units, CELLS) for i in (0, 1)]
    first, second = (objective_of(graph, half) for half in cells)
    halves, hasty = [Stage.of(graph, mask, half) for half in cells], FisherScoring(most_steps=2)
    judged = judge_split(halves[0].source.theta, *halves, hasty, first.no_weights)
    assert np.max(np.abs(first.gradient(judged.completion.weights))) > 0.1
    worth = second.at(judged.completion.weights).misfit
    assert judged.value == pytest.approx(worth, rel=1e-12)


def test_parameters_around_the_best_have_the_moments_of_their_normal_distribution():
    rng = np.random.default_rng(2)
    root = rng.standard_normal((5, 5))
    curvature, best, prior = root @ root.T + np.eye(5), rng.standard_normal(5), ParameterPrior(np.zeros(5), np.ones(5))

    def around(curvature, most):
        points, densities = LearnedTheta(None, prior, Optimum(best, 0.0, curvature, 1, "")).around(most)
        moved = points - best
        normal = 0.5 * np.einsum("si,ij,sj->s", moved, curvature, moved) - 0.5 * np.linalg.slogdet(curvature)[1]
        np.testing.assert_allclose(densities, normal, rtol=1e-6)
        return moved

    moved = around(curvature, 18)
    assert len(moved) == 10
    np.testing.assert_allclose(moved.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(moved.T @ moved / 10, np.linalg.inv(curvature), atol=1e-12)
    np.testing.assert_allclose(around(curvature + 1e-9 * np.eye(5), 18), moved, atol=1e-7)
    assert len(around(curvature, 8)) == 8
    # where points are few, each parameter still has one in every eighth of its distribution
    eighths = np.sort(np.floor(8 * ndtr(standard_points(5, 8))), axis=0)
    np.testing.assert_array_equal(eighths, np.arange(8)[:, None] * np.ones(5))


def test_another_optimum_as_good_as_the_best_is_averaged_over_too():
    """Two normal distributions of mask one is e² times as probable and, in one direction of two, half as wide."""
    prior, wide, narrow = ParameterPrior(np.zeros(2), np.full(2, 9.0)), np.eye(2), np.diag([1.0, 4.0])
    other = LearnedTheta(None, prior, Optimum(np.array([3.0, 0.0]), 0.0, narrow, 1, ""))
    parameters, densities = LearnedTheta(None, prior, Optimum(np.zeros(2), 0.0, wide, 1, ""), other).around(18)
    values = [
        0.5 * (point - centre) @ curvature @ (point - centre) - height
        for points, centre, curvature, height in (
            (parameters[:4], np.zeros(2), wide, 0.0),
            (parameters[4:], other.optimum.theta, narrow, 2.0),
        )
        for point in points
    ]
    mass, _ = importance(np.asarray(values), densities)
    assert mass[4:].sum() / mass[:4].sum() == pytest.approx(np.exp(2.0) / 2)


def rosenbrock(p):
    x, y = p
    value = (1 - x) ** 2 + 100 * (y - x**2) ** 2
    return value, np.array([-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)])


def test_descent_finds_a_minimum_and_its_curvature():
    bounds = np.array([[-3.0, 3.0], [-3.0, 3.0]])
    found = settle(rosenbrock, descend(rosenbrock, np.array([-1.0, 1.0]), bounds, 300), bounds)
    np.testing.assert_allclose(found.theta, [1.0, 1.0], atol=1e-6)
    np.testing.assert_allclose(found.curvature, [[802.0, -400.0], [-400.0, 200.0]], rtol=0.01)
    assert found.outcome == "converged"


def test_descent_goes_round_places_where_nothing_can_be_computed():
    def holed(p):
        return (np.nan, np.array([np.nan])) if p[0] > 2.5 else ((p[0] - 2.0) ** 2, 2 * (p - 2.0))

    bounds = np.array([[-5.0, 5.0]])
    found = settle(holed, descend(holed, np.array([0.0]), bounds, 100), bounds)
    np.testing.assert_allclose(found.theta, [2.0], atol=1e-5)


def test_descent_that_never_computes_anything_says_so():
    def never(p):
        return np.nan, p

    bounds = np.array([[-1.0, 1.0]])
    found = settle(never, descend(never, np.array([0.0]), bounds, 50), bounds)
    assert "failed" in found.outcome


def ridge(x, y):
    """A model that knows nothing of stochastic differential equations: ridge regression, θ = log penalty."""

    def model(theta, training, validation):
        penalty = np.exp(theta[0]) * np.eye(x.shape[1])
        weights = np.linalg.solve(x[training].T @ x[training] + penalty, x[training].T @ y[training])
        return float(np.mean(np.square(y[validation] - x[validation] @ weights))), np.full(1, np.nan)

    return model


def test_the_robust_learning_algorithm_is_generic():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((80, 30))
    y = x @ (0.2 * rng.standard_normal(30)) + rng.standard_normal(80)
    model = ridge(x, y)
    found = robust_learning(
        model,
        80,
        lambda loss: explore(loss, np.array([0.0]), np.array([4.0]), 30, 1, loss.held),
        splits=4,
        fresh=True,
        random_state=2,
    )
    judge = RandomisedLoss(model, 80, 200, False, np.random.default_rng(9))
    best = min(judge(np.array([t]))[0] for t in np.linspace(-8, 8, 33))
    start = judge(np.array([0.0]))[0]
    assert judge(found.theta)[0] < best + 0.2 * (start - best)


def test_the_final_of_a_bayesian_optimisation_is_fair_and_not_won_by_luck():
    """Noise that is large, but the same for all in the final, where everything else is worse than the start."""
    rng, counts = np.random.default_rng(0), {"alone": 0, "held": 0}

    def noisy(kind, noise):
        def criterion(theta):
            counts[kind] += 1
            return float(theta @ theta + noise()), theta

        return criterion

    def held():
        luck = rng.normal()
        return noisy("held", lambda: luck)

    found = explore(noisy("alone", lambda: 5 * rng.normal()), np.zeros(2), np.ones(2), 48, 0, held)
    assert counts == {"alone": 32, "held": 16}
    assert found.evaluations == 48
    np.testing.assert_array_equal(found.theta, 0)
    lucky = explore(noisy("alone", lambda: 5 * rng.normal()), np.zeros(2), np.ones(2), 48, 0)
    assert np.any(lucky.theta != 0)


@pytest.mark.parametrize("evaluations", [1, 2, 3, 6, 24, 75])
def test_a_bayesian_optimisation_uses_its_evaluations_and_survives_a_start_that_fails(evaluations, monkeypatch):
    counted, rng = [], np.random.default_rng(1)
    if evaluations > 24:  # its process of so many points is slow, and has no part in how they are shared out
        suggest = "bayes_opt.BayesianOptimization.suggest"
        monkeypatch.setattr(suggest, lambda search: dict.fromkeys(search.space.keys, rng.uniform(-2.0, 2.0)))

    def failing(theta):
        counted.append(theta)
        return (np.nan if np.all(theta == 0) else float(theta @ theta)), theta

    found = explore(failing, np.zeros(1), np.ones(1), evaluations, 0, lambda: failing)
    assert len(counted) == evaluations
    assert evaluations < 6 or found.value < 1.0


def test_randomised_losses_split_the_data_in_random_halves():
    seen = []

    def model(theta, training, validation):
        seen.append((tuple(training), tuple(validation)))
        return 0.0, theta

    loss = RandomisedLoss(model, 11, 3, True, np.random.default_rng(0))
    loss(np.zeros(1))
    loss(np.zeros(1))
    assert len(set(seen)) == 6
    held = loss.held()
    held(np.zeros(1))
    held(np.zeros(1))
    assert seen[6:9] == seen[9:12]
    assert len(set(seen)) == 9
    for training, validation in seen:
        assert sorted(training + validation) == list(range(11))
        assert {len(training), len(validation)} == {5, 6}


@pytest.fixture(scope="module")
def double_well():
    process = PROCESSES["double_well"]
    return process, process.simulate(500, random_state=1)[0]


@pytest.mark.slow
@pytest.mark.parametrize("learn", ["evidence", "crossval"])
def test_learning_beats_the_start_by_its_own_criterion(double_well, learn):
    process, path = double_well
    fixed = SDE(learn=None, transition="euler").fit(path, dt=process.dt)
    learned = SDE(learn=learn, transition="euler", splits=3 if learn == "crossval" else None, random_state=0).fit(
        path, dt=process.dt
    )
    assert learned.learning_.outcome == "converged"
    if learn == "evidence":
        assert learned.evidence_ > fixed.evidence_
    rest = process.simulate(2000, random_state=2, start=path[-1])[0]
    # on other paths 0.005 worse to 0.011 better
    assert learned.score(rest, dt=process.dt) > fixed.score(rest, dt=process.dt) - 0.007


def test_what_a_user_fixes_stays(double_well):
    process, path = double_well
    sde = SDE(transition="euler", fixed=("noise", "drift.matern"), noise_variance=1e-6).fit(path, dt=process.dt)
    assert sde.noise_[0] == pytest.approx(1e-6)
    assert sde.parameters_["drift.matern.scale"] == pytest.approx(1.5)
    assert sde.parameters_["drift.linear.amplitude"] != pytest.approx(0.7, rel=1e-3)


def test_a_name_that_is_no_parameter_is_refused(double_well):
    process, path = double_well
    with pytest.raises(ValueError, match=r"no parameter of this model. It has drift\.linear\.amplitude"):
        SDE(fixed=("scale",)).fit(path, dt=process.dt)


@pytest.mark.slow
def test_given_kernels_are_learned_in_the_datas_units(double_well):
    """A start that is off by a factor of ten ends near the truth; every weight of the sum is learned."""
    process, _ = double_well
    kernel = 1.0 * kernels.Matern52(scale=10.0) + 1.0 * kernels.DotProduct()
    path = process.simulate(10_000, dt=0.05, random_state=1)[0]
    sde = SDE(drift=kernel, transition="euler").fit(path, dt=0.05)
    names = [name for name in sde.parameters_ if name.startswith("drift")]
    assert names == ["drift.constant.value", "drift.matern52.scale", "drift.constant_2.value"]
    assert sde.learning_.outcome == "converged"
    assert 0.5 < sde.parameters_["drift.matern52.scale"] < 6.0  # the cubic's own length is about one
    at = np.linspace(-1.3, 1.3, 50)
    assert np.linalg.norm(sde.drift(at) - (at - at**3)) < 0.4 * np.linalg.norm(at - at**3)


@pytest.mark.slow
def test_relevance_is_learned_for_each_dimension():
    """The drift of the second coordinate does not depend on the first: its length scale there grows longer."""
    rng = np.random.default_rng(4)
    x = np.zeros((3001, 2))
    for n in range(3000):
        drift = np.array([-2 * x[n, 0], 4 * np.sin(3 * x[n, 1]) - x[n, 1]])
        x[n + 1] = x[n] + 0.02 * drift + np.sqrt(0.02) * rng.standard_normal(2)
    sde = SDE(noise="isotropic", transition="euler").fit(x, dt=0.02)
    own, other = sde.parameters_["drift.matern.scale[1,1]"], sde.parameters_["drift.matern.scale[1,0]"]
    assert own < 0.7 * other


@pytest.mark.usefixtures("double")
def test_mask_leaves_are_learned():
    graph, *_ = graph_and_transitions("double_well", "diagonal", "euler")
    everything = learned_mask(graph, ())
    assert everything == learnable(graph.parameters)
    names = tuple(each.name for each in parameters_of(graph.parameters, learned_mask(graph, ("drift", "level"))))
    assert names == ("diffusion.linear.amplitude", "diffusion.matern.amplitude", "diffusion.matern.scale", "noise")


@pytest.mark.slow
def test_bayesian_optimisation_improves_the_cross_validation_loss_and_repeats_itself():
    """The paper's way on one of its records; all six, with K = 75, are in benchmarks/six.py."""
    case = PAPER_TRAJECTORIES["exponential-2"]
    path = case.x_train
    kernel = 1.0 * kernels.Matern52(mean_pairwise_distance(path[:-1]))
    settings = {"drift": kernel, "diffusion": kernel, "link": "identity", "transition": "euler", "noise_variance": 1e-5}
    search = {"learn": "bayesopt", "evaluations": 15, "fixed": ("noise",), "random_state": 0, "progress": False}
    model, again = (SDE(**settings, **search).fit(path, dt=case.dt) for _ in range(2))
    assert again.parameters_ == model.parameters_
    assert model.learning_.evaluations == 15
    learned = {"drift": first_output(model.drift_kernel_), "diffusion": first_output(model.diffusion_kernel_)}
    before, after = (validation_loss(path, case.dt, settings | change) for change in ({}, learned))
    assert after < before


def first_output(kernel):
    return jax.tree.map(lambda leaf: leaf[0] if eqx.is_inexact_array_like(leaf) else leaf, kernel)


def validation_loss(path, dt, settings, splits=10):
    """-ln p of one random half given the other, a transition; transitions of a half are records of their own."""
    x, y = path[:-1, 0], np.diff(path[:, 0])
    rng, losses = np.random.default_rng(7), []
    for _ in range(splits):
        training, validation = random_halves(len(x), rng)
        pieces = [np.array([[x[i]], [x[i] + y[i]]]) for i in training]
        model = SDE(**settings, learn=None).fit(pieces, dt=dt)
        f, s = model.drift(x[validation]), model.diffusion(x[validation])
        v = s**2 * dt + 1e-5
        losses.append(np.mean((y[validation] - f * dt) ** 2 / (2 * v) + 0.5 * np.log(v)))
    return float(np.mean(losses))
