"""One loop for all solvers; each returns the same J and says how it ended."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from onepath.completion.objective import Objective
from onepath.graph import Graph

RUNNING, CONVERGED, STUCK, LOST = range(4)

OUTCOMES = (
    "stopped at the largest number of steps before it converged",
    "converged",
    "stopped where no smaller step lowers the loss",
    "failed: the loss is not a finite number",
)


class Step(eqx.Module):
    """Where a solver stands: weights, their J, what it remembers, and whether it goes on."""

    weights: Float[Array, "functions p"]
    loss: Float[Array, ""]
    memory: Any
    code: Int[Array, ""]


class Solver(eqx.Module):
    """A way to lower J."""

    most_steps: eqx.AbstractVar[int | Int[Array, ""]]

    def suited(self, graph: Graph) -> "Solver":
        """The same solver, or one that is quicker for such a graph."""
        del graph
        return self

    def roughly(self, rough: Bool[Array, ""]) -> "Solver":
        """The same solver, or one for completions of which only the first digits matter."""
        del rough
        return self

    @abstractmethod
    def begin(self, objective: Objective, weights: Float[Array, "functions p"]) -> Step: ...

    @abstractmethod
    def advance(self, objective: Objective, step: Step) -> Step: ...


class Completion(eqx.Module):
    """The completed graph: weights ŵ, the loss J(ŵ), the number of steps and a code for the outcome."""

    weights: Float[Array, "functions p"]
    loss: Float[Array, ""]
    steps: Int[Array, ""]
    code: Int[Array, ""]

    @property
    def outcome(self) -> str:
        return f"{OUTCOMES[int(self.code)]} ({int(self.steps)} steps)"


def complete(objective: Objective, solver: Solver, start: Float[Array, "functions p"]) -> Completion:
    """Minimise J from `start`."""

    def go_on(state: tuple[Step, Array]) -> Array:
        step, count = state
        return (step.code == RUNNING) & (count < solver.most_steps)

    def advance(state: tuple[Step, Array]) -> tuple[Step, Array]:
        step, count = state
        return solver.advance(objective, step), count + 1

    step, count = jax.lax.while_loop(go_on, advance, (solver.begin(objective, start), jnp.zeros((), int)))
    code = jnp.where(jnp.isfinite(step.loss), step.code, LOST)
    return Completion(step.weights, step.loss, count, code)


def line_search(
    objective: Objective,
    step: Step,
    direction: Float[Array, "functions p"],
    slope: Float[Array, ""],
) -> tuple[Float[Array, "functions p"], Float[Array, ""], Array]:
    """Halve a step until Armijo's condition holds, J falling by 1e-4 of what the slope promises, up to rounding."""
    slack = 1e-13 * jnp.abs(step.loss)

    def too_long(state: tuple[Array, Array]) -> Array:
        length, loss = state
        return ~(loss <= step.loss + 1e-4 * length * slope + slack) & (length > 1e-12)

    def halve(state: tuple[Array, Array]) -> tuple[Array, Array]:
        length, _ = state
        return length / 2, objective.loss(step.weights + length / 2 * direction)

    length, loss = jax.lax.while_loop(too_long, halve, (jnp.ones(()), objective.loss(step.weights + direction)))
    found = loss <= step.loss + slack
    return jnp.where(found, step.weights + length * direction, step.weights), jnp.where(found, loss, step.loss), found
