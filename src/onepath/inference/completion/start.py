"""Where a solver starts, and the paper's smoothing of where it ends."""

import numpy as np

from onepath.inference.completion.objective import Objective
from onepath.numerics.arrays import Floats
from onepath.numerics.linalg import lower_root, solved


def _smoothed(phi: Floats, values: Floats, weight: Floats, smoothing: float) -> Floats:
    """Weights of E[g | g + Z = values], Z of variance `smoothing` for each transition (paper, eq. 9)."""
    ridge = (phi.T * weight) @ phi + smoothing * np.eye(phi.shape[1])
    return solved(lower_root(ridge), phi.T @ (weight * values))


START_SMOOTHING = 0.01
"""γ of the paper's initial condition where none is given, in units of the diffusion's mean square."""


def initial_weights(objective: Objective, smoothing: Floats | None = None) -> Floats:
    """Where a solver starts: the prior's mean, or, where that is no diffusion at all, the paper's initial condition.

    That is no drift, and the diffusion that the smoothed quadratic variation y²/Δt gives. The paper takes y²/Δt for σ
    itself; it is an estimate of σ², so its root is taken here.
    """
    graph, weight = objective.graph, np.asarray(objective.cells.weight)
    start, weights = graph.start(objective.cells), objective.no_weights
    if start is None:
        return weights
    gammas = np.full(graph.positive, START_SMOOTHING) if smoothing is None else np.asarray(smoothing)
    for f, squares, gamma in zip(range(weights.shape[0])[start.functions], start.squares.T, gammas, strict=False):
        phi, mean = objective.features.phi[f, :, 0], float(np.average(squares, weights=weight))
        smooth = phi @ _smoothed(phi, squares - mean, weight, gamma) + mean
        size = np.asarray(start.inverse(np.sqrt(np.maximum(smooth, 0.01 * mean))))
        weights[f] = _smoothed(phi, size - objective.features.offset[f], weight, gamma)
    return weights


def smoothed_diffusion(objective: Objective, weights: Floats, smoothing: Floats) -> Floats:
    """The paper's σ* = G(G + γI)⁻¹σ† (its eq. 9), with the drift that is best for it."""
    weights, d, weight = np.array(weights), objective.graph.drifts, np.asarray(objective.cells.weight)
    values = objective.latent(weights)[:, :, 0] - objective.features.offset
    for f, gamma in zip(range(d, len(weights)), np.asarray(smoothing), strict=True):
        weights[f] = _smoothed(objective.features.phi[f, :, 0], values[:, f], weight, gamma)
    return objective.with_best_drift(weights)
