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

FINALISTS = 8
"""Candidates of a Bayesian optimisation that are compared in the end, the start among them."""


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


def explore(
    criterion: Slope,
    start: Vector,
    spread: Vector,
    evaluations: int,
    seed: int | None,
    held: Callable[[], Slope] | None = None,
) -> Found:
    """Bayesian optimisation as in the paper, two spreads to either side of the start, at most a factor of twenty.

    The least of many noisy values is mostly luck. So a third of the evaluations is kept for a final, in which the best
    and the start are compared by a criterion whose noise is the same for all: `held` makes a new one.
    """
    spread = np.minimum(spread, 1.5)
    finalists = 0 if held is None else min(FINALISTS, evaluations // 6)
    rounds = evaluations // 3 // finalists if finalists > 1 else 0
    count, random_points = evaluations - rounds * finalists, min(max(5, len(start)), evaluations // 3)
    tried = _tried(lambda z: criterion(start + spread * z)[0], len(start), count, random_points, seed)
    if held is not None and rounds > 0:
        points = [z for _, z in sorted(tried[1:], key=_value)[: finalists - 1]] + [tried[0][1]]
        final = [[same(start + spread * z)[0] for z in points] for same in (held() for _ in range(rounds))]
        tried = list(zip(np.nan_to_num(np.mean(final, axis=0), nan=FAILED).tolist(), points, strict=True))
    value, best = min(tried, key=_value)
    return Found(start + spread * best, value, None, evaluations, f"best of {evaluations} evaluations")


def _value(pair: tuple[float, Vector]) -> float:
    return pair[0]


def _tried(
    criterion: Callable[[Vector], float], size: int, count: int, random_points: int, seed: int | None
) -> list[tuple[float, Vector]]:
    """Values at zero, at some random points, and where expected improvement in a Matérn process is largest."""
    from bayes_opt import BayesianOptimization
    from bayes_opt.acquisition import ExpectedImprovement

    names = [f"p{i:03d}" for i in range(size)]
    search = BayesianOptimization(
        None, dict.fromkeys(names, (-2.0, 2.0)), ExpectedImprovement(xi=0.01), random_state=seed, verbose=0
    )
    rng = np.random.default_rng(seed)
    tried: list[tuple[float, Vector]] = []
    for number in range(count):
        if number == 0:
            point = np.zeros(size)
        elif number <= random_points:
            point = rng.uniform(-2.0, 2.0, size)
        else:
            suggestion = search.suggest()
            point = np.asarray([suggestion[name] for name in names], float)
        value = criterion(point)
        # far failures would flatten the model of everything near
        value = value if np.isfinite(value) else max((v for v, _ in tried), default=value)
        tried.append((value, point))
        search.register(dict(zip(names, point, strict=True)), -value)
    return tried
