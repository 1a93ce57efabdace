"""Observation: what readings say of the state's transitions, given what is known of its law.

trajectory → observation → weighted transitions → cells → search, completion → posterior
                 ↑                                                                |
                 └─────────────────────────── fit ────────────────────────────────┘
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from onepath.data.trajectory import Trajectory
from onepath.data.transitions import Transitions, transitions_of
from onepath.inference.result import Fit


class Observation(ABC):
    """From a trajectory to weighted transitions, once or in turns with the fit.

    A new one is a subclass; `SDE(observation=...)` takes it as it is.
    """

    name: ClassVar[str]
    """As summaries call it."""

    def __init_subclass__(cls) -> None:
        """Refuse an observation that does not say what it is, where it is written."""
        if not hasattr(cls, "name"):
            raise TypeError(f"The observation {cls.__name__} does not say its name.")

    @abstractmethod
    def transitions(self, trajectory: Trajectory, fit: Fit | None) -> Transitions | None:
        """Transitions to fit, in the data's units: first with no fit, then with each fit until this returns None.

        One for each step of the trajectory, in its order; a weight of 0 says that nothing is known of a step.
        `fit.increments(x, dt)` gives the means and covariances of increments under what was learned so far.
        """


@dataclass(frozen=True)
class Exact(Observation):
    """Readings are the state itself."""

    name = "exact"

    def transitions(self, trajectory: Trajectory, fit: Fit | None) -> Transitions | None:
        return transitions_of(trajectory) if fit is None else None
