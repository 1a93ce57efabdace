"""Learning the parameters θ of a graph: by evidence, or by the paper's randomised cross-validation."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from onepath.completion import Solver, initial_weights, objective_of
from onepath.graph import Graph
from onepath.kernels import learnable, pack, parameter_names
from onepath.learning.constant import ConstantNoise, constant_noise
from onepath.learning.crossval import judge_split
from onepath.learning.evidence import judge_evidence
from onepath.learning.implicit import Judgement, Weights, Which, graph_at
from onepath.learning.optimisers import Found, Slope, descend, explore, settle
from onepath.learning.prior import ParameterPrior
from onepath.learning.robust import RandomisedLoss, robust_learning
from onepath.linalg import constant
from onepath.programs import program
from onepath.transitions import Cells, Transitions, Units, cells_of

Vector = npt.NDArray[np.float64]

LEARNERS = ("evidence", "crossval", "bayesopt")

MOST_EVALUATIONS = 200
"""Of a criterion with its slope."""


class Learning(NamedTuple):
    """How to learn; `splits` and `evaluations` are the paper's M and K."""

    method: str
    solver: Solver
    splits: int
    evaluations: int
    random_state: int | np.random.Generator | None
    watch: Callable[[int, float], None]


class Learned(NamedTuple):
    """Learned parameters, what is known about them, and how the search ended.

    Besides, another optimum that is about as good, and what the parameters are if the noise is the same everywhere.
    """

    graph: Graph
    prior: ParameterPrior
    found: Found
    other: "Learned | None" = None
    constant: ConstantNoise | None = None

    def around(self, most: int) -> tuple[Vector, Vector]:
        """At most this many θ = θ̂ + H^-½ z, as rows, that stand for N(θ̂, H⁻¹), and -ln of its density at each.

        H is the curvature of the negative log posterior at θ̂; no direction is wider than the prior. As many around the
        other optimum, if there is one.
        """
        if self.other is not None and self.other.found.curvature is not None:
            both = zip(self._replace(other=None).around(most), self.other.around(most), strict=True)
            parameters, densities = (np.concatenate(pair) for pair in both)
            return parameters, densities
        values, vectors = np.linalg.eigh(np.asarray(self.found.curvature))
        # the symmetric root, which changes no more than H does
        values = self.prior.no_wider(values)
        root, z = (vectors / np.sqrt(values)) @ vectors.T, standard_points(len(values), most)
        density = 0.5 * np.sum(np.square(z), axis=1) - 0.5 * np.sum(np.log(values))
        return np.clip(self.found.parameters + z @ root, *self.prior.bounds.T), density


def standard_points(dimension: int, most: int) -> Vector:
    """Rows that stand for N(0, I): ±√k q for k orthogonal q, exact up to third moments; else a quasi-random sequence.

    The latter where the former are too many: some of them would leave out what the others stand for.
    """
    if 2 * dimension <= most:
        rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((dimension, dimension)))[0]
        return np.sqrt(dimension) * np.concatenate([rotation, -rotation])
    # SciPy's statistics take as long to load as many a fit
    from scipy.stats import qmc

    return np.asarray(ndtri(qmc.Sobol(dimension, scramble=True, rng=0).random(most)))


def learned_parameters(graph: Graph, fixed: Sequence[str]) -> Which:
    """Which leaves of θ are learned: all but those whose name, or the beginning of it, is in `fixed`."""
    which = learnable(graph.parameters)
    stems = tuple(dict.fromkeys(name.split("[")[0] for name in parameter_names(graph.parameters, which)))
    for name in fixed:
        if not any(_begins(stem, name) for stem in stems):
            raise ValueError(f"fixed names {name!r}, which is no parameter of this model. It has {', '.join(stems)}.")
    kept = iter([not any(_begins(stem, name) for name in fixed) for stem in stems])
    return tuple(used and next(kept) for used in which)


def _begins(stem: str, name: str) -> bool:
    return stem == name or stem.startswith(name + ".")


