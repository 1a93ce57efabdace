"""A criterion of kernels as a differentiable function of their parameters θ.

A criterion judges the completed weights ŵ(θ). Their derivative in θ is that of one Newton step ŵ - H⁻¹∇J(ŵ, θ) with ŵ
and H held fixed: the implicit function theorem. Their value is ŵ itself, also where a solver has stopped early.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from onepath.completion import Completion, Objective, Solver, complete, objective_of
from onepath.graph import Graph
from onepath.kernels import unpack
from onepath.programs import program
from onepath.transitions import Cells

Which = tuple[bool, ...]
Weights = Float[Array, "functions p"]


class Judgement(NamedTuple):
    """A criterion's value and slope in θ, and the completion that was judged."""

    value: Float[Array, ""]
    slope: Float[Array, " k"]
    completion: Completion


@program
def graph_at(graph: Graph, which: Which, logarithms: Float[Array, " k"]) -> Graph:
    """The same graph with other parameters."""
    return graph.with_parameters(unpack(graph.parameters, which, logarithms))


def judge(
    criterion: Callable[[Objective, Weights], Float[Array, ""]],
    logarithms: Float[Array, " k"],
    graph: Graph,
    which: Which,
    cells: Cells,
    solver: Solver,
    start: Weights,
) -> Judgement:
    """Complete the graph on these cells with these parameters, and judge the outcome."""
    objective = objective_of(graph_at(graph, which, logarithms), cells)
    completion = complete(objective, solver, start)
    weights = completion.weights
    hessian = objective.hessian(weights)

    def value(logarithms: Array) -> Array:
        objective = objective_of(graph_at(graph, which, logarithms), cells)
        newton = jnp.linalg.solve(hessian, objective.gradient(weights).ravel()).reshape(weights.shape)
        return criterion(objective, weights - (newton - jax.lax.stop_gradient(newton)))

    return Judgement(*jax.value_and_grad(value)(logarithms), completion)
