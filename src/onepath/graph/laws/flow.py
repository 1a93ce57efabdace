"""The flow of a linear equation, dX = (drift + slope X) dt + rate^½ dW: where it is after a step, and its slopes.

A short part of the step is a Taylor series, and two equal parts after each other make one of twice the length. With
J the slope, M = ∫ e^{Js} ds makes a mean of the drift, and C = ∫ e^{Js} rate e^{Jᵀs} ds is the covariance; e^{JΔt} is
I + JM.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from onepath.graph.laws.law import Gaussian
from onepath.numerics.linalg import contract

TERMS, SHORT = 11, 0.25
"""Terms of the series of a part, and |J| Δt of a part at most: good to 1e-13."""

LONGEST = 64.0
"""|J| Δt of a step at most. A longer one counts as one of this length: all that relaxes has done so long before, and
what grows would leave the range of numbers."""

MOST_DOUBLINGS = int(np.log2(LONGEST / SHORT))


def linear_flow(
    slope: Float[Array, "d d"], drift: Float[Array, " d"], rate: Float[Array, "d d"], dt: Float[Array, ""]
) -> Gaussian:
    """Mean and covariance after dt from X = 0. In one dimension the integrals are elementary."""
    if len(drift) > 1:
        return _flow(slope, drift, 0.5 * (rate + rate.T), _no_longer(dt, jnp.sum(jnp.square(slope)) * jnp.square(dt)))
    z = dt * slope
    once = mean_exponential(z)
    # (e^2z - 1) / 2z is the same with e^z for both halves
    return dt * once[0] * drift, dt * once * (1.0 + 0.5 * z * once) * rate


def mean_exponential(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """The mean of e^s for s from 0 to z, (e^z - 1) / z, near 0 by its series."""
    near = jnp.abs(z) < 0.02
    small, large = jnp.where(near, z, 0.0), jnp.where(near, 1.0, z)
    series = jnp.ones_like(z)
    for k in range(6, 1, -1):
        series = 1.0 + small * series * (1.0 / k)
    return jnp.where(near, series, jnp.expm1(large) / large)


def _no_longer(dt: Float[Array, ""], square: Float[Array, ""]) -> Float[Array, ""]:
    """dt, or as much of it as makes |J| Δt, whose square is given, `LONGEST`."""
    long = square > LONGEST**2
    return dt * jnp.where(long, LONGEST / jnp.sqrt(jnp.where(long, square, 1.0)), 1.0)


def _integrals(slope: Array, rate: Array, dt: Array, always: bool) -> tuple[Array, Array]:
    """M and C, both (d, d), in as many parts as it takes; or `always` in as many as the longest step takes."""
    length = jnp.sqrt(jax.lax.stop_gradient(jnp.sum(jnp.square(slope)))) * dt
    doublings = jnp.ceil(jnp.log2(jnp.maximum(length / SHORT, 1.0))).astype(int)
    if always:
        doublings = jnp.full_like(doublings, MOST_DOUBLINGS)
    step, one = dt * jnp.exp2(-doublings.astype(dt.dtype)), jnp.eye(len(slope))

    def add(state: Any, k: Array) -> tuple[Any, None]:
        mean, covariance, push, spread = state
        push, spread = (contract((step / (k + 1)) * slope, term) for term in (push, spread))
        spread = spread + spread.T
        return (mean + push, covariance + spread, push, spread), None

    def double(_: Any, state: tuple[Array, Array]) -> tuple[Array, Array]:
        mean, covariance = state
        flow = one + contract(slope, mean)
        return mean + contract(flow, mean), covariance + contract(contract(flow, covariance), flow.T)

    part = (step * one, step * rate)
    (mean, covariance, *_), _ = jax.lax.scan(add, (*part, *part), jnp.arange(1.0, TERMS + 1))
    times = MOST_DOUBLINGS if always else doublings
    return jax.lax.fori_loop(0, times, double, (mean, covariance))


def _slopes(slope: Array, rate: Array, dt: Array, always: bool) -> tuple[Array, ...]:
    """M and C, their slopes in J (d, d, d, d), and C's in the rate, in which it is linear."""
    values = _integrals(slope, rate, dt, always)
    in_slope = jax.jacfwd(lambda slope: _integrals(slope, rate, dt, always))(slope)
    in_rate = jax.jacfwd(lambda rate: _integrals(slope, rate, dt, always)[1])(rate)
    return *values, *in_slope, in_rate


@jax.custom_jvp
def _integrals_with_slopes(slope: Array, rate: Array, dt: Array) -> tuple[Array, ...]:
    return _slopes(slope, rate, dt, always=False)


@_integrals_with_slopes.defjvp
def _second_slopes(primals: Any, tangents: Any) -> Any:
    """In a number of parts that is known beforehand, since only such a loop can be differentiated backwards."""

    def slopes(slope: Array, rate: Array, dt: Array) -> tuple[Array, ...]:
        return _slopes(slope, rate, dt, always=True)

    return jax.jvp(slopes, primals, tangents)


@jax.custom_jvp
def _flow(slope: Array, drift: Array, rate: Array, dt: Array) -> Gaussian:
    mean, covariance = _integrals(slope, rate, dt, always=False)
    return contract(mean, drift), covariance


@_flow.defjvp
def _flow_slopes(primals: Any, tangents: Any) -> Any:
    """By its Jacobian, which has far fewer columns than there are numbers that drift and diffusion depend on."""
    slope, drift, rate, dt = primals
    slope_change, drift_change, rate_change, dt_change = tangents
    mean, covariance, mean_in_slope, in_slope, in_rate = _integrals_with_slopes(slope, rate, dt)
    moved, grown = contract(mean, drift), contract(slope, covariance)
    mean_change = jnp.tensordot(mean_in_slope, slope_change, axes=2)
    changes = (
        contract(mean_change, drift) + contract(mean, drift_change) + dt_change * (drift + contract(slope, moved)),
        jnp.tensordot(in_slope, slope_change, axes=2)
        + jnp.tensordot(in_rate, rate_change, axes=2)
        + dt_change * (rate + grown + grown.T),
    )
    return (moved, covariance), changes
