"""The fit, from top to bottom: observation, units, graph, cells, search, completion, posterior, law."""

from typing import NamedTuple

import numpy as np

from onepath.data.cells import Cells, cells_of, coarser
from onepath.data.clocks import median_length
from onepath.data.streaming import Streamed
from onepath.data.stretches import LENGTH, rows_looked_at
from onepath.data.trajectory import Trajectory
from onepath.data.transitions import Transitions, Units, transitions_of, units_of
from onepath.gp.parameters import Mask, pack, parameters_of
from onepath.graph.default import build_graph, smoothing_of
from onepath.graph.graph import Graph
from onepath.graph.laws import EULER, LINEARISED, Law
from onepath.inference.adequacy import Stiffness, stiffness_of
from onepath.inference.disturbance.clustered import guessed, is_clustered
from onepath.inference.disturbance.disturbance import Disturbance, since_of, steps_of
from onepath.inference.disturbance.turns import in_turns
from onepath.inference.equations.beside import with_equations
from onepath.inference.equations.hypotheses import Told
from onepath.inference.learning.constant import relevelled
from onepath.inference.learning.criterion import Stage
from onepath.inference.learning.learned import LearnedTheta
from onepath.inference.learning.prior import parameter_prior
from onepath.inference.learning.restart import shorter_starts
from onepath.inference.learning.search import (
    USUAL,
    Problem,
    SearchOptions,
    learned_mask,
    search_by_crossval,
    search_by_evidence,
)
from onepath.inference.observation import Exact, Observation
from onepath.inference.options import FitOptions
from onepath.inference.posterior.clustering import Clustering, Level, clustering_of, within_record
from onepath.inference.posterior.formulas import Formulas
from onepath.inference.posterior.increments import increments
from onepath.inference.posterior.mixture import Completed, CompletionOptions, complete_at, with_features
from onepath.inference.result import Fit
from onepath.numerics.arrays import Floats
from onepath.numerics.memory import give_back
from onepath.numerics.modules import changed
from onepath.numerics.precision import in_double

CELLS = {1: (256, 256), 2: (256, 512), 3: (256, 1024)}
"""Cells that transitions are merged into, at least and at most, by dimension; above three dimensions as in three."""

CLEARLY_BETTER = 7.0
"""Log-posterior probability by which one optimum is better than another, so that the other does not count."""


class Change(NamedTuple):
    """A level of the noise that changes, and the time between steps."""

    level: Level
    since: Floats


@in_double
def fit(trajectory: Trajectory, options: FitOptions) -> Fit:
    """Learn drift and diffusion: once, or in turns with an observation that needs to know them."""

    def fit_to(transitions: Transitions, like: Fit | None) -> Fit:
        _check_transitions(transitions, trajectory, options.observation)
        if like is not None:
            return fit_like(transitions, like, options)
        found = fit_transitions(transitions, options)
        return found if options.disturbance is None else _disturbed(found, transitions, since_of(trajectory), options)

    found = options.observation.learn(trajectory, fit_to)
    give_back()
    alone = options.equations is not None and options.equations.alone
    if options.disturbance is not None or found.observed is not None or alone:
        return found
    return widened(found, since_of(trajectory), options)


def cautions(found: Fit) -> list[str]:
    """What must be said of a fit at once."""
    said, completion, stiffness = [], found.completed.completion, found.stiffness
    if not completion.converged:
        said.append(
            f"Completion {completion.outcome}: it has not converged, and what it reached is not the best drift and "
            "diffusion. Look for outliers, jumps, or steps of very different lengths, and leave them out."
        )
    if stiffness is not None and not stiffness.euler_is_adequate and found.completed.posterior.graph.law == EULER:
        said.append(
            "Drift and diffusion change too much during a step for Euler's law, and completion by a more exact one has "
            "not converged: these are Euler's answers. Observe more often, or look for outliers, jumps, or steps of "
            "very different lengths, and leave them out."
        )
    if stiffness is not None and stiffness.state_is_forgotten:
        said.append(
            f"A step lasts {stiffness.change:.2g} relaxation times (|f'| Δt): one observation says little about the "
            "next, so drift and diffusion are known by their ratio at best. Observe more often."
        )
    return said


