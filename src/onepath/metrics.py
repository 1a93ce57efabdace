"""How far an estimated drift f and diffusion σ are from the data and from the truth, in any dimension.

Shapes: increments and drifts (n, d), diffusions (n, d, d).
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# A pivot below this share of its variance is rounding error, and its direction carries no noise.
_PIVOT_SHARE = 1e-12


def loss(y: Array, drift: Array, diffusion: Array, dt: npt.ArrayLike, noise: float = 0.0) -> float:
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


def relative_error(estimate: Array, truth: Array) -> float:
    """‖estimate - truth‖ / ‖truth‖ over all entries; for a zero truth, 0 if the estimate is zero too, else ∞."""
    _require_shape("estimate", estimate, truth.shape)
    distance = float(np.linalg.norm(np.ravel(estimate - truth)))
    size = float(np.linalg.norm(np.ravel(truth)))
    if size == 0:
        return 0.0 if distance == 0 else float("inf")
    return distance / size


def delta_drift(estimate: Array, truth: Array) -> float:
    """δ_f = ‖f̂ - f‖ / ‖f‖ over all points and coordinates."""
    return relative_error(estimate, truth)


def delta_diffusion(estimate: Array, truth: Array) -> float:
    """δ_σ = ‖Ŝ - S‖ / ‖S‖, where S is the lower Cholesky factor of σσ'.

    σ and σQ with Q orthogonal give the same process and the same S; in one dimension S = |σ|.
    """
    _require_shape("estimate", estimate, truth.shape)
    return relative_error(lower_factor(estimate), lower_factor(truth))


def coverage(lower: Array, upper: Array, truth: Array) -> float:
    """Share of entries with lower ≤ truth ≤ upper."""
    _require_shape("lower", lower, truth.shape)
    _require_shape("upper", upper, truth.shape)
    return float(np.mean((lower <= truth) & (truth <= upper)))


def lower_factor(diffusion: Array) -> Array:
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


def _covariance(diffusion: Array) -> Array:
    """σσ'."""
    return diffusion @ np.swapaxes(diffusion, -1, -2)


def _require_shape(name: str, array: Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(
            f"{name} has shape {array.shape}, but {shape} is needed: drifts are (n, d) and diffusions (n, d, d), "
            "with d = 1 written out"
        )
