"""Cholesky, the one jitter policy, solves and log-determinants."""

from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float
from scipy.linalg import lapack

from onepath.numerics.arrays import Flags, Floats, Integers

JITTER = 1e-12
"""The least a pivot may be, relative to the diagonal: large factorisations add it, small ones stop there."""


def constant(values: Any) -> Floats:
    """An array of floats, of NumPy's: most are looked at more often than they are computed with by JAX."""
    return np.asarray(values, float)


def has_floats(thing: Any) -> bool:
    """Whether it is an array of floats, of JAX's or of NumPy's."""
    return isinstance(thing, jax.Array | np.ndarray) and bool(np.issubdtype(thing.dtype, np.floating))


def cholesky(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Lower L with L Lᵀ = matrix + jitter."""
    size = matrix.shape[0]
    return jnp.linalg.cholesky(matrix + JITTER * jnp.trace(matrix) / size * jnp.eye(size))


def forward_solve(lower: Float[Array, "n n"], right: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
    """L⁻¹ b."""
    return solve_triangular(lower, right, lower=True)


def log_determinant(lower: Float[Array, "n n"]) -> Float[Array, ""]:
    """ln det(L Lᵀ)."""
    return 2.0 * jnp.sum(jnp.log(jnp.diagonal(lower)))


def square_root(matrix: Floats) -> Floats:
    """The symmetric R with R R = matrix, which may be singular: eigenvalues below zero are rounding."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def pivots(matrix: Floats, usable: Flags, tolerance: float, most: int) -> Integers:
    """Rows chosen by pivoted Cholesky, one at least.

    Each step takes the row of largest residual variance, until the largest residual is at most `tolerance` times the
    median diagonal entry.
    """
    residual = np.where(usable, np.diagonal(matrix), 0.0)
    threshold = max(tolerance * float(np.median(np.diagonal(matrix)[usable])), JITTER * float(residual.max()))
    factor, chosen = np.zeros((most, len(matrix))), list[int]()
    while len(chosen) < most:
        pivot = int(np.argmax(residual))
        if chosen and not residual[pivot] > threshold:
            break
        above = factor[: len(chosen)]
        column = (matrix[pivot] - above[:, pivot] @ above) / np.sqrt(max(residual[pivot], np.finfo(float).tiny))
        residual = np.maximum(residual - np.square(column), 0.0)
        residual[pivot] = 0.0
        factor[len(chosen)] = column
        chosen.append(pivot)
    return np.asarray(chosen)


def contract(left: Float[Array, "... k"], right: Float[Array, "k ..."]) -> Float[Array, "..."]:
    """Σ_k left_..k right_k.. for small arrays, written out: under `vmap`, products of tiny matrices are slow."""
    return reduce(jnp.add, [jnp.multiply.outer(left[..., k], right[k]) for k in range(len(right))])


def small_cholesky(matrix: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """Lower Cholesky factor of a d × d matrix, written out: under `vmap` it becomes plain arithmetic on arrays.

    No pivot is 0, not even where squares were too small to be numbers: what is divided by it stays finite.
    """
    d, tiny = matrix.shape[0], np.finfo(float).tiny
    lower = [[jnp.zeros_like(matrix[0, 0])] * d for _ in range(d)]
    for i in range(d):
        for j in range(i + 1):
            rest = matrix[i, j] - sum(lower[i][k] * lower[j][k] for k in range(j))
            lower[i][j] = jnp.sqrt(jnp.maximum(rest, JITTER * matrix[i, i] + tiny)) if i == j else rest / lower[j][j]
    return jnp.stack([jnp.stack(row) for row in lower])


def lower_root(matrix: Floats) -> Floats:
    """Lower L with L Lᵀ = matrix + jitter, as `cholesky`, by LAPACK; NaN where it is not positive definite."""
    jittered = np.array(matrix, order="C")
    diagonal = jittered.reshape(-1)[:: len(matrix) + 1]
    diagonal += JITTER * diagonal.sum() / len(matrix)
    # LAPACK counts columns first: the upper factor of the transpose is the lower one, and nothing is copied
    upper, failed = lapack.dpotrf(jittered.T, lower=0, clean=1, overwrite_a=1)
    return np.full_like(matrix, np.nan) if failed else upper.T


def lower_solved(lower: Floats, right: Floats) -> Floats:
    """L⁻¹ b."""
    return np.asarray(lapack.dtrtrs(lower.T, right, lower=0, trans=1)[0])


def upper_solved(lower: Floats, right: Floats) -> Floats:
    """L⁻ᵀ b."""
    return np.asarray(lapack.dtrtrs(lower.T, right, lower=0, trans=0)[0])


def solved(lower: Floats, right: Floats) -> Floats:
    """(L Lᵀ)⁻¹ b."""
    return np.asarray(lapack.dpotrs(lower.T, right, lower=0)[0])


def inverse_of(lower: Floats) -> Floats:
    """(L Lᵀ)⁻¹, for an L that is zero above its diagonal."""
    upper = lapack.dpotri(lower.T, lower=0)[0]
    inverse = np.add(upper, upper.T, order="C")
    inverse.reshape(-1)[:: len(lower) + 1] *= 0.5
    return np.asarray(inverse)


def lower_roots(covariances: Floats) -> Floats:
    """Lower L with L Lᵀ = covariance for many small ones (..., d, d), in NumPy.

    Each dimension in its own units, since those may differ by many orders of magnitude; a covariance that rounding has
    made indefinite counts as the nearest that is not.
    """
    scale = np.sqrt(np.diagonal(covariances, axis1=-2, axis2=-1))
    correlations = covariances / (scale[..., :, None] * scale[..., None, :])
    try:
        lower = np.linalg.cholesky(correlations)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(correlations)
        clipped = np.maximum(values, JITTER)[..., None, :]
        lower = np.linalg.cholesky((vectors * clipped) @ np.swapaxes(vectors, -1, -2))
    return np.asarray(scale[..., :, None] * lower)


def small_forward_solve(lower: Float[Array, "d d"], right: Float[Array, "d ..."]) -> Float[Array, "d ..."]:
    """L⁻¹ b for a d × d factor, written out likewise."""
    rows: list[Array] = []
    for i in range(lower.shape[0]):
        rows.append((right[i] - sum(lower[i, k] * rows[k] for k in range(i))) / lower[i, i])
    return jnp.stack(rows)
