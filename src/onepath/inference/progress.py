"""A line that says how far learning is, once it takes longer than a second; in a log, a line now and then."""

import sys
import time
from collections.abc import Callable
from typing import Self

from onepath.data.reading import spaced

Listener = Callable[[str], object]
"""Takes what is said of how far learning is, wherever it is shown."""

EVERY, EVERY_IN_A_LOG = 0.2, 30.0
"""Seconds between two lines, on a terminal and elsewhere."""


class Progress:
    """Call it with the number of evaluations so far and the last value.

    On a terminal it writes over its own line and clears it at the end; elsewhere its lines stay. A listener, where one
    is given in place of a yes or no, is told instead, from the beginning on.
    """

    def __init__(self, shown: bool | Listener, patience: float = 1.0) -> None:
        self.listener = shown if callable(shown) else None
        self.drawn = bool(shown) and self.listener is None and sys.stderr is not None and sys.stderr.isatty()
        self.shown, self.written = bool(shown) and (self.listener is not None or sys.stderr is not None), False
        self.patience = 0.0 if self.listener is not None else patience
        self.every = EVERY if self.drawn or self.listener is not None else EVERY_IN_A_LOG

    def __enter__(self) -> Self:
        self.begun = self.last = time.monotonic()
        return self

    def __call__(self, count: int, value: float) -> None:
        self.now_and_then(lambda passed: f"learning: {count} evaluations, criterion {value:.4f}, {passed:.0f} s")

    def now_and_then(self, text: Callable[[float], str]) -> None:
        """Say what there is to say, so many seconds after it began, if nothing was said for a while."""
        now = time.monotonic()
        if not self.shown or now - self.begun < self.patience or now - self.last < self.every:
            return
        self.last = now
        self.tell(text(now - self.begun))

    def tell(self, text: str) -> None:
        """Say at once what is being done."""
        if self.listener is not None:
            self.listener(text)
        elif self.shown:
            self.written = True
            sys.stderr.write(f"\r{text} " if self.drawn else f"{text}\n")
            sys.stderr.flush()

    def __exit__(self, *_: object) -> None:
        if self.written and self.drawn:
            sys.stderr.write("\r" + 72 * " " + "\r")
            sys.stderr.flush()


def told_of(count: int, total: int | None, seconds: float, what: str = "rows") -> str:
    """How far it is, and how long it will take."""
    of = "" if total is None else f" of {spaced(total)}"
    left = "" if total is None or count == 0 else f", {seconds / count * (total - count):.0f} s to go"
    return f"{spaced(count)}{of} {what}, {seconds:.0f} s{left}"
