"""How far an estimated drift f and diffusion σ are from the data and from the truth, and how good a forecast was.

Shapes: increments and drifts (n, d), diffusions (n, d, d); an ensemble is (paths, ...), what happened (...).
"""

import numpy as np
import numpy.typing as npt

from onepath.numerics.arrays import Floats

# A pivot below this share of its variance is rounding error, and its direction carries no noise.
_PIVOT_SHARE = 1e-12


def loss(y: Floats, drift: Floats, diffusion: Floats, dt: npt.ArrayLike, noise: float = 0.0) -> float:
    """L = mean over transitions of ½ r'V⁻¹r + ½ ln det V,  r = y - f dt,  V = σσ' dt + noise · I.

    The constant (d/2) ln 2π is dropped, as in the paper. `dt` is one step or one per transition (n,).
    """
    _require_shape("drift", drift, y.shape)
    _require_shape("diffusion", diffusion, (*y.shape, y.shape[-1]))
    steps = np.broadcast_to(np.asarray(dt, dtype=float), y.shape[:1])
    residual = y - drift * steps[:, None]
    covariance = _covariance(diffusion) * steps[:, None, None] + noise * np.eye(y.shape[-1])
    try:
        factor = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "σσ' dt + noise · I is singular for some transition, so the loss is not finite; give noise > 0"
        ) from error
    whitened = np.linalg.solve(factor, residual[..., None])[..., 0]
    half_log_determinant = np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1)
    return float(np.mean(0.5 * np.sum(whitened**2, axis=-1) + half_log_determinant))


def relative_error(estimate: Floats, truth: Floats) -> float:
    """‖estimate - truth‖ / ‖truth‖ over all entries; for a zero truth, 0 if the estimate is zero too, else ∞."""
    _require_shape("estimate", estimate, truth.shape)
    distance = float(np.linalg.norm(np.ravel(estimate - truth)))
    size = float(np.linalg.norm(np.ravel(truth)))
    if size == 0:
        return 0.0 if distance == 0 else float("inf")
    return distance / size


def delta_drift(estimate: Floats, truth: Floats) -> float:
    """δ_f = ‖f̂ - f‖ / ‖f‖ over all points and coordinates."""
    return relative_error(estimate, truth)


def delta_diffusion(estimate: Floats, truth: Floats) -> float:
    """δ_σ = ‖Ŝ - S‖ / ‖S‖, where S is the lower Cholesky factor of σσ'.

    σ and σQ with Q orthogonal give the same process and the same S; in one dimension S is `|σ|`.
    """
    _require_shape("estimate", estimate, truth.shape)
    return relative_error(lower_factor(estimate), lower_factor(truth))


def coverage(lower: Floats, upper: Floats, truth: Floats) -> float:
    """Share of entries with lower ≤ truth ≤ upper."""
    _require_shape("lower", lower, truth.shape)
    _require_shape("upper", upper, truth.shape)
    return float(np.mean((lower <= truth) & (truth <= upper)))


def crps(ensemble: Floats, truth: Floats) -> Floats:
    """`E|X - y| - ½ E|X - X'|` for each entry, in its units; lower is better, and a sure forecast has `|X - y|`.

    X' is another path than X, so that the size of the ensemble does not matter on average.
    """
    _require_ensemble(ensemble, truth)
    paths = len(ensemble)
    # Σ over pairs |x_i - x_j| = Σ (2i - n + 1) x_(i) of the ordered values
    rank = (2.0 * np.arange(paths) - paths + 1).reshape(-1, *[1] * truth.ndim)
    pairs = np.sum(rank * np.sort(ensemble, axis=0), axis=0) / (paths * (paths - 1) / 2)
    return np.asarray(np.mean(np.abs(ensemble - truth), axis=0) - pairs / 2)


def lower_factor(diffusion: Floats) -> Floats:
    """Lower triangular S with S S' = σσ' and a non-negative diagonal, (..., d, d).

    A singular σσ' is allowed: the column of a zero pivot is zero, which makes S unique there as well.
    """
    covariance = _covariance(diffusion)
    factor = np.zeros_like(covariance)
    for column in range(covariance.shape[-1]):
        # Schur complement column: what the columns found so far leave of the covariance
        remainder = covariance[..., :, column] - (factor @ factor[..., column, :, None])[..., 0]
        pivot = remainder[..., column, None]
        regular = pivot > _PIVOT_SHARE * covariance[..., column, column, None]
        factor[..., column] = np.where(regular, remainder, 0) / np.sqrt(np.where(regular, pivot, 1))
        factor[..., :column, column] = 0
    return factor


def _covariance(diffusion: Floats) -> Floats:
    """σσ'."""
    return diffusion @ np.swapaxes(diffusion, -1, -2)


def _require_shape(name: str, array: Floats, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(
            f"{name} has shape {array.shape}, but {shape} is needed: drifts are (n, d) and diffusions (n, d, d), "
            "with d = 1 written out"
        )


def _require_ensemble(ensemble: Floats, truth: Floats) -> None:
    if ensemble.shape[1:] != truth.shape or len(ensemble) < 2:
        raise ValueError(
            f"the ensemble has shape {ensemble.shape} and what happened {truth.shape}, but (paths, ...) and (...) are "
            "needed, with two paths at least"
        )
    if not (np.all(np.isfinite(ensemble)) and np.all(np.isfinite(truth))):
        raise ValueError("scores need finite numbers; paths that exploded are NaN, and `quantiles` knows what to do")
