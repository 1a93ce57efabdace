"""The Euler–Maruyama law, the paper's."""

from jaxtyping import Array, Float


def euler(
    drift: Float[Array, " d"], diffusion: Float[Array, "d d"], dt: Float[Array, ""]
) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
    """Mean f Δt and covariance σσᵀ Δt of the increment (paper, eq. 2)."""
    return drift * dt, diffusion @ diffusion.T * dt
