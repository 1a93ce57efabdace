"""How much memory there is, and refusals of what would need more."""

import ctypes
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

GIGABYTE = float(1 << 30)

GROUP = Path("/sys/fs/cgroup")
LIMITS = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))
"""Files in which Linux says what a container may use and does, in the new and in the old hierarchy."""


MEMORY_VARIABLE = "ONEPATH_MEMORY"
"""Environment variable: gigabytes that a process may take at most, whatever else is free."""


def available() -> float | None:
    """Bytes that this process may still take, as far as the system or `ONEPATH_MEMORY` tells; None if none does."""
    free = [bytes_free for bytes_free in (_of_machine(), *_of_container(), _of_limit()) if bytes_free is not None]
    return min(free, default=None)


def _of_limit() -> float | None:
    try:
        return float(os.environ[MEMORY_VARIABLE]) * GIGABYTE - _taken()
    except (KeyError, ValueError):
        return None


def _taken() -> float:
    """Bytes of memory that this process has; 0 where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * int(Path("/proc/self/statm").read_text().split()[1])
    except (AttributeError, ValueError, OSError):
        return 0.0


def _of_machine() -> float | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _of_container() -> list[float | None]:
    found: list[float | None] = []
    for limit, used in LIMITS:
        try:
            found.append(float((GROUP / limit).read_text()) - float((GROUP / used).read_text()))
        except (OSError, ValueError):  # no container, or "max"
            continue
    return found


KEPT = ((-1, 1 << 27), (-3, 1 << 25))
"""Options of malloc: bytes at the end of the heap that are kept, and from which on a block is mapped by itself."""


def check_memory(what: str, needed: float, cure: str) -> None:
    """Refuse work that needs more memory than there is, with both numbers."""
    free = available()
    if free is not None and needed > free:
        raise ValueError(
            f"{what} would take {needed / GIGABYTE:.3g} GB of memory, and {free / GIGABYTE:.3g} GB are free: {cure}"
        )


@cache
def _of_c(name: str) -> Callable[..., int] | None:
    """A function of the C library, where it has that."""
    with suppress(OSError, AttributeError, TypeError):
        found: Callable[..., int] = getattr(ctypes.CDLL(None), name)
        return found
    return None


def give_back() -> None:
    """Hand memory that was freed back to the system: a compiler leaves much, in pieces that are not used again."""
    if (trim := _of_c("malloc_trim")) is not None:
        trim(0)


@cache
def keep_between_calls() -> None:
    """What is freed is kept for the next call, in a process whose memory others have set up.

    Workers of Dask hand back all but 64 kB at once, and a fit that asks for the same pages again and again takes 1.4
    times as long.
    """
    if (option := _of_c("mallopt")) is not None:
        for name, threshold in KEPT:
            option(name, threshold)
