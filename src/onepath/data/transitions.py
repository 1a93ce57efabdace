"""Transitions: start, increment, duration and weight of every step, and the units in which a fit is the same fit."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from onepath.data.clocks import median_length
from onepath.data.inputs import CLASS, SEASON, Variables, coded
from onepath.data.trajectory import Trajectory
from onepath.numerics.arrays import Flags, Floats, Integers

CHUNK = 1 << 15
"""Transitions that are worked on at once."""


@dataclass(frozen=True, eq=False)
class Transitions:
    """Start, increment and duration of every transition, and how often it counts in the likelihood.

    Weights not given are 1 each. A weight of 2 is a transition observed twice, one of 0 says nothing. `inputs` are the
    columns of what drives the state besides, and `variables` say what they are.
    """

    x: Float[np.ndarray, "n d"]  #: states where they begin
    y: Float[np.ndarray, "n c"]  #: increments, of all coordinates or of those that are looked at
    dt: Float[np.ndarray, " n"]  #: durations
    weights: Float[np.ndarray, " n"] | None = None  #: how often each counts; None is once
    period: Float[np.ndarray, " d"] | None = None  #: of angles; 0 for what is none
    row: Integers | None = None  #: (n,), where it grows by one, transitions follow each other; None if ends tell
    inputs: Float[np.ndarray, "n k"] | None = None  #: columns of what drives the state, at the start
    variables: Variables = ()  #: what those columns are

    def __len__(self) -> int:
        return len(self.dt)

    @property
    def points(self) -> Floats:
        """What drift and diffusion are functions of: starts and, after them, inputs (n, d + k)."""
        return self.x if self.inputs is None else np.concatenate([self.x, self.inputs], axis=1)

    def moved(self, x: Floats, chosen: Integers) -> Floats:
        """Points from other states (n, d), with the inputs of these transitions."""
        return x if self.inputs is None else np.concatenate([x, self.inputs[chosen]], axis=1)

    @property
    def alike(self) -> bool:
        """Whether each weighs 1, which is quicker to add up."""
        return self.weights is None

    @property
    def weight(self) -> Floats:
        """(n,), of ones where none were given, in no memory at all."""
        return np.broadcast_to(1.0, len(self)) if self.weights is None else self.weights

    @property
    def total(self) -> float:
        """The sum of all weights: the number of transitions, where each weighs 1."""
        return float(len(self) if self.weights is None else np.sum(self.weights))

    def rows(self, chosen: slice | Integers | Flags) -> "Transitions":
        """Some of the transitions."""
        weights = None if self.weights is None else self.weights[chosen]
        row = None if self.row is None else self.row[chosen]
        inputs = None if self.inputs is None else self.inputs[chosen]
        x, y, dt = self.x[chosen], self.y[chosen], self.dt[chosen]
        return Transitions(x, y, dt, weights, self.period, row, inputs, self.variables)


class Units(NamedTuple):
    """Standardised state (x - location) / scale and time t / time: what makes a fit the same fit in other units.

    The same of the columns of inputs, where there are some.
    """

    location: Float[np.ndarray, " d"]  #: what is taken away from states
    scale: Float[np.ndarray, " d"]  #: by which they are then divided
    time: float  #: by which durations are divided
    input_location: Float[np.ndarray, " k"] | None = None  #: what is taken away from columns of inputs
    input_scale: Float[np.ndarray, " k"] | None = None  #: by which they are then divided

    def standardised(self, transitions: Transitions) -> Transitions:
        """Transitions in standardised units."""
        period = None if transitions.period is None else transitions.period / self.scale
        x, y, dt = self.points(transitions.x), transitions.y / self.scale, transitions.dt / self.time
        if transitions.inputs is None:
            return replace(transitions, x=x, y=y, dt=dt, period=period)
        return replace(transitions, x=x, y=y, dt=dt, period=period, inputs=self.driven(transitions.inputs))

    def points(self, x: Floats) -> Floats:
        """States in standardised units."""
        return np.asarray((x - self.location) / self.scale)

    def driven(self, columns: Floats) -> Floats:
        """Columns of inputs in standardised units."""
        if self.input_location is None or self.input_scale is None:
            raise ValueError("These units are those of a state without inputs.")
        return np.asarray((columns - self.input_location) / self.input_scale)

    def places(self, points: Floats) -> Floats:
        """States, with the columns of inputs after them where there are some, in standardised units."""
        if self.input_location is None:
            return self.points(points)
        d = len(self.location)
        return np.concatenate([self.points(points[:, :d]), self.driven(points[:, d:])], axis=1)


def transitions_of(trajectory: Trajectory) -> Transitions:
    """The steps that count, as the door decided, each of them once."""
    x, t, period = trajectory.x, trajectory.t, trajectory.period
    y, dt = nearest(x[1:] - x[:-1], period), t[1:] - t[:-1]
    if period is not None:
        low, turn = first_angles(trajectory), np.where(period > 0, period, 1.0)
        x = np.where(period > 0, low + np.mod(x - low, turn), x)
    found = Transitions(x[:-1], y, dt, None, period)
    found = found if len(trajectory.step) == len(dt) else found.rows(trajectory.step)
    if trajectory.inputs is None:
        return found
    variables = trajectory.inputs.variables
    return replace(found, inputs=coded(variables, trajectory.inputs.at_steps(trajectory.step, t)), variables=variables)


def nearest(difference: Floats, period: Floats | None) -> Floats:
    """Differences (n, d), those of angles the short way round."""
    if period is None:
        return difference
    turn = np.where(period > 0, period, np.inf)
    return np.asarray(difference - np.where(period > 0, period, 0.0) * np.round(difference / turn))


def first_angles(trajectory: Trajectory) -> Floats:
    """Where the turn that is shown begins (d,): half a turn below zero if the data lie around zero, else at zero."""
    period = np.zeros(trajectory.dimension) if trajectory.period is None else trajectory.period
    low, high = np.nanmin(trajectory.x, axis=0), np.nanmax(trajectory.x, axis=0)
    return np.where((low < 0) & (low >= -period / 2) & (high <= period / 2), -period / 2, 0.0)


def units_of(transitions: Transitions, *, common: bool) -> Units:
    """Mean and standard deviation of the starts, one for each dimension or one in common, and the median duration."""
    location = mean_of(transitions, transitions.x)
    squares = sum(summed(chunk, np.square(chunk.x - location)) for chunk in chunks_of(transitions))
    scale = np.sqrt(squares / transitions.total)
    if transitions.period is not None:  # of an angle that is spread evenly: nothing depends on where a turn is cut
        angle = transitions.period > 0
        location, scale = np.where(angle, 0.0, location), np.where(angle, transitions.period / np.sqrt(12.0), scale)
    if common:
        scale = np.full_like(scale, np.sqrt(np.mean(np.square(scale))))
    counted = transitions.dt if transitions.alike else transitions.dt[transitions.weight > 0]
    units = Units(location, scale, median_length(counted))
    if transitions.inputs is None:
        return units
    middle = mean_of(transitions, transitions.inputs)
    spread = np.sqrt(mean_of(transitions, np.square(transitions.inputs - middle)))
    # a season's circle and a class's corners are where they are, however often each was visited
    placed = np.concatenate([[one.kind in (SEASON, CLASS)] * one.columns for one in transitions.variables])
    spread = np.where(placed | (spread == 0.0), 1.0, spread)
    return units._replace(input_location=np.where(placed, 0.0, middle), input_scale=spread)


def summed(transitions: Transitions, values: Floats) -> Floats:
    """Σ w v over rows: (n, d) → (d,)."""
    return np.asarray(values.sum(axis=0) if transitions.alike else transitions.weight @ values)


def mean_of(transitions: Transitions, values: Floats) -> Floats:
    """Weighted mean over rows, column by column: on long tables many times quicker than over the first axis at once."""
    if transitions.alike:
        return np.asarray([column.mean() for column in values.T])
    return np.asarray([transitions.weight @ column for column in values.T]) / transitions.total


def chunks_of(transitions: Transitions) -> Iterator[Transitions]:
    """Part by part, each of which fits a processor's cache: a new array as long as the data costs more than its use."""
    for begin in range(0, len(transitions), CHUNK):
        yield transitions.rows(slice(begin, begin + CHUNK))


def random_halves(count: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """The paper's Π and Πᶜ: indices of two random halves (the first is the smaller if the count is odd)."""
    order = rng.permutation(count)
    return np.sort(order[: count // 2]), np.sort(order[count // 2 :])
