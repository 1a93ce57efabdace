"""Which parameters matter to one coordinate alone: where nothing couples coordinates, θ falls into parts."""

from itertools import chain
from typing import Any

import jax
import numpy as np

from onepath.gp.features import Unknown
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
    parts = [np.full(np.shape(leaf), SEVERAL) for leaf in jax.tree.leaves(graph.parameters)]
    if not graph.constants and all(len(each) == 1 for each in touched):
        left = chain.from_iterable(touched)
        owners = [np.array([next(left) for _ in range(each.outputs)]) for each in graph.unknown]
        kernels = [
            _spread(leaf, own) for each, own in zip(graph.unknown, owners, strict=True) for leaf in _leaves(each)
        ]
        level = [] if graph.level is None else [np.concatenate(owners)[graph.drifts :][: graph.positive]]
        parts = [*kernels, *level, np.array(SEVERAL)]  # in the order of θ
    learned = [part.ravel() for part, used in zip(parts, mask, strict=True) if used]
    return np.concatenate([np.zeros(0, int), *learned])


def _coordinates(graph: Graph) -> list[set[int]]:
    """The coordinates that each unknown function touches, by the rows of its group."""
    d = graph.dimension
    of_row = [{i} for i in range(d)] + [{int(i), int(j)} for i, j in zip(*np.tril_indices(d), strict=True)]
    touched: list[set[int]] = [set() for _ in range(graph.functions)]
    for functions, rows in graph.groups():
        for f in functions:
            touched[f] |= set().union(*(of_row[row] for row in rows))
    return touched


def _leaves(function: Unknown) -> list[Any]:
    return jax.tree.leaves(function.kernel)


def _spread(leaf: Any, owner: Integers) -> Integers:
    """Every entry of a stacked kernel's parameter by its output's owner."""
    shape = np.shape(leaf)
    if shape[:1] != owner.shape:
        return np.full(shape, SEVERAL)
    return np.broadcast_to(owner.reshape(-1, *[1] * (len(shape) - 1)), shape)
