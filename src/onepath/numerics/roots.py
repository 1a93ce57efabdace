"""Inverse Cholesky factors, for JAX: with them all that follows is products, which suits many series at once."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from onepath.numerics.linalg import JITTER, cholesky, forward_solve

BLOCK = 8
"""Columns that are eliminated at once."""


def inverse_root(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """L⁻¹ with L Lᵀ = matrix + jitter; NaN where that is not positive definite.

    On the CPU by blocks: where JAX calls LAPACK for several batches at once, these may wait for each other for ever.
    """
    return jax.lax.platform_dependent(matrix, cpu=_by_blocks, default=_by_library)


def _by_library(matrix: Array) -> Array:
    return forward_solve(cholesky(matrix), jnp.eye(len(matrix)))


def _by_blocks(matrix: Array) -> Array:
    size = len(matrix)
    blocks = -(-size // BLOCK)
    room, places = blocks * BLOCK, jnp.arange(blocks * BLOCK)
    jittered = matrix + JITTER * jnp.trace(matrix) / size * jnp.eye(size)
    whole = jnp.pad(jittered, ((0, room - size),) * 2) + jnp.diag(jnp.where(places < size, 0.0, 1.0))

    def eliminated(block: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        rest, inverse = state
        begin = block * BLOCK
        columns = jax.lax.dynamic_slice_in_dim(rest, begin, BLOCK, axis=1)
        own = _by_columns(jax.lax.dynamic_slice_in_dim(columns, begin, BLOCK, axis=0))
        below = jnp.where(places[:, None] >= begin + BLOCK, columns @ own.T, 0.0)
        rows = own @ jax.lax.dynamic_slice_in_dim(inverse, begin, BLOCK, axis=0)
        inverse = jax.lax.dynamic_update_slice_in_dim(inverse - below @ rows, rows, begin, axis=0)
        return rest - below @ below.T, inverse

    return jax.lax.fori_loop(0, blocks, eliminated, (whole, jnp.eye(room)))[1][:size, :size]


def _by_columns(matrix: Array) -> Array:
    size = len(matrix)
    places = jnp.arange(size)

    def eliminated(j: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        rest, inverse = state
        pivot = jnp.sqrt(rest[j, j])
        row, column = inverse[j] / pivot, jnp.where(places > j, rest[:, j] / pivot, 0.0)
        return rest - column[:, None] * column, (inverse - column[:, None] * row).at[j].set(row)

    return jax.lax.fori_loop(0, size, eliminated, (matrix, jnp.eye(size)))[1]


def half_log_determinant(inverse: Float[Array, "n n"]) -> Float[Array, ""]:
    """½ ln det(L Lᵀ) from L⁻¹."""
    return -jnp.sum(jnp.log(jnp.diagonal(inverse)))


def solved(inverse: Float[Array, "n n"], right: Float[Array, " n"]) -> Float[Array, " n"]:
    """(L Lᵀ)⁻¹ b from L⁻¹."""
    return (inverse @ right) @ inverse


@jax.custom_vjp
def whitened(gram: Float[Array, "p p"], cross: Float[Array, "m p"]) -> Float[Array, "m p"]:
    """k(x, Z) L⁻ᵀ with L Lᵀ = k(Z, Z)."""
    return cross @ inverse_root(gram).T


def _whitened(gram: Array, cross: Array) -> tuple[Array, tuple[Array, Array]]:
    inverse = inverse_root(gram)
    found = cross @ inverse.T
    return found, (inverse, found)


def _pulled(kept: tuple[Array, Array], slope: Array) -> tuple[Array, Array]:
    """The slope in X of φ = X L⁻ᵀ is φ̄ L⁻¹, that in G is -L⁻ᵀ Φ(φ̄ᵀφ) L⁻¹, made symmetric.

    Φ takes the lower triangle and half of the diagonal.
    """
    inverse, found = kept
    inner = slope.T @ found
    outer = inverse.T @ (jnp.tril(inner) - 0.5 * jnp.diag(jnp.diagonal(inner))) @ inverse
    return -0.5 * (outer + outer.T), slope @ inverse


whitened.defvjp(_whitened, _pulled)
