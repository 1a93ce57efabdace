"""Is the step short enough for the law of a step, and where is the answer data, where prior?"""

import numpy as np

from onepath.after.diagnose.check import Check
from onepath.after.diagnose.residuals import Residuals
from onepath.model import Model
from onepath.numerics import chances
from onepath.numerics.arrays import Flags, Floats, Integers

POINTS, DRAWS, BESIDE = 64, 200, 0.1
SIGMA = 0.6827
KNOWN_DRIFT, KNOWN_DIFFUSION = 0.5, 0.2
"""Known is a drift whose standard deviation is below this share of its natural size, or of its root mean square if that
is larger; and a diffusion whose standard deviation is below this share of itself."""


def ask_step(model: Model, residuals: Residuals) -> Check:
    """Mean spectral radius of the drift's Jacobian times Δt, from posterior draws; and every second point."""
    law, limit = model.law, model.law.longest
    stiffness = jacobian_radii(model) * float(np.median(residuals.transitions.dt))
    mean, deviation = float(stiffness.mean()), float(max(stiffness.std(), 1e-3))
    ratio = every_second_point(residuals)
    second = "too few steps follow each other to look at every second point"
    if np.isfinite(ratio):
        second = f"at every second point, the diffusion's square comes out {ratio:.2f} times as large"
    return Check(
        "step size",
        mean,
        float(chances.normal((mean - limit) / deviation)),
        mean > limit,
        f"The step is short enough: |f'| Δt is {mean:.2g} on average; {second}.",
        f"The step is too long for the {law.name} law: |f'| Δt is {mean:.2g} on average, more than {limit:g}; "
        f"{second}. {law.beyond}; use data with shorter steps.",
        specific=True,
    )


def jacobian_radii(model: Model) -> Floats:
    """Mean over the data of the largest |eigenvalue| of the drift's Jacobian, by central differences: (draws,)."""
    x, d = model.transitions.x, model.dimension
    some = np.linspace(0, len(x) - 1, POINTS).astype(int)
    reach = BESIDE * np.diag(x.std(axis=0))
    ends = np.concatenate([x[some] + sign * step for step in reach for sign in (1, -1)])
    drifts, _ = model.functions(model.transitions.moved(ends, np.tile(some, 2 * d)), DRAWS, random_state=0)
    values = np.reshape(drifts, (DRAWS, d, 2, POINTS, d))
    slopes = (values[:, :, 0] - values[:, :, 1]) / (2 * np.diag(reach))[:, None, None]
    return np.asarray(np.abs(np.linalg.eigvals(np.moveaxis(slopes, 1, -1))).max(axis=-1).mean(axis=1))


def every_second_point(residuals: Residuals) -> float:
    """σ² from every second point over σ² from all, each about a cubic regression of its own increments.

    1 where the step is short, less where the drift acts within a step or readings have noise. NaN if hardly any steps
    follow each other.
    """
    x, y = residuals.transitions.x, residuals.transitions.y
    first, second = residuals.apart(1)
    if len(first) < 10 * x.shape[1]:
        return np.nan
    scale = np.sqrt(np.diagonal(residuals.covariance, axis1=1, axis2=2))
    design = np.concatenate([np.ones_like(x[:, :1]), residuals.u, residuals.u**2, residuals.u**3], axis=1)

    root = np.sqrt(np.minimum(residuals.weight[first], residuals.weight[second]))[:, None]

    def left(at: Integers, increment: Floats) -> Floats:
        weighted, target = root * design[at] / scale[at].mean(axis=1)[:, None], root * increment / scale[at]
        rest = target - weighted @ np.linalg.lstsq(weighted, target, rcond=None)[0]
        return np.mean(np.square(rest), axis=0)

    single, double = left(first, y[first]), left(first, y[first] + y[second])
    return float(np.mean(double / single) / 2)


def ask_reach(model: Model) -> Check:
    """How much of the data's range the data tell about, and not the prior alone."""
    x, d = model.transitions.x, model.dimension
    line = np.linspace(x.min(axis=0), x.max(axis=0), POINTS)
    points = line if d == 1 else model.transitions.points[np.linspace(0, len(x) - 1, POINTS).astype(int)]
    drift, diffusion = _known(model, points, x)
    where = "the data's range" if d == 1 else "the places where the data are"
    told = (
        f"Of {where}, the drift is known from the data in {drift.mean():.0%}, the diffusion in {diffusion.mean():.0%}"
    )
    if d == 1 and 0 < drift.mean() < 1:
        told += f" (the drift from {points[drift].min():.4g} to {points[drift].max():.4g})"
    return Check("reach", float(drift.mean()), None, False, f"{told}; elsewhere it is mostly prior.", "", False)


def _known(model: Model, points: Floats, x: Floats) -> tuple[Flags, Flags]:
    """Where drift and diffusion are known in all their entries: (n,) each."""
    sigma = np.diagonal(model.diffusion(points), axis1=1, axis2=2)
    low, high = model.drift_band(points, SIGMA)
    natural = np.mean(np.square(sigma), axis=0) / (2 * x.std(axis=0))
    size = np.maximum(natural, np.sqrt(np.mean(np.square((low + high) / 2), axis=0)))
    lower, upper = model.diffusion_band(points, SIGMA)
    width = np.diagonal(upper - lower, axis1=1, axis2=2) / 2
    return np.all((high - low) / 2 < KNOWN_DRIFT * size, axis=1), np.all(width < KNOWN_DIFFUSION * sigma, axis=1)
