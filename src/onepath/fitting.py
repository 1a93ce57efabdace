"""A graph and cells in, a posterior out: learn the parameters, complete the graph, and see how sure that is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import expit

from onepath.completion import (
    Completion,
    Solver,
    complete,
    initial_weights,
    objective_of,
    smoothed_diffusion,
)
from onepath.features import in_one_room, with_bases
from onepath.graph import Graph
from onepath.kernels import pack, parameter_names
from onepath.learning.implicit import Weights, Which, graph_at
from onepath.learning.learn import (
    Learned,
    Learning,
    learn_by_crossval,
    learn_by_evidence,
    learned_parameters,
    settle_by_evidence,
)
from onepath.learning.leftover import finer_starts
from onepath.learning.prior import ParameterPrior, parameter_prior
from onepath.linalg import constant, log_determinant
from onepath.posterior import Member, Posterior, member_of
from onepath.programs import program
from onepath.transitions import Cells, Transitions, Units, cells_of, coarser

MOST_POINTS = {1: 256, 2: 64, 3: 32}
"""Points for the features of one term, at most, by dimension; above three dimensions as in three, here and below."""

LEARNING_CELLS, LEARNING_POINTS, LEARNING_TOLERANCE = {1: 128, 2: 256, 3: 256}, {1: 64, 2: 64, 3: 32}, 1e-4
"""While parameters are learned: many fits, each coarser than the last one."""

FINER_CELLS, FINER_POINTS = {1: 256, 2: 256, 3: 256}, {1: 128, 2: 64, 3: 32}
"""Likewise, where a function turned out to have short waves."""

LEAST_VARIANCE = 0.01
"""Of a diffusion before its link, where 1 is its own size: what is smaller needs no finer features than this does."""

APART = 1e-6
"""How far the features' points are moved away from cells, in standard deviations, where derivatives are used: autodiff
finds none at distance zero in kernels that are written in terms of distance."""

CLEARLY_BETTER = 7.0
"""Log-posterior probability by which one optimum is better than another, so that the other does not count."""

ROUNDS = 3
"""How often points for the features are chosen anew, if those of the first parameters do not serve the learned ones."""

MEMBERS = {1: 18, 2: 8, 3: 4}
"""Parameters that the posterior averages over, at most; in one dimension, twice as many as the default has."""


class Method(NamedTuple):
    """How to fit: `cells` at most, features to a `tolerance`, γ in each diffusion entry's own units or None."""

    solver: Solver
    learning: Learning | None
    fixed: Sequence[str]
    cells: int
    tolerance: float
    smoothing: Float[Array, " entries"] | None


class Fit(NamedTuple):
    """A posterior, the completion and the log evidence at the best parameters, and how those were learned."""

    posterior: Posterior
    completion: Completion
    evidence: float
    learned: Learned | None
    cells: Cells

    @property
    def log_posterior(self) -> float:
        """Of the best parameters, up to a constant: their evidence and their prior."""
        if self.learned is None:
            return self.evidence
        return self.evidence - self.learned.prior.negative_log(self.learned.found.parameters)[0]


def fit_graph(
    graph: Graph, transitions: Transitions, units: Units, method: Method, learned: Learned | None = None
) -> Fit:
    """Everything between a built graph and its posterior; what has been learned already is not learned again."""
    which = learned_parameters(graph, method.fixed)
    cells = Cells(*map(constant, cells_of(transitions, units, method.cells)))
    if learned is not None or method.learning is None or not any(which):
        return _completed(graph, cells, which, method, learned)
    names = parameter_names(graph.parameters, which)
    prior = parameter_prior(names, np.asarray(pack(graph.parameters, which)))
    if method.learning.method != "evidence":
        found = _learn_by_crossval(graph, transitions, units, cells, which, prior, method.learning)
        return _completed(graph, cells, which, method, found)
    smooth = _learn_by_evidence(graph, cells, which, prior, method.learning)
    fit = _completed(graph, cells, which, method, smooth)
    scores = _scores(fit.posterior.graph, cells, fit.completion.weights)
    starts = finer_starts(np.asarray(scores), cells, prior, names)
    if starts is None:
        return fit
    finer = _learn_by_evidence(graph, cells, which, prior, method.learning, starts)
    try:
        again = _completed(graph, cells, which, method, finer)
    except RuntimeError:  # the first answer stands
        return fit
    difference = again.log_posterior - fit.log_posterior
    if abs(difference) > CLEARLY_BETTER:
        return again if difference > 0 else fit
    better, worse = (finer, smooth) if difference > 0 else (smooth, finer)
    return _completed(graph, cells, which, method, better._replace(other=worse))