class WarmStart:
    """Judgements of θ, each completion started from the last one that succeeded; a failed one is tried again cold."""

    def __init__(self, start: Weights, watch: Callable[[int, float], None]) -> None:
        self.cold = self.warm = start
        self.count, self.watch = 0, watch

    def __call__(self, judge: Callable[[Weights], Judgement]) -> tuple[float, Vector]:
        judgement = judge(self.warm)
        if not np.isfinite(judgement.value):
            judgement = judge(self.cold)
        if np.isfinite(judgement.value):
            self.warm = judgement.completion.weights
        self.count += 1
        self.watch(self.count, float(judgement.value))
        return float(judgement.value), np.asarray(judgement.slope)


def _penalised(criterion: Slope, prior: ParameterPrior) -> Slope:
    """The criterion plus the negative log prior."""

    def both(parameters: Vector) -> tuple[float, Vector]:
        value, slope = criterion(parameters)
        penalty, penalty_slope = prior.negative_log(parameters)
        return value + penalty, slope + penalty_slope

    return both


def learn_by_evidence(
    graph: Graph, which: Which, prior: ParameterPrior, cells: Cells, learning: Learning, starts: Vector
) -> Learned:
    """The parameters of largest posterior probability, searched from the best of some: (s, k)."""
    evidence = _evidence(graph, which, prior, cells, learning)
    start = starts[0] if len(starts) == 1 else min(starts, key=lambda each: evidence(each)[0])
    found = descend(evidence, start, prior.bounds, MOST_EVALUATIONS)
    return Learned(graph_at(graph, which, constant(found.parameters)), prior, found)


def settle_by_evidence(
    graph: Graph, which: Which, prior: ParameterPrior, cells: Cells, learning: Learning, found: Found
) -> Learned:
    """The same to the last digits from where a search has ended, the curvature there, and under constant noise."""
    evidence = _evidence(graph, which, prior, cells, learning)
    found = settle(evidence, found, prior.bounds)
    same_noise = constant_noise(parameter_names(graph.parameters, which), evidence, prior, found)
    return Learned(graph_at(graph, which, constant(found.parameters)), prior, found, constant=same_noise)


def _evidence(graph: Graph, which: Which, prior: ParameterPrior, cells: Cells, learning: Learning) -> Slope:
    judged = WarmStart(_initial(graph, cells), learning.watch)
    return _penalised(
        lambda parameters: judged(
            lambda start: judge_evidence(constant(parameters), graph, which, cells, learning.solver, start)
        ),
        prior,
    )


def learn_by_crossval(
    graph: Graph,
    which: Which,
    prior: ParameterPrior,
    transitions: Transitions,
    units: Units,
    most: int,
    learning: Learning,
) -> Learned:
    """The parameters of least validation loss over random halves: by slopes on the same halves, or as in the paper.

    The paper's way is Bayesian optimisation, with fresh halves each time and no prior but the bounds of the search.
    """
    whole = Cells(*map(constant, cells_of(transitions, units, most)))
    judged, start = WarmStart(_initial(graph, whole), learning.watch), np.asarray(pack(graph.parameters, which))
    rng = np.random.default_rng(learning.random_state)
    papers_way = learning.method == "bayesopt"

    def half(indices: np.ndarray) -> Cells:
        part = Transitions(*(part[indices] for part in transitions))
        return Cells(*map(constant, cells_of(part, units, most)))

    def validation_loss(parameters: Vector, training: np.ndarray, validation: np.ndarray) -> tuple[float, Vector]:
        first, second = half(training), half(validation)
        return judged(
            lambda start: judge_split(constant(parameters), graph, which, first, second, learning.solver, start)
        )

    def active_learner(loss: RandomisedLoss) -> Found:
        if papers_way:
            return explore(loss, start, prior.spread, learning.evaluations, int(rng.integers(2**31)), loss.held)
        penalised = _penalised(loss, prior)
        return settle(penalised, descend(penalised, start, prior.bounds, MOST_EVALUATIONS), prior.bounds)

    count = len(transitions.dt)
    found = robust_learning(
        validation_loss, count, active_learner, splits=learning.splits, fresh=papers_way, random_state=rng
    )
    return Learned(graph_at(graph, which, constant(found.parameters)), prior, found)


@program
def _initial(graph: Graph, cells: Cells) -> Weights:
    return initial_weights(objective_of(graph, cells))
