"""Randomised cross-validation, the paper's: train on one random half, judge on the other."""

from jaxtyping import Array, Float

from onepath.completion import Objective, Solver, objective_of
from onepath.graph import Graph
from onepath.learning.implicit import Judgement, Weights, Which, judge
from onepath.programs import program
from onepath.transitions import Cells


@program
def judge_split(
    logarithms: Float[Array, " k"],
    graph: Graph,
    which: Which,
    training: Cells,
    validation: Cells,
    solver: Solver,
    start: Weights,
) -> Judgement:
    """-ln p(validation | f, σ trained on the other half) (paper, eq. 12), and its slope in θ."""

    def validation_loss(objective: Objective, weights: Weights) -> Float[Array, ""]:
        return objective_of(objective.graph, validation).misfit(weights)

    return judge(validation_loss, logarithms, graph, which, training, solver, start)
