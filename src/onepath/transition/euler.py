"""The Euler–Maruyama law, the paper's."""

from jaxtyping import Array, Float

from onepath.jets import Jet
from onepath.linalg import contract


def euler(drift: Jet, diffusion: Jet, dt: Float[Array, ""]) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
    """Mean f Δt and covariance σσᵀ Δt of the increment (paper, eq. 2)."""
    return drift.value * dt, contract(diffusion.value, diffusion.value.T) * dt
