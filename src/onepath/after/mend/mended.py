"""What mending comes to: the plain model, the one that is proposed, and the record of all that was tried."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from onepath.after.diagnose import Diagnosis
from onepath.after.mend.before import lines_of
from onepath.after.mend.bench import Bench, Trial
from onepath.after.mend.choice import against
from onepath.after.mend.cures import Settings, command_of, named, price_of, settings_of
from onepath.after.mend.timer import LATE
from onepath.after.mend.words import conclusion, table_text
from onepath.inference.tried import Mending, Tried
from onepath.model import Model

if TYPE_CHECKING:
    import pandas as pd

E = TypeVar("E")
F = TypeVar("F")


class Fitted(NamedTuple):
    """A model and the settings that it was learned with."""

    model: Model
    settings: Settings


@dataclass(frozen=True, eq=False)
class Mended(Generic[E]):
    """What came of it: the plain model, the one that is proposed in its place or None, and all that was tried."""

    record: Mending
    plain: E
    proposed: E | None
    before: Diagnosis
    after: Diagnosis  # of the proposed one; the same as before where there is none

    @property
    def best(self) -> E:
        """The proposed one, or the plain one."""
        return self.plain if self.proposed is None else self.proposed

    @property
    def table(self) -> tuple[Tried, ...]:
        """A row for each candidate, the plain model first."""
        return self.record.tried

    def frame(self) -> "pd.DataFrame":
        """The same as a pandas table, by name."""
        import pandas as pd

        rows = [one._asdict() | {"fits": one.fits, "code": one.code} for one in self.table]
        return pd.DataFrame(rows).set_index("name")

    def each(self, made: Callable[[E], F]) -> "Mended[F]":
        """The same, with something made of each model."""
        proposed = None if self.proposed is None else made(self.proposed)
        return Mended(self.record, made(self.plain), proposed, self.before, self.after)

    def __str__(self) -> str:
        return table_text(self.record)


def mended_of(bench: Bench, settings: Settings, trials: list[Trial], chosen: Trial) -> Mended[Fitted]:
    plain, which = trials[0], trials.index(chosen)
    assert plain.model is not None
    assert plain.diagnosis is not None
    scored = [trial for trial in trials if trial.later is not None]
    best = max(scored, key=lambda trial: against(trial, plain).mean, default=plain)
    rows = tuple(_row(trial, plain, best) for trial in trials)
    count = 0 if plain.later is None else len(plain.later.rows)
    before = lines_of(plain.model) if which else ()
    said = conclusion(rows, which, count, late=any(row.problem == LATE for row in rows))
    record = Mending(rows, which, said, count, bench.cuts, before)
    first = Fitted(_with(plain.model, None if which else record), settings)
    if not which:
        return Mended(record, first, None, plain.diagnosis, plain.diagnosis)
    assert chosen.model is not None
    assert chosen.diagnosis is not None
    own = settings | {"season": bench.settings["season"]} | settings_of(chosen.candidate)
    return Mended(record, first, Fitted(_with(chosen.model, record), own), plain.diagnosis, chosen.diagnosis)


def _with(model: Model, record: Mending | None) -> Model:
    """The same model, with what was tried before it was chosen; answers that it has given stay."""
    found = replace(model, mending=record)
    found.answers.update(model.answers)
    return found


def _row(trial: Trial, plain: Trial, best: Trial) -> Tried:
    settings, gain, behind = settings_of(trial.candidate), against(trial, plain), against(best, trial)
    return Tried(
        name=named(trial.candidate),
        why=trial.why,
        settings=settings,
        command=command_of(settings),
        price=price_of(trial.candidate),
        seconds=trial.seconds,
        verdict="" if trial.diagnosis is None else trial.diagnosis.verdict,
        faults=trial.faults,
        likelihood=np.nan if trial.known is None else trial.known.mean,
        score=np.nan if trial.later is None else trial.later.mean,
        gain=gain.mean,
        gain_error=gain.error,
        behind=behind.mean,
        behind_error=behind.error,
        problem=trial.problem,
    )
