"""The Robust Learning Algorithm (paper, appendix, Algorithm 1): any model, any active learner.

A model is anything that can be trained on one half of the data and judged on the other. The average of that judgement
over random halves is a noisy estimate of its generalisation error, and an active learner drives it down.
"""

from collections.abc import Callable

import numpy as np

from onepath.data.transitions import random_halves
from onepath.inference.learning.optimisers import Optimum
from onepath.numerics.arrays import Floats, Integers

Trained = Callable[[Floats, Integers, Integers], tuple[float, Floats]]
"""(θ, training, validation) → validation loss of the model trained on the other half, and its slope.

A learner that uses no slopes does not look at them; a model without slopes returns NaN for them.
"""


class RandomisedLoss:
    """R(θ) = (1/M) Σ e_j, the mean validation loss over M random halves.

    With `fresh` halves at every evaluation, as in the paper, R is noisy; with the same ones it is a smooth function.
    """

    def __init__(self, model: Trained, count: int, splits: int, fresh: bool, rng: np.random.Generator) -> None:
        self.model, self.count, self.splits, self.fresh, self.rng = model, count, splits, fresh, rng
        self.halves = self._draw()

    def _draw(self) -> list[tuple[Integers, Integers]]:
        return [random_halves(self.count, self.rng) for _ in range(self.splits)]

    def held(self) -> "RandomisedLoss":
        """The same loss on new halves that stay, so that parameters can be compared."""
        return RandomisedLoss(self.model, self.count, self.splits, False, self.rng)

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        if self.fresh:
            self.halves = self._draw()
        losses, slopes = zip(*(self.model(theta, *halves) for halves in self.halves), strict=True)
        return float(np.mean(losses)), np.mean(slopes, axis=0)


def robust_learning(
    model: Trained,
    count: int,
    learner: Callable[[RandomisedLoss], Optimum],
    *,
    splits: int,
    fresh: bool,
    random_state: int | np.random.Generator | None = None,
) -> Optimum:
    """Minimise the mean validation loss over random halves of `count` data with an active learner."""
    return learner(RandomisedLoss(model, count, splits, fresh, np.random.default_rng(random_state)))
