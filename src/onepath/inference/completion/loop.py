"""One loop for all solvers; each returns the same J and says how it ended."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from onepath.graph.graph import Graph
from onepath.inference.completion.objective import Objective

RUNNING, CONVERGED, STUCK, LOST = range(4)

OUTCOMES = (
    "stopped at the largest number of steps before it converged",
    "converged",
    "stopped where no smaller step lowers the loss",
    "failed: the loss is not a finite number",
)


class State(eqx.Module):
    """Where a solver stands: weights, their J, what it remembers, and whether it goes on."""

    weights: Float[Array, "functions p"]
    loss: Float[Array, ""]
    memory: Any
    code: Int[Array, ""]


class Solver(eqx.Module):
    """A way to lower J."""

    most_steps: eqx.AbstractVar[int | Int[Array, ""]]

    def for_graph(self, graph: Graph) -> "Solver":
        """The same solver, or one that is quicker for such a graph."""
        del graph
        return self

    def loosened(self, rough: Bool[Array, ""]) -> "Solver":
        """The same solver, or one for completions of which only the first digits matter."""
        del rough
        return self

    @abstractmethod
    def begin(self, objective: Objective, weights: Float[Array, "functions p"]) -> State: ...

    @abstractmethod
    def advance(self, objective: Objective, state: State) -> State: ...


class Completion(eqx.Module):
    """The completed graph: weights ŵ, the loss J(ŵ), the number of steps and a code for the outcome."""

    weights: Float[Array, "functions p"]
    loss: Float[Array, ""]
    steps: Int[Array, ""]
    code: Int[Array, ""]

    @property
    def converged(self) -> bool:
        return int(self.code) == CONVERGED

    @property
    def outcome(self) -> str:
        return f"{OUTCOMES[int(self.code)]} ({int(self.steps)} steps)"


def complete(objective: Objective, solver: Solver, start: Float[Array, "functions p"]) -> Completion:
    """Minimise J from `start`."""

    def go_on(carried: tuple[State, Array]) -> Array:
        state, count = carried
        return (state.code == RUNNING) & (count < solver.most_steps)

    def advance(carried: tuple[State, Array]) -> tuple[State, Array]:
        state, count = carried
        return solver.advance(objective, state), count + 1

    state, count = jax.lax.while_loop(go_on, advance, (solver.begin(objective, start), jnp.zeros((), int)))
    code = jnp.where(jnp.isfinite(state.loss), state.code, LOST)
    return Completion(state.weights, state.loss, count, code)


def line_search(
    objective: Objective,
    state: State,
    direction: Float[Array, "functions p"],
    slope: Float[Array, ""],
) -> tuple[Float[Array, "functions p"], Float[Array, ""], Array]:
    """Halve a step until Armijo's condition holds, J falling by 1e-4 of what the slope promises, up to rounding."""
    slack = 1e-13 * jnp.abs(state.loss)

    def too_long(trial: tuple[Array, Array]) -> Array:
        length, loss = trial
        return ~(loss <= state.loss + 1e-4 * length * slope + slack) & (length > 1e-12)

    def halve(trial: tuple[Array, Array]) -> tuple[Array, Array]:
        length, _ = trial
        return length / 2, objective.loss(state.weights + length / 2 * direction)

    length, loss = jax.lax.while_loop(too_long, halve, (jnp.ones(()), objective.loss(state.weights + direction)))
    found = loss <= state.loss + slack
    return (
        jnp.where(found, state.weights + length * direction, state.weights),
        jnp.where(found, loss, state.loss),
        found,
    )
