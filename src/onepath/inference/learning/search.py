"""The search for θ: by evidence, or by the paper's randomised cross-validation."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from onepath.data.cells import Cells, cells_of, coarser
from onepath.data.transitions import Transitions, Units
from onepath.gp.parameters import REACH, Mask, learnable, pack, parameters_of
from onepath.graph.graph import Graph, graph_at
from onepath.graph.parts import parts_of
from onepath.inference.completion import Solver, initial_weights, objective_of
from onepath.inference.learning.constant import constant_noise, may_be_constant
from onepath.inference.learning.criterion import Judgement, Stage, Start
from onepath.inference.learning.crossval import judge_split
from onepath.inference.learning.evidence import judge_evidence
from onepath.inference.learning.learned import LearnedTheta
from onepath.inference.learning.optimisers import Criterion, Optimum, descend, explore, settle
from onepath.inference.learning.prior import ParameterPrior
from onepath.inference.learning.robust import RandomisedLoss, robust_learning
from onepath.inference.learning.unread import unread
from onepath.numerics.arrays import Floats, Integers

LEARNERS = ("evidence", "crossval", "bayesopt")

MOST_EVALUATIONS = 200
"""Of a criterion with its slope."""

ROUNDS = 3
"""How often points for the features are chosen anew, if those of the first parameters do not serve the learned ones."""


class Fineness(NamedTuple):
    """Cells, and points for the features of one term, while θ is learned; by dimension, above three as in three."""

    cells: dict[int, int]
    points: dict[int, int]


USUAL = Fineness({1: 128, 2: 256, 3: 256}, {1: 64, 2: 64, 3: 32})
"""Many fits, each coarser than the last one."""

FINER = Fineness({1: 256, 2: 256, 3: 256}, {1: 128, 2: 64, 3: 32})
"""Where a function turned out to have short waves."""

TOLERANCE = 1e-4
"""Of the features while parameters are learned."""


class SearchOptions(NamedTuple):
    """How to search; `splits` and `evaluations` are the paper's M and K."""

    method: str
    splits: int = 10
    evaluations: int = 150
    random_state: int | np.random.Generator | None = None
    watch: Callable[[int, float], None] = lambda _count, _value: None


class Problem(NamedTuple):
    """What is searched: a graph, which of its leaves are learned, what is known of them beforehand, on which cells."""

    graph: Graph
    mask: Mask
    prior: ParameterPrior
    cells: Cells
    solver: Solver


def learned_mask(graph: Graph, fixed: Sequence[str]) -> Mask:
    """Which leaves of θ are learned: all but those whose name, or the beginning of it, is in `fixed`."""
    possible = learnable(graph.parameters)
    stems = tuple(dict.fromkeys(each.stem for each in parameters_of(graph.parameters, possible)))
    for name in fixed:
        if not any(_begins(stem, name) for stem in stems):
            raise ValueError(f"fixed names {name!r}, which is no parameter of this model. It has {', '.join(stems)}.")
    kept = iter([not any(_begins(stem, name) for name in fixed) for stem in stems])
    return tuple(used and next(kept) for used in possible)


def _begins(stem: str, name: str) -> bool:
    return stem == name or stem.startswith(name + ".")


def search_by_evidence(problem: Problem, options: SearchOptions, starts: Floats | None = None) -> LearnedTheta:
    """θ of largest posterior probability, its curvature, and the hypothesis of constant noise, on coarse cells.

    From the graph's own parameters or, on finer cells, from the best of some (s, k). Points for the features are chosen
    again while the learned parameters need more of them than they have.
    """
    graph, mask, prior, cells, _ = problem
    fineness, dimension = USUAL if starts is None else FINER, graph.extent
    if starts is None:
        starts = np.asarray(pack(graph.parameters, mask))[None]
    cells = coarser(cells, fineness.cells[dimension])
    points = fineness.points[dimension]
    current = graph_at(graph, mask, starts[0]).with_bases(cells, TOLERANCE, points)
    evidence = _evidence(problem._replace(graph=current, cells=cells), options)
    for _ in range(ROUNDS):
        start = starts[0] if len(starts) == 1 else min(starts, key=lambda each: evidence(each)[0])
        optimum = descend(evidence, start, prior.bounds, MOST_EVALUATIONS)
        better = graph_at(current, mask, optimum.theta).with_bases(cells, TOLERANCE, points)
        if better.rank <= current.rank:
            break
        current, starts = better, optimum.theta[None]
        evidence = _evidence(problem._replace(graph=current, cells=cells), options)
    optimum = settle(evidence, optimum, prior.bounds, parts_of(graph, mask))
    named, same_noise = parameters_of(graph.parameters, mask), None
    if optimum.curvature is not None and any(each.role == REACH for each in named):
        optimum = optimum._replace(unread=unread(named, evidence, prior, optimum))
    if optimum.curvature is not None and may_be_constant(graph, mask):
        same_noise = constant_noise(named, evidence, prior, optimum)
    return LearnedTheta(graph_at(current, mask, optimum.theta), prior, optimum, constant=same_noise)


