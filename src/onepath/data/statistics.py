"""What is seen in transitions before anything is learned: pairs of neighbours, and what they share."""

import numpy as np

from onepath.data.transitions import Transitions, chunks_of, mean_of, nearest, summed
from onepath.numerics.arrays import Floats, Integers, evenly

AROUND = 51
"""Increments that say how large those in the middle of them may be."""

CLEARLY = 4.0
"""Standard errors from which a correlation is no accident."""

LEAST_PAIRS, MOST_PAIRS = 10, 50_000
"""Of neighbouring increments: to say anything about what they share, and to know it well."""


def mean_square_rate(transitions: Transitions) -> Floats:
    """Mean of y²/Δt: (d,)."""
    squares = sum(summed(chunk, np.square(chunk.y) / chunk.dt[:, None]) for chunk in chunks_of(transitions))
    return np.asarray(squares / transitions.total)


def mean_square(transitions: Transitions) -> Floats:
    """Mean of y²: (d,)."""
    if transitions.alike:
        return np.asarray(np.einsum("nd,nd->d", transitions.y, transitions.y) / len(transitions))
    return mean_of(transitions, np.square(transitions.y))


def mean_duration(transitions: Transitions) -> float:
    return float(
        np.mean(transitions.dt) if transitions.alike else np.average(transitions.dt, weights=transitions.weight)
    )


def dimensions_correlate(transitions: Transitions) -> bool:
    """Whether increments of different dimensions are clearly correlated.

    Differences of neighbouring increments are looked at, which hold hardly any drift, in units of those around them,
    since noise may depend on the state.
    """
    d = transitions.x.shape[1]
    first, second = neighbours(transitions)
    if d == 1 or len(first) < LEAST_PAIRS:
        return False
    before, after = (transitions.y[at] / np.sqrt(transitions.dt[at])[:, None] for at in (first, second))
    differences = after - before
    window = np.ones(min(AROUND, len(first)))
    around = [np.convolve(column, window, mode="same") / len(window) for column in np.square(differences).T]
    differences = differences / np.sqrt(np.maximum(np.transpose(around), np.finfo(float).tiny))
    rows, columns = np.tril_indices(d, -1)
    pairs = _pairs(transitions, differences[:, rows] * differences[:, columns], first, second)
    # neighbouring differences share an increment, so there are fewer independent ones than products
    error = np.sqrt(mean_of(pairs, np.square(pairs.y)) * 1.5 / pairs.total)
    return bool(np.any(np.abs(mean_of(pairs, pairs.y)) > CLEARLY * error))


def persistence(transitions: Transitions) -> Floats:
    """What neighbouring increments share, E y_k y_{k+1} / Δt_k Δt_{k+1} less two standard errors and not below 0: (d,).

    Noise is new at every step, so this is the mean square of a drift that is strong and smooth along the path, as on a
    limit cycle. Where the drift only holds against the noise, as in a well, it is 0.
    """
    first, second = neighbours(transitions)
    if len(first) < LEAST_PAIRS:
        return np.zeros(transitions.x.shape[1])
    before, after = (transitions.y[at] / transitions.dt[at][:, None] for at in (first, second))
    # squares of products would overflow; a power of two changes no digit
    unit = np.exp2(np.round(np.log2(np.maximum(np.max(np.abs(before), axis=0), np.finfo(float).tiny))))
    pairs = _pairs(transitions, (before / unit) * (after / unit), first, second)
    mean = mean_of(pairs, pairs.y)
    deviation = np.std(pairs.y, axis=0) if pairs.alike else np.sqrt(mean_of(pairs, np.square(pairs.y - mean)))
    return np.maximum(mean - 2 * deviation / np.sqrt(pairs.total), 0.0) * unit * unit


def neighbours(transitions: Transitions) -> tuple[Integers, Integers]:
    """Indices of transitions and of those that begin where they end: not over gaps, and not into another record.

    Of long records, some that are spread evenly: they say enough. Transitions that count nothing have no neighbours.
    """
    x, y = transitions.x, transitions.y
    some = evenly(len(x) - 1, MOST_PAIRS)
    if transitions.row is not None:
        follows = transitions.row[some + 1] - transitions.row[some] == 1
    else:
        end, start = x[some] + y[some], x[some + 1]
        apart = nearest(end - start, transitions.period)
        follows = np.all(np.abs(apart) <= 1e-9 * np.max(np.abs(start), axis=0, initial=0.0), axis=1)
    if not transitions.alike:
        follows &= (transitions.weight[some] > 0) & (transitions.weight[some + 1] > 0)
    first = some[follows]
    return first, first + 1


def _pairs(transitions: Transitions, products: Floats, first: Integers, second: Integers) -> Transitions:
    """Products over pairs of neighbours, as increments; a pair counts as the geometric mean of its members does."""
    pairs = Transitions(products, products, transitions.dt[first])
    if transitions.alike:
        return pairs
    return Transitions(*(pairs.x, pairs.y, pairs.dt), np.sqrt(transitions.weight[first] * transitions.weight[second]))
