"""What the commands say, and how they end: 0 done, 2 the input cannot be used, 1 something failed."""

import json
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import typer
from rich.console import Console

BAD_INPUT, FAILED = 2, 1

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str = "") -> None:
    """A line for people."""
    out.print(text, markup=False)


def note(text: str) -> None:
    """A line beside the result, on the standard error stream."""
    err.print(text, markup=False, style="dim")


def as_json(facts: dict[str, Any]) -> None:
    """One JSON object for machines; what is not finite is null."""
    sys.stdout.write(json.dumps(_plain(facts), allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


@contextmanager
def ending(as_machine: bool = False) -> Iterator[None]:
    """End with a sentence and an exit code where something cannot be done; never with a traceback for bad input."""
    try:
        yield
    except typer.Exit:
        raise
    except (ValueError, TypeError, OSError) as error:
        _complain(str(error), "bad input", as_machine)
        raise typer.Exit(BAD_INPUT) from None
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
    err.print(f"onepath: {text}", markup=False, style="bold red" if kind == "failed" else "red")
