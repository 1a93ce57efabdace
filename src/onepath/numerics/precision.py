"""Double precision, without touching the caller's own settings for good."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import jax

P = ParamSpec("P")
R = TypeVar("R")


def in_double(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function in float64, and leave the caller's own JAX settings alone."""

    @wraps(function)
    def inside(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return inside