def search_by_crossval(
    problem: Problem, transitions: Transitions, units: Units, options: SearchOptions
) -> LearnedTheta:
    """θ of least validation loss over random halves: by slopes on the same halves, or as in the paper.

    The paper's way is Bayesian optimisation, with fresh halves each time and no prior but the bounds of the search; it
    goes far with every step, so its points for the features stay as they are.
    """
    graph, mask, prior, cells, _ = problem
    papers_way, dimension = options.method == "bayesopt", graph.extent
    most, points = USUAL.cells[dimension], USUAL.points[dimension]
    coarse = coarser(cells, most)
    current = graph.with_bases(coarse, TOLERANCE, points)
    for _ in range(ROUNDS):
        optimum = _least_validation_loss(problem._replace(graph=current), transitions, units, most, options)
        learned = graph_at(current, mask, optimum.theta)
        better = learned.with_bases(coarse, TOLERANCE, points)
        if better.rank <= current.rank or papers_way:
            break
        current = better
    return LearnedTheta(learned, prior, optimum)


def _least_validation_loss(
    problem: Problem, transitions: Transitions, units: Units, most: int, options: SearchOptions
) -> Optimum:
    """By the Robust Learning Algorithm on halves of the transitions, each merged into so many cells."""
    graph, mask, prior, _, solver = problem
    start, rng = np.asarray(pack(graph.parameters, mask)), np.random.default_rng(options.random_state)
    judged = WarmStart(initial_weights(objective_of(graph, cells_of(transitions, units, most))), options.watch)
    papers_way = options.method == "bayesopt"

    def half(indices: Integers) -> Stage:
        return Stage.of(graph, mask, cells_of(transitions.rows(indices), units, most))

    def validation_loss(theta: Floats, training: Integers, validation: Integers) -> tuple[float, Floats]:
        first, second = half(training), half(validation)
        return judged(lambda start: judge_split(theta, first, second, solver, start))

    def active_learner(loss: RandomisedLoss) -> Optimum:
        if papers_way:
            return explore(loss, start, prior.spread, options.evaluations, int(rng.integers(2**31)), loss.held)
        penalised = _penalised(loss, prior)
        return settle(penalised, descend(penalised, start, prior.bounds, MOST_EVALUATIONS), prior.bounds)

    return robust_learning(
        validation_loss,
        len(transitions),
        active_learner,
        splits=options.splits,
        fresh=papers_way,
        random_state=rng,
    )


class WarmStart:
    """Judgements of θ, each completion started from the last one that succeeded; a failed one is tried again cold."""

    def __init__(self, start: Floats, watch: Callable[[int, float], None]) -> None:
        self.cold: Start = start
        self.warm: Start = start
        self.count, self.watch = 0, watch

    def __call__(self, judge: Callable[[Start], Judgement]) -> tuple[float, Floats]:
        judgement = judge(self.warm)
        if not np.isfinite(judgement.value):
            judgement = judge(self.cold)
        if np.isfinite(judgement.value):
            self.warm = judgement.completion.place
        self.count += 1
        self.watch(self.count, float(judgement.value))
        return float(judgement.value), np.asarray(judgement.slope)


def _evidence(problem: Problem, options: SearchOptions) -> Criterion:
    """The negative log posterior probability of θ; asked again, it is known."""
    graph, mask, prior, cells, solver = problem
    stage = Stage.of(graph, mask, cells)
    judged = WarmStart(initial_weights(stage.objective(stage.source.theta)), options.watch)
    known: dict[bytes, tuple[float, Floats]] = {}

    def evidence(theta: Floats) -> tuple[float, Floats]:
        if (name := theta.tobytes()) not in known:
            known[name] = judged(lambda start: judge_evidence(theta, stage, solver, start))
        return known[name]

    return _penalised(evidence, prior)


def _penalised(criterion: Criterion, prior: ParameterPrior) -> Criterion:
    """The criterion plus the negative log prior."""

    def both(theta: Floats) -> tuple[float, Floats]:
        value, slope = criterion(theta)
        penalty, penalty_slope = prior.negative_log(theta)
        return value + penalty, slope + penalty_slope

    return both
