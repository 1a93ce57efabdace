"""Which parameters matter to one coordinate alone: where nothing couples coordinates, θ falls into parts."""

from itertools import chain
from typing import Any

import jax
import numpy as np

from onepath.gp.parameters import Mask
from onepath.graph.graph import Graph
from onepath.numerics.arrays import Integers

SEVERAL = -1
"""Stands for more than one coordinate."""


def parts_of(graph: Graph, mask: Mask) -> Integers:
    """For each entry of θ its coordinate, or `SEVERAL`.

    Likelihood, completion and evidence are sums over coordinates where every function touches one of them alone.
    """
    touched = _coordinates(graph)
    parameters = jax.tree.map(lambda leaf: np.full(np.shape(leaf), SEVERAL), graph.parameters)
    if all(len(each) == 1 for each in touched):
        left = chain.from_iterable(touched)
        owners = [np.array([next(left) for _ in range(each.outputs)]) for each in graph.unknown]
        kernels = [_spread(each.kernel, owner) for each, owner in zip(graph.unknown, owners, strict=True)]
        drifts = len(graph.parameters.drift)
        level = None if graph.level is None else np.concatenate(owners[drifts:])[: graph.positive]
        parameters = type(parameters)(tuple(kernels[:drifts]), tuple(kernels[drifts:]), level, parameters.noise)
    leaves = zip(jax.tree.leaves(parameters), mask, strict=True)
    return np.concatenate([np.zeros(0, int), *(leaf.ravel() for leaf, used in leaves if used)]).astype(int)


def _coordinates(graph: Graph) -> list[set[int]]:
    """The coordinates that each unknown function touches, by the rows of its group."""
    d = graph.dimension
    of_row = [{i} for i in range(d)] + [{int(i), int(j)} for i, j in zip(*np.tril_indices(d), strict=True)]
    touched: list[set[int]] = [set() for _ in range(graph.functions)]
    for functions, rows in graph.groups():
        for f in functions:
            touched[f] |= set().union(*(of_row[row] for row in rows))
    return touched


def _spread(kernel: Any, owner: Integers) -> Any:
    """Every entry of a stacked kernel's parameters by its output's owner."""

    def one(leaf: Any) -> Integers:
        shape = np.shape(leaf)
        if shape[:1] != owner.shape:
            return np.full(shape, SEVERAL)
        return np.broadcast_to(owner.reshape(-1, *[1] * (len(shape) - 1)), shape)

    return jax.tree.map(one, kernel)
