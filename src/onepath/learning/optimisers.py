"""What drives a criterion down: L-BFGS-B and a Newton finish, or Bayesian optimisation as in the paper."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

Vector = npt.NDArray[np.float64]
Slope = Callable[[Vector], tuple[float, Vector]]

FAILED = 1e12
"""What a criterion is worth where it could not be computed."""


class Found(NamedTuple):
    """The best parameters, their value, the criterion's curvature there if known, and how the search ended."""

    parameters: Vector
    value: float
    curvature: Vector | None
    evaluations: int
    outcome: str


def descend(criterion: Slope, start: Vector, bounds: Vector, most: int) -> Found:
    """L-BFGS-B inside bounds (k, 2), as far as a step is worth while."""
    guarded = _Guarded(criterion)
    options = {"maxfun": most, "maxiter": most, "ftol": 1e-7, "gtol": 1e-3}
    result = minimize(guarded, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    outcome = "converged" if guarded.count < most else "stopped at the largest number of evaluations"
    if result.fun >= FAILED:
        outcome = "failed: the criterion could not be computed"
    return Found(np.asarray(result.x), float(result.fun), None, guarded.count, outcome)


def settle(criterion: Slope, found: Found, bounds: Vector) -> Found:
    """Newton steps with a finite-difference Hessian of the slope, from where a descent has ended.

    The last digits of the parameters depend on rounding there; a few Newton steps settle them, and the Hessian says how
    well the parameters are known.
    """
    if found.value >= FAILED:
        return found
    guarded = _Guarded(criterion)
    value, slope = guarded(found.parameters)
    curvature = _hessian(guarded, found.parameters, slope)
    best, value = _newton(guarded, found.parameters, value, slope, curvature, bounds)
    return Found(best, value, curvature, found.evaluations + guarded.count, found.outcome)


class _Guarded:
    """A criterion that is counted, and worth `FAILED` where it is not finite."""

    def __init__(self, criterion: Slope) -> None:
        self.criterion, self.count = criterion, 0

    def __call__(self, parameters: Vector) -> tuple[float, Vector]:
        self.count += 1
        value, slope = self.criterion(parameters)
        if not (np.isfinite(value) and np.all(np.isfinite(slope))):
            return FAILED, np.zeros_like(slope)
        return value, slope


def _hessian(criterion: Slope, centre: Vector, here: Vector, step: float = 1e-4) -> Vector:
    """Differences of the slope, which is `here` at the centre."""
    rows = np.asarray([(criterion(centre + e)[1] - here) / step for e in step * np.eye(len(centre))])
    return 0.5 * (rows + rows.T)


def _newton(
    criterion: Slope, best: Vector, value: float, slope: Vector, curvature: Vector, bounds: Vector
) -> tuple[Vector, float]:
    """Newton steps with a Hessian held fixed, as long as they lower the criterion."""
    values, vectors = np.linalg.eigh(curvature)
    inverse = (vectors / np.maximum(np.abs(values), 1e-3)) @ vectors.T
    for _ in range(6):
        trial = np.clip(best - np.clip(inverse @ slope, -0.5, 0.5), bounds[:, 0], bounds[:, 1])
        trial_value, trial_slope = criterion(trial)
        if trial_value > value + 1e-10 * abs(value):
            break
        moved = np.max(np.abs(trial - best))
        best, value, slope = trial, trial_value, trial_slope
        if moved < 1e-7:
            break
    return best, value


def explore(criterion: Slope, start: Vector, spread: Vector, evaluations: int, seed: int | None) -> Found:
    """Bayesian optimisation as in the paper: a Matérn process models the criterion, expected improvement chooses.

    The search goes two spreads to either side of the start, at most a factor of twenty; the start is tried first,
    then a few random points.
    """
    from bayes_opt import BayesianOptimization
    from bayes_opt.acquisition import ExpectedImprovement

    spread = np.minimum(spread, 1.5)
    names = [f"p{i:03d}" for i in range(len(start))]
    search = BayesianOptimization(
        None, dict.fromkeys(names, (-2.0, 2.0)), ExpectedImprovement(xi=0.01), random_state=seed, verbose=0
    )
    rng = np.random.default_rng(seed)
    random_points = min(max(5, len(start)), evaluations // 3)
    tried: list[tuple[float, Vector]] = []
    for count in range(evaluations):
        if count == 0:
            point = np.zeros(len(start))
        elif count <= random_points:
            point = rng.uniform(-2.0, 2.0, len(start))
        else:
            suggestion = search.suggest()
            point = np.asarray([suggestion[name] for name in names], float)
        value = criterion(start + spread * point)[0]
        # far failures would flatten the model of everything near
        worst = max((v for v, _ in tried), default=value)
        value = value if np.isfinite(value) else worst
        tried.append((value, point))
        search.register(dict(zip(names, point, strict=True)), -value)
    value, best = min(tried, key=lambda pair: pair[0])
    return Found(start + spread * best, value, None, evaluations, f"best of {evaluations} evaluations")
