"""Randomised cross-validation, the paper's: train on one random half, judge on the other."""

from jaxtyping import Array, Float

from onepath.data.cells import Cells
from onepath.gp.parameters import Mask
from onepath.graph.graph import Graph
from onepath.inference.completion import Objective, Solver, objective_of
from onepath.inference.learning.criterion import Judgement, Weights, judge
from onepath.numerics.compiled import compiled


@compiled
def judge_split(
    theta: Float[Array, " k"],
    graph: Graph,
    mask: Mask,
    training: Cells,
    validation: Cells,
    solver: Solver,
    start: Weights,
) -> Judgement:
    """-ln p(validation | f, σ trained on the other half) (paper, eq. 12), and its slope in θ."""

    def validation_loss(objective: Objective, weights: Weights) -> Float[Array, ""]:
        return objective_of(objective.graph, validation).misfit(weights)

    return judge(validation_loss, theta, graph, mask, training, solver, start)
