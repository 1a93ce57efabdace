"""Readings that average over an exposure: the mean over the last share of a step joins the state.

With J the slope of the linear equation that a step is of, and Q(s) its covariance after s, the mean Z over the last
e Δt of a step from x has the mean x + ∫ φ(s) f ds / e Δt, φ(s) = ∫ e^{Ju} du, and its covariances with the state
at the end, and with itself, are means of Cov(x_s, x_r) = e^{J(s - r)} Q(r), r < s.
"""

from collections.abc import Callable

import numpy as np

from onepath.inference.hidden.steps import Steps
from onepath.numerics.arrays import Floats

TERMS, TURNS = 12, 6
"""Of a series of the flow, good while it turns by less than one in a step; and of the rate of noise from its sum."""

FARTHEST = 0.8
"""How far a flow may be from none, as a matrix. Beyond, no linear equation leads there, or its series are too short.

A first fit may have such slopes somewhere, and later ones no longer do.
"""

NODES = 5
"""Of Gauss and Legendre's rule along a step, exact up to the ninth power of its length."""


def blurred(steps: Steps, dt: Floats, exposure: float) -> Steps:
    """Steps of (x, Z) from those of x: the new Z depends on the state before, and not on the Z before."""
    n, d = steps.mean.shape
    steps = steps._replace(flow=_tamed(steps.flow))
    slope = _logarithm(steps.flow) / dt[:, None, None]
    rate = steps.covariance / dt[:, None, None]
    for _ in range(TURNS):
        rate = rate + (steps.covariance - _spread(slope, rate, dt)) / dt[:, None, None]
    force = np.linalg.solve(_integral(slope, dt), steps.mean[:, :, None])
    nodes, weights = _rule()
    times = [dt * (1.0 - exposure + exposure * node) for node in nodes]
    mean, flow, cross, own = np.zeros((n, d, 1)), np.zeros((n, d, d)), np.zeros((n, d, d)), np.zeros((n, d, d))
    for weight, s in zip(weights, times, strict=True):
        mean += weight * (_integral(slope, s) @ force)
        flow += weight * _exponential(slope, s)
        cross += weight * (_exponential(slope, dt - s) @ _spread(slope, rate, s))
        # of two times in the exposure, the one before: spread evenly up to s
        for inner, node in zip(weights, nodes, strict=True):
            begin = (1.0 - exposure) * dt
            r = begin + node * (s - begin)
            share = weight * inner * ((s - begin) / (exposure * dt))[:, None, None]
            pair = _exponential(slope, s - r) @ _spread(slope, rate, r)
            own += share * (pair + np.swapaxes(pair, 1, 2))
    whole_flow = np.zeros((n, 2 * d, 2 * d))
    whole_flow[:, :d, :d], whole_flow[:, d:, :d] = steps.flow, flow
    covariance = np.empty((n, 2 * d, 2 * d))
    covariance[:, :d, :d], covariance[:, d:, d:] = steps.covariance, own
    covariance[:, :d, d:], covariance[:, d:, :d] = cross, np.swapaxes(cross, 1, 2)
    return Steps(np.concatenate([steps.mean, mean[:, :, 0]], axis=1), whole_flow, covariance)


def _tamed(flow: Floats) -> Floats:
    turned = flow - np.eye(flow.shape[1])
    size = np.linalg.norm(turned, 2, axis=(1, 2))[:, None, None]
    return np.asarray(np.eye(flow.shape[1]) + turned * np.minimum(1.0, FARTHEST / np.maximum(size, FARTHEST)))


def _rule() -> tuple[Floats, Floats]:
    """Nodes and weights on the line from 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def _exponential(slope: Floats, s: Floats) -> Floats:
    """e^{Js}, (n, d, d)."""
    return _series(slope, s, lambda k: 1.0 / k)


def _integral(slope: Floats, s: Floats) -> Floats:
    """∫ e^{Ju} du, u from 0 to s."""
    return s[:, None, None] * _series(slope, s, lambda k: 1.0 / (k + 1.0))


def _series(slope: Floats, s: Floats, ratio: Callable[[int], float]) -> Floats:
    """Σ (Js)^k times products of the ratios."""
    term = np.tile(np.eye(slope.shape[1]), (len(slope), 1, 1))
    total, turned = term, slope * s[:, None, None]
    for k in range(1, TERMS):
        term = ratio(k) * (turned @ term)
        total = total + term
    return total


def _spread(slope: Floats, rate: Floats, s: Floats) -> Floats:
    """Q(s) = ∫ e^{Ju} rate e^{Jᵀu} du."""
    total: Floats = np.zeros(rate.shape)
    for node, weight in zip(*_rule(), strict=True):
        flow = _exponential(slope, node * s)
        total += weight * s[:, None, None] * (flow @ rate @ np.swapaxes(flow, 1, 2))
    return total


def _logarithm(flow: Floats) -> Floats:
    """ln A by the series in (A - 1)(A + 1)⁻¹, which converges for every A whose eigenvalues are positive."""
    one = np.eye(flow.shape[1])
    ratio = np.linalg.solve(np.swapaxes(flow + one, 1, 2), np.swapaxes(flow - one, 1, 2))
    ratio = np.swapaxes(ratio, 1, 2)
    square, power, total = ratio @ ratio, ratio, np.asarray(2.0 * ratio, float)
    for k in range(3, 2 * TERMS, 2):
        power = power @ square
        total = np.asarray(total + (2.0 / k) * power, float)
    return total
