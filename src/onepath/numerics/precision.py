"""How the engine is entered: double precision and one thread, without touching the caller's own settings for good."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
        with _in_this_thread():
            jax.devices()
    except (RuntimeError, AssertionError) as error:
        asked = os.environ.get("JAX_PLATFORMS", "")
        raise RuntimeError(
            f"JAX has no device of the platform {asked!r} that it was told to use"
            + (f" ({error})" if str(error) else "")
            + ": unset JAX_PLATFORMS, set it to cpu, or install JAX for that platform."
        ) from None


ASYNC = "jax_cpu_enable_async_dispatch"


@contextmanager
def _in_this_thread() -> Iterator[None]:
    """Programs of JAX that is started here run in the thread that calls them, on the CPU.

    Those of a fit take some microseconds: to hand them to another thread and wait takes as long again, and much longer
    where other programs are busy. Where JAX has been started before, it stays as it is.
    """
    before = jax.config.values.get(ASYNC)
    if before is not None:
        jax.config.update(ASYNC, False)
    try:
        yield
    finally:
        if before is not None:
            jax.config.update(ASYNC, before)
