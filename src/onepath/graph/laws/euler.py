"""The Euler–Maruyama law, the paper's."""

from dataclasses import dataclass

from jaxtyping import Array, Float

from onepath.gp.jets import Jet
from onepath.graph.laws.law import Gaussian, Law
from onepath.numerics.linalg import contract


@dataclass(frozen=True)
class Euler(Law):
    """Drift and noise hold still during a step."""

    name = "euler"
    order = 0
    couples = False
    longest = 0.1
    beyond = "Drift and diffusion are both underestimated"

    def gaussian(self, drift: Jet, diffusion: Jet, dt: Float[Array, ""]) -> Gaussian:
        """Mean f Δt and covariance σσᵀ Δt of the increment (paper, eq. 2)."""
        return drift.value * dt, contract(diffusion.value, diffusion.value.T) * dt
