"""The log density of every row of data under a model, given the rows before it: what all candidates are judged by."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from onepath.after.states import reading_densities
from onepath.data.inputs import Inputs
from onepath.data.trajectory import Trajectory
from onepath.data.transitions import transitions_of
from onepath.inference.disturbance.disturbance import since_of
from onepath.model import Model
from onepath.numerics.arrays import Floats, Integers

BLOCKS = 20
"""Of consecutive rows, whose means tell how certain a mean difference is: neighbouring rows are not independent."""


class Densities(NamedTuple):
    """ln p of rows in the data's units, given all rows before."""

    rows: Integers  # (m,), ascending
    logs: Floats  # (m,)

    @property
    def mean(self) -> float:
        return float(np.mean(self.logs))

    def between(self, first: int, last: int) -> "Densities":
        """Of rows from the first up to, and without, the last."""
        chosen = (self.rows >= first) & (self.rows < last)
        return Densities(self.rows[chosen], self.logs[chosen])


class Difference(NamedTuple):
    """A mean over the same rows, and its standard error."""

    mean: float
    error: float


def row_densities(model: Model, trajectory: Trajectory, first: int = 0) -> Densities:
    """Of all rows that a step leads to, in a trajectory as it was read; `first` is the number of its first row.

    A reading of the state itself has the density of its increment. One of a hidden state has that of its innovation,
    and noise with a memory that given the past: both take all rows before for a beginning.
    """
    inputs = None
    if model.variables:
        given = np.zeros((len(trajectory.t), 0)) if trajectory.inputs is None else trajectory.inputs.values
        inputs = Inputs(model.variables, given)
    seen = replace(trajectory, inputs=inputs, period=model.period)
    if model.observed is not None:
        rows, logs = reading_densities(model, seen)
    else:
        rows, logs = seen.step + 1, model.densities(transitions_of(seen), since_of(seen))
    return Densities(rows + first, logs)


def joined(parts: list[Densities]) -> Densities:
    """Of stretches that follow each other."""
    return Densities(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def difference(one: Densities, other: Densities) -> Difference:
    """How much denser one model has the rows that both have, on average."""
    _, i, j = np.intersect1d(one.rows, other.rows, assume_unique=True, return_indices=True)
    apart = one.logs[i] - other.logs[j]
    if len(apart) < 2 * BLOCKS:
        return Difference(float(apart.mean()) if len(apart) else np.nan, np.nan)
    means = np.asarray([block.mean() for block in np.array_split(apart, BLOCKS)])
    return Difference(float(apart.mean()), float(means.std(ddof=1) / np.sqrt(BLOCKS)))
