"""When did it change? Every hundredth of the record is tried as the time from which drift or noise are others."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from onepath.after.diagnose.residuals import Residuals
from onepath.numerics.arrays import Floats, Integers

PARTS, MARGIN, FAR = 100, 5, 2.5
"""Of the record; those at either end in which no change is looked for; and standard deviations beyond which states
count as this far only."""

TINY = 1e-9
"""Of a regression's squares, added so that it can be solved where a part of the record saw one place alone."""


class Change(NamedTuple):
    """The rows of the data from which the law is another: the most likely, and the ends of a 90 % interval."""

    row: int
    first: int
    last: int


def drift_change(residuals: Residuals) -> Change:
    """Where residuals regressed on cubics of the state, before and after apart, leave least."""
    u = np.clip(residuals.u, -FAR, FAR)
    design = residuals.weighted(np.column_stack([np.ones(len(u)), u, u**2, u**3]))
    z, edges = residuals.weighted(residuals.z), _edges(len(u))
    squares = np.stack([design[a:b].T @ design[a:b] for a, b in pairwise(edges)])
    products = np.stack([design[a:b].T @ z[a:b] for a, b in pairwise(edges)])
    before = _explained(np.cumsum(squares, axis=0)[:-1], np.cumsum(products, axis=0)[:-1])
    after = _explained(_from_here(squares), _from_here(products))
    variance = residuals.mean(np.square(z))
    return _at(residuals, edges, ((before + after) / variance).sum(axis=1) / 2)


def noise_change(residuals: Residuals) -> Change:
    """Where variances before and after make residuals most likely."""
    squares, edges = residuals.weighted(np.square(residuals.z)), _edges(len(residuals.z))
    sums = np.add.reduceat(squares, edges[:-1], axis=0)
    counts = np.add.reduceat(np.asarray(residuals.weight), edges[:-1])[:, None]
    logs = [
        -0.5 * n * np.log(np.maximum(s, np.finfo(float).tiny) / np.maximum(n, 1.0))
        for s, n in (
            (np.cumsum(sums, axis=0)[:-1], np.cumsum(counts, axis=0)[:-1]),
            (_from_here(sums), _from_here(counts)),
        )
    ]
    return _at(residuals, edges, (logs[0] + logs[1]).sum(axis=1))


def _edges(count: int) -> Integers:
    return np.linspace(0, count, min(PARTS, count) + 1).astype(np.int64)


def _from_here(parts: Floats) -> Floats:
    """Sums over all parts after each, without the last."""
    return np.asarray(np.cumsum(parts[::-1], axis=0)[::-1][1:])


def _explained(squares: Floats, products: Floats) -> Floats:
    """Of the sum of squares by each regression: (k, d)."""
    size = squares.shape[1]
    ridge = TINY * (np.trace(squares, axis1=1, axis2=2)[:, None, None] + 1.0) * np.eye(size)
    return np.asarray(np.sum(products * np.linalg.solve(squares + ridge, products), axis=1))


def _at(residuals: Residuals, edges: Integers, logs: Floats) -> Change:
    """The most likely of the edges between parts, and where it may be."""
    inside = slice(MARGIN, len(logs) - MARGIN)
    logs, places = logs[inside], edges[1:-1][inside]
    mass = np.cumsum(np.exp(logs - logs.max()))
    low, high = np.searchsorted(mass, np.array([0.05, 0.95]) * mass[-1])
    rows = residuals.row[places[[int(np.argmax(logs)), low, high]]]
    return Change(*map(int, rows))
