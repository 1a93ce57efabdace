"""A criterion of kernels as a differentiable function of their parameters θ.

A criterion judges the completed weights ŵ(θ). Their derivative in θ is that of one Newton step ŵ - H⁻¹∇J(ŵ, θ) with ŵ
and H held fixed: the implicit function theorem. Their value is ŵ itself, also where a solver has stopped early.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from onepath.data.cells import Cells
from onepath.gp.parameters import Mask, unpack
from onepath.graph.graph import Graph
from onepath.inference.completion import Completion, Objective, Solver, complete, objective_of
from onepath.numerics.compiled import compiled

Weights = Float[Array, "functions p"]


class Judgement(NamedTuple):
    """A criterion's value and slope in θ, and the completion that was judged."""

    value: Float[Array, ""]
    slope: Float[Array, " k"]
    completion: Completion


@compiled
def graph_at(graph: Graph, mask: Mask, theta: Float[Array, " k"]) -> Graph:
    """The same graph with other parameters."""
    return graph.with_parameters(unpack(graph.parameters, mask, theta))


def judge(
    criterion: Callable[[Objective, Weights], Float[Array, ""]],
    theta: Float[Array, " k"],
    graph: Graph,
    mask: Mask,
    cells: Cells,
    solver: Solver,
    start: Weights,
) -> Judgement:
    """Complete the graph on these cells with these parameters, and judge the outcome."""
    objective = objective_of(graph_at(graph, mask, theta), cells)
    completion = complete(objective, solver, start)
    weights = completion.weights
    hessian = objective.hessian(weights)

    def value(theta: Array) -> Array:
        objective = objective_of(graph_at(graph, mask, theta), cells)
        newton = jnp.linalg.solve(hessian, objective.gradient(weights).ravel()).reshape(weights.shape)
        return criterion(objective, weights - (newton - jax.lax.stop_gradient(newton)))

    return Judgement(*jax.value_and_grad(value)(theta), completion)
