"""What was tried before a model was chosen: numbers and words that travel with it."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from onepath.numerics.arrays import Floats


class Tried(NamedTuple):
    """One candidate. Numbers are NaN where there are none; `problem` says why.

    Scores are mean log densities of later rows, in the data's units, by fits to the rows before them.
    """

    name: str
    why: str  # the questions whose answers suggested it
    settings: dict[str, Any]  # of SDE, beside those of the plain model
    command: str  # the same as options of the command
    price: float  # how much it complicates the model
    seconds: float
    verdict: str = ""
    faults: tuple[str, ...] = ()
    likelihood: float = np.nan  # mean log density of all rows, by the fit to all of them
    score: float = np.nan
    gain: float = np.nan  # of the score, over the plain model's on the same rows
    gain_error: float = np.nan
    behind: float = np.nan  # what it lacks to the best score
    behind_error: float = np.nan
    problem: str = ""

    @property
    def fits(self) -> bool:
        return bool(self.verdict) and not self.faults

    @property
    def code(self) -> str:
        """What to type in Python."""
        return f"SDE({', '.join(f'{name}={value!r}' for name, value in self.settings.items())})"


class Line(NamedTuple):
    """Drift and noise of the plain model along one coordinate: mean and ends of the 90 % band, (3, n) each."""

    points: Floats  # (n, d)
    drift: Floats
    noise: Floats


@dataclass(frozen=True, eq=False)
class Mending:
    """All candidates, the plain model first, and which of them was proposed."""

    tried: tuple[Tried, ...]
    chosen: int  # which of them the model is; 0 is the plain one
    said: str  # what came of it, in a sentence or two
    rows: int  # later rows that scores are of
    cuts: tuple[int, ...]  # rows at which fits for the scores ended
    before: tuple[Line, ...] = ()

    @property
    def plain(self) -> Tried:
        return self.tried[0]

    @property
    def proposed(self) -> Tried | None:
        """None where nothing is proposed."""
        return self.tried[self.chosen] if self.chosen else None
