"""What drives a criterion down: L-BFGS-B and a Newton finish, or Bayesian optimisation as in the paper."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from onepath.numerics.arrays import Floats, Integers
from onepath.numerics.extras import needs

Criterion = Callable[[Floats], tuple[float, Floats]]
"""θ → a value to be lowered, and its slope."""

FAILED = 1e12
"""What a criterion is worth where it could not be computed."""


class Optimum(NamedTuple):
    """The best θ, its value, the criterion's curvature there if known, and how the search ended."""

    theta: Floats  #: logarithms of the parameters
    value: float  #: of the criterion there
    curvature: Floats | None  #: (k, k), its second derivatives, if known
    evaluations: int  #: of the criterion
    outcome: str  #: how the search ended
    unread: Floats | None = None  #: (k,), of reaches ln of how much likelier it is that their input does not matter


def descend(criterion: Criterion, start: Floats, bounds: Floats, most: int) -> Optimum:
    """L-BFGS-B inside bounds (k, 2), as far as a step is worth while."""
    guarded = _Guarded(criterion)
    options = {"maxfun": most, "maxiter": most, "ftol": 1e-7, "gtol": 1e-3}
    result = minimize(guarded, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    outcome = "converged" if guarded.count < most else "stopped at the largest number of evaluations"
    if result.fun >= FAILED:
        outcome = "failed: the criterion could not be computed"
    return Optimum(np.asarray(result.x), float(result.fun), None, guarded.count, outcome)


def settle(criterion: Criterion, optimum: Optimum, bounds: Floats, parts: Integers | None = None) -> Optimum:
    """Newton steps with a finite-difference Hessian of the slope, from where a descent has ended.

    The last digits of the parameters depend on rounding there; a few Newton steps settle them, and the Hessian says how
    well the parameters are known. Where the criterion is a sum of parts, `parts` says which one each parameter matters
    to, -1 being several.
    """
    if optimum.value >= FAILED:
        return optimum
    guarded = _Guarded(criterion)
    value, slope = guarded(optimum.theta)
    curvature = _hessian(guarded, optimum.theta, slope, np.full(len(slope), -1) if parts is None else parts)
    best, value = _newton(guarded, optimum.theta, value, slope, curvature, bounds)
    return Optimum(best, value, curvature, optimum.evaluations + guarded.count, optimum.outcome)


class _Guarded:
    """A criterion that is counted, and worth `FAILED` where it is not finite."""

    def __init__(self, criterion: Criterion) -> None:
        self.criterion, self.count = criterion, 0

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        self.count += 1
        value, slope = self.criterion(theta)
        if not (np.isfinite(value) and np.all(np.isfinite(slope))):
            return FAILED, np.zeros_like(slope)
        return value, slope


def _hessian(criterion: Criterion, centre: Floats, here: Floats, parts: Integers, step: float = 1e-4) -> Floats:
    """Differences of the slope, which is `here` at the centre: one parameter of each part at a time."""
    rows = np.zeros((len(centre), len(centre)))

    def change(moved: Integers) -> Floats:
        return (criterion(centre + step * np.isin(np.arange(len(centre)), moved))[1] - here) / step

    several, rest = np.flatnonzero(parts < 0), np.flatnonzero(parts >= 0)
    for i in several:
        rows[i] = change(np.array([i]))
    rows[np.ix_(rest, several)] = rows[np.ix_(several, rest)].T
    own = [np.flatnonzero(parts == part) for part in np.unique(parts[rest])]
    for turn in range(max(map(len, own), default=0)):
        moved = [(each[turn], each) for each in own if turn < len(each)]
        slopes = change(np.array([i for i, _ in moved]))
        for i, each in moved:
            rows[i, each] = slopes[each]
    return 0.5 * (rows + rows.T)


def _newton(
    criterion: Criterion, best: Floats, value: float, slope: Floats, curvature: Floats, bounds: Floats
) -> tuple[Floats, float]:
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
    criterion: Criterion,
    start: Floats,
    spread: Floats,
    evaluations: int,
    seed: int | None,
    held: Callable[[], Criterion] | None = None,
) -> Optimum:
    """Bayesian optimisation as in the paper, two spreads to either side of the start, at most a factor of twenty.

    The least of many noisy values is mostly luck. So a third of the evaluations is kept for a final between the best
    and the start, by criteria whose noise is the same for all, of which `held` makes a new one for each round.
    """
    spread = np.minimum(spread, 1.5)

    def in_spreads(criterion: Criterion) -> Callable[[Floats], float]:
        return lambda z: _finite(criterion(start + spread * z)[0])

    stages = 0 if held is None else next((s for s in (3, 2, 1) if s * 2**s <= evaluations // 3), 0)
    # as many evaluations in each stage, twice as many rounds as in the last for half of the candidates
    rounds = [evaluations // 3 // stages // 2**size for size in range(stages, 0, -1)]
    in_final = sum(each * 2**size for each, size in zip(rounds, range(stages, 0, -1), strict=True))
    random_points = min(max(5, len(start)), evaluations // 3)
    tried = _tried(in_spreads(criterion), len(start), evaluations - in_final, random_points, seed)
    value, best = min(tried, key=lambda pair: pair[0])
    if held is not None and stages > 0:
        points = [z for _, z in sorted(tried[1:], key=lambda pair: pair[0])[: 2**stages - 1]] + [tried[0][1]]
        value, best = _final(points, [[in_spreads(held()) for _ in range(number)] for number in rounds])
    return Optimum(start + spread * best, value, None, evaluations, f"best of {evaluations} evaluations")


def bayesian_optimisation() -> Any:
    """The package that does it."""
    return needs("bayes_opt", "for learn='bayesopt'", "paper")


def _final(points: list[Floats], stages: list[list[Callable[[Floats], float]]]) -> tuple[float, Floats]:
    """Each stage has a criterion for each round; the better half goes on, by the mean of all rounds so far."""
    losses = np.zeros((0, len(points)))
    for criteria in stages:
        losses = np.concatenate([losses, [[criterion(point) for point in points] for criterion in criteria]])
        order = np.argsort(losses.mean(axis=0), kind="stable")[: len(points) // 2]
        points, losses = [points[i] for i in order], losses[:, order]
    return float(losses[:, 0].mean()), points[0]


def _tried(
    criterion: Callable[[Floats], float], size: int, count: int, random_points: int, seed: int | None
) -> list[tuple[float, Floats]]:
    """Values at zero, at some random points, and where expected improvement in a Matérn process is largest.

    The process models asinh((value - usual) / scale): some values are so large that they would flatten all others.
    """
    bayes_opt = bayesian_optimisation()
    names = [f"p{i:03d}" for i in range(size)]
    improvement, box = bayes_opt.acquisition.ExpectedImprovement(xi=0.01), dict.fromkeys(names, (-2.0, 2.0))
    search = bayes_opt.BayesianOptimization(None, box, improvement, random_state=seed, verbose=0)
    first = [np.zeros(size), *np.random.default_rng(seed).uniform(-2.0, 2.0, (random_points, size))]
    tried = [(criterion(point), point) for point in first]
    usual = tried[0][0] if tried[0][0] < FAILED else min(value for value, _ in tried)
    scale = np.quantile([abs(value - usual) for value, _ in tried[1:]], 0.25) if random_points else 0.0

    def register(value: float, point: Floats) -> None:
        target = -np.arcsinh((value - usual) / scale) if scale > 0 else -value
        search.register(dict(zip(names, point, strict=True)), float(target))

    for value, point in tried:
        register(value, point)
    while len(tried) < count:
        suggestion = search.suggest()
        point = np.asarray([suggestion[name] for name in names], float)
        tried.append((criterion(point), point))
        register(*tried[-1])
    return tried


def _finite(value: float) -> float:
    return value if np.isfinite(value) else FAILED
