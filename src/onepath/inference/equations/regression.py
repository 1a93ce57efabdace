"""Evidence of subsets of terms: linear regression in closed form, and scoring for variances.

With the information A of all coefficients, b = A ĉ and independent priors N(0, 1/p), the log evidence of a subset is
½ bᵀ(A + P)⁻¹b - ½ ln det(1 + P⁻¹A), over its own rows and columns, against no terms at all.
"""

from typing import Any, NamedTuple

import numpy as np

from onepath.numerics.arrays import Flags, Floats

STEPS, HALVINGS, ENOUGH = 30, 12, 1e-7
"""Of scoring: at most, how often a step is halved, and the gain in nats from which it goes on."""

JITTER = 1e-11
"""Of matrices that are scaled to a diagonal of 1."""


class Fitted(NamedTuple):
    """Of each subset: log evidence, coefficients (s, terms), zero for others, and the Cholesky factor of A + P."""

    evidence: Floats
    coefficients: Floats
    lower: Floats


def within(subsets: Flags, information: Floats, precision: Floats) -> Floats:
    """A + P of each subset, with 1 on the diagonal for terms that it does not have: (s, terms, terms)."""
    pairs = subsets[:, :, None] & subsets[:, None, :]
    diagonal = np.eye(len(precision))
    return np.where(pairs, information + np.diag(precision), diagonal)


def factors(matrices: Floats) -> Floats:
    """Cholesky factors, of matrices scaled to a diagonal of 1: terms may be nearly the same function."""
    root = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
    scaled = matrices / (root[:, :, None] * root[:, None, :])
    scaled = scaled + JITTER * np.eye(matrices.shape[1])
    return np.asarray(root[:, :, None] * np.linalg.cholesky(scaled))


def solved(lower: Floats, right: Floats) -> Floats:
    """(L Lᵀ)⁻¹ b for each: (s, n, n), (s, n) → (s, n)."""
    half = np.linalg.solve(lower, right[:, :, None])
    return np.linalg.solve(np.swapaxes(lower, 1, 2), half)[:, :, 0]


def half_log_ratio(subsets: Flags, lower: Floats, precision: Floats) -> Floats:
    """½ ln det(1 + P⁻¹A)."""
    diagonal = np.log(np.diagonal(lower, axis1=1, axis2=2)) - 0.5 * np.log(precision)
    return np.asarray(np.sum(np.where(subsets, diagonal, 0.0), axis=1))


def linear(subsets: Flags, information: Floats, right: Floats, precision: Floats) -> Fitted:
    """Regression on each subset."""
    lower = factors(within(subsets, information, precision))
    own = np.where(subsets, right, 0.0)
    coefficients = solved(lower, own)
    evidence = 0.5 * np.sum(own * coefficients, axis=1) - half_log_ratio(subsets, lower, precision)
    return Fitted(evidence, coefficients, lower)


class Squares(NamedTuple):
    """Sums of squared residuals of cells, to be explained as variances: gain · D c + rest, each of `weight` squares."""

    weight: Any  # (c,)
    total: Any  # (c,), sums of squares
    gain: Any  # (c,)
    rest: Any  # (c,)

    def loss(self, value: Any, xp: Any = np) -> Any:
        """½ Σ n ln V + S / V for values (..., c) of what is unknown; infinite where it is not positive."""
        variance = xp.where(value > 0, self.gain * value + self.rest, 1.0)
        loss = 0.5 * (xp.log(variance) @ self.weight + (1.0 / variance) @ self.total)
        return xp.where(xp.all(value > 0, axis=-1), loss, np.inf)

    def around(self, value: Floats) -> tuple[Floats, Floats]:
        """Slopes of the loss in values (c,), and roots of its expected curvature."""
        variance = self.gain * value + self.rest
        slope = 0.5 * self.gain * (self.weight / variance - self.total / np.square(variance))
        return slope, np.asarray(np.sqrt(0.5 * self.weight) * self.gain / variance)


def nearly(subsets: Flags, design: Floats, squares: Squares, near: Floats, precision: Floats) -> Floats:
    """Evidence of each subset up to a constant, as if what squares say were as quadratic everywhere as it is `near`."""
    slope = squares.gain / np.square(squares.gain * near + squares.rest)
    information = (design * (0.5 * squares.weight * squares.gain * slope)[:, None]).T @ design
    right = design.T @ (0.5 * slope * (squares.total - squares.weight * squares.rest))
    return linear(subsets, information, right, precision).evidence


def variances(subsets: Flags, design: Floats, squares: Squares, near: Floats, precision: Floats) -> Fitted:
    """Laplace's evidence of each subset by Fisher's scoring, in which V is linear; -inf where it is never positive.

    Scoring starts from what is closest to `near` (c,), values that are about right.
    """
    start = 0.5 * squares.weight * np.square(squares.gain / (squares.gain * near + squares.rest))
    information, right = (design * start[:, None]).T @ design, design.T @ (start * near)
    found = linear(subsets, information, right, 1e-9 * np.diagonal(information))
    coefficients = found.coefficients
    loss = squares.loss(coefficients @ design.T)
    alive = np.isfinite(loss)
    value = np.where(alive, loss + 0.5 * np.square(coefficients) @ precision, np.inf)
    lower = np.broadcast_to(np.eye(len(precision)), (*subsets.shape, len(precision))).copy()
    running = np.flatnonzero(alive)
    outer = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    for _ in range(STEPS):
        if len(running) == 0:
            break
        lower[running], target = _scored(subsets[running], design, outer, squares, coefficients[running], precision)
        step, moved = target - coefficients[running], np.zeros(len(running), bool)
        length = np.ones(len(running))
        before = value[running].copy()
        for _ in range(HALVINGS):
            trial = coefficients[running] + length[:, None] * step
            reached = squares.loss(trial @ design.T) + 0.5 * np.square(trial) @ precision
            better = ~moved & (reached <= before)
            coefficients[running[better]], value[running[better]] = trial[better], reached[better]
            moved |= better
            if moved.all():
                break
            length = np.where(moved, length, 0.5 * length)
        running = running[moved & (before - value[running] > ENOUGH)]
    if alive.any():
        lower[alive], _ = _scored(subsets[alive], design, outer, squares, coefficients[alive], precision)
    evidence = np.where(alive, -value, -np.inf) - half_log_ratio(subsets, lower, precision)
    return Fitted(evidence, coefficients, lower)


def _scored(
    subsets: Flags, design: Floats, outer: Floats, squares: Squares, coefficients: Floats, precision: Floats
) -> tuple[Floats, Floats]:
    """Factors of the expected curvature at some coefficients, and where a full step of scoring leads.

    `outer` are products of each two terms (c, t²).
    """
    variance = squares.gain * (coefficients @ design.T) + squares.rest
    slope = 0.5 * squares.gain / np.square(variance)  # (s, c)
    weight = squares.weight * squares.gain * slope
    information = (weight @ outer).reshape(-1, len(precision), len(precision))
    pairs = subsets[:, :, None] & subsets[:, None, :]
    matrices = np.where(pairs, information + np.diag(precision), np.eye(len(precision)))
    lower = factors(matrices)
    right = np.where(subsets, (slope * (squares.total - squares.weight * squares.rest)) @ design, 0.0)
    return lower, solved(lower, right)
