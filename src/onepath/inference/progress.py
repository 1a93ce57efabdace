"""A line that says how far learning is, once it takes longer than a second."""

import sys
import time
from typing import Self


class Progress:
    """Call it with the number of evaluations so far and the last value; it writes over its own line and clears it."""

    def __init__(self, shown: bool, patience: float = 1.0) -> None:
        self.shown, self.patience, self.written = shown, patience, False

    def __enter__(self) -> Self:
        self.begun = self.last = time.monotonic()
        return self

    def __call__(self, count: int, value: float) -> None:
        now = time.monotonic()
        if not self.shown or now - self.begun < self.patience or now - self.last < 0.2:
            return
        self.last, self.written = now, True
        sys.stderr.write(f"\rlearning: {count} evaluations, criterion {value:.4f}, {now - self.begun:.0f} s ")
        sys.stderr.flush()

    def __exit__(self, *_: object) -> None:
        if self.written:
            sys.stderr.write("\r" + 72 * " " + "\r")
            sys.stderr.flush()
