"""Is the noise the same everywhere? A hypothesis of its own, beforehand as probable as not.

The default prior of a diffusion comes close to it, but only where all its amplitudes are small, which is improbable.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onepath.gp.parameters import AMPLITUDE, LENGTH, LEVEL, NOISE, REACH, Mask, Parameter, learnable, parameters_of
from onepath.graph.graph import Graph
from onepath.inference.completion import Solver
from onepath.inference.learning.criterion import Stage, Start
from onepath.inference.learning.optimisers import Criterion, Optimum, settle
from onepath.inference.learning.prior import ParameterPrior
from onepath.numerics.arrays import Floats

ABSENT = 1e-3
"""Amplitude of a term that is left out."""

SCORINGS = 3
"""Steps of Fisher's scoring that take a level from one law's to another's."""


class ConstantNoise(NamedTuple):
    """The best θ̂ under the hypothesis, and ln [∫ p(data, θ) dθ / p(data | θ̂)]."""

    theta: Floats
    log_width: float


def may_be_constant(graph: Graph, mask: Mask) -> bool:
    """Whether the hypothesis can be asked: terms that say how large they are, all learned, and a level for each entry.

    Not with kernels of the user's, fixed parameters of the diffusion, the identity link or correlated noise.
    """
    if graph.knows_diffusion:  # what is constant is a factor of it
        return False
    parameters = graph.parameters
    possible, learned = parameters_of(parameters, learnable(parameters)), parameters_of(parameters, mask)
    terms = [each for each in possible if each.function == "diffusion"]
    said = all(each.role in (AMPLITUDE, LENGTH, REACH) for each in terms) and any(
        each.role == AMPLITUDE for each in terms
    )
    levels = [each for each in learned if each.role == LEVEL]
    return said and set(terms) <= set(learned) and len(levels) == len(graph.unit)


def constant_noise(
    parameters: Sequence[Parameter], evidence: Criterion, prior: ParameterPrior, optimum: Optimum
) -> ConstantNoise:
    """The hypothesis, beside the optimum that a search without it has found.

    The drift's parameters stay as they were found, with the curvature H that they had; level and λ are found anew. By
    Laplace, ∫ p(data, θ) dθ = p(data | θ̂) p(θ̂) √det 2πH⁻¹ over the parameters that are left. Like `around`, this
    leaves out what all of the parameters have in common: the powers of 2π, and the spreads of their priors.
    """
    roles = np.array([each.role for each in parameters])
    absent = np.array([each.function == "diffusion" for each in parameters])
    free = np.isin(roles, [LEVEL, NOISE])

    def with_free(theta: Floats) -> Floats:
        whole = np.where((roles == AMPLITUDE) & absent, np.log(ABSENT), optimum.theta)
        whole[free] = theta
        return whole

    def restricted(theta: Floats) -> tuple[float, Floats]:
        value, slope = evidence(with_free(theta))
        return value, slope[free]

    start = np.where(roles == LEVEL, prior.mean, optimum.theta)[free]
    best = settle(restricted, Optimum(start, 0.0, None, 0, ""), prior.bounds[free])
    theta = with_free(best.theta)
    kept = ~(free | absent)
    curvatures = (np.asarray(optimum.curvature)[np.ix_(kept, kept)], np.asarray(best.curvature))
    values = np.concatenate([np.linalg.eigvalsh(curvature) for curvature in curvatures])
    penalty, _ = prior.negative_log(np.where(absent, prior.mean, theta))
    width = -0.5 * np.sum(np.log(prior.no_wider(values))) + np.sum(np.log(prior.spread[absent]))
    return ConstantNoise(theta, float(width - penalty))


def relevelled(
    constant: ConstantNoise, roles: Sequence[str], stage: Stage, solver: Solver, start: Start
) -> ConstantNoise:
    """The hypothesis at the level that the stage's law finds for it: ln σ ← ln σ - Σ ∂ℓ/∂ln σ / 2N, N increments each.

    Where noise depends on the state, its weights follow from law to law. Here there are none to speak of, and σ would
    stay the one that belongs to another law.
    """
    theta, levels = constant.theta.copy(), np.array([role == LEVEL for role in roles])
    graph, cells = stage.cellwise.graph, stage.cellwise.cells
    information = 2.0 * float(np.sum(cells.weight)) * graph.dimension / len(graph.unit)
    for _ in range(SCORINGS):
        objective, completion = stage.completed(theta, solver, start)
        start = completion.place
        theta[levels] -= objective.in_level(start.slopes)[levels] / information
    return constant._replace(theta=theta)
