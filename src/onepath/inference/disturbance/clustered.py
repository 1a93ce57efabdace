"""A first guess of the noise's level, beside a σ that is simple, and what it says of σ."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import legvander
from scipy.linalg import solve_banded

from onepath.data.transitions import Transitions
from onepath.inference.disturbance.disturbance import Steps, whitened
from onepath.inference.disturbance.volatility import MEMORIES, Volatility
from onepath.inference.posterior.clustering import in_proportion
from onepath.numerics.arrays import Floats

FAR = 2.5
"""Standard deviations from the mean beyond which states count as this far only."""

TURNS, SETTLED = 12, 1e-3
"""Newton's steps with a level of given spread and memory, and the change of ln σ from which on no more are needed."""

ROUNDS = 2
"""In which spread and memory are learned."""

MOST_STEP = 0.5
"""By which ln σ changes at once, at most."""

CLEARLY, PERHAPS, SMALL = 5.0, 2.0, 0.05
"""Standard errors from which clustering is no accident, and from which a level is worth a search; what is added to
squares before their logarithms."""

DEGREES = (0, 3, 6)
"""Of the polynomials of each coordinate that ln σ is tried as."""


def flattened(steps: Steps, sizes: Floats, design: Floats) -> tuple[Steps, Volatility]:
    """ln σ most likely as `sizes` (n, d) and a sum of columns (n, k), beside a level: steps with that σ, and the level.

    Newton's steps: the level given σ tells the slope ½ Σ (E e^{-2ℓ} z² - 1) in ln V, and the curvature is that of the
    data without it.
    """
    law = Volatility(0.0, float(steps.dt.sum()))
    for _ in range(ROUNDS):
        law = law.learned(_with_sizes(steps, sizes))
        for _ in range(TURNS):
            now = _with_sizes(steps, sizes)
            white, _ = whitened(now.rest, now.covariance)
            _, _, precision = law.path(now)
            slope = design.T @ (steps.weight[:, None] * (precision[:, None] * np.square(white) - 1.0))
            seen = in_proportion(design, now.since, 4.0 * law.spread**2, law.memory)
            curvature = 2.0 * design.T @ (steps.weight[:, None] * seen) + np.eye(design.shape[1])
            change = np.clip(design @ np.linalg.solve(curvature, slope), -MOST_STEP, MOST_STEP)
            sizes = sizes + change
            if np.max(np.abs(change)) < SETTLED:
                break
    return _with_sizes(steps, sizes), law


def _with_sizes(steps: Steps, sizes: Floats) -> Steps:
    """With these logarithms of standard deviations (n, d)."""
    return steps._replace(covariance=np.exp(2.0 * sizes)[:, :, None] * np.eye(sizes.shape[1]))


class Guessed(NamedTuple):
    """A level, steps with the σ beside it, and how probable it is that σ is constant."""

    law: Volatility
    steps: Steps
    constant: float


def guessed(plain: Steps, x: Floats) -> Guessed:
    """The most likely of polynomials in each coordinate, for how many numbers they have; of degree 0, σ is constant.

    σ of a fit without a level is none of them: it takes much of the level for structure.
    """
    n = len(x)
    u = np.clip((x - x.mean(axis=0)) / np.where(np.ptp(x, axis=0) > 0, x.std(axis=0), 1.0), -FAR, FAR)
    same = np.log(plain.dt[:, None] * np.mean(np.square(plain.rest) / plain.dt[:, None], axis=0)) / 2
    found, logs = [], []
    for degree in DEGREES:
        design = np.column_stack([np.ones(n), *(legvander(column / FAR, degree)[:, 1:] for column in u.T)])
        steps, law = flattened(plain, same, design)
        found.append((law, steps))
        freedom = same.shape[1] * (design.shape[1] - 1)
        logs.append(float(plain.weight @ law.log_density(steps)) - 0.5 * freedom * np.log(n))
    return Guessed(*found[int(np.argmax(logs))], float(1.0 / np.sum(np.exp(np.asarray(logs) - logs[0]))))


def first_volatility(transitions: Transitions, plain: Steps) -> tuple[Volatility, Transitions]:
    """None at once where residuals' sizes have no memory at all, which no level would survive either."""
    if clustering(plain) < PERHAPS:
        return Volatility(0.0, float(plain.dt.sum())), transitions
    found = guessed(plain, transitions.points)
    return replace(found.law, constant=found.constant), found.law.as_gaussian(transitions, found.steps)


def clustering(steps: Steps) -> float:
    """The memory of residuals' sizes in its standard errors: ln of them against what the last ones were, fading over
    some memories, of which the clearest. Logarithms, so that a few large ones decide nothing."""
    white, _ = whitened(steps.rest, steps.covariance)
    sizes = np.log(np.square(white) + SMALL).mean(axis=1)
    sizes = sizes - np.average(sizes, weights=steps.weight)
    scores = []
    for memory in MEMORIES:
        fading = np.where(np.isfinite(steps.since), np.exp(-1.0 / memory), 0.0)
        # r_i = e^(-1/memory) (r + s)_(i-1), anew in each record
        banded = np.stack([np.ones(len(sizes)), np.append(-fading[1:], 0.0)])
        recent = solve_banded((1, 0), banded, np.append(0.0, fading[1:] * sizes[:-1]))
        products = steps.weight * sizes * recent
        size = np.sqrt(np.square(products).sum())
        scores.append(products.sum() / size if size > 0 else 0.0)  # 0 where every step is a record of its own
    return float(max(scores))


def is_clustered(steps: Steps) -> bool:
    """Whether that memory is no accident."""
    return clustering(steps) > CLEARLY
