"""Local linearisation with Itô–Taylor corrections: second order in Δt, exact for linear drift and constant noise.

Euler's law holds drift and noise still during a step. Here the drift is f + ½Δt b + J (X - x), J its Jacobian and
b = ½ a:∇∇f what the noise adds where it bends; and the noise has the covariance rate a + ½Δt 𝓛a that it has on
average during the step, 𝓛a = f·∇a + ½ a:∇∇a. A linear equation has a Gaussian increment, which is computed exactly.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from onepath.gp.jets import Jet
from onepath.graph.laws.law import Gaussian, Law
from onepath.numerics.linalg import contract, small_cholesky, small_forward_solve

TERMS, DOUBLINGS = 7, 6
"""A step is cut into 2^DOUBLINGS parts; a part's flow is a Taylor series, good to 1e-9 while |J| Δt is below 16."""

LONGEST = 64.0
"""|J| Δt up to which a part's flow is good to a hundredth. A longer step counts as one of this length: all that relaxes
has done so long before, and a series that no longer converges would give negative variances."""


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


def linear_flow(
    slope: Float[Array, "d d"], drift: Float[Array, " d"], rate: Float[Array, "d d"], dt: Float[Array, ""]
) -> Gaussian:
    """Mean and covariance of dX = (drift + slope X) dt + rate^½ dW after dt from X = 0.

    In one dimension the integrals are elementary. Above, a short part's are Taylor series, and two equal parts after
    each other make one of twice the length.
    """
    if len(drift) > 1:
        return _doubled_flow(slope, drift, rate, dt)
    z = dt * slope
    once = mean_exponential(z)
    # (e^2z - 1) / 2z is the same with e^z for both halves
    return dt * once[0] * drift, dt * once * (1.0 + 0.5 * z * once) * rate


def _doubled(
    slope: Float[Array, "d d"], drift: Float[Array, " d"], rate: Float[Array, "d d"], dt: Float[Array, ""]
) -> Gaussian:
    step = _no_longer(dt, jnp.sum(jnp.square(slope)) * jnp.square(dt)) / 2**DOUBLINGS

    def add(state: Any, k: Array) -> tuple[Any, None]:
        flow, mean, covariance, power, push, spread = state
        power, push, spread = (contract(step * slope, term) for term in (power / k, push / (k + 1), spread / (k + 1)))
        spread = spread + spread.T
        return (flow + power, mean + push, covariance + spread, power, push, spread), None

    def double(state: Any, _: None) -> tuple[Any, None]:
        flow, mean, covariance = state
        mean, covariance = mean + contract(flow, mean), covariance + contract(contract(flow, covariance), flow.T)
        return (contract(flow, flow), mean, covariance), None

    part = (jnp.eye(len(drift)), step * drift, step * rate)
    series, _ = jax.lax.scan(add, (*part, *part), jnp.arange(1.0, TERMS + 1))
    (_, mean, covariance), _ = jax.lax.scan(double, series[:3], None, DOUBLINGS)
    return mean, covariance


def _no_longer(dt: Float[Array, ""], square: Float[Array, ""]) -> Float[Array, ""]:
    """dt, or as much of it as makes |J| Δt, whose square is given, `LONGEST`."""
    long = square > LONGEST**2
    return dt * jnp.where(long, LONGEST / jnp.sqrt(jnp.where(long, square, 1.0)), 1.0)


_doubled_flow = jax.custom_jvp(_doubled)


@_doubled_flow.defjvp
def _doubled_flow_slope(primals: Any, tangents: Any) -> Any:
    """By the Jacobian, which has far fewer columns than there are numbers that drift and diffusion depend on."""
    jacobians = jax.jacfwd(_doubled, argnums=(0, 1, 2, 3))(*primals)
    slopes = [sum(jnp.tensordot(j, t, axes=t.ndim) for j, t in zip(row, tangents, strict=True)) for row in jacobians]
    return _doubled_flow(*primals), tuple(slopes)


def mean_exponential(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """The mean of e^s for s from 0 to z, (e^z - 1) / z, near 0 by its series."""
    near = jnp.abs(z) < 0.02
    small, large = jnp.where(near, z, 0.0), jnp.where(near, 1.0, z)
    series = jnp.ones_like(z)
    for k in range(6, 1, -1):
        series = 1.0 + small * series * (1.0 / k)
    return jnp.where(near, series, jnp.expm1(large) / large)
