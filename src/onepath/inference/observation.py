"""Observation: what readings say of the state's transitions, given what is known of its law.

trajectory → observation → weighted transitions → cells → search, completion → posterior
                 ↑                                                                |
                 └─────────────────────────── fit ────────────────────────────────┘
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from onepath.data.trajectory import Trajectory
from onepath.data.transitions import Transitions, transitions_of
from onepath.inference.result import Fit

FitTo = Callable[[Transitions, Fit | None], Fit]
"""A fit to transitions: kernels learned anew, or as in another fit."""

MOST_TURNS = 100
"""Of an observation with the fit."""


class Observation(ABC):
    """From a trajectory to weighted transitions, once or in turns with the fit.

    A new one is a subclass; `SDE(observation=...)` takes it as it is.
    """

    name: ClassVar[str]
    """As summaries call it."""

    takes_parts: ClassVar[bool] = False
    """Whether it can use rows of which some values are missing."""

    def __init_subclass__(cls) -> None:
        """Refuse an observation that does not say what it is, where it is written."""
        if not hasattr(cls, "name"):
            raise TypeError(f"The observation {cls.__name__} does not say its name.")

    def dimension(self, trajectory: Trajectory) -> int:
        """Of the state that transitions are of."""
        return trajectory.dimension

    @abstractmethod
    def transitions(self, trajectory: Trajectory, fit: Fit | None) -> Transitions | None:
        """Transitions to fit, in the data's units: first with no fit, then with each fit until this returns None.

        One for each step of the trajectory, in its order; a weight of 0 says that nothing is known of a step.
        `fit.increments(x, dt)` gives the means and covariances of increments under what was learned so far.
        """

    def learn(self, trajectory: Trajectory, fit_to: FitTo) -> Fit:
        """Transitions and fits in turns, to the end."""
        found = None
        for _ in range(MOST_TURNS):
            transitions = self.transitions(trajectory, found)
            if transitions is None:
                break
            found = fit_to(transitions, None)
        else:
            raise RuntimeError(f"The observation {self.name!r} came to no end in {MOST_TURNS} turns with the fit.")
        if found is None:
            raise ValueError(f"The observation {self.name!r} gave no transitions to learn from.")
        return found


@dataclass(frozen=True)
class Exact(Observation):
    """Readings are the state itself."""

    name = "exact"

    def transitions(self, trajectory: Trajectory, fit: Fit | None) -> Transitions | None:
        return transitions_of(trajectory) if fit is None else None
