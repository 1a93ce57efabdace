"""Evidence: the probability of the data given the kernels, by Laplace's approximation."""

import numpy as np

from onepath.inference.completion import Block, Objective, Place, Solver
from onepath.inference.learning.criterion import Judgement, Stage, Start
from onepath.numerics.arrays import Floats
from onepath.numerics.linalg import inverse_of


def judge_evidence(theta: Floats, stage: Stage, solver: Solver, start: Start) -> Judgement:
    """The negative log evidence J(ŵ) + ½ ln det F, F the Fisher matrix, and its slope in θ.

    θ acts through the features φ, the offset and λ, and through ŵ, which moves by -H⁻¹∂∇J (the implicit function
    theorem). With C = RᵀR the Fisher matrix of a cell in its latents q, P = φF⁻¹φᵀ their covariance, t = ∇½⟨P, C⟩,
    v = H⁻¹φᵀt and everything at ŵ, the slopes are a = ∇ℓ + t - Hφv in q and λ, and a ŵ - ∇ℓ v + CφF⁻¹ in φ.
    """
    objective, completion = stage.completed(theta, solver, start)
    place, cellwise, noise = completion.place, objective.cellwise, objective.features.noise
    if not np.isfinite(completion.loss):
        return Judgement(np.nan, np.full(len(theta), np.nan), completion)
    c, functions, k = place.latent.shape
    blocks = list(objective.fisher_at(place))
    covariance, in_phi = spread_of(objective, place, blocks)
    t = cellwise.traces(place.latent, noise, covariance.reshape(c, functions * k, -1))
    slope, hessian = objective.curvatures_at(place)
    phi_t = objective.in_weights(t[:, :-1].reshape(c, functions, k))
    v = np.asarray(np.linalg.solve(objective.hessian_of(hessian), phi_t.ravel())).reshape(phi_t.shape)
    a = slope + t - np.sum(hessian[:, :, :-1] * objective.along(v).reshape(c, 1, -1), axis=2)
    in_phi -= objective.by_function(slope)[..., None] * v[:, None, None]
    value = completion.loss + half_log_determinant(blocks)
    return Judgement(value, objective.in_theta(a, completion.weights, in_phi), completion)


def half_log_determinant(blocks: list[Block]) -> float:
    """½ ln det F."""
    return float(sum(np.sum(np.log(np.diagonal(block.lower))) for block in blocks))


def spread_of(objective: Objective, place: Place, blocks: list[Block]) -> tuple[Floats, Floats]:
    """P = φF⁻¹φᵀ of each cell's latents (c, functions, k, functions, k), and CφF⁻¹ (functions, c, k, p)."""
    c, functions, k = place.latent.shape
    phi, sizes = objective.features.phi, objective.features.sizes
    covariance, curved = np.zeros((c, functions, k, functions, k)), np.zeros_like(phi)
    for group, _, lower in blocks:
        inverse, ends = inverse_of(lower), np.cumsum([0, *(sizes[f] for f in group)])
        own = {f: slice(*ends[i : i + 2]) for i, f in enumerate(group)}
        for f in group:
            half = (phi[f, :, :, : sizes[f]].reshape(c * k, -1) @ inverse[own[f]]).reshape(c, k, -1)  # φF⁻¹
            for g in group:
                part, features = half[:, :, own[g]], phi[g, :, :, : sizes[g]]
                crossed = _tiny_product(place.rows[:, :, g], place.rows[:, :, f])
                if k == 1:
                    covariance[:, f, 0, g, 0] = np.einsum("cp,cp->c", part[:, 0], features[:, 0])
                    curved[g, :, 0, : sizes[g]] += crossed[:, 0] * part[:, 0]
                else:
                    covariance[:, f, :, g] = np.matmul(part, np.swapaxes(features, 1, 2))
                    curved[g, :, :, : sizes[g]] += np.matmul(crossed, part)
    return covariance, curved


def _tiny_product(left: Floats, right: Floats) -> Floats:
    """leftᵀ right for each cell: (c, r, k), (c, r, l) → (c, k, l)."""
    return np.einsum("crk,crl->ckl", left, right)
