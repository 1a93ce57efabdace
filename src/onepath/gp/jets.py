"""A function near a point: value, slopes and second derivatives, which are all that a transition law may ask for."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class Jet(NamedTuple):
    """Value g, slopes ∂_k g and second derivatives ∂_k ∂_l g, whose axes lead; the latter two may be unknown."""

    value: Float[Array, "..."]  #: g(x)
    slope: Float[Array, "d ..."] | None = None  #: ∂_k g(x); None if unknown
    bend: Float[Array, "d d ..."] | None = None  #: ∂_k ∂_l g(x); None if unknown

    @property
    def derivatives(self) -> tuple[Float[Array, "d ..."], Float[Array, "d d ..."]]:
        """Slopes and second derivatives, which must be known."""
        if self.slope is None or self.bend is None:
            raise ValueError("This jet holds a value alone; a law of order 2 needs derivatives too.")
        return self.slope, self.bend


def in_parts(jet: Jet, act: Callable[[Array], Array]) -> Jet:
    """What a linear map that leaves the leading axes alone makes of a jet."""
    return Jet(*(None if part is None else act(part) for part in jet))  # type: ignore[arg-type]


def jet_of(function: Callable[[Array], Array], x: Float[Array, " dq"], along: int | None = None) -> Jet:
    """The jet of a function at a point: derivatives along its first coordinates, all of them if None."""
    if along is not None and along < len(x):
        return jet_of(lambda moved: function(jnp.concatenate([moved, x[along:]])), x[:along])

    def value(x: Array) -> tuple[Array, Array]:
        result = function(x)
        return result, result

    def slope(x: Array) -> tuple[Array, tuple[Array, Array]]:
        result, of_value = jax.jacfwd(value, has_aux=True)(x)
        return result, (result, of_value)

    bend, (first, zeroth) = jax.jacfwd(slope, has_aux=True)(x)
    return Jet(zeroth, jnp.moveaxis(first, -1, 0), jnp.moveaxis(bend, (-2, -1), (0, 1)))


def packed(jet: Jet) -> Float[Array, "k ..."]:
    """A jet as one array: the value, the slopes, and the upper triangle of second derivatives."""
    slope, bend = jet.derivatives
    return jnp.concatenate([jet.value[None], slope, bend[np.triu_indices(len(slope))]])


def unpacked(array: Float[Array, "k ..."], dimension: int) -> Jet:
    """The jet of such an array, which may hold the value alone."""
    if len(array) == 1:
        return Jet(array[0])
    pairs = [(i, j) for i in range(dimension) for j in range(i, dimension)]
    second = dict(zip(pairs, array[1 + dimension :], strict=True))
    axes = range(dimension)
    bend = jnp.stack([jnp.stack([second[min(i, j), max(i, j)] for j in axes]) for i in axes])
    return Jet(array[0], array[1 : 1 + dimension], bend)
