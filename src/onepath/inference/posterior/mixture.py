"""From learned parameters to the posterior: complete the graph at each of several θ, and weigh them."""

from dataclasses import replace
from typing import NamedTuple

import jax
import numpy as np
from scipy.special import expit

from onepath.data.cells import Cells, coarser
from onepath.gp.parameters import Mask, pack
from onepath.graph.graph import Graph
from onepath.inference.completion import (
    Completion,
    Solver,
    complete,
    initial_weights,
    smoothed_diffusion,
)
from onepath.inference.learning.criterion import Stage
from onepath.inference.learning.learned import LearnedTheta
from onepath.inference.posterior.clustering import Clustering
from onepath.inference.posterior.posterior import Member, Posterior, member_of
from onepath.numerics.arrays import Floats
from onepath.numerics.linalg import constant

MOST_POINTS = {1: 256, 2: 64, 3: 32}
"""Points for the features of one term, at most, by dimension; above three dimensions as in three, here and below."""

CANDIDATES = {1: 256, 2: 512, 3: 256}
"""Cells among which points for the features are chosen, at most."""

MEMBERS = {1: 18, 2: 8, 3: 4}
"""Parameters that the posterior averages over, at most; in one dimension, twice as many as the default has."""


class CompletionOptions(NamedTuple):
    """How to complete: by which solver, features to which tolerance, and γ in each diffusion entry's own units."""

    solver: Solver
    tolerance: float
    smoothing: Floats | None = None


class Completed(NamedTuple):
    """A posterior, and the completion and the log evidence at the best parameters."""

    posterior: Posterior
    completion: Completion
    evidence: float

    @property
    def scores(self) -> Floats:
        """What each cell would have each function be, (c, functions), at the best parameters."""
        return self.completion.place.scores


def with_features(graph: Graph, cells: Cells, options: CompletionOptions, learned: LearnedTheta | None) -> Graph:
    """The graph at what was learned, with points for its features, which serve the other optimum too."""
    optima = [graph] if learned is None else [each.graph for each in (learned, learned.other) if each is not None]
    most, candidates = MOST_POINTS[graph.extent], min(len(cells.weight), CANDIDATES[graph.extent])
    places = cells if options.tolerance == 0.0 else coarser(cells, candidates)
    graphs = [graph.with_parameters(each.parameters).with_bases(places, options.tolerance, most) for each in optima]
    return max(graphs, key=lambda each: each.rank).with_parameters(optima[0].parameters)


def complete_at(
    graph: Graph,
    mask: Mask,
    cells: Cells,
    options: CompletionOptions,
    learned: LearnedTheta | None,
    start: Floats | Completion | None = None,
    clustering: Clustering | None = None,
) -> Completed:
    """The graph completed at its own parameters and, where it is known what was learned, at all that stand for that.

    From weights, or around a completion of the same graph at its own parameters. With `clustering`, cells say less
    about the diffusion than they seem to.
    """
    thetas, densities = _thetas(graph, mask, learned)
    best, each, values = _complete(thetas, graph, mask, cells, options, start, clustering)
    at_best, *others = values
    if not (np.isfinite(best.loss) and np.isfinite(at_best)):
        raise RuntimeError(
            "Completing the graph failed: no finite loss was found with these data, kernels and link. Look at the data "
            "for values or steps many orders of magnitude from the others; kernels, links or a noise_variance of your "
            "own are best left out."
        )
    mass, band_mass, sound = constant([1.0]), None, each[:1]
    if learned is not None and np.any(np.isfinite(others[: len(densities)])):
        mass, band_mass = masses(learned, thetas[1:], np.asarray(others), densities)
        # where completion failed there is no mass, and nothing may be NaN either
        sound = [member if np.isfinite(value) else each[0] for member, value in zip(each[1:], others, strict=True)]
    members = jax.tree.map(lambda *leaves: np.stack(leaves), *sound)
    return Completed(Posterior(graph, members, mass, mask, band_mass), best, -float(at_best))


def _thetas(graph: Graph, mask: Mask, learned: LearnedTheta | None) -> tuple[Floats, Floats]:
    """The graph's own θ first, then what the posterior averages over, where that is known.

    With -ln of the density at each of the latter; θ for constant noise comes last.
    """
    best = np.asarray(pack(graph.parameters, mask))[None]
    if learned is None or learned.optimum.curvature is None:
        return best, np.zeros(0)
    around, densities = learned.around(MEMBERS[graph.extent])
    same_noise = np.zeros_like(best[:0]) if learned.constant is None else learned.constant.theta[None]
    return np.concatenate([best, around, same_noise]), densities


def masses(learned: LearnedTheta, thetas: Floats, values: Floats, densities: Floats) -> tuple[Floats, Floats | None]:
    """How probable each of these θ is, and how probable if the noise is not constant.

    The mean of importance weights is ∫ p(data, θ) dθ around one optimum, or half of it around two.
    """
    around = len(densities)
    penalties = np.asarray([learned.prior.negative_log(theta)[0] for theta in thetas[:around]])
    mass, log_mean = importance(values[:around] + penalties, densities)
    if learned.constant is None:
        return constant(mass), None
    log_width = log_mean + np.log(1.0 if learned.other is None else 2.0)
    probability = np.nan_to_num(expit(learned.constant.log_width - values[-1] - log_width))
    return constant([*(1.0 - probability) * mass, probability]), constant([*mass, 0.0])


def importance(values: Floats, densities: Floats) -> tuple[Floats, float]:
    """Importance weights exp(-value) / density, none larger than √n times their mean, so that none stands alone.

    And the logarithm of their mean.
    """
    logarithms = np.where(np.isfinite(values), densities - values, -np.inf)
    weights = np.exp(logarithms - logarithms.max())
    mean = weights.mean()
    weights = np.minimum(weights, mean * np.sqrt(len(weights)))
    return weights / weights.sum(), logarithms.max() + np.log(mean)


def _complete(
    thetas: Floats,
    graph: Graph,
    mask: Mask,
    cells: Cells,
    options: CompletionOptions,
    start: Floats | Completion | None,
    clustering: Clustering | None,
) -> tuple[Completion, list[Member], Floats]:
    """The graph completed for each of several θ: the first completion, all members, and negative log evidences.

    The first starts from the initial condition or from another law's solution, or is known; the others start near it.
    """
    told = None if clustering is None else clustering.information
    stage, usual = Stage.of(graph, mask, cells), options.solver.for_graph(graph)
    first, members, values = None, [], []
    for theta in thetas:
        objective = stage.objective(theta)
        if first is not None:
            found = complete(objective, usual.loosened(), first.place)
        elif isinstance(start, Completion):
            found = first = start
        else:
            begin = initial_weights(objective, options.smoothing) if start is None else start
            found = first = complete(objective, usual.patient(), begin)
        blocks = found.blocks if told is None else None
        blocks = list(objective.fisher_at(found.place, told=told)) if blocks is None else blocks
        if found is first:
            first = replace(first, blocks=blocks)
        members.append(member := member_of(objective, found.place, theta, blocks))
        values.append(found.loss + float(np.sum(np.log(np.diagonal(member.lower)))))
        if options.smoothing is not None:
            smooth = smoothed_diffusion(objective, found.weights, options.smoothing)
            members[-1] = member_of(objective, objective.at(smooth), theta)
    assert first is not None
    return first, members, np.asarray(values)
