"""From learned parameters to the posterior: complete the graph at each of several θ, and weigh them."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import expit

from onepath.data.cells import Cells
from onepath.gp.parameters import Mask, pack
from onepath.graph.graph import Graph
from onepath.inference.completion import (
    Completion,
    Solver,
    complete,
    initial_weights,
    objective_of,
    smoothed_diffusion,
)
from onepath.inference.learning.criterion import Weights, graph_at
from onepath.inference.learning.learned import LearnedTheta
from onepath.inference.posterior.posterior import Member, Posterior, member_of
from onepath.numerics.arrays import Flags, Floats
from onepath.numerics.compiled import compiled
from onepath.numerics.linalg import constant, log_determinant

MOST_POINTS = {1: 256, 2: 64, 3: 32}
"""Points for the features of one term, at most, by dimension; above three dimensions as in three, here and below."""

MEMBERS = {1: 18, 2: 8, 3: 4}
"""Parameters that the posterior averages over, at most; in one dimension, twice as many as the default has."""


class CompletionOptions(NamedTuple):
    """How to complete: by which solver, features to which tolerance, and γ in each diffusion entry's own units."""

    solver: Solver
    tolerance: float
    smoothing: Float[Array, " entries"] | None = None


class Completed(NamedTuple):
    """A posterior, and the completion and the log evidence at the best parameters."""

    posterior: Posterior
    completion: Completion
    evidence: float


def complete_at(
    graph: Graph, mask: Mask, cells: Cells, options: CompletionOptions, learned: LearnedTheta | None
) -> Completed:
    """The graph completed at what was learned, or at its own parameters; features serve the other optimum too."""
    optima = [graph] if learned is None else [each.graph for each in (learned, learned.other) if each is not None]
    most = MOST_POINTS[min(graph.dimension, 3)]
    graphs = [graph.with_parameters(each.parameters).with_bases(cells, options.tolerance, most) for each in optima]
    graph = max(graphs, key=lambda each: each.rank).with_parameters(optima[0].parameters)
    thetas, densities = _thetas(graph, mask, learned)
    completions, members, values = _complete(thetas, graph, mask, cells, options.solver, options.smoothing)
    best = jax.tree.map(lambda leaf: np.asarray(leaf)[0], completions)
    at_best, *others = np.asarray(values)
    if not (np.isfinite(best.loss) and np.isfinite(at_best)):
        raise RuntimeError(
            "Completing the graph failed: no finite loss was found with these data, kernels and link. Look at the data "
            "for values or steps many orders of magnitude from the others; kernels, links or a noise_variance of your "
            "own are best left out."
        )
    mass, band_mass = constant([1.0]), None
    if learned is None or not np.any(np.isfinite(others[: len(densities)])):
        members = jax.tree.map(lambda leaf: np.asarray(leaf)[:1], members)
    else:
        mass, band_mass = masses(learned, np.asarray(thetas)[1:], np.asarray(others), densities)
        members = jax.tree.map(lambda leaf: _sound(np.asarray(leaf), np.isfinite(others)), members)
    return Completed(Posterior(graph, members, mass, mask, band_mass), best, -float(at_best))


def _sound(leaf: np.ndarray, sound: Flags) -> np.ndarray:
    """Of all θ but the first; that one's where completion failed, which has no mass and must not be NaN either."""
    return np.where(sound.reshape(-1, *[1] * (leaf.ndim - 1)), leaf[1:], leaf[:1])


def _thetas(graph: Graph, mask: Mask, learned: LearnedTheta | None) -> tuple[Float[Array, "s k"], Floats]:
    """The graph's own θ first, then what the posterior averages over, where that is known.

    With -ln of the density at each of the latter; θ for constant noise comes last.
    """
    best = np.asarray(pack(graph.parameters, mask))[None]
    if learned is None or learned.optimum.curvature is None:
        return constant(best), np.zeros(0)
    around, densities = learned.around(MEMBERS[min(graph.dimension, 3)])
    same_noise = np.zeros_like(best[:0]) if learned.constant is None else learned.constant.theta[None]
    return constant(np.concatenate([best, around, same_noise])), densities


def masses(
    learned: LearnedTheta, thetas: Floats, values: Floats, densities: Floats
) -> tuple[Float[Array, " members"], Float[Array, " members"] | None]:
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


@compiled
def _complete(
    thetas: Float[Array, "s k"],
    graph: Graph,
    mask: Mask,
    cells: Cells,
    solver: Solver,
    smoothing: Float[Array, " entries"] | None,
) -> tuple[Completion, Member, Float[Array, " s"]]:
    """The completed graph and its negative log evidence for each of several θ, one after another.

    The first starts from the initial condition, the others from the first one's solution.
    """
    first = objective_of(graph_at(graph, mask, thetas[0]), cells)
    start = initial_weights(first, smoothing)

    def one(solved: tuple[Weights, Array], theta: Array) -> tuple[tuple[Weights, Array], tuple]:
        weights, is_first = solved
        objective = objective_of(graph_at(graph, mask, theta), cells)
        completion = complete(objective, solver.for_graph(graph).loosened(~is_first), weights)
        member = member_of(objective, completion.weights, theta)
        value = completion.loss + 0.5 * log_determinant(member.lower)
        if smoothing is not None:
            member = member_of(objective, smoothed_diffusion(objective, completion.weights, smoothing), theta)
        carried = jnp.where(is_first, completion.weights, weights)
        return (carried, jnp.asarray(False)), (completion, member, value)

    return jax.lax.scan(one, (start, jnp.asarray(True)), thetas)[1]
