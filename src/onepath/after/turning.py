"""What follows where the state is an angle: a density that may carry a current, and how fast it turns."""

from typing import NamedTuple

import numpy as np
from scipy.integrate import cumulative_simpson

from onepath.numerics.arrays import Floats

GREGORY = np.array([3 / 8, 7 / 6, 23 / 24])
"""Weights of the first points of an integral, in steps; all others count one, whether their number is even or odd."""

LEAST = 1e-24
"""Of its largest value: a variance below it is taken for that, since rates over no noise at all are no numbers."""


def variance_of(diffusion: Floats) -> Floats:
    """σ² (..., n), nowhere nothing."""
    variance = np.square(diffusion)
    return np.asarray(np.maximum(variance, LEAST * np.maximum(variance.max(axis=-1, keepdims=True), LEAST)))


class Turning(NamedTuple):
    """Stationary density (..., n) over one turn, and mean velocity (...)."""

    density: Floats
    velocity: Floats

    def current_over_density(self, x: Floats) -> Floats:
        """J/p (..., n), by which f - ½(σ²)' differs from ½σ²p'/p."""
        return np.asarray(self.velocity[..., None] / (x[-1] - x[0]) / self.density)


def turning(x: Floats, drift: Floats, diffusion: Floats) -> Turning:
    """From f and σ (..., n) on an even grid over one turn, both of its ends included.

    The current J = f p - ½(σ²p)' is the same everywhere, and p the same one turn later, so with Φ = ∫ 2f/σ² dx

        σ²(x) p(x) ∝ ∫ e^{Φ(x) - Φ(y)} dy over the turn that begins at x,   2J ∝ 1 - e^{-Φ(turn)},

    and the mean velocity is J times the length of a turn.
    """
    step, variance = float(x[1] - x[0]), variance_of(diffusion)
    rate = 2.0 * drift / variance
    phi = np.asarray(cumulative_simpson(rate, x=x, axis=-1, initial=0.0))
    n, tilt = len(x) - 1, phi[..., -1:]
    twice = np.concatenate([phi[..., :-1], phi + tilt], axis=-1)
    weights = np.full(n + 1, step)
    weights[:3] *= GREGORY
    weights[-3:] *= GREGORY[::-1]
    terms = [phi[..., k : k + 1] - twice[..., k : k + n + 1] + np.log(weights) for k in range(n + 1)]
    logs = np.stack([np.logaddexp.reduce(each, axis=-1) for each in terms], axis=-1)
    highest = np.max(logs, axis=-1, keepdims=True)
    density = np.exp(logs - highest) / variance
    total = np.trapezoid(density, x, axis=-1)[..., None]
    current = 0.5 * (np.exp(-highest) - np.exp(-tilt - highest)) / total
    return Turning(density / total, (current * (x[-1] - x[0]))[..., 0])