@in_double
def fit_streamed(streamed: Streamed, options: FitOptions) -> Fit:
    """The same of a stream: cells are those of all its transitions, all else is asked of the sample."""
    transitions = transitions_of(streamed.trajectory)
    time, common = median_length(transitions.dt), options.graph.noise == "isotropic"
    units = streamed.boxes.units(time, common=common)
    cells = coarser(streamed.boxes.cells(units), cells_wanted(transitions.x.shape[1], options))
    found = fit_cells(cells, transitions, units, options)
    give_back()
    return widened(found, since_of(streamed.trajectory), options, cells)


def cells_wanted(dimension: int, options: FitOptions) -> int:
    """Of a stream, which has more transitions than cells."""
    return options.cells or CELLS[min(dimension, 3)][1]


def fit_transitions(transitions: Transitions, options: FitOptions) -> Fit:
    """One fit to weighted transitions."""
    units = units_of(transitions, common=options.graph.noise == "isotropic")
    return fit_cells(_cells(transitions, units, options), transitions, units, options)


def fit_cells(cells: Cells, transitions: Transitions, units: Units, options: FitOptions) -> Fit:
    """One fit to cells of transitions; these say what is usual, and may be a sample of what is in the cells."""
    graph = build_graph(options.graph, transitions, units).with_law(options.law or EULER)
    mask = learned_mask(graph, options.fixed)
    completion = _completion(options, graph, units)
    learned, first = None, None
    if options.search is not None and any(mask):
        problem = _problem(graph, mask, cells, completion)
        if options.search.method == "evidence":
            learned, first = _learn_by_evidence(problem, completion, options.search)
        else:
            learned = search_by_crossval(problem, transitions, units, options.search)
    if first is None:
        first = complete_at(with_features(graph, cells, completion, learned), mask, cells, completion, None)
    stiffness = None if options.law is not None else stiffness_of(first.posterior, cells)
    if stiffness is not None and not stiffness.euler_is_adequate:
        first = _by_law(LINEARISED, first, mask, cells, completion)
    completed, found = first, first.posterior.graph
    if learned is not None:
        learned = _at_level(found, mask, cells, completion, learned, first.completion.weights)
        completed = complete_at(found, mask, cells, completion, learned, first.completion)
    if stiffness is not None and found.law != EULER:
        stiffness = Stiffness(stiffness_of(completed.posterior.most_probable, cells).change, stiffness.shift)
    forgotten = stiffness is not None and stiffness.state_is_forgotten  # then drift and noise are not told apart
    if options.equations is not None and (options.equations.alone or not forgotten):
        completed = with_equations(completed, learned, cells, units, options.equations, transitions.variables)
    return Fit(transitions, units, completed, learned, stiffness)


def fit_like(transitions: Transitions, like: Fit, options: FitOptions) -> Fit:
    """One fit to transitions that are much the same: with its parameters, its law and the points of its features."""
    completed = _completed_like(transitions, like, options, None, None)
    return like._replace(transitions=transitions, completed=completed)


def _completed_like(
    transitions: Transitions,
    like: Fit,
    options: FitOptions,
    learned: LearnedTheta | None,
    clustering: Clustering | None,
    cells: Cells | None = None,
) -> Completed:
    """At the parameters of another fit and, with what was learned there, at those that its posterior averages over."""
    posterior, completion = like.completed.posterior, like.completed.completion
    graph, mask = posterior.graph, posterior.mask
    cells = _cells(transitions, like.units, options) if cells is None else cells
    how = _completion(options, graph, like.units)
    return complete_at(graph, mask, cells, how, learned, completion.weights, clustering)


def _clustering(change: Change, cells: Cells, units: Units, transitions: Transitions) -> Clustering:
    """What a level that changes leaves of what cells of these transitions say."""
    return clustering_of(change.level, cells, units.places(transitions.points), change.since)


