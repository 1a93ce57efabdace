"""What is looked at of a long record, and some sums over all of it."""

from typing import NamedTuple

import numpy as np

from onepath.data.reading import spaced
from onepath.data.stretches import STRETCHES
from onepath.data.transitions import Transitions
from onepath.numerics.arrays import Floats, Integers


class Sums(NamedTuple):
    """Over transitions, each as often as it counts: (d,) but for the time."""

    gap: Floats  # what increments are beyond their means
    variance: Floats  # that it has if the law is right
    drift: Floats  # what the means add up to
    time: float
    total: float  # how many there are


class Whole(NamedTuple):
    """All of a record: sums, and residuals added up over blocks of steps, as if each block were one step."""

    sums: Sums
    series: Floats  # (blocks, d)
    block: int


class Sample(NamedTuple):
    """Some of a long record."""

    rows: Integers  # (n,), which of its transitions
    of: int  # how many it has
    step: float  # their mean duration
    whole: Whole | None  # where the law is quick enough to ask it everywhere

    @property
    def told(self) -> str:
        return f"looked at {spaced(len(self.rows))} of {spaced(self.of)} steps, in {STRETCHES} stretches"


def sums_of(transitions: Transitions, mean: Floats, covariance: Floats) -> Sums:
    """Sums over transitions with these means (n, d) and covariances (n, d, d) of their increments."""
    weight = transitions.weight
    return Sums(
        weight @ (transitions.y - mean),
        np.square(weight) @ np.diagonal(covariance, axis1=1, axis2=2),
        weight @ mean,
        float(weight @ transitions.dt),
        transitions.total,
    )
