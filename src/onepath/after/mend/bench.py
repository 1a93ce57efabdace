"""The bench: candidates are fitted to all rows and judged; then fitted to the first rows, and asked for later ones.

No candidate stops the others: one that cannot be fitted, or for which no time is left, says so in the table.
"""

import time
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from onepath.after.diagnose import Diagnosis, diagnose
from onepath.after.learn import learn
from onepath.after.mend.cures import Candidate, Cure, Settings, named, settings_of
from onepath.after.mend.densities import Densities, joined, row_densities
from onepath.after.mend.timer import LATE, OutOfTime, Timer
from onepath.data.parts import part_of, row_since, thinned
from onepath.data.trajectory import Trajectory
from onepath.inference.options import read_options
from onepath.model import Model

CUTS = (1 / 2, 2 / 3, 5 / 6)
"""Shares of the steps that fits for the scores learn from; each foretells the rows up to the next."""

LEAST = 100
"""Steps that a fit to a part learns from; a candidate with fewer foretells what the plain model does."""

EXPECTED = 0.5
"""Of what fits took so far: a fit for which less time is left is not begun."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One candidate and what is known of it so far."""

    candidate: Candidate
    why: str
    model: Model | None = None
    diagnosis: Diagnosis | None = None
    known: Densities | None = None  # of all rows, by the fit to all of them
    later: Densities | None = None  # of later rows, by fits to those before
    seconds: float = 0.0
    problem: str = ""

    @property
    def faults(self) -> tuple[str, ...]:
        return () if self.diagnosis is None else self.diagnosis.faults

    @property
    def fits(self) -> bool:
        return self.diagnosis is not None and self.diagnosis.fits

    @property
    def is_plain(self) -> bool:
        return not self.candidate


@dataclass(frozen=True)
class Bench:
    """Data as they were read, the settings of the plain model, and the time there is."""

    trajectory: Trajectory
    settings: Settings
    timer: Timer
    cuts: tuple[int, ...] = field(default=())  # rows at which training ends, and the last one

    def fitted(self, trajectory: Trajectory, own: Settings) -> Model:
        """A model with these settings beside the plain ones."""
        settings = self.settings | own
        options = read_options(settings, self.timer.watch, errors=trajectory.error is not None)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # of a candidate that does not do; the table has its verdict
            return learn(trajectory, settings, options, time.perf_counter())[0]

    def tried(self, candidate: Candidate, why: str) -> Trial:
        """Fitted to all rows, and diagnosed."""
        trial, begun = Trial(candidate, why), time.monotonic()
        try:
            self.timer.ask(EXPECTED * self.timer.usual())
            self.timer.say(named(candidate))
            model = self.fitted(self.trajectory, settings_of(candidate))
            problem = _nothing_found(model)
            trial = self.judged(trial, model) if not problem else replace(trial, problem=problem)
        except OutOfTime:
            trial = replace(trial, problem=LATE)
        except (ValueError, RuntimeError, ArithmeticError, TypeError) as error:
            trial = replace(trial, problem=_sentence(error))
        else:
            self.timer.pace.append(time.monotonic() - begun)
        self.timer.done += 1
        return replace(trial, seconds=time.monotonic() - begun)

    def thinned(self, every: int) -> Trial:
        """The plain model of every so manyth row; its scores would be of other rows, so it has none."""
        whole, candidate = self.trajectory, (Cure(f"every {ordinal(every)} row", {}, 0.0),)
        trial = replace(self, trajectory=thinned(whole, every)).tried(candidate, "none of the cures holds")
        return replace(
            trial, known=None, problem=trial.problem or "its steps are others, so it has no score beside them"
        )

    def judged(self, trial: Trial, model: Model) -> Trial:
        """With its diagnosis, and how dense it has all rows."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found, known = diagnose(model), self._densities(model, self._first(settings_of(trial.candidate)), None)
        if not np.all(np.isfinite(known.logs)):
            return replace(trial, problem="its densities are not finite everywhere")
        return replace(trial, model=model, diagnosis=found, known=known)

    def scored(self, trial: Trial, plain: Densities | None) -> Trial:
        """With densities of later rows: each stretch between cuts, by a fit to the rows before it.

        Where too few rows are left to learn from, as soon after a change, they are those of the `plain` model.
        """
        begun, own, parts = time.monotonic(), settings_of(trial.candidate), []
        try:
            first = self._first(own)
            for cut, end in zip(self.cuts, self.cuts[1:], strict=False):
                self.timer.ask(EXPECTED * self.timer.usual() * cut / self.cuts[-1])
                self.timer.say(f"{named(trial.candidate)}, from {cut} rows")
                if plain is not None and np.sum(self.trajectory.step[self.trajectory.step < cut - 1] >= first) < LEAST:
                    parts.append(plain.between(cut, end))
                else:
                    model = self.fitted(part_of(self.trajectory, 0, cut), own)
                    parts.append(self._densities(model, first, end).between(cut, end))
                self.timer.done += 1
        except OutOfTime:
            return self._failed(trial, begun, LATE)
        except (ValueError, RuntimeError, ArithmeticError, TypeError) as error:
            return self._failed(trial, begun, _sentence(error))
        later = joined(parts)
        if not np.all(np.isfinite(later.logs)):
            return self._failed(trial, begun, "its densities of later rows are not finite everywhere")
        return replace(trial, later=later, seconds=trial.seconds + time.monotonic() - begun)

    def _failed(self, trial: Trial, begun: float, problem: str) -> Trial:
        return replace(trial, problem=problem, seconds=trial.seconds + time.monotonic() - begun)

    def _first(self, own: Settings) -> int:
        """The first row that a candidate learns from."""
        given = own.get("since")
        return 0 if given is None else row_since(self.trajectory, given)

    def _densities(self, model: Model, first: int, end: int | None) -> Densities:
        last = len(self.trajectory.t) if end is None else end
        return row_densities(model, part_of(self.trajectory, first, last), first)


def cuts_in(trajectory: Trajectory) -> tuple[int, ...]:
    """How many rows there are before each cut, and in all."""
    step = trajectory.step
    return (*(int(step[int(share * len(step))]) + 1 for share in CUTS), len(trajectory.t))


def ordinal(number: int) -> str:
    """Such as 2nd."""
    ending = {2: "nd", 3: "rd"}.get(number, "th")
    return f"{number}{ending}"


def _nothing_found(model: Model) -> str:
    law = model.disturbance
    return "" if law is None or law.found else f"no {law.name} found"


def _sentence(error: Exception) -> str:
    text: Any = str(error).split("\n", 1)[0]
    return f"could not be fitted: {text}" if text else f"could not be fitted ({type(error).__name__})"