def _disturbed(plain: Fit, transitions: Transitions, since: Floats, options: FitOptions) -> Fit:
    """In turns with what increments are beside N(m, V); equations are asked of what is left in the end."""
    formulas, asked, options = plain.completed.posterior.formulas, options.equations, options._replace(equations=None)

    def averaged(found: Fit, seen: Transitions, disturbance: Disturbance) -> Fit:
        change = None if disturbance.level is None else Change(disturbance.level, since)
        cells = _cells(seen, found.units, options)
        clustering = None if change is None else _clustering(change, cells, found.units, seen)
        completed = _completed_like(seen, found, options, found.learned, clustering, cells)
        stiffness = found.stiffness
        if asked is not None and not (stiffness is not None and stiffness.state_is_forgotten):
            told = Told(*disturbance.shares, clustering, disturbance.constant_noise)
            completed = with_equations(completed, found.learned, cells, found.units, asked, seen.variables, told)
        return found._replace(completed=completed)

    assert options.disturbance is not None
    found = in_turns(
        _with_formulas(plain, None),
        transitions,
        since,
        options.disturbance,
        searched=lambda seen: fit_transitions(seen, options),
        completed=lambda found, seen: fit_like(seen, found, options),
        averaged=averaged,
    )
    return found if found.disturbance is not None and found.disturbance.found else _with_formulas(found, formulas)


def _with_formulas(fit: Fit, formulas: Formulas | None) -> Fit:
    completed = fit.completed
    return fit._replace(completed=completed._replace(posterior=changed(completed.posterior, formulas=formulas)))


def widened(found: Fit, since: Floats, options: FitOptions, cells: Cells | None = None) -> Fit:
    """With bands that know of a level that changes, where the data show one; estimates stay as they are.

    Equations are left out there: their evidence counts on normal noise. Cells are those of the fit's transitions unless
    they are given.
    """
    transitions = found.transitions
    if found.learned is None:
        return found
    plain = found.completed.posterior
    some, apart = _looked_at(transitions, since)
    steps = steps_of(some, apart, *increments(plain.most_probable, found.units, some.points, some.dt))
    if not is_clustered(steps):
        return found
    law = guessed(steps, some.points).law
    if not law.found:
        return found
    spread = within_record(law.spread, law.memory, transitions.dt, since)
    change = Change(Level(4.0 * spread**2, law.memory, learned=False), since)
    cells = _cells(transitions, found.units, options) if cells is None else cells
    clustering = _clustering(change, cells, found.units, transitions)
    wide = _completed_like(transitions, found, options, found.learned, clustering, cells)
    posterior = changed(wide.posterior, mass=plain.mass, band_mass=wide.posterior.for_bands)
    return found._replace(completed=wide._replace(posterior=posterior))


def _looked_at(transitions: Transitions, since: Floats) -> tuple[Transitions, Floats]:
    """Of many transitions, stretches of them, each of which begins anew."""
    rows = rows_looked_at(len(transitions))
    if rows is None:
        return transitions, since
    apart = since[rows]
    apart[::LENGTH] = np.inf
    return transitions.rows(rows), apart


def _cells(transitions: Transitions, units: Units, options: FitOptions) -> Cells:
    return cells_of(transitions, units, options.cells or _usual_cells(transitions))


def _completion(options: FitOptions, graph: Graph, units: Units) -> CompletionOptions:
    smoothing = np.asarray(smoothing_of(options.smoothing, graph, units)) if options.smoothing else None
    return CompletionOptions(options.solver, options.tolerance, smoothing)


def _usual_cells(transitions: Transitions) -> int:
    """A power of two, so that the next series finds its code compiled."""
    count, width = transitions.points.shape
    least, most = CELLS[min(width, 3)]
    return min(max(least, 1 << (count - 1).bit_length()), most)


