"""Inverse Cholesky factors, for JAX: with them all that follows is products, which suits many series at once."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from onepath.numerics.linalg import JITTER, cholesky, forward_solve


def inverse_root(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """L⁻¹ with L Lᵀ = matrix + jitter; NaN where that is not positive definite.

    On the CPU column by column: where JAX calls LAPACK for several batches at once, these may wait for each other for
    ever.
    """
    return jax.lax.platform_dependent(matrix, cpu=_by_columns, default=_by_library)


def _by_library(matrix: Array) -> Array:
    return forward_solve(cholesky(matrix), jnp.eye(len(matrix)))


def _by_columns(matrix: Array) -> Array:
    size = len(matrix)
    places = jnp.arange(size)

    def eliminated(j: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        rest, inverse = state
        pivot = jnp.sqrt(rest[j, j])
        row, column = inverse[j] / pivot, jnp.where(places > j, rest[:, j] / pivot, 0.0)
        return rest - column[:, None] * column, (inverse - column[:, None] * row).at[j].set(row)

    jittered = matrix + JITTER * jnp.trace(matrix) / size * jnp.eye(size)
    return jax.lax.fori_loop(0, size, eliminated, (jittered, jnp.eye(size)))[1]


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
