"""How the engine is entered: double precision and one thread, without touching the caller's own settings for good."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import jax

from onepath.numerics.threads import one_thread

P = ParamSpec("P")
R = TypeVar("R")


def in_double(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function in float64 and with one thread, and leave the caller's own settings alone."""

    @wraps(function)
    def inside(*args: P.args, **kwargs: P.kwargs) -> R:
        with one_thread(), jax.enable_x64(True):
            return function(*args, **kwargs)

    return inside