def _completed(graph: Graph, cells: Cells, which: Which, method: Method, learned: Learned | None) -> Fit:
    """The graph completed at what was learned, and its posterior; features serve the other optimum too."""
    optima = [graph] if learned is None else [each.graph for each in (learned, learned.other) if each is not None]
    graphs = [
        _with_bases(graph.with_parameters(each.parameters), cells, method.tolerance, MOST_POINTS) for each in optima
    ]
    graph = max(graphs, key=_rank).with_parameters(optima[0].parameters)
    parameters, densities = _parameters(graph, which, learned)
    completions, members, values = _complete(parameters, graph, which, cells, method.solver, method.smoothing)
    best = jax.tree.map(lambda leaf: np.asarray(leaf)[0], completions)
    if not np.isfinite(best.loss):
        raise RuntimeError(
            "Completing the graph failed: no finite loss was found with these kernels and this link. Try "
            "link='softplus', the default priors (drift=None, diffusion=None), or a larger noise_variance."
        )
    at_best, *others = np.asarray(values)
    mass, cautious = constant([1.0]), None
    if learned is not None and others:
        mass, cautious = _masses(learned, np.asarray(parameters)[1:], np.asarray(others), densities)
        members = jax.tree.map(lambda leaf: np.asarray(leaf)[1:], members)
    return Fit(Posterior(graph, members, mass, which, cautious), best, -float(at_best), learned, cells)


def _parameters(graph: Graph, which: Which, learned: Learned | None) -> tuple[Float[Array, "s k"], np.ndarray]:
    """The graph's own parameters first, then what the posterior averages over, where that is known.

    With -ln of the density at each of the latter; parameters for constant noise come last.
    """
    best = np.asarray(pack(graph.parameters, which))[None]
    if learned is None or learned.found.curvature is None:
        return constant(best), np.zeros(0)
    around, densities = learned.around(MEMBERS[min(graph.dimension, 3)])
    same_noise = np.zeros_like(best[:0]) if learned.constant is None else learned.constant.parameters[None]
    return constant(np.concatenate([best, around, same_noise])), densities


def _with_bases(graph: Graph, cells: Cells, tolerance: float, most_points: dict[int, int]) -> Graph:
    most, usable = most_points[min(graph.dimension, 3)], jax.device_put(np.asarray(cells.counts) > 0)
    apart = APART if graph.law.order else 0.0
    least = 0.0 if graph.level is None else LEAST_VARIANCE
    drift = with_bases(graph.drift, cells.x, usable, tolerance, most, apart=apart)
    diffusion = with_bases(graph.diffusion, cells.x, usable, tolerance, most, least, apart)
    drift, diffusion = in_one_room([drift, diffusion])
    return replace(graph, drift=drift, diffusion=diffusion)


def _rank(graph: Graph) -> int:
    return sum(int(np.sum(np.asarray(basis.used))) for basis in graph.drift.bases + graph.diffusion.bases)


def _learn_by_evidence(
    graph: Graph,
    cells: Cells,
    which: Which,
    prior: ParameterPrior,
    learning: Learning,
    starts: Float[np.ndarray, "s k"] | None = None,
) -> Learned:
    """Learn on coarse cells; choose points again while the learned parameters need more of them than they have.

    From the graph's own parameters, or on finer cells and with more points from the best of given ones.
    """
    most, points = (LEARNING_CELLS, LEARNING_POINTS) if starts is None else (FINER_CELLS, FINER_POINTS)
    cells = _coarse(cells, most[min(graph.dimension, 3)])
    if starts is None:
        starts = np.asarray(pack(graph.parameters, which))[None]
    current = _with_bases(graph_at(graph, which, constant(starts[0])), cells, LEARNING_TOLERANCE, points)
    for _ in range(ROUNDS):
        learned = learn_by_evidence(current, which, prior, cells, learning, starts)
        better, starts = _with_bases(learned.graph, cells, LEARNING_TOLERANCE, points), learned.found.parameters[None]
        if _rank(better) <= _rank(current):
            break
        current = better
    return settle_by_evidence(current, which, prior, cells, learning, learned.found)


