"""The paper's gradient descent."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from onepath.data.cells import Cells
from onepath.graph.graph import Graph
from onepath.inference.completion.loop import CONVERGED, RUNNING, Solver, State
from onepath.inference.completion.objective import Objective, Place
from onepath.numerics.arrays import Floats
from onepath.numerics.compiled import Bound, Fixed, compiled
from onepath.numerics.linalg import lower_root, small_cholesky, small_forward_solve, solved


class Memory(NamedTuple):
    """The present length of a step, factors of ΦᵀΦ for each function of σ, and the program that weighs the drift."""

    percent: float
    metric: list[Floats]
    least_squares: Bound


@dataclass(frozen=True)
class GradientDescent(Solver):
    """Steepest descent in σ̄, the diffusion's values at the data, with the drift at its best for each σ̄.

    A step changes σ̄ by `percent` of its norm; when that does not lower J, percent ← 0.9 percent; it ends when
    percent < `smallest` (paper: 1, 1e-20, at most 1e5 steps). In weights w, with σ̄ = Φw, the direction of steepest
    descent in σ̄ is -(ΦᵀΦ)⁻¹∇J.
    """

    percent: float = 1.0
    smallest: float = 1e-20
    most_steps: int = 100_000

    def begin(self, objective: Objective, weights: Floats) -> State:
        own = objective.features.phi[objective.graph.drifts :, :, 0]
        program = Bound(_least_squares, Fixed(objective.graph, objective.cells))
        memory = Memory(self.percent, [lower_root(phi.T @ phi) for phi in own], program)
        return State(profile_of(objective, weights, program), memory, RUNNING)

    def advance(self, objective: Objective, state: State) -> State:
        place, (percent, metric, program), d = state.place, state.memory, objective.graph.drifts
        slope = objective.gradient_at(place)[d:]
        direction = -np.stack([solved(lower, own) for lower, own in zip(metric, slope, strict=True)])
        moves = np.einsum("fcp,fp->fc", objective.features.phi[d:, :, 0], direction)
        length = percent / 100 * np.linalg.norm(place.latent[:, d:, 0]) / max(float(np.linalg.norm(moves)), 1e-300)
        weights = np.array(place.weights)
        weights[d:] += length * direction
        trial = profile_of(objective, weights, program)
        if trial.loss < place.loss:
            return State(trial, state.memory, RUNNING)
        percent *= 0.9
        return State(place, Memory(percent, metric, program), CONVERGED if percent < self.smallest else RUNNING)


def profile_of(objective: Objective, weights: Floats, least_squares: Bound) -> Place:
    """Put the drift at its best for these diffusion weights (paper, eq. 6), and see what J is there and where it falls.

    Under Euler's law J is least squares in the drift's weights, with rows √n V^-½ Δt φ and right-hand side √n V^-½ ȳ.
    There J's slope along f is zero, so that its slope along σ with f at its best is the partial one.
    """
    weights, d = np.array(weights), objective.graph.drifts
    weights[:d] = 0.0
    factors, right = least_squares(objective.latent(weights), objective.features.noise)
    parts = [factors[:, :, f, None] * objective.features.phi[f, :, None, 0] for f in range(d)]
    rows = np.concatenate(parts, axis=2).reshape(right.size, -1)
    curvature = rows.T @ rows
    curvature.flat[:: len(curvature) + 1] += 1.0
    weights[:d] = solved(lower_root(curvature), right.ravel() @ rows).reshape(d, -1)
    return objective.at(weights)


@compiled
def _least_squares(
    latent: Float[Array, "c f 1"], noise: Float[Array, ""], graph: Graph, cells: Cells
) -> tuple[Float[Array, "c d drifts"], Float[Array, "c d"]]:
    """√n V^-½ Δt, in the coordinates whose drift is unknown, and √n V^-½ (ȳ - m) of each cell, m what is known."""
    graph = replace(graph, noise=noise)
    own = jnp.asarray(np.eye(graph.dimension)[:, graph.unknown_coordinates])

    def one(latent: Array, cell: Cells) -> tuple[Array, Array]:
        mean, covariance = graph.gaussian(latent, cell.x, cell.dt)
        lower, root = small_cholesky(covariance), jnp.sqrt(cell.weight)
        return root * cell.dt * small_forward_solve(lower, own), root * small_forward_solve(lower, cell.y - mean)

    return jax.vmap(one)(latent, cells)
