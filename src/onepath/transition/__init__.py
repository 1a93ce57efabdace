"""Transition laws: from drift and diffusion at a point to the Gaussian of the increment. One file a law."""

from collections.abc import Callable

from jaxtyping import Array, Float

from onepath.transition.euler import euler

Law = Callable[
    [Float[Array, " d"], Float[Array, "d d"], Float[Array, ""]], tuple[Float[Array, " d"], Float[Array, "d d"]]
]

LAWS: dict[str, Law] = {"euler": euler}

__all__ = ["LAWS", "Law", "euler"]
