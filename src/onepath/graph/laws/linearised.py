"""Local linearisation with Itô–Taylor corrections: second order in Δt, exact for linear drift and constant noise.

Euler's law holds drift and noise still during a step. Here the drift is f + ½Δt b + J (X - x), J its Jacobian and
b = ½ a:∇∇f what the noise adds where it bends; and the noise has the covariance rate a + ½Δt 𝓛a that it has on
average during the step, 𝓛a = f·∇a + ½ a:∇∇a. A linear equation has a Gaussian increment, which is computed exactly.
"""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float

from onepath.gp.jets import Jet
from onepath.graph.laws.flow import linear_flow
from onepath.graph.laws.law import Gaussian, Law
from onepath.numerics.linalg import contract, small_cholesky, small_forward_solve


@dataclass(frozen=True)
class Linearised(Law):
    """The linear equation that the process is near a point."""

    name = "linearised"
    order = 2
    couples = True
    longest = 0.3
    beyond = "Beyond that, what the law leaves out moves drift and diffusion either way"

    def gaussian(self, drift: Jet, diffusion: Jet, dt: Float[Array, ""]) -> Gaussian:
        """Mean ∫ e^{Js} ds (f + ½Δt b) and covariance ∫ e^{Js} (a + ½Δt 𝓛a) e^{Jᵀs} ds, s from 0 to Δt."""
        f, sigma = drift.value, diffusion.value
        slope, bend = drift.derivatives
        sigma_slope, sigma_bend = diffusion.derivatives
        rate = contract(sigma, sigma.T)
        generator = contract(f, sigma_slope) + 0.5 * _twice(rate, sigma_bend)
        change = contract(generator, sigma.T)
        slopes = contract(sigma_slope, jnp.moveaxis(sigma_slope, 2, 0))
        change = change + change.T + _twice(rate, jnp.moveaxis(slopes, 2, 1))
        return linear_flow(slope.T, f + 0.25 * dt * _twice(rate, bend), moved(rate, 0.5 * dt * change), dt)


def _twice(rate: Float[Array, "d d"], bend: Float[Array, "d d ..."]) -> Float[Array, "..."]:
    """Σ rate_kl bend_kl."""
    d = len(rate)
    return contract(rate.reshape(d * d), bend.reshape(d * d, *bend.shape[2:]))


def moved(rate: Float[Array, "d d"], change: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """rate + change to first order in the change, and positive definite for any change.

    With S the change seen from the rate, L⁻¹ change L⁻ᵀ, it is L (S + √(1 + S²)) Lᵀ; one Newton step from the multiple
    of 1 that is large enough gives the root, exactly in one dimension and never too small above.
    """
    lower = small_cholesky(rate)
    seen = small_forward_solve(lower, small_forward_solve(lower, change).T)
    size = jnp.sqrt(1.0 + jnp.sum(jnp.square(seen)))
    one = jnp.eye(len(rate))
    root = 0.5 * (size * one + (one + contract(seen, seen)) / size)
    return contract(contract(lower, seen + root), lower.T)
