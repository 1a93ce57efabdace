"""What the commands say, and how they end: 0 done, 1 something failed, 2 bad input, 3 a model that does not fit."""

import errno
import io
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import typer
from rich.console import Console

from onepath.data.reading import printable
from onepath.inference.progress import Progress
from onepath.io.errors import Unwritten

BAD_INPUT, FAILED, REFUTED = 2, 1, 3

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

_unheard: list[OSError] = []
"""Why the standard output could not be written, once it could not."""


def say(text: str = "") -> None:
    """A line for people."""
    _aloud(lambda: out.print(_clean(text), markup=False))


def note(text: str) -> None:
    """A line beside the result, on the standard error stream."""
    err.print(_clean(text), markup=False, style="dim")


@contextmanager
def telling(doing: str, shown: bool = True) -> Iterator[None]:
    """What is being done, on the standard error stream: on a terminal until it is done, in a log a line that stays."""
    with Progress(shown) as progress:
        progress.tell(doing)
        yield


def emit(text: str) -> None:
    """Text as it is, for machines."""
    _aloud(lambda: sys.stdout.write(text))


def as_json(facts: dict[str, Any]) -> None:
    """One JSON object for machines; what is not finite is null."""
    emit(json.dumps(plain(facts), allow_nan=False) + "\n")


def _clean(text: str) -> str:
    """Lines without control characters: names come from files."""
    return "\n".join(printable(line) for line in text.split("\n"))


def prepare_streams() -> None:
    """Streams that take every text: what their encoding lacks is written as \\u2026, and a closed one is nowhere."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    if sys.stdout is None:
        _give_up(OSError(errno.EBADF, "it is closed"))


def _aloud(write: Callable[[], object]) -> None:
    """Write to the standard output. Where that fails the work goes on, for its files are still wanted."""
    try:
        write()
        sys.stdout.flush()
    except OSError as error:
        _give_up(error)


def _give_up(error: OSError) -> None:
    _unheard.append(error)
    with suppress(OSError, AttributeError, io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains at its end
    sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115


def _end_unheard() -> None:
    """A reader that has gone, such as head, is told nothing; a full disk is."""
    if not _unheard:
        return
    error, *_ = _unheard
    _unheard.clear()
    if error.errno != errno.EPIPE:
        err.print(f"onepath: the standard output could not be written ({error.strerror})", markup=False, style="red")
    raise typer.Exit(FAILED)


def plain(value: Any) -> Any:
    """As JSON has it; what is not finite is null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


@contextmanager
def ending(as_machine: bool = False) -> Iterator[None]:
    """End with a sentence and an exit code where something cannot be done; never with a traceback for bad input."""
    try:
        yield
        _end_unheard()
    except typer.Exit:
        raise
    except Unwritten as error:
        _complain(str(error), "failed", as_machine)
        raise typer.Exit(FAILED) from None
    except (ValueError, TypeError, OSError) as error:
        _complain(str(error), "bad input", as_machine)
        raise typer.Exit(BAD_INPUT) from None
    except ModuleNotFoundError as error:
        _complain(str(error), "failed", as_machine)
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        err.print("stopped", markup=False)
        raise typer.Exit(130) from None
    except Exception as error:
        _complain(f"{type(error).__name__}: {error}", "failed", as_machine)
        if not isinstance(error, RuntimeError | MemoryError):
            last = traceback.extract_tb(error.__traceback__)[-1]
            note(f"This is a fault of onepath's, at {last.name} ({last.filename}:{last.lineno}). Please report it.")
        raise typer.Exit(FAILED) from None


def _complain(text: str, kind: str, as_machine: bool) -> None:
    if as_machine:
        as_json({"error": text, "kind": kind})
    err.print(_clean(f"onepath: {text}"), markup=False, style="bold red" if kind == "failed" else "red")
