"""Evidence: the probability of the data given the kernels, by Laplace's approximation."""

import equinox as eqx
from jaxtyping import Array, Float

from onepath.completion import Objective, Solver
from onepath.graph import Graph
from onepath.learning.implicit import Judgement, Weights, Which, judge
from onepath.linalg import cholesky, log_determinant
from onepath.transitions import Cells


def negative_log_evidence(objective: Objective, weights: Weights) -> Float[Array, ""]:
    """-ln p(data | θ) = J(ŵ) + ½ ln det Fisher."""
    return objective.loss(weights) + 0.5 * log_determinant(cholesky(objective.curvature(weights, exact=False)))


@eqx.filter_jit
def judge_evidence(
    logarithms: Float[Array, " k"], graph: Graph, which: Which, cells: Cells, solver: Solver, start: Weights
) -> Judgement:
    """The negative log evidence and its slope in θ."""
    return judge(negative_log_evidence, logarithms, graph, which, cells, solver, start)
