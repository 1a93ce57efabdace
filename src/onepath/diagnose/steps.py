"""Is the step short enough for the law of a step, and where is the answer data, where prior?"""

from typing import Any

import numpy as np
from scipy import stats

from onepath.diagnose.question import Answer, Floats
from onepath.diagnose.residuals import Residuals

STIFF = {"euler": 0.1, "linearised": 0.3}
"""Largest |f'| Δt that a law can do with."""

WRONG = {
    "euler": "Drift and diffusion are both underestimated",
    "linearised": "Beyond that, what the law leaves out moves drift and diffusion either way",
}
"""What a longer step does to the answer."""

POINTS, DRAWS, APART = 64, 200, 0.1
SIGMA = 0.6827
KNOWN_DRIFT, KNOWN_DIFFUSION = 0.5, 0.2
"""Known is a drift whose standard deviation is below this share of its natural size, or of its root mean square if that
is larger; and a diffusion whose standard deviation is below this share of itself."""


def ask_step(sde: Any, residuals: Residuals) -> Answer:
    """Mean spectral radius of the drift's Jacobian times Δt, from posterior draws; and every second point."""
    limit = STIFF[sde.transition_]
    stiffness = jacobian_radii(sde) * float(np.median(residuals.transitions.dt))
    mean, deviation = float(stiffness.mean()), float(max(stiffness.std(), 1e-3))
    ratio = every_second_point(residuals)
    second = "too few steps follow each other to look at every second point"
    if np.isfinite(ratio):
        second = f"at every second point, the diffusion's square comes out {ratio:.2f} times as large"
    return Answer(
        "step size",
        mean,
        float(stats.norm.logsf((mean - limit) / deviation)),
        mean > limit,
        f"The step is short enough: |f'| Δt is {mean:.2g} on average; {second}.",
        f"The step is too long for the {sde.transition_} law: |f'| Δt is {mean:.2g} on average, more than {limit:g}; "
        f"{second}. {WRONG[sde.transition_]}; use data with shorter steps.",
        specific=True,
    )


def jacobian_radii(sde: Any) -> Floats:
    """Mean over the data of the largest |eigenvalue| of the drift's Jacobian, by central differences: (draws,)."""
    x, d = sde.transitions_.x, sde.n_features_in_
    points = x[np.linspace(0, len(x) - 1, POINTS).astype(int)]
    reach = APART * np.diag(x.std(axis=0))
    ends = np.concatenate([points + sign * step for step in reach for sign in (1, -1)])
    drifts, _ = sde.functions(ends, DRAWS, random_state=0)
    values = np.reshape(drifts, (DRAWS, d, 2, POINTS, d))
    slopes = (values[:, :, 0] - values[:, :, 1]) / (2 * np.diag(reach))[:, None, None]
    return np.asarray(np.abs(np.linalg.eigvals(np.moveaxis(slopes, 1, -1))).max(axis=-1).mean(axis=1))


def every_second_point(residuals: Residuals) -> float:
    """σ² from every second point over σ² from all, each about a cubic regression of its own increments.

    1 where the step is short, less where the drift acts within a step or readings have noise. NaN if hardly any steps
    follow each other.
    """
    x, y, dt = residuals.transitions
    first, second = residuals.apart(1)
    if len(first) < 10 * x.shape[1]:
        return np.nan
    _, covariance = residuals.law(x, dt)
    scale = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    design = np.concatenate([np.ones_like(x[:, :1]), residuals.u, residuals.u**2, residuals.u**3], axis=1)

    def left(at: Any, increment: Floats) -> Floats:
        weighted, target = design[at] / scale[at].mean(axis=1)[:, None], increment / scale[at]
        rest = target - weighted @ np.linalg.lstsq(weighted, target, rcond=None)[0]
        return np.mean(np.square(rest), axis=0)

    single, double = left(first, y[first]), left(first, y[first] + y[second])
    return float(np.mean(double / single) / 2)


def ask_reach(sde: Any, residuals: Residuals) -> Answer:
    """How much of the data's range the data tell about, and not the prior alone."""
    x, d = residuals.transitions.x, sde.n_features_in_
    line = np.linspace(x.min(axis=0), x.max(axis=0), POINTS)
    points = line if d == 1 else x[np.linspace(0, len(x) - 1, POINTS).astype(int)]
    drift, diffusion = _known(sde, points, x)
    where = "the data's range" if d == 1 else "the places where the data are"
    told = (
        f"Of {where}, the drift is known from the data in {drift.mean():.0%}, the diffusion in {diffusion.mean():.0%}"
    )
    if d == 1 and 0 < drift.mean() < 1:
        told += f" (the drift from {points[drift].min():.4g} to {points[drift].max():.4g})"
    return Answer("reach", float(drift.mean()), None, False, f"{told}; elsewhere it is mostly prior.", "", False)


def _known(sde: Any, points: Floats, x: Floats) -> tuple[Any, Any]:
    """Where drift and diffusion are known in all their entries: (n,) each."""
    n, d = points.shape
    sigma = np.diagonal(np.reshape(sde.diffusion(points), (n, d, d)), axis1=1, axis2=2)
    low, high = (np.reshape(end, (n, d)) for end in sde.drift_band(points, SIGMA))
    natural = np.mean(np.square(sigma), axis=0) / (2 * x.std(axis=0))
    size = np.maximum(natural, np.sqrt(np.mean(np.square((low + high) / 2), axis=0)))
    ends = [np.reshape(end, (n, d, d)) for end in sde.diffusion_band(points, SIGMA)]
    width = np.diagonal(ends[1] - ends[0], axis1=1, axis2=2) / 2
    return np.all((high - low) / 2 < KNOWN_DRIFT * size, axis=1), np.all(width < KNOWN_DIFFUSION * sigma, axis=1)
