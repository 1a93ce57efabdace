"""One loop for all solvers; each returns the same J and says how it ended."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from onepath.graph.graph import Graph
from onepath.inference.completion.objective import Block, Objective, Place
from onepath.numerics.arrays import Floats

RUNNING, CONVERGED, STUCK, LOST = range(4)

OUTCOMES = (
    "stopped at the largest number of steps before it converged",
    "converged",
    "stopped where no smaller step lowers the loss",
    "failed: the loss is not a finite number",
)


class State(NamedTuple):
    """Where a solver stands, what it remembers, whether it goes on, and factors of the Fisher matrix, if known."""

    place: Place
    memory: Any
    code: int
    blocks: list[Block] | None = None


class Solver(ABC):
    """A way to lower J."""

    most_steps: int

    def for_graph(self, graph: Graph) -> "Solver":
        """The same solver, or one that is quicker for such a graph."""
        del graph
        return self

    def loosened(self) -> "Solver":
        """The same solver, or one for completions of which only the first digits matter."""
        return self

    def nearby(self) -> "Solver":
        """The same solver, or one for starts near the solution."""
        return self

    def patient(self) -> "Solver":
        """The same solver, or one that takes its time: for the completion that is the answer."""
        return self

    @abstractmethod
    def begin(self, objective: Objective, weights: Floats) -> State: ...

    @abstractmethod
    def advance(self, objective: Objective, state: State) -> State: ...


@dataclass(frozen=True, eq=False)
class Completion:
    """The completed graph: weights ŵ, the loss J(ŵ), the number of steps and a code for the outcome.

    And what a solver may have known besides: factors of the Fisher matrix there.
    """

    weights: Floats
    loss: float
    steps: int
    code: int
    place: Place
    blocks: list[Block] | None = None

    @property
    def converged(self) -> bool:
        return self.code == CONVERGED

    @property
    def outcome(self) -> str:
        return f"{OUTCOMES[self.code]} ({self.steps} steps)"


def complete(objective: Objective, solver: Solver, start: Floats | Place) -> Completion:
    """Minimise J from given weights, or near a place that was found with another θ."""
    if isinstance(start, Place):
        solver, start = solver.nearby(), objective.near(start)
    state, count = solver.begin(objective, np.asarray(start)), 0
    while state.code == RUNNING and count < solver.most_steps and np.isfinite(state.place.loss):
        state, count = solver.advance(objective, state), count + 1
    place = state.place
    code = state.code if np.isfinite(place.loss) else LOST
    return Completion(place.weights, place.loss, count, code, place, state.blocks)


def line_search(objective: Objective, place: Place, direction: Floats, slope: float) -> tuple[Place, bool]:
    """Halve a step until Armijo's condition holds, J falling by 1e-4 of what the slope promises, up to rounding."""
    slack, length = 1e-13 * abs(place.loss), 1.0
    trial = objective.at(place.weights + direction)
    while not trial.loss <= place.loss + 1e-4 * length * slope + slack and length > 1e-12:
        length /= 2
        trial = objective.at(place.weights + length * direction)
    found = trial.loss <= place.loss + slack
    return (trial if found else place), found
