"""Cholesky, the one jitter policy, solves and log-determinants."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float, Int

from onepath.numerics.arrays import Floats

JITTER = 1e-12
"""The least a pivot may be, relative to the diagonal: large factorisations add it, small ones stop there."""


def constant(values: Any) -> Array:
    """An array of floats as it is; `jnp.asarray` compiles a copy for every shape."""
    return jax.device_put(np.asarray(values, float))


def one_by_one(function: Callable[..., Array], *stacks: Array) -> Array:
    """`vmap` over the leading axis, written out.

    A batched LAPACK call inside a larger program can wait for ever for a thread of XLA's own pool when there are few
    cores (seen with jaxlib 0.10 on two), so factorisations of large matrices are never batched.
    """
    return jnp.stack([function(*each) for each in zip(*stacks, strict=True)])


def cholesky(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Lower L with L Lᵀ = matrix + jitter."""
    size = matrix.shape[0]
    return jnp.linalg.cholesky(matrix + JITTER * jnp.trace(matrix) / size * jnp.eye(size))


def forward_solve(lower: Float[Array, "n n"], right: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
    """L⁻¹ b."""
    return solve_triangular(lower, right, lower=True)


def backward_solve(lower: Float[Array, "n n"], right: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
    """L⁻ᵀ b."""
    return solve_triangular(lower, right, lower=True, trans=1)


def solve(lower: Float[Array, "n n"], right: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
    """(L Lᵀ)⁻¹ b."""
    return backward_solve(lower, forward_solve(lower, right))


def log_determinant(lower: Float[Array, "n n"]) -> Float[Array, ""]:
    """ln det(L Lᵀ)."""
    return 2.0 * jnp.sum(jnp.log(jnp.diagonal(lower)))


def square_root(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The symmetric R with R R = matrix, which may be singular: eigenvalues below zero are rounding."""
    values, vectors = jnp.linalg.eigh(matrix)
    return (vectors * jnp.sqrt(jnp.maximum(values, 0.0))) @ vectors.T


def pivots(
    matrix: Float[Array, "n n"], usable: Bool[Array, " n"], tolerance: Float[Array, ""], most: int
) -> tuple[Int[Array, " most"], Int[Array, ""]]:
    """Rows chosen by pivoted Cholesky, and how many of them are needed.

    Each step takes the row of largest residual variance; rows count until the largest residual is at most
    `tolerance` times the median diagonal entry.
    """
    diagonal = jnp.where(usable, jnp.diagonal(matrix), 0.0)
    typical = jnp.nanmedian(jnp.where(usable, jnp.diagonal(matrix), jnp.nan))
    threshold = jnp.maximum(tolerance * typical, JITTER * jnp.max(diagonal))

    def needs_more(state: tuple[Array, Array, Array, Array]) -> Array:
        residual, _, _, rank = state
        return (rank < most) & (jnp.max(residual) > threshold)

    def take(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        residual, factor, chosen, rank = state
        pivot = jnp.argmax(residual)
        column = (matrix[:, pivot] - factor[:, pivot] @ factor) / jnp.sqrt(residual[pivot])
        residual = jnp.maximum(residual - jnp.square(column), 0.0).at[pivot].set(0.0)
        return residual, factor.at[rank].set(column), chosen.at[rank].set(pivot), rank + 1

    start = (diagonal, jnp.zeros((most, matrix.shape[0])), jnp.zeros(most, int), jnp.zeros((), int))
    _, _, chosen, rank = jax.lax.while_loop(needs_more, take, start)
    return chosen, rank


def contract(left: Float[Array, "... k"], right: Float[Array, "k ..."]) -> Float[Array, "..."]:
    """Σ_k left_..k right_k.. for small arrays, written out: under `vmap`, products of tiny matrices are slow."""
    return reduce(jnp.add, [jnp.multiply.outer(left[..., k], right[k]) for k in range(len(right))])


def small_cholesky(matrix: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """Lower Cholesky factor of a d × d matrix, written out: under `vmap` it becomes plain arithmetic on arrays."""
    d = matrix.shape[0]
    lower = [[jnp.zeros_like(matrix[0, 0])] * d for _ in range(d)]
    for i in range(d):
        for j in range(i + 1):
            rest = matrix[i, j] - sum(lower[i][k] * lower[j][k] for k in range(j))
            lower[i][j] = jnp.sqrt(jnp.maximum(rest, JITTER * matrix[i, i])) if i == j else rest / lower[j][j]
    return jnp.stack([jnp.stack(row) for row in lower])


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
