"""Kernels are tinygp's; here are those of the default prior, and kernels as several outputs and terms of a sum.

Points may have the columns of inputs after their coordinates: then what a kernel says of coordinates one by one, it
says of the first ones, and `Driven` has made the others comparable.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from tinygp import kernels
from tinygp.kernels import Kernel

from onepath.gp.parameters import AMPLITUDE, LENGTH, REACH, STRUCTURE, parameter
from onepath.numerics.linalg import constant, contract, has_floats


def for_all(values: Any, x: Array, rest: float) -> Any:
    """One value for each coordinate of a point, `rest` for those that have none of their own."""
    spare = len(x) - len(values)
    return jnp.concatenate([values, jnp.full(spare, rest)]) if spare > 0 else values


class Matern(Kernel):
    """amplitude² (1 + √5 r + 5r²/3) exp(-√5 r) with one length scale per dimension: r² = Σ ((x - x') / scale)²."""

    amplitude: Float[Array | np.ndarray, ""] = parameter(AMPLITUDE)
    scale: Float[Array | np.ndarray, " d"] = parameter(LENGTH)
    spreads: tuple[float, ...] = eqx.field(static=True, default=(1.5, 1.0))

    def evaluate(self, X1: Array, X2: Array) -> Array:
        apart = (X1 - X2) * (np.sqrt(5.0) / for_all(self.scale, X1, 1.0))
        return jnp.square(self.amplitude) * _decay(contract(apart, apart))


@jax.custom_jvp
def _decay(square: Float[Array, ""]) -> Float[Array, ""]:
    """(1 + r + r²/3) e⁻ʳ of r², which is as smooth at zero as anywhere for two derivatives."""
    r = jnp.sqrt(square)
    return (1.0 + r + square / 3.0) * jnp.exp(-r)


@jax.custom_jvp
def _first(square: Float[Array, ""]) -> Float[Array, ""]:
    r = jnp.sqrt(square)
    return (1.0 + r) * jnp.exp(-r) / -6.0


@jax.custom_jvp
def _second(square: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.exp(-jnp.sqrt(square)) / 12.0


def _third(square: Float[Array, ""]) -> Float[Array, ""]:
    """Infinite at zero, where it is multiplied by nothing."""
    r = jnp.sqrt(jnp.where(square > 0.0, square, 1.0))
    return jnp.where(square > 0.0, jnp.exp(-r) / (-24.0 * r), 0.0)


_decay.defjvps(lambda tangent, _, square: _first(square) * tangent)
_first.defjvps(lambda tangent, _, square: _second(square) * tangent)
_second.defjvps(lambda tangent, _, square: _third(square) * tangent)


class Linear(Kernel):
    """amplitude² (1 + x·x'): straight lines; written for x in standard deviations."""

    amplitude: Float[Array | np.ndarray, ""] = parameter(AMPLITUDE)
    spreads: tuple[float, ...] = eqx.field(static=True, default=(1.0,))

    def evaluate(self, X1: Array, X2: Array) -> Array:
        return jnp.square(self.amplitude) * (1.0 + contract(X1, X2))


class Cubic(Kernel):
    """amplitude² (1 + x·x' / 4)³: cubic polynomials of order 1 two standard deviations from the mean.

    Beyond the box from `lower` to `upper`, which holds the data, they stay what they are at its edge: a cubic that is
    known only inside says nothing outside.
    """

    amplitude: Float[Array | np.ndarray, ""] = parameter(AMPLITUDE)
    lower: Float[Array | np.ndarray, " d"] = parameter(STRUCTURE)
    upper: Float[Array | np.ndarray, " d"] = parameter(STRUCTURE)
    spreads: tuple[float, ...] = eqx.field(static=True, default=(1.5,))
    held: ClassVar[bool] = True

    def evaluate(self, X1: Array, X2: Array) -> Array:
        lower, upper = for_all(self.lower, X1, -jnp.inf), for_all(self.upper, X1, jnp.inf)
        X1, X2 = jnp.clip(X1, lower, upper), jnp.clip(X2, lower, upper)
        return jnp.square(self.amplitude) * (1.0 + contract(X1, X2) / 4.0) ** 3


class Driven(Kernel):
    """A kernel of state and inputs, inputs in units of how far each must move to matter.

    One that reaches far beyond where it has been does not matter to any term. The last columns of a point are inputs;
    `owners` says which of them each belongs to. Terms that stay what they are beyond the edges of the data, as cubics
    do, are `held` beyond those of inputs too.
    """

    kernel: Kernel
    reach: Float[Array | np.ndarray, " q"] = parameter(REACH)
    lower: Float[Array | np.ndarray, " k"] = parameter(STRUCTURE)
    upper: Float[Array | np.ndarray, " k"] = parameter(STRUCTURE)
    owners: tuple[int, ...] = eqx.field(static=True, default=())
    spreads: tuple[float, ...] = eqx.field(static=True, default=(1.5,))

    def evaluate(self, X1: Array, X2: Array) -> Array:
        each = [term.evaluate(*(self._seen(X, term) for X in (X1, X2))) for term in terms(self.kernel)]
        return sum(each[1:], start=each[0])

    def _seen(self, X: Array, term: Kernel) -> Array:
        d = len(X) - len(self.owners)
        inputs = jnp.clip(X[d:], self.lower, self.upper) if getattr(term, "held", False) else X[d:]
        return jnp.concatenate([X[:d], inputs / self.reach[np.array(self.owners)]])


def default_drift_kernel(lower: Float[Array | np.ndarray, " d"], upper: Float[Array | np.ndarray, " d"]) -> Kernel:
    """Simple laws as simple laws (a line, a cubic), and a smooth rest; standardised, the data from lower to upper."""
    smooth = Matern(constant(0.5), constant(np.full(len(lower), 1.5)))
    return Linear(constant(0.7)) + Cubic(constant(0.2), lower, upper) + smooth


def default_diffusion_kernel(dimension: int) -> Kernel:
    """A slope and a smooth rest, around the level that the link's offset sets; in standardised units."""
    smooth = Matern(constant(0.15), constant(np.full(dimension, 1.5)), spreads=(1.5, 0.7))
    return Linear(constant(0.15), spreads=(1.5,)) + smooth


def check_kernel(kernel: Any, role: str, dimension: int) -> None:
    """Refuse what is not a kernel, or does not take points of this dimension, before any work is done."""
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"{role} must be a tinygp kernel such as tinygp.kernels.Matern52(scale=0.5), or None for the default "
            f"prior; got {type(kernel).__name__}."
        )
    point = jnp.zeros(dimension)
    try:
        shape = jnp.shape(kernel.evaluate(point, point))
    except Exception as error:
        raise ValueError(
            f"The kernel given as {role} cannot be evaluated on points of shape ({dimension},)."
        ) from error
    if shape != ():
        raise ValueError(
            f"The kernel given as {role} returns an array of shape {shape} for one pair of points of shape "
            f"({dimension},); it must return one number. Length scales per dimension go into "
            "tinygp.transforms.Linear."
        )
    points = jnp.asarray(np.random.default_rng(0).standard_normal((64, dimension)))
    values = np.linalg.eigvalsh(np.asarray(kernel(points, points)))
    if not values[0] >= -1e-6 * values.sum():
        raise ValueError(
            f"The kernel given as {role} is no covariance in {dimension} dimensions: a sum of its values would have a "
            "negative variance. Most of tinygp's stationary kernels measure distances by L1, which is only good in one "
            "dimension; pass distance=tinygp.kernels.distance.L2Distance()."
        )


def stacked(kernel: Kernel, outputs: int) -> Kernel:
    """The same kernel for several outputs: every float parameter gets a leading axis of that size."""

    def spread(leaf: Any) -> Any:
        if not eqx.is_inexact_array_like(leaf):
            return leaf
        return constant(np.broadcast_to(leaf, (outputs, *np.shape(leaf))))

    return jax.tree.map(spread, kernel)


def outputs_of(kernel: Kernel, some: Sequence[int]) -> Kernel:
    """A stacked kernel of some of the outputs."""
    at = np.asarray(some)
    return jax.tree.map(lambda leaf: constant(leaf[at]) if eqx.is_inexact_array(leaf) else leaf, kernel)


def output(kernel: Kernel, index: int) -> Kernel:
    """The kernel of one output of a stacked kernel."""
    return jax.tree.map(lambda leaf: leaf[index] if has_floats(leaf) else leaf, kernel)


def terms(kernel: Kernel) -> tuple[Kernel, ...]:
    """The terms of a sum, however it is nested; anything else is one term."""
    if isinstance(kernel, Driven):
        return tuple(eqx.tree_at(lambda whole: whole.kernel, kernel, each) for each in terms(kernel.kernel))
    if isinstance(kernel, kernels.Sum):
        return terms(kernel.kernel1) + terms(kernel.kernel2)
    return (kernel,)
