"""Links: how an unconstrained function becomes a diffusion, and back."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array


class Link(NamedTuple):
    """An increasing function and its inverse."""

    forward: Callable[[Array], Array]
    inverse: Callable[[Array], Array]


@jax.custom_jvp
def softplus(value: Array) -> Array:
    """ln(1 + e^x)."""
    return jax.nn.softplus(value)


@softplus.defjvp
def _softplus_slope(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """The logistic function, said so that derivatives of it stay short."""
    return softplus(*primals), jax.lax.logistic(primals[0]) * tangents[0]


LINKS = {
    "softplus": Link(softplus, lambda value: value + jnp.log(-jnp.expm1(-value))),
    "exp": Link(jnp.exp, jnp.log),
    "identity": Link(lambda value: value, lambda value: value),
}
