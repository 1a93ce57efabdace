"""One core's work on one core: threads of a linear algebra wait for each other between many tiny calls."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any


class _Inside:
    """How many calls are under way, in all threads, and what the first of them found."""

    lock = Lock()
    calls = 0
    before: Any = None


@cache
def _controller() -> Any:
    """Knows every BLAS of this process; JAX calls SciPy's, so that one is loaded first."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """A context of linear algebra with one thread, however many the process has; the caller's own number comes back.

    The engine's matrices are small. With a thread for each core, every call waits for all of them, and where another
    program keeps one of the cores busy, a fit takes many times as long. The number is the process's: of calls in
    several threads, the first one in sets it, and the last one out restores it.
    """
    with _Inside.lock:
        if _Inside.calls == 0:
            _Inside.before = _controller().limit(limits=1, user_api="blas")
        _Inside.calls += 1
    try:
        yield
    finally:
        with _Inside.lock:
            _Inside.calls -= 1
            if _Inside.calls == 0:
                _Inside.before.restore_original_limits()


@cache
def begin_with_one_thread() -> None:
    """In a process that is one of several: JAX begins with one thread, where it would have one for each core.

    It takes as many as there are cores for the thread that begins it. All threads may use every core afterwards.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        import jax

        jax.devices()
    finally:
        os.sched_setaffinity(0, cores)
        for task in Path("/proc/self/task").glob("*"):
            with suppress(OSError):  # it has ended
                os.sched_setaffinity(int(task.name), cores)
