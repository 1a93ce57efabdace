"""Inverse Cholesky factors, block by block, for JAX: nearly all of it products, at which a GPU is quick."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from onepath.numerics.linalg import JITTER

BLOCK = 8
"""Rows that are eliminated at once; theirs is written out, and is plain arithmetic under `vmap`."""


def inverse_root(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """L⁻¹ with L Lᵀ = matrix + jitter; NaN where that is not positive definite."""
    size = len(matrix)
    jittered = matrix + JITTER * jnp.trace(matrix) / size * jnp.eye(size)
    if size <= BLOCK:
        return _small(jittered)
    blocks = -(-size // BLOCK)
    room, places = blocks * BLOCK, jnp.arange(blocks * BLOCK)
    spare = jnp.where(places < size, 0.0, 1.0)
    whole = jnp.pad(jittered, ((0, room - size),) * 2) + jnp.diag(spare)

    def eliminated(block: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        rest, inverse = state
        begin = block * BLOCK
        columns = jax.lax.dynamic_slice_in_dim(rest, begin, BLOCK, axis=1)
        own = _small(jax.lax.dynamic_slice_in_dim(columns, begin, BLOCK, axis=0))
        below = jnp.where(places[:, None] >= begin + BLOCK, columns @ own.T, 0.0)
        rows = own @ jax.lax.dynamic_slice_in_dim(inverse, begin, BLOCK, axis=0)
        inverse = jax.lax.dynamic_update_slice_in_dim(inverse - below @ rows, rows, begin, axis=0)
        return rest - below @ below.T, inverse

    return jax.lax.fori_loop(0, blocks, eliminated, (whole, jnp.eye(room)))[1][:size, :size]


def _small(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The same, number by number."""
    size = len(matrix)
    lower: list[list[Array]] = []
    for i in range(size):
        row: list[Array] = []
        for j in range(i):
            row.append((matrix[i, j] - sum(row[k] * lower[j][k] for k in range(j))) / lower[j][j])
        row.append(jnp.sqrt(matrix[i, i] - sum(each * each for each in row)))
        lower.append(row)
    zero, inverse = jnp.zeros_like(matrix[0, 0]), []
    for i in range(size):
        pivot = 1.0 / lower[i][i]
        found = [-pivot * sum(lower[i][k] * inverse[k][j] for k in range(j, i)) for j in range(i)]
        inverse.append([*found, pivot, *[zero] * (size - i - 1)])
    return jnp.stack([jnp.stack(row) for row in inverse])


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
