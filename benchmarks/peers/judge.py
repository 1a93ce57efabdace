"""Scores of one answer against the truth, and the one word that sums it up.

An answer is *wrong* when, at more than half of the points (spread like the data), the truth lies more than three of the
method's own standard errors away, in the drift or in the diffusion. Where a method gives no errors for one of the two,
that one is wrong when it misses by a factor of two: a drift whose error is as large as the drift itself, a diffusion
whose size (root mean square of its entries) is not between half and twice the true one. Wrong answers are *silently
wrong*, unless the method itself speaks against them: by a warning, or by its own diagnosis where it has one.
"""

import numpy as np

from onepath.compare.metrics import delta_diffusion, delta_drift, loss, lower_factor

OK, WRONG, SILENT = "ok", "wrong, says so", "silently wrong"
REFUSED, CRASHED, LATE, ABSENT = "refused", "crashed", "over time", "cannot be installed"
FAILURES = (SILENT, REFUSED, CRASHED, LATE, ABSENT)
"""What counts as a failure of a cell."""


def square_root(covariance):
    """Lower factor of the nearest covariance that is one: negative eigenvalues become 0."""
    values, vectors = np.linalg.eigh((covariance + np.swapaxes(covariance, -1, -2)) / 2)
    return lower_factor(vectors * np.sqrt(np.maximum(values, 0))[..., None, :])


def errors(answer, drift, diffusion):
    """Relative errors of drift and diffusion over a set of points."""
    return delta_drift(answer.drift, drift), delta_diffusion(square_root(answer.covariance), diffusion)


def band_truth(kind, diffusion):
    """What the entries of a diffusion band are compared with."""
    return lower_factor(diffusion) if kind == "factor" else diffusion @ np.swapaxes(diffusion, -1, -2)


def share_inside(band, truth):
    """Share of points and entries within a band; of matrices, entries on and below the diagonal count."""
    if band is None:
        return None
    within = (band[0] <= truth) & (truth <= band[1])
    if truth.ndim == 3:
        rows, columns = np.tril_indices(truth.shape[-1])
        within = within[:, rows, columns]
    return float(np.mean(within))


def is_wrong(answer, drift, diffusion):
    """The definition above, at points that are spread like the data."""
    return _drift_is_wrong(answer, drift) or _diffusion_is_wrong(answer, diffusion)


def _drift_is_wrong(answer, drift):
    if answer.drift_three is not None:
        return bool(share_inside(answer.drift_three, drift) < 0.5)
    return bool(delta_drift(answer.drift, drift) >= 1)


def _diffusion_is_wrong(answer, diffusion):
    if answer.diffusion_three is not None:
        return bool(share_inside(answer.diffusion_three, band_truth(answer.kind, diffusion)) < 0.5)
    size = np.linalg.norm(square_root(answer.covariance)) / np.linalg.norm(lower_factor(diffusion))
    return bool(not 0.5 <= size <= 2)


def log_density(y, drift, diffusion, dt):
    """Mean log density of increments under N(f dt, σσ' dt); -∞ where a method leaves no noise."""
    try:
        with np.errstate(all="ignore"):
            value = -loss(y, drift, diffusion, dt) - 0.5 * y.shape[1] * np.log(2 * np.pi)
    except ValueError:
        return -np.inf
    return float(value) if np.isfinite(value) else -np.inf


def judge(sample, at_weighted, at_uniform, at_starts, own_density=None):
    """All scores of a method's answers at the three sets of points of a sample."""
    truth, dt = sample.problem.truth, sample.problem.dt
    everything = (at_weighted, at_uniform, at_starts)
    if not all(np.all(np.isfinite(a.drift)) and np.all(np.isfinite(a.covariance)) for a in everything):
        return {"status": CRASHED, "message": "not a number, among observed states"}
    x, (starts, y) = sample.weighted, sample.held_out
    drift, diffusion = truth.drift(x), truth.diffusion(x)
    weighted = errors(at_weighted, drift, diffusion)
    uniform = errors(at_uniform, truth.drift(sample.uniform), truth.diffusion(sample.uniform))
    if own_density is None:
        own_density = log_density(y, at_starts.drift, square_root(at_starts.covariance), dt)
    best = log_density(y, truth.drift(starts), truth.diffusion(starts), dt)
    wrong = is_wrong(at_weighted, drift, diffusion)
    return {
        "status": OK if not wrong else WRONG if at_weighted.flags else SILENT,
        "drift": weighted[0],
        "diffusion": weighted[1],
        "drift_uniform": uniform[0],
        "diffusion_uniform": uniform[1],
        "gap": best - own_density if np.isfinite(own_density) else None,
        "drift_coverage": share_inside(at_weighted.drift_90, drift),
        "diffusion_coverage": share_inside(at_weighted.diffusion_90, band_truth(at_weighted.kind, diffusion)),
        "flags": at_weighted.flags,
    }
