"""How the engine is entered: double precision and one thread, without touching the caller's own settings for good."""

import os
from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

import jax

from onepath.numerics.threads import one_thread

P = ParamSpec("P")
R = TypeVar("R")


def in_double(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function in float64 and with one thread, and leave the caller's own settings alone."""

    @wraps(function)
    def inside(*args: P.args, **kwargs: P.kwargs) -> R:
        check_platform()
        with one_thread(), jax.enable_x64(True):
            return function(*args, **kwargs)

    return inside


@cache
def check_platform() -> None:
    """Refuse to begin where JAX has been told to use a device that is not there."""
    try:
        jax.devices()
    except (RuntimeError, AssertionError) as error:
        asked = os.environ.get("JAX_PLATFORMS", "")
        raise RuntimeError(
            f"JAX has no device of the platform {asked!r} that it was told to use"
            + (f" ({error})" if str(error) else "")
            + ": unset JAX_PLATFORMS, set it to cpu, or install JAX for that platform."
        ) from None
