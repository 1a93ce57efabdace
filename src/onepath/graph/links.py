"""Links: how an unconstrained function becomes a diffusion, and back."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array


class Link(NamedTuple):
    """An increasing function and its inverse, whose value and first two derivatives are computed with NumPy or JAX."""

    forward: Callable[[Array], Array]
    inverse: Callable[[Array], Array]
    inverse_jet: Callable[[Any, Any], tuple[Any, Any, Any]]


@jax.custom_jvp
def softplus(value: Array) -> Array:
    """ln(1 + e^x)."""
    return jax.nn.softplus(value)


@softplus.defjvp
def _softplus_slope(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """The logistic function, said so that derivatives of it stay short."""
    return softplus(*primals), jax.lax.logistic(primals[0]) * tangents[0]


def _of_softplus(value: Any, xp: Any) -> tuple[Any, Any, Any]:
    """y + ln(1 - e⁻ʸ), with slope 1 / (1 - e⁻ʸ)."""
    rest = -xp.expm1(-value)
    return value + xp.log(rest), 1.0 / rest, (rest - 1.0) / (rest * rest)


def _of_exp(value: Any, xp: Any) -> tuple[Any, Any, Any]:
    return xp.log(value), 1.0 / value, -1.0 / (value * value)


def _of_identity(value: Any, xp: Any) -> tuple[Any, Any, Any]:
    return value, xp.ones_like(value), xp.zeros_like(value)


LINKS = {
    "softplus": Link(softplus, lambda value: value + jnp.log(-jnp.expm1(-value)), _of_softplus),
    "exp": Link(jnp.exp, jnp.log, _of_exp),
    "identity": Link(lambda value: value, lambda value: value, _of_identity),
}
