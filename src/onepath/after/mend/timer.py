"""A budget of time that is kept, and progress towards its end."""

import time
from collections.abc import Callable
from typing import NamedTuple

from onepath.inference.progress import Progress

LATE = "out of time"
"""What is said of a candidate for which there was none left."""


class OutOfTime(Exception):
    """The budget is spent."""


class Stage(NamedTuple):
    """How far mending is: what is being fitted, how many fits are done, and about how long the rest takes."""

    doing: str
    done: int
    total: int  # as far as is known; it grows where a candidate leaves faults
    seconds: float  # so far
    left: float  # about

    @property
    def said(self) -> str:
        """In a line."""
        return f"mending: {self.doing}, fit {self.done + 1} of about {self.total}; about {self.left:.0f} s left"


Tell = Callable[[Stage], None]


def shown_by(line: Progress) -> Tell:
    """On the line that learning has: on a terminal at every fit, in a log now and then."""
    last = [-line.every]

    def tell(stage: Stage) -> None:
        if line.drawn or stage.seconds >= last[0] + line.every:
            last[0] = stage.seconds
            line.tell(stage.said.ljust(72))

    return tell


class Timer:
    """Stops a search for parameters at the deadline, and knows about how long a fit takes."""

    def __init__(self, budget: float, tell: Tell | None) -> None:
        self.begun, self.budget, self.tell = time.monotonic(), budget, tell
        self.done, self.total = 0, 0
        self.pace: list[float] = []  # seconds for each fit to all rows

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begun

    @property
    def left(self) -> float:
        return self.budget - self.seconds

    def watch(self, count: int, value: float) -> None:  # noqa: ARG002 (what a search tells)
        """What a search calls at every evaluation."""
        if self.left < 0:
            raise OutOfTime

    def usual(self) -> float:
        """Seconds that a fit to all rows takes, about."""
        return sum(self.pace) / len(self.pace) if self.pace else 0.0

    def ask(self, expected: float) -> None:
        """Refuse to begin what would not end in time."""
        if self.left < expected:
            raise OutOfTime

    def say(self, doing: str) -> None:
        if self.tell is not None:
            rest = min(max(self.total - self.done, 0) * self.usual(), self.left)
            self.tell(Stage(doing, self.done, self.total, self.seconds, rest))
