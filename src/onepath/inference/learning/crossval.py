"""Randomised cross-validation, the paper's: train on one random half, judge on the other."""

import numpy as np

from onepath.inference.completion import Solver
from onepath.inference.learning.criterion import Judgement, Stage, Start
from onepath.numerics.arrays import Floats


def judge_split(theta: Floats, training: Stage, validation: Stage, solver: Solver, start: Start) -> Judgement:
    """-ln p(validation | f, σ trained on the other half) (paper, eq. 12), and its slope in θ.

    θ acts through the features of both halves, the offset and λ, and through ŵ, which moves by -H⁻¹∂∇J: with
    v = H⁻¹∇(validation loss), the slope is ∂(validation loss) - v·∂∇J.
    """
    objective, completion = training.completed(theta, solver, start)
    weights, judged = completion.weights, validation.objective(theta)
    place = judged.at(weights)
    in_q, _ = judged.cellwise.curvatures(place.latent, judged.features.noise)
    slope, hessian = objective.cellwise.curvatures(objective.latent(weights), objective.features.noise)
    newton = objective.hessian_of(hessian)
    v = np.asarray(np.linalg.solve(newton, judged.in_weights(place.slopes).ravel())).reshape(weights.shape)
    moved = -np.sum(hessian[:, :, :-1] * objective.along(v).reshape(len(slope), 1, -1), axis=2)
    in_phi = -objective.by_function(slope)[..., None] * v[:, None, None]
    in_theta = judged.in_theta(in_q, weights) + objective.in_theta(moved, weights, in_phi)
    return Judgement(place.misfit, in_theta, completion)