def _problem(graph: Graph, mask: Mask, cells: Cells, options: CompletionOptions) -> Problem:
    prior = parameter_prior(parameters_of(graph.parameters, mask), np.asarray(pack(graph.parameters, mask)))
    return Problem(graph, mask, prior, cells, options.solver)


def _learn_by_evidence(
    problem: Problem, options: CompletionOptions, search: SearchOptions
) -> tuple[LearnedTheta, Completed]:
    """Search, complete, and search again where a function has left waves over: the better optimum, or both.

    And the completion at the best parameters, alone.
    """
    graph, mask, prior, cells, _ = problem
    smooth = search_by_evidence(problem, search)
    first = complete_at(with_features(graph, cells, options, smooth), mask, cells, options, None)
    starts = shorter_starts(first.scores, graph.drifts, cells, prior, parameters_of(graph.parameters, mask))
    if starts is None:
        return smooth, first
    wavy = search_by_evidence(problem, search, starts)
    try:
        second = complete_at(with_features(graph, cells, options, wavy), mask, cells, options, None)
    except RuntimeError:  # the first answer stands
        return smooth, first
    difference = _log_posterior(wavy, second) - _log_posterior(smooth, first)
    if abs(difference) > CLEARLY_BETTER:
        return (wavy, second) if difference > 0 else (smooth, first)
    both = wavy._replace(other=smooth) if difference > 0 else smooth._replace(other=wavy)
    return both, complete_at(with_features(graph, cells, options, both), mask, cells, options, None)


def _log_posterior(learned: LearnedTheta, completed: Completed) -> float:
    """Of the best parameters, up to a constant: their evidence and their prior."""
    return completed.evidence - learned.prior.negative_log(learned.optimum.theta)[0]


def _by_law(law: Law, found: Completed, mask: Mask, cells: Cells, options: CompletionOptions) -> Completed:
    """What was found, completed by another law; as it was where that comes to no end.

    The parameters stay those learned with Euler's law, which says as much about smoothness; how probable each of those
    around them is, is judged by the law that is taken.
    """
    graph, start = found.posterior.graph.with_law(law), found.completion.weights
    try:
        other = complete_at(graph, mask, cells, options, None, start)
    except RuntimeError:
        return found
    return other if other.completion.converged else found


def _at_level(
    graph: Graph, mask: Mask, cells: Cells, options: CompletionOptions, learned: LearnedTheta | None, start: Floats
) -> LearnedTheta | None:
    """What was learned by another law, with constant noise at this one's level; on cells as in the search."""
    if learned is None or learned.constant is None:
        return learned
    stage = Stage.of(graph, mask, coarser(cells, USUAL.cells[graph.extent]))
    roles = [each.role for each in parameters_of(graph.parameters, mask)]
    solver = options.solver.for_graph(graph).loosened()
    return learned._replace(constant=relevelled(learned.constant, roles, stage, solver, start))


def _check_transitions(transitions: Transitions, trajectory: Trajectory, observation: Observation) -> None:
    """Refuse what is no transition for each step, with a weight."""
    if len(transitions) != trajectory.transitions:
        raise ValueError(
            f"The observation {observation.name!r} gave {len(transitions)} transitions for {trajectory.transitions} "
            "steps of the trajectory: give one for each step, with a weight of 0 where nothing is known of it."
        )
    weight = transitions.weights
    if isinstance(observation, Exact):
        return
    parts, d = (transitions.x, transitions.y, transitions.dt), observation.dimension(trajectory)
    if [part.shape[1:] for part in parts] != [(d,), (d,), ()] or not all(np.isfinite(part).all() for part in parts):
        raise ValueError(f"The observation {observation.name!r} gave transitions that are not finite or not (n, {d}).")
    if weight is None:
        return
    if not (weight.shape == transitions.dt.shape and np.all(np.isfinite(weight)) and np.all(weight >= 0)):
        raise ValueError(f"The observation {observation.name!r} gave weights that are not finite numbers from 0 on.")
    if not np.any(weight > 0):
        raise ValueError(f"The observation {observation.name!r} gave every transition the weight 0.")
