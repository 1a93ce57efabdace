"""Does the next step depend on the present state only, and does it move without jumping?"""

import numpy as np
from scipy.ndimage import median_filter

from onepath.after.diagnose.check import Check, smallest
from onepath.after.diagnose.residuals import LEAST_PAIRS, Residuals, normal_tail
from onepath.data.transitions import nearest
from onepath.numerics import chances
from onepath.numerics.arrays import Floats
from onepath.numerics.linalg import lower_roots

PREDICTION = 0.1
"""An excess variance of predictions over several steps that is too small to matter."""

LEAST_JUMPS, JUMP_SHARE = 3, 5e-4
WINDOW = 101
"""Residuals around each one that say how large residuals are hereabouts."""

STARTS = 1024
"""Windows that predictions over several steps are made for, at most."""


def ask_jumps(residuals: Residuals) -> Check:
    """More residuals far outside than normal numbers have, where size is measured by the residuals around."""
    z, n = residuals.z, round(residuals.total)
    local = np.stack([_local_scale(column) for column in z.T], axis=1)
    threshold = chances.normal_quantile(0.05 / (2 * z.size))
    count = round(np.sum(residuals.weight[:, None] * (np.abs(z) / local > threshold)))
    log_p = min(0.0, chances.poisson(count - 1, 0.05)) if count else 0.0
    return Check(
        "jumps",
        float(count),
        log_p,
        count >= max(LEAST_JUMPS, JUMP_SHARE * n),
        f"No jumps: {count} of {n} steps are farther out than {threshold:.1f} standard deviations.",
        f"Jumps: {count} of {n} steps ({count / n:.1%}) are farther out than {threshold:.1f} standard deviations, "
        "where 0.05 were to be expected. The diffusion takes them for noise and is overestimated: learn them, with "
        "jumps=True or --jumps, or tails='learn' where their sizes run on without a gap.",
        specific=True,
    )


def _local_scale(column: Floats) -> Floats:
    """What residuals around suggest by their median size, and half of what all of them suggest at least."""
    size, half = min(WINDOW, len(column)), (WINDOW - 1) // 2
    sizes = np.abs(column)
    middle = median_filter(sizes, WINDOW)[half:-half] if size == WINDOW else np.atleast_1d(np.median(sizes))
    middle = middle / chances.normal_quantile(0.25)
    before = (len(column) - len(middle)) // 2
    padded = np.pad(middle, (before, len(column) - len(middle) - before), mode="edge")
    return np.maximum(padded, 0.5 * min(np.median(middle), column.std()) + 0.1 * column.std())


def ask_markov(residuals: Residuals) -> Check:
    """Chapman–Kolmogorov: predictions over 2 and 4 steps, composed of single ones, have the spread they claim."""
    logs, excess = [], []
    for steps in (2, 4):
        several, one, weight = predictions(residuals, steps)
        n = float(weight.sum())
        if n < LEAST_PAIRS:
            continue
        size, alone = (weight @ np.square(part) / n for part in (several, one))
        ratio, kurtosis = size / alone, weight @ several**4 / n / size**2 - 3
        error = np.sqrt(2 * 2 / n * (1 + kurtosis.clip(0) / 2))
        logs.append(normal_tail((ratio - 1) / error))
        excess.append(ratio - 1)
    if not logs:
        return Check("markov", np.nan, None, False, "Too few steps follow each other to ask for memory.", "", False)
    largest = float(np.ravel(excess)[np.argmax(np.abs(np.ravel(excess)))])
    told = ", ".join(f"{1 + float(e[np.argmax(np.abs(e))]):.2f}" for e in excess)
    return Check(
        "markov",
        largest,
        smallest(np.ravel(logs)),
        abs(largest) > PREDICTION,
        f"The present state is enough: predictions over 2 and 4 steps have {told} of the variance they claim.",
        f"Not Markov at this step: predictions over 2 and 4 steps have {told} of the variance they claim.",
        specific=False,
    )


def predictions(residuals: Residuals, steps: int) -> tuple[Floats, Floats, Floats]:
    """Whitened errors (n, d) of predictions over several steps, over the first of them alone, and how much they count.

    Mean μ and covariance L Lᵀ are carried from step to step by 2d + 1 points of equal weight: μ and μ ± √(d + ½) L eᵢ.
    """
    x, y, dt = residuals.transitions.x, residuals.transitions.y, residuals.transitions.dt
    d = x.shape[1]
    begin, _ = residuals.apart(steps - 1)
    begin = begin[np.concatenate([[True], np.diff(begin // steps) > 0])] if len(begin) else begin
    begin = begin[:: max(1, -(-len(begin) // STARTS))]
    if len(begin) == 0:
        return np.zeros((0, d)), np.zeros((0, d)), np.zeros(0)
    weight = np.min([residuals.weight[begin + k] for k in range(steps)], axis=0)
    if residuals.transitions.row is not None:  # increments of a filter do not lead from state to state
        return sum(residuals.z[begin + k] for k in range(steps)) / np.sqrt(steps), residuals.z[begin], weight
    offsets = np.sqrt(d + 0.5) * np.concatenate([np.zeros((1, d)), np.eye(d), -np.eye(d)])
    # the first step begins at one point, whose law is known
    mean, covariance = x[begin] + residuals.expected[begin], residuals.covariance[begin]
    for k in range(1, steps):
        points = mean[:, None] + np.einsum("nij,kj->nki", lower_roots(covariance), offsets)
        each = np.repeat(begin + k, 2 * d + 1)
        step_mean, step_covariance = residuals.law(residuals.transitions.moved(points.reshape(-1, d), each), dt[each])
        moved = points + step_mean.reshape(points.shape)
        mean = moved.mean(axis=1)
        apart = moved - mean[:, None]
        covariance = np.einsum("nki,nkj->nij", apart, apart) / (2 * d + 1)
        covariance += step_covariance.reshape(*points.shape, d).mean(axis=1)
    end = x[begin + steps - 1] + y[begin + steps - 1] - residuals.taken_over(begin, begin + steps - 1)
    error = nearest(end - mean, residuals.transitions.period)
    whitened = np.asarray(np.linalg.solve(lower_roots(covariance), error[:, :, None])[:, :, 0], float)
    return whitened, residuals.z[begin], weight
