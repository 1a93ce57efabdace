"""The paper's Newton method with Armijo's condition."""

from dataclasses import dataclass

import numpy as np

from onepath.inference.completion.loop import CONVERGED, RUNNING, STUCK, Solver, State, line_search
from onepath.inference.completion.objective import Objective
from onepath.numerics.arrays import Floats


@dataclass(frozen=True)
class Newton(Solver):
    """w ← w - |H|⁻¹∇J, drift and diffusion together, until |∇J| < `tolerance` (paper: 1e-8, at most 1000 steps).

    |H| has the absolute values of the Hessian's eigenvalues, so that every step points downhill. The paper steps in σ
    with f at its best; that is the same step, because the drift is put at its best before each.
    """

    tolerance: float = 1e-8
    most_steps: int = 1000

    def begin(self, objective: Objective, weights: Floats) -> State:
        return State(objective.at(objective.with_best_drift(weights)), None, RUNNING)

    def advance(self, objective: Objective, state: State) -> State:
        gradient = objective.gradient_at(state.place)
        values, vectors = np.linalg.eigh(objective.hessian_at(state.place))
        scaled = (vectors.T @ gradient.ravel()) / np.maximum(np.abs(values), 1e-12)
        direction = -(vectors @ scaled).reshape(gradient.shape)
        place, found = line_search(objective, state.place, direction, float(np.sum(gradient * direction)))
        best = objective.at(objective.with_best_drift(place.weights))
        code = RUNNING if found else STUCK
        done = np.linalg.norm(gradient) < self.tolerance
        return State(best._replace(loss=min(place.loss, best.loss)), None, CONVERGED if done else code)
