"""One core's work on one core: threads of a linear algebra wait for each other between many tiny calls."""

from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    """Knows every BLAS of this process; JAX calls SciPy's, so that one is loaded first."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread() -> Any:
    """A context of linear algebra with one thread, however many the process has; the caller's own number comes back.

    The engine's matrices are small. With a thread for each core, every call waits for all of them, and where another
    program keeps one of the cores busy, a fit takes many times as long.
    """
    return _controller().limit(limits=1, user_api="blas")
