"""Second-order equations, dx = v dt, dv = f(x, v) dt + σ(x, v) dW: half of the state is known to move by the other."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from onepath.data.transitions import Units
from onepath.gp.features import Known
from onepath.graph.graph import Graph
from onepath.numerics.linalg import constant

NO_NOISE = 1e-4
"""Noise of positions, in units of what the velocities' moves them by: none, but that laws may divide by it."""


def itself(x: Float[Array, " d"]) -> Float[Array, " d"]:
    """A velocity is the rate of its position."""
    return x


def ones(x: Float[Array, " d"]) -> Float[Array, " d"]:
    return jnp.ones_like(x)


def of_second_order(graph: Graph, units: Units) -> Graph:
    """The graph of x and v from that of v, whose functions read both; increments are compared in v alone."""
    d = len(units.scale) // 2
    velocities = tuple(range(d, 2 * d))
    factor = units.time / units.scale[:d]
    moved = factor * units.scale[d:] * np.asarray(graph.unit) * NO_NOISE
    where = (constant(units.location[d:]), constant(units.scale[d:]))
    rate = Known(itself, constant(factor), *where, reads=velocities)
    still = Known(ones, constant(moved), *where, reads=velocities)
    noise_unit = np.concatenate([np.square(moved), np.asarray(graph.noise_unit)[-d:]])
    return replace(
        graph,
        drift=(rate, *graph.drift),
        diffusion=(still, *graph.diffusion),
        noise_unit=constant(noise_unit),
        compared=velocities,
    )
