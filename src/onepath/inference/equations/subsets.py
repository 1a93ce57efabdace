"""Which subsets of terms are looked at, and how probable each is beforehand."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from onepath.numerics.arrays import Flags, Floats, Integers

EXHAUSTIVE = 10
"""So many terms at most have all of their subsets looked at."""

KEPT, ROUNDS = 24, 12
"""Of a search: how many of the best subsets the next round begins from, and how many rounds there are at most."""

Judge = Callable[[Flags], Floats]
"""Log evidence of subsets (s, terms)."""


def all_subsets(count: int) -> Flags:
    """Of so many terms, but for the empty one: (2^count - 1, count)."""
    return (np.arange(1, 1 << count)[:, None] >> np.arange(count)) % 2 == 1


class Simplicity(NamedTuple):
    """Of terms of these degrees: each is there with such odds, and the largest degree costs a factor for each one."""

    degrees: Integers
    odds: float
    per_degree: float

    def of(self, subsets: Flags) -> Floats:
        """ln of the prior probability of subsets, up to a constant."""
        largest = np.max(np.where(subsets, self.degrees, 0), axis=1)
        return np.asarray(subsets.sum(axis=1) * np.log(self.odds) + largest * np.log(self.per_degree))

    @property
    def log_total(self) -> float:
        """ln of its sum over all subsets but the empty one: those of each largest degree have all terms below."""
        total, below = 0.0, 0
        for degree in np.unique(self.degrees):
            upto = int(np.sum(self.degrees <= degree))
            total += self.per_degree**degree * ((1.0 + self.odds) ** upto - (1.0 + self.odds) ** below)
            below = upto
        return float(np.log(total))


def searched(judge: Judge, prior: Simplicity) -> tuple[Flags, Floats]:
    """Subsets and their ln p(data | subset) p(subset): all of them, or those near the best that a search finds.

    A round adds a term to, takes one from, or changes one in each of the best subsets, until nothing new is good.
    """
    count = len(prior.degrees)
    if count <= EXHAUSTIVE:
        subsets = all_subsets(count)
        return subsets, judge(subsets) + prior.of(subsets)
    seen = np.concatenate([np.eye(count, dtype=bool), np.ones((1, count), bool)])
    values = judge(seen) + prior.of(seen)
    best = values.max()
    for _ in range(ROUNDS):
        near = neighbours(seen[np.argsort(-values)[:KEPT]])
        known = {row.tobytes() for row in seen}
        near = near[[row.tobytes() not in known for row in near]]
        if len(near) == 0:
            break
        more = judge(near) + prior.of(near)
        seen, values = np.concatenate([seen, near]), np.concatenate([values, more])
        if values.max() <= best and len(seen) > KEPT * count:
            break
        best = values.max()
    return seen, values


def neighbours(subsets: Flags) -> Flags:
    """All that differ from one of these by one term, or by one for another."""
    count = subsets.shape[1]
    flips = subsets[:, None] ^ np.eye(count, dtype=bool)
    first, second = np.triu_indices(count, 1)
    pairs = np.zeros((len(first), count), bool)
    pairs[np.arange(len(first)), first] = pairs[np.arange(len(first)), second] = True
    swapped = subsets[:, None] ^ pairs
    same = swapped.sum(axis=2) == subsets.sum(axis=1)[:, None]
    found = np.concatenate([flips.reshape(-1, count), swapped[same]])
    return np.unique(found[found.any(axis=1)], axis=0)


def kept(values: Floats, most: int, least: float) -> Integers:
    """The best first: at most so many, none less probable than this share of the best."""
    order = np.argsort(-values, kind="stable")[:most]
    return order if least == 0.0 else order[values[order] >= values[order[0]] + np.log(least)]