def _learn_by_crossval(
    graph: Graph,
    transitions: Transitions,
    units: Units,
    cells: Cells,
    which: Which,
    prior: ParameterPrior,
    learning: Learning,
) -> Learned:
    """Likewise; the points of Bayesian optimisation, which goes far with every step, stay as they are."""
    most = LEARNING_CELLS[min(graph.dimension, 3)]
    coarse = _coarse(cells, most)
    current = _with_bases(graph, coarse, LEARNING_TOLERANCE, LEARNING_POINTS)
    for _ in range(ROUNDS):
        learned = learn_by_crossval(current, which, prior, transitions, units, most, learning)
        better = _with_bases(learned.graph, coarse, LEARNING_TOLERANCE, LEARNING_POINTS)
        if _rank(better) <= _rank(current) or learning.method == "bayesopt":
            break
        current = better
    return learned


def _coarse(cells: Cells, most: int) -> Cells:
    return Cells(*map(constant, coarser(Cells(*map(np.asarray, cells)), most)))


def _masses(
    learned: Learned, parameters: np.ndarray, values: np.ndarray, densities: np.ndarray
) -> tuple[Float[Array, " members"], Float[Array, " members"] | None]:
    """How probable each of these parameters is, and how probable if the noise is not constant.

    The mean of importance weights is ∫ p(data, θ) dθ around one optimum, or half of it around two.
    """
    around = len(densities)
    penalties = np.asarray([learned.prior.negative_log(draw)[0] for draw in parameters[:around]])
    mass, log_mean = _mass(values[:around] + penalties, densities)
    if learned.constant is None:
        return constant(mass), None
    log_width = log_mean + np.log(1.0 if learned.other is None else 2.0)
    probability = np.nan_to_num(expit(learned.constant.log_width - values[-1] - log_width))
    return constant([*(1.0 - probability) * mass, probability]), constant([*mass, 0.0])


def _mass(values: np.ndarray, densities: np.ndarray) -> tuple[np.ndarray, float]:
    """Importance weights exp(-value) / density, none larger than √n times their mean, so that none stands alone.

    And the logarithm of their mean.
    """
    logarithms = np.where(np.isfinite(values), densities - values, -np.inf)
    weights = np.exp(logarithms - logarithms.max())
    mean = weights.mean()
    weights = np.minimum(weights, mean * np.sqrt(len(weights)))
    return weights / weights.sum(), logarithms.max() + np.log(mean)


@program
def _scores(graph: Graph, cells: Cells, weights: Weights) -> Float[Array, "c functions"]:
    return objective_of(graph, cells).scores(weights)


@program
def _complete(
    parameters: Float[Array, "s k"],
    graph: Graph,
    which: Which,
    cells: Cells,
    solver: Solver,
    smoothing: Float[Array, " entries"] | None,
) -> tuple[Completion, Member, Float[Array, " s"]]:
    """The completed graph and its negative log evidence for each of several θ, one after another.

    The first starts from the initial condition, the others from the first one's solution.
    """
    first = objective_of(graph_at(graph, which, parameters[0]), cells)
    start = initial_weights(first, smoothing)

    def one(solved: tuple[Weights, Array], logarithms: Array) -> tuple[tuple[Weights, Array], tuple]:
        weights, is_first = solved
        objective = objective_of(graph_at(graph, which, logarithms), cells)
        completion = complete(objective, solver.suited(graph).roughly(~is_first), weights)
        member = member_of(objective, completion.weights, logarithms)
        value = completion.loss + 0.5 * log_determinant(member.lower)
        if smoothing is not None:
            member = member_of(objective, smoothed_diffusion(objective, completion.weights, smoothing), logarithms)
        carried = jnp.where(is_first, completion.weights, weights)
        return (carried, jnp.asarray(False)), (completion, member, value)

    return jax.lax.scan(one, (start, jnp.asarray(True)), parameters)[1]
