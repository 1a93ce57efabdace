"""How well the noise of readings and a factor on Q are known: by the likelihood's curvature, or along its ridge."""

from typing import NamedTuple

import numpy as np

from onepath.inference.hidden.learning import Path, Search, free_scales, search
from onepath.inference.hidden.reading import Readings
from onepath.numerics.arrays import Flags, Floats

NORMAL = 1.645
"""Half of a 90 % band, in standard deviations."""

MUCH = 0.2
"""Of a state, forgotten in a step: then noise is nearly like what moves the state, and likelihoods have ridges."""

RIDGE_STEP, RIDGE_STEPS = 0.15, 16
"""Of ln of how fast a state is forgotten: between two points along a ridge, and how many there are to each side."""

MOST_FORGOTTEN = 0.98
"""Of a state in a step, where a ridge ends: nothing is left of it."""


class Known(NamedTuple):
    """Ends of the 90 % bands of learned variances (d,), and the variance of ln σ²'s mean."""

    low: Floats
    high: Floats
    level: float


def forgotten(path: Path) -> float:
    """Of the state, in a usual step."""
    turned = path.rows.flow[:, : path.size, : path.size] - np.eye(path.size)
    return float(np.median(np.linalg.norm(turned, 2, axis=(1, 2))))


def known(readings: Readings, found: Search, path: Path) -> Known:
    """By curvature; where a step forgets much, as wide at least as the ridge of the linear law that is nearest.

    Functions that were learned under one noise of readings make another one unlikely, which they are not under theirs.
    """
    free = free_scales(readings)
    variance, deviation = _deviations(found, free)
    low, high = (np.exp(found.scales[1:-1]) + sign * NORMAL * deviation for sign in (-1, 1))
    if not (free[-1] and readings.learned.any() and forgotten(path) > MUCH):
        return Known(np.maximum(low, 0.0), high, variance)
    path = _linear(path)
    share = forgotten(path)
    top = search(path.rows, path.setting, found.scales, readings)
    ridge = [top, *_ridge(readings, top, path, share, 1.0), *_ridge(readings, top, path, share, -1.0)]
    values = np.array([each.likelihood for each in ridge])
    free[-1] = False
    levels = [NORMAL * np.sqrt(variance)]
    for each, gain in zip(ridge, values - values.max() + 0.5 * NORMAL**2, strict=True):
        if gain > 0.0:
            variance, deviation = _deviations(each, free)
            reach, at = np.sqrt(2 * gain), np.exp(each.scales[1:-1])
            low, high = np.minimum(low, at - reach * deviation), np.maximum(high, at + reach * deviation)
            level = each.scales[0] + _of_rate(share * np.exp(each.scales[-1])) - _of_rate(share)
            levels += [level - reach * np.sqrt(variance), level + reach * np.sqrt(variance)]
    return Known(np.maximum(low, 0.0), high, float((np.max(np.abs(levels)) / NORMAL) ** 2))


def _linear(path: Path) -> Path:
    """The same path under one flow and one covariance, towards one point."""
    rows, step = path.rows, path.rows.begins == 0
    near, flow, covariance = (
        np.broadcast_to(np.mean(part[step], axis=0), part.shape) for part in (rows.near, rows.flow, rows.covariance)
    )
    return path._replace(rows=rows._replace(near=near, mean=np.zeros(near.shape), flow=flow, covariance=covariance))


def _ridge(readings: Readings, found: Search, path: Path, share: float, sign: float) -> list[Search]:
    """The best scales for each of many factors on how fast a state is forgotten, while they are nearly as likely."""
    rate = -np.log1p(-min(share * np.exp(found.scales[-1]), MOST_FORGOTTEN))
    ends: list[Search] = []
    scales = found.scales
    for k in range(1, RIDGE_STEPS + 1):
        lost = -np.expm1(-rate * np.exp(sign * k * RIDGE_STEP))
        if lost > MOST_FORGOTTEN:
            break
        scales = np.append(scales[:-1], np.log(lost / share))
        ends.append(search(path.rows, path.setting, scales, readings, drift=False))
        scales = ends[-1].scales
        if ends[-1].likelihood < found.likelihood - NORMAL**2:
            break
    return ends


def _of_rate(lost: float) -> float:
    """ln of σ²Δ/Q where a step loses this share of a state: σ²Δ = Q · 2κ / (1 - e^{-2κ}), e^{-κ} is what is left."""
    left = 1.0 - min(lost, MOST_FORGOTTEN)
    return float(np.log(-2 * np.log(left) / (1 - left**2)))


def _deviations(found: Search, free: Flags) -> tuple[float, Floats]:
    """The variance of ln of a factor on Q, and deviations of learned variances (d,), from the curvature."""
    variance = np.exp(found.scales[1:-1])
    # in variances, not in their logarithms: near 0 those mean nothing
    slope = np.concatenate([[1.0], variance, [1.0]])[free]
    fisher = found.judged.fisher[np.ix_(free, free)] / (slope[:, None] * slope)
    unit = np.sqrt(np.maximum(np.diagonal(fisher), np.finfo(float).tiny))
    inverse = np.linalg.pinv(fisher / (unit[:, None] * unit), hermitian=True) / (unit[:, None] * unit)
    learned, deviation = free[1:-1], np.zeros(len(variance))
    deviation[learned] = np.sqrt(np.maximum(np.diagonal(inverse)[1 : 1 + np.sum(learned)], 0.0))
    return float(inverse[0, 0]), deviation
