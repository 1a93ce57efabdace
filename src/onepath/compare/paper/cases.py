"""What the paper learns from: its six trajectories whole, and two of them seen every k-th step."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from onepath.compare.baselines import LAMBDA
from onepath.compare.processes import PAPER_TRAJECTORIES, PaperTrajectory
from onepath.numerics.arrays import Floats

WHOLE, AS_PRINTED, AS_DESCRIBED = "whole", "as-printed", "as-described"

STEPS = tuple(range(1, 11))
"""k of the two tables on time discretisation."""

STEP_POINTS = 500
"""Transitions to train on, and to test on, for each k."""

STEP_LAMBDA = {"exponential-2": LAMBDA, "trigonometric-1": 1e-7}
"""λ at k = 1, from where λ_k = k λ. The paper says only that it "performs well"; these are what its rows tell."""

FRESH_SEEDS = 1_000_000
"""Fresh seeds are counted from here, far from the paper's own."""


class Data(NamedTuple):
    """Transitions x → x + y to train and to be tested on, (n, 1) each, their duration, and λ."""

    x: Floats
    y: Floats
    x_test: Floats
    y_test: Floats
    dt: float
    noise: float

    @property
    def train(self) -> list[Floats]:
        """The training transitions as two-point trajectories."""
        return _pairs(self.x, self.y)

    @property
    def test(self) -> list[Floats]:
        return _pairs(self.x_test, self.y_test)


@dataclass(frozen=True)
class Case:
    """One data set: a trajectory of the paper (or, with a `seed`, a fresh one of the same process), and how it is seen.

    `view` is "whole" for all transitions; "as-described" for the increments over k steps, as the paper's text has it;
    "as-printed" for the increments over one step, every k-th of them, taken to have lasted k steps, which is what the
    numbers of its tables come from.
    """

    trajectory: str
    view: str = WHOLE
    k: int = 1
    seed: int | None = None

    @property
    def record(self) -> PaperTrajectory:
        record = PAPER_TRAJECTORIES[self.trajectory]
        return record if self.seed is None else replace(record, seed=FRESH_SEEDS + self.seed)

    def data(self) -> Data:
        """Simulate, and cut into transitions."""
        record = self.record
        if self.view == WHOLE:
            n, noise = record.n, LAMBDA
        else:
            n, noise = STEP_POINTS, self.k * STEP_LAMBDA[self.trajectory]
        points = replace(record, n=self.k * n).points()
        starts = np.arange(0, 2 * self.k * n, self.k)
        apart = 1 if self.view == AS_PRINTED else self.k
        x, y = points[starts], points[starts + apart] - points[starts]
        return Data(x[:n], y[:n], x[n:], y[n:], self.k * record.dt, noise)


def _pairs(x: Floats, y: Floats) -> list[Floats]:
    return list(np.stack([x, x + y], axis=1))


def level(trajectory: str, view: str, k: int) -> float:
    """½ ln(mean y²) + ½ of the test increments: L of no drift and a constant volatility, which needs no fit.

    Increments of k steps lie about ½ ln k above those of one step. L of any sensible fit is near the level of the
    increments that it was computed from, so it tells which they were.
    """
    return 0.5 * float(np.log(np.mean(np.square(Case(trajectory, view, k).data().y_test)))) + 0.5
