"""Transition laws: from drift and diffusion near a point to the Gaussian of the increment. One file a law."""

from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import Array, Float

from onepath.jets import Jet
from onepath.transition.euler import euler
from onepath.transition.linearised import linearised


class Law(NamedTuple):
    """(drift, diffusion, Δt) → mean and covariance of the increment; derivatives up to `order` (0 or 2) are used."""

    gaussian: Callable[[Jet, Jet, Float[Array, ""]], tuple[Float[Array, " d"], Float[Array, "d d"]]]
    order: int


LAWS = {"euler": Law(euler, 0), "linearised": Law(linearised, 2)}

__all__ = ["LAWS", "Law"]
