"""Disturbance: the law of an increment about its mean m, where V is the covariance that drift and diffusion give it.

Without one it is N(0, V). The engine stays Gaussian: a disturbance says which transitions it should learn from instead,
in turns with the fit; score, forecasts and diagnosis ask it for densities, draws and normal numbers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from onepath.data.trajectory import Trajectory
from onepath.data.transitions import Transitions
from onepath.inference.posterior.clustering import Level
from onepath.numerics.arrays import Floats
from onepath.numerics.linalg import lower_roots

NINETY = 1.6449
"""Standard deviations from the middle to the ends of a central 90 % interval."""

LOG_2PI = float(np.log(2.0 * np.pi))


class Banded(NamedTuple):
    """A value and the ends of its 90 % band; NaN where it has none."""

    value: float  #: what was learned
    lower: float  #: where its band begins
    upper: float  #: where its band ends


class Steps(NamedTuple):
    """Increments beyond their means, step by step in the order of time.

    `since` is the time that has passed since the step before began, infinite at the beginning of a record.
    """

    rest: Floats  # (n, d)
    covariance: Floats  # (n, d, d), V
    dt: Floats  # (n,)
    since: Floats  # (n,)
    weight: Floats  # (n,), how often each counts

    @property
    def dimension(self) -> int:
        return self.rest.shape[1]


class Future(NamedTuple):
    """Steps to simulate, from any time on, or `onwards` from the last step that was observed."""

    paths: int
    steps: int
    dt: float
    onwards: bool


class Drawn(NamedTuple):
    """What becomes of L ξ, ξ ~ N(0, I), in simulated steps: it is stretched, and a jump is added, in data units; or,
    of ξ, a shift."""

    stretch: Floats  # (paths, steps)
    jumps: Floats | None = None  # (paths, steps, d)
    shift: Floats | None = None  # (paths, steps, d)


class Disturbance(ABC):
    """A law of increments about their means, with what was learned of it. Immutable, in the data's units."""

    name: ClassVar[str]
    symbol: ClassVar[str]
    """What stands for dW in the equation where it was found."""

    drawing: ClassVar[tuple[tuple[str, str], ...]]
    """Random variables in the drawing of the graph, and what they join."""

    price: ClassVar[float]
    """By how much the log evidence must be larger with it for it to be believed."""

    @property
    def given(self) -> bool:
        """Whether it is believed whatever the data say."""
        return False

    @property
    def noise(self) -> str:
        """What stands for dW in the equation."""
        return self.symbol if self.found else "dW"

    @property
    @abstractmethod
    def found(self) -> bool:
        """Whether the data speak for it: if not, it is N(0, V)."""

    @abstractmethod
    def log_density(self, steps: Steps) -> Floats:
        """ln p of each increment (n,), given those before it."""

    @abstractmethod
    def normal(self, steps: Steps) -> Floats:
        """Increments as independent standard normal numbers (n, d), if the law is right."""

    @abstractmethod
    def learned(self, steps: Steps) -> Self:
        """With parameters that are most likely for these steps."""

    @abstractmethod
    def described(self, steps: Steps) -> Self:
        """With bands of what was learned."""

    @abstractmethod
    def nothing(self) -> Self:
        """What it is if the data do not speak for it."""

    @abstractmethod
    def as_gaussian(self, transitions: Transitions, steps: Steps) -> Transitions:
        """What to learn drift and diffusion from, as if increments were N(m, V)."""

    @abstractmethod
    def drawn(self, rng: np.random.Generator, future: Future) -> Drawn:
        """For simulated paths."""

    @property
    def constant_noise(self) -> float | None:
        """How probable it is that σ is the same everywhere, where it knows that better than the Gaussian engine."""
        return None

    @property
    def level(self) -> Level | None:
        """How the level of the noise changes with time, where it does."""
        return None

    @property
    def shares(self) -> tuple[float, float]:
        """Of the information about drift and about diffusion that the engine takes itself to have, what there is."""
        return 1.0, 1.0


def log_normal(rest: Floats, covariance: Floats) -> Floats:
    """ln N(rest; 0, covariance) of each row (n,)."""
    white, volume = whitened(rest, covariance)
    return -0.5 * np.square(white).sum(axis=1) - volume - 0.5 * rest.shape[1] * LOG_2PI


def whitened(rest: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """L⁻¹ r (n, d) and ln det L (n,), where L Lᵀ is the covariance."""
    if rest.shape[1] == 1:
        size = np.sqrt(covariance[:, 0])
        return rest / size, np.log(size[:, 0])
    lower = lower_roots(covariance)
    volume = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    return np.asarray(np.linalg.solve(lower, rest[:, :, None])[:, :, 0]), volume


def steps_of(transitions: Transitions, since: Floats | None, mean: Floats, covariance: Floats) -> Steps:
    """What is left of transitions beyond these means, where V is this covariance; `since` None is one record."""
    if since is None:
        since = np.concatenate([[np.inf], transitions.dt[:-1]])
    return Steps(transitions.y - mean, covariance, transitions.dt, since, transitions.weight)


def since_of(trajectory: Trajectory) -> Floats:
    """Time from the beginning of each transition's predecessor to its own, infinite at the beginning of a record."""
    begun, record = trajectory.t[trajectory.step], trajectory.record[trajectory.step]
    since = np.full(len(begun), np.inf)
    since[1:] = np.where(record[1:] == record[:-1], begun[1:] - begun[:-1], np.inf)
    return since


def reweighted(transitions: Transitions, factor: Floats) -> Transitions:
    """Transitions that count so many times as much."""
    return replace(transitions, weights=transitions.weight * factor)


def around(value: float, error: float) -> Banded:
    """A positive number whose logarithm has this standard error."""
    return Banded(value, *(float(value * np.exp(sign * NINETY * error)) for sign in (-1, 1)))


def errors_of(likelihood: Callable[[Floats], float], size: int, step: float = 0.05) -> Floats:
    """Standard errors (size,) at zero, where a log-likelihood is largest, by its curvature; infinite if it is flat."""
    at, moves = likelihood(np.zeros(size)), step * np.eye(size)
    curvature = np.zeros((size, size))
    for i in range(size):
        curvature[i, i] = 2 * at - likelihood(moves[i]) - likelihood(-moves[i])
        for j in range(i):
            same = likelihood(moves[i] + moves[j]) + likelihood(-moves[i] - moves[j])
            across = likelihood(moves[i] - moves[j]) + likelihood(moves[j] - moves[i])
            curvature[i, j] = curvature[j, i] = (across - same) / 4
    values, vectors = np.linalg.eigh(curvature / step**2)
    with np.errstate(divide="ignore"):
        return np.sqrt(np.square(vectors) @ (1.0 / np.maximum(values, 0.0)))
