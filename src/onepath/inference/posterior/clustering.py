"""What noise whose level changes with time leaves of the information about σ(x).

ln of a squared residual is ln V + h + noise: h an OU process of variance H and memory τ, the noise of variance 2 as
Fisher's information has it, together of covariance 2I + K. Where the level is learned too, information is that of
generalised least squares, Φᵀ (2I + K)⁻¹ Φ. Where it is not, squares count as independent, and the covariance that this
leads to is A⁻¹ B A⁻¹ with A = ½ ΦᵀΦ and B = ¼ Φᵀ C Φ, C the covariance of squared residuals.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solveh_banded

from onepath.data.cells import Cells
from onepath.numerics.arrays import Floats

LOOKED_AT = 20_000
"""Steps of a long record, its first ones, which say how much is left."""

LEAST = 1e-9
"""Share of the largest direction of B that is kept, so that it has an inverse."""


class Level(NamedTuple):
    """A level of the noise that changes with time, and whether it is learned beside σ."""

    variance: float  # H, of ln V
    memory: float  # τ, in units of the time between steps
    learned: bool


class Clustering(NamedTuple):
    """By how much cells say less than their increments seem to, and how cells do together."""

    matrix: Floats  # (c, c), the identity where the level stays the same
    learned: bool

    def information(self, rows: Floats) -> Floats:
        """About weights (w, w), from cells' rows (c, r, w), of which RᵀR is what they seem to say."""
        _, r, w = rows.shape
        found = np.zeros((w, w))
        for k in range(r):
            each = rows[:, k]
            seen, inner = each.T @ each, each.T @ self.matrix @ each
            found += inner if self.learned else _sandwich(seen, inner)
        return found


def _sandwich(seen: Floats, spread: Floats) -> Floats:
    """A B⁻¹ A, within the directions that are seen at all."""
    values, vectors = np.linalg.eigh(spread)
    kept = values > LEAST * max(float(values[-1]), np.finfo(float).tiny)
    half = (seen @ vectors[:, kept]) / np.sqrt(values[kept])
    return np.asarray(half @ half.T)


def clustering_of(level: Level, cells: Cells, u: Floats, since: Floats) -> Clustering:
    """From starts (n, d), standardised as the cells are, and the time since the step before."""
    # most fits do without it
    from scipy.spatial import cKDTree

    used = np.flatnonzero(np.asarray(cells.used))
    u, since = u[:LOOKED_AT], since[:LOOKED_AT]
    _, nearest = cKDTree(np.asarray(cells.x)[used]).query(u)
    member = np.zeros((len(u), len(used)))
    member[np.arange(len(u)), nearest] = 1.0
    if level.learned:  # and then its mean is zero: how large σ is on average, all steps say
        mean = member.mean(axis=0)
        moved = in_proportion(member - mean, since, level.variance, level.memory)
        moved = moved - moved.mean(axis=0) + mean
    else:
        # squares, and not their logarithms, are what is averaged: of variance 3 e^H - 1, and of covariance e^(Hρ) - 1
        moved = np.exp(level.variance) * member
        moved += 0.5 * np.expm1(level.variance) * correlated(member, since, level.memory)
    root = 1.0 / np.sqrt(np.maximum(member.sum(axis=0), 1.0))
    matrix = np.eye(len(cells.weight))
    within = root[:, None] * (member.T @ moved) * root
    within[np.diag_indices(len(used))] += member.sum(axis=0) == 0
    matrix[np.ix_(used, used)] = (within + within.T) / 2
    return Clustering(matrix, level.learned)


def within_record(spread: float, memory: float, dt: Floats, since: Floats) -> float:
    """The spread of ln σ that counts in a record of M = T / 2τ independent levels: up to √(2 ln M) / 2.

    Levels farther than s √(2 ln M) out are not in the record. Beyond twice that spread, the mean of e^{2ℓ} is made by
    levels that are: the record's own squares then scatter less than the moments of e^{2ℓ} claim, without end.
    """
    independent = max(float(dt[np.isfinite(since)].sum()) / (2.0 * memory), 2.0)
    return min(spread, float(np.sqrt(np.log(independent) / 2.0)))


def in_proportion(columns: Floats, since: Floats, variance: float, memory: float) -> Floats:
    """2 (2I + K)⁻¹ of columns (n, p), which is I - (I + 2Q)⁻¹: Q = K⁻¹ has three diagonals."""
    left = np.exp(-since / memory)  # of the level in the step before; nothing at a beginning
    fresh = 1.0 / (variance * np.maximum(1.0 - np.square(left), 1e-12))
    diagonal, beside = fresh.copy(), np.zeros(len(since))
    diagonal[:-1] += np.square(left[1:]) * fresh[1:]
    beside[1:] = -left[1:] * fresh[1:]
    banded = np.stack([2.0 * beside, 1.0 + 2.0 * diagonal])
    return np.asarray(columns - solveh_banded(banded, columns))


def correlated(columns: Floats, since: Floats, memory: float) -> Floats:
    """Correlations e^(-|t - t'| / τ) times columns (n, p), within records."""
    left = np.exp(-since / memory)
    forth, back = columns.copy(), columns.copy()
    for i in range(1, len(columns)):
        forth[i] += left[i] * forth[i - 1]
        back[-1 - i] += left[-i] * back[-i]
    return np.asarray(forth + back - columns)
