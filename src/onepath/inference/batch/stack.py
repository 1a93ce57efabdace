"""Series side by side: their transitions padded to one length, and what a graph must know of each."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from onepath.data.clocks import median_length
from onepath.data.statistics import LEAST_PAIRS
from onepath.data.transitions import Transitions
from onepath.gp.kernels import Cubic, terms
from onepath.graph.default import LEAST_SHARE
from onepath.graph.graph import Graph
from onepath.numerics.arrays import Floats


class Stack(NamedTuple):
    """Transitions of a series (n,), those of weight 0 being padding; with a leading axis, of many."""

    x: Any
    y: Any
    dt: Any
    weight: Any
    follows: Any  # whether each is followed by the next one, without a gap
    since: Any  # time since the beginning of the one before; infinite at the beginning of a record
    time: Any  # (), their median duration


class Units(NamedTuple):
    """Of one series: x = location + scale u, t = time s."""

    location: Array
    scale: Array
    time: Array


def stacked(series: Sequence[Transitions], since: Sequence[Floats], length: int) -> Stack:
    """One dimension each, at most `length` transitions; padding repeats the first one."""
    tables = (np.zeros((len(series), length)) for _ in Stack._fields[:-1])
    found = Stack._make([*tables, np.asarray([median_length(one.dt) for one in series])])
    for k, (one, gaps) in enumerate(zip(series, since, strict=True)):
        n, x, y = len(one), one.x[:, 0], one.y[:, 0]
        for whole, part in ((found.x, x), (found.y, y), (found.dt, one.dt)):
            whole[k, :n], whole[k, n:] = part, part[0]
        end, start = x[:-1] + y[:-1], x[1:]
        found.weight[k, :n] = 1.0
        found.follows[k, : n - 1] = np.abs(end - start) <= 1e-9 * np.max(np.abs(start), initial=0.0)
        found.since[k, :n], found.since[k, n:] = gaps, np.inf
    return found


def units_of(stack: Stack) -> Units:
    """As those of a fit of one."""
    total = jnp.sum(stack.weight)
    location = jnp.sum(stack.weight * stack.x) / total
    scale = jnp.sqrt(jnp.sum(stack.weight * jnp.square(stack.x - location)) / total)
    return Units(location, scale, stack.time)


def _persistence(stack: Stack) -> Float[Array, ""]:
    """E y_k y_{k+1} / Δt_k Δt_{k+1} over neighbours, less two standard errors and not below 0."""
    rate, pairs = stack.y / stack.dt, stack.follows[:-1]
    unit = jnp.max(jnp.where(stack.weight > 0, jnp.abs(rate), 0.0))
    products, count = (rate[:-1] / unit) * (rate[1:] / unit), jnp.sum(pairs)
    mean = jnp.sum(pairs * products) / count
    deviation = jnp.sqrt(jnp.sum(pairs * jnp.square(products - mean)) / count)
    least = jnp.maximum(mean - 2 * deviation / jnp.sqrt(count), 0.0) * unit * unit
    return jnp.where(count >= LEAST_PAIRS, least, 0.0)


def graph_of(template: Graph, stack: Stack, units: Units) -> Graph:
    """The graph of one series: a template of the same options, with what depends on data in its place."""
    total = jnp.sum(stack.weight)
    square, rate = (jnp.sum(stack.weight * jnp.square(stack.y) / part) / total for part in (1.0, stack.dt))
    persistent, duration = _persistence(stack), jnp.sum(stack.weight * stack.dt) / total
    of_noise = jnp.maximum(rate - duration * persistent, LEAST_SHARE * rate)
    unit = jnp.sqrt(of_noise * units.time) / units.scale
    amplitude = jnp.sqrt(jnp.square(jnp.square(unit) / 2) + persistent * jnp.square(units.time / units.scale))
    used = stack.weight > 0
    lower, upper = jnp.min(jnp.where(used, stack.x, jnp.inf)), jnp.max(jnp.where(used, stack.x, -jnp.inf))

    def places(graph: Graph) -> list[Any]:
        drift, _ = graph.unknown
        cubic = next(term for term in terms(drift.kernel) if isinstance(term, Cubic))
        return [graph.unit, graph.noise_unit, drift.amplitude, cubic.lower, cubic.upper]

    edges = [(edge - units.location) / units.scale for edge in (lower, upper)]
    values = [unit, square / jnp.square(units.scale), amplitude, *edges]
    pairs = zip(values, places(template), strict=True)
    return eqx.tree_at(places, template, [value.reshape(old.shape) for value, old in pairs])
