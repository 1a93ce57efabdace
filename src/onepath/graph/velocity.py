"""Coordinates that are known to move by others: some of them, or in second-order equations half of the state,

dx = v dt,  dv = f(x, v) dt + σ(x, v) dW.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

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
    velocities, state = tuple(range(d, 2 * d)), 2 * d if graph.inputs else None
    factor = units.time / units.scale[:d]
    moved = factor * units.scale[d:] * np.asarray(graph.unit) * NO_NOISE
    where = (constant(units.location[d:]), constant(units.scale[d:]))
    rate = Known(itself, constant(factor), *where, reads=velocities, state=state)
    still = Known(ones, constant(moved), *where, reads=velocities, state=state)
    noise_unit = np.concatenate([np.square(moved), np.asarray(graph.noise_unit)[-d:]])
    return replace(
        graph,
        drift=(rate, *graph.drift),
        diffusion=(still, *graph.diffusion),
        noise_unit=constant(noise_unit),
        compared=velocities,
    )


def rates_of(given: Any, names: Sequence[str]) -> Any:
    """Coordinates whose rate of change is another one, by their numbers, where a dictionary of names says so."""
    if not isinstance(given, dict):
        return given
    unknown = [name for pair in given.items() for name in pair if name not in names]
    if unknown or not given:
        raise ValueError(
            f"drift={given!r} cannot be used: a dictionary says which coordinate is the rate of which, by their names, "
            f"as in {{'x': 'v'}} for dx = v dt. The coordinates are {', '.join(names)}."
        )
    if len(given) == len(names):
        raise ValueError(f"drift={given!r} says every coordinate's rate: leave one to learn.")
    return Rates({names.index(name): names.index(rate) for name, rate in given.items()})


class Rates(NamedTuple):
    """Coordinates whose drift is another coordinate."""

    of: dict[int, int]


def known_rate(i: int, rate: int, units: Units, state: int | None) -> Known:
    """dx_i = x_rate dt, in standardised units."""
    location, scale = units.location[rate : rate + 1], units.scale[rate : rate + 1]
    factor = constant(units.time / units.scale[i : i + 1])
    return Known(itself, factor, constant(location), constant(scale), (rate,), state)
