"""From verdict to cure: what the diagnosis of a fit suggests is tried, compared fairly, and one is proposed, or none.

diagnosis → cures, alone → each fitted and diagnosed → pairs that their faults suggest → later rows → choice
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from onepath.after.diagnose import Diagnosis, residuals_in
from onepath.after.diagnose.scan import drift_change, noise_change
from onepath.after.diagnose.seasons import season_in
from onepath.after.mend.before import lines_of
from onepath.after.mend.bench import CUTS, Bench, Trial, cuts_in
from onepath.after.mend.choice import against, choose
from onepath.after.mend.cures import (
    NOISE,
    TREND,
    VELOCITY,
    Candidate,
    Cure,
    Settings,
    command_of,
    for_faults,
    named,
    price_of,
    refined,
    season,
    settings_of,
    since,
    together,
)
from onepath.after.mend.densities import difference
from onepath.after.mend.presets import PRESETS, Preset
from onepath.after.mend.timer import Stage, Tell, Timer, shown_by
from onepath.after.mend.words import conclusion, table_text
from onepath.data.parts import time_of, without_clockwork
from onepath.inference.tried import Mending, Tried
from onepath.model import Model
from onepath.numerics.checks import check_not_negative

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PRESETS", "Fitted", "Mended", "Preset", "Stage", "Tell", "mend", "shown_by"]

BUDGET = 180.0
"""Seconds."""

WIDE, SCORED = 3, 6
"""Candidates whose own faults suggest a second cure, and candidates that are asked for later rows."""

LEAST_GAIN = 3.0
"""ln of how much more probable a candidate must make all rows, which it has seen, to be asked for later ones."""

HOPELESS, SURELY = 100.0, 5.0
"""ln of how much less probable than the best one, in rows that both have seen, and standard errors of that, from which
a candidate is not asked for later rows."""

LEAST_STEPS = 200
"""That leave enough to learn from and enough to foretell."""

OF_THE_STEP = ("blur", "hidden velocity", "longer steps", "markov")
"""Faults that may be gone at longer steps."""

EVERY = (2, 5, 10)
"""Rows of which one is taken, where nothing else holds."""

HOPELESSLY = "differences"
"""A fault of the series itself: of differences nothing is learned but that they are."""

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


def mend(
    model: Model,
    settings: Settings,
    *,
    cures: Sequence[Settings] = (),
    preset: str | None = None,
    budget: float = BUDGET,
    tell: Tell | None = None,
) -> Mended[Fitted]:
    """Try what the diagnosis of a model suggests, and what was asked for: `cures`, settings, or a `preset`'s."""
    check_not_negative("budget", budget)
    asked = asked_for(cures, preset)
    timer = Timer(budget, tell)
    trajectory = without_clockwork(model.trajectory)
    # rows before `since` are gone already, and a season has been found
    given = {"since": None, "season": _season_of(model)}
    bench = Bench(trajectory, settings | given, timer)
    timer.pace.append(model.seconds)
    plain = bench.judged(Trial((), ""), model)
    if plain.model is None:
        raise ValueError(f"There is nothing to mend: {plain.problem} under the plain model")
    if not asked and (plain.fits or HOPELESSLY in plain.faults):
        return _mended(bench, settings, [plain], plain)
    if len(model.transitions) < LEAST_STEPS:
        raise ValueError(
            f"{len(model.transitions)} steps are too few to compare models by: mending takes {LEAST_STEPS}, to learn "
            "from the first half and to foretell the second"
        )
    bench = replace(bench, cuts=cuts_in(trajectory))
    first = suggested(plain, asked)
    timer.total = (1 + len(CUTS)) * min(len(first) + 2, SCORED) + len(CUTS)
    trials = [plain, *(bench.tried(candidate, why) for candidate, why in first)]
    trials += [bench.tried(candidate, why) for candidate, why in seconds(trials)]
    trials = _scored(bench, trials)
    chosen = choose(trials)
    if not chosen.fits and set(plain.faults) & set(OF_THE_STEP):
        trials += _thinner(bench)
    return _mended(bench, settings, trials, chosen)


def asked_for(cures: Sequence[Settings], preset: str | None) -> list[Candidate]:
    """Candidates that a user asks for."""
    if preset is not None and preset not in PRESETS:
        raise ValueError(f"preset={preset!r} is not known. Choose one of {', '.join(map(repr, PRESETS))}.")
    given = [(Cure(", ".join(f"{k}={v!r}" for k, v in each.items()), dict(each), 2.0),) for each in cures]
    return [*given, *(() if preset is None else PRESETS[preset].candidates)]


def suggested(plain: Trial, asked: list[Candidate]) -> list[tuple[Candidate, str]]:
    """The first candidates, each with the faults that suggest it: what was asked for, and single cures."""
    found = [(candidate, "asked for") for candidate in asked]
    own, already = _found_in(plain), {_key(candidate) for candidate in asked}
    for cure in for_faults(plain.faults, own.values()):
        candidate = together((), cure)
        if candidate is not None and _key(candidate) not in already:
            why = [fault for fault in plain.faults if cure in for_faults([fault], [own[fault]] if fault in own else [])]
            found.append((candidate, ", ".join(why)))
    return found


def seconds(trials: list[Trial]) -> list[tuple[Candidate, str]]:
    """What the faults suggest that the most probable candidates leave: the same told more exactly, and pairs."""
    plain, singles = trials[0], trials[1:]
    hopeful = [trial for trial in singles if _gained(trial, plain) > LEAST_GAIN]
    hopeful.sort(key=lambda trial: -_gained(trial, plain))
    tried, found = {_key(trial.candidate) for trial in trials}, []

    def add(candidate: Candidate | None, why: str) -> None:
        if candidate is not None and len(candidate) < 3 and _key(candidate) not in tried:
            tried.add(_key(candidate))
            found.append((candidate, why))

    for trial in hopeful[:WIDE] if not any(trial.fits for trial in hopeful[:1]) else []:
        left = f"{named(trial.candidate)} leaves {', '.join(trial.faults)}"
        for candidate in refined(trial.candidate, trial.faults):
            add(candidate, left)
        for cure in for_faults(trial.faults, _found_in(trial).values())[:WIDE]:
            add(together(trial.candidate, cure), left)
    for trial in singles:  # a velocity cannot be told from positions that are in error
        if trial.candidate == (VELOCITY,) and not trial.fits:
            add((VELOCITY, NOISE), "hidden velocity")
    return found


def _key(candidate: Candidate) -> frozenset[tuple[str, str]]:
    """The same for the same settings, in whatever order."""
    return frozenset((name, repr(value)) for name, value in settings_of(candidate).items())


def _found_in(trial: Trial) -> dict[str, Cure]:
    """Cures that the residuals themselves name: the period of a season, the time of a change."""
    found: dict[str, Cure] = {}
    if trial.model is None:
        return found
    if "season" in trial.faults and (period := season_in(trial.model)) is not None:
        found["season"] = season(period)
    changes = {"drift over time": drift_change, "noise over time": noise_change}
    for fault, scan in changes.items():
        if fault in trial.faults and not found.keys() & changes.keys() and trial.model.trajectory.record[-1] == 0:
            found[fault] = since(time_of(trial.model.trajectory, scan(residuals_in(trial.model)).row))
    return found


def _gained(trial: Trial, plain: Trial) -> float:
    """ln of how much more probable it makes the rows that both know."""
    if trial.known is None or plain.known is None:
        return -np.inf
    rows = len(np.intersect1d(trial.known.rows, plain.known.rows))
    return difference(trial.known, plain.known).mean * rows


def _scored(bench: Bench, trials: list[Trial]) -> list[Trial]:
    """The plain model and the candidates that may be best, with densities of later rows."""
    plain = bench.scored(trials[0], None)
    reasons = _left_out(trials)
    hopeful = [trial for trial in trials[1:] if trial.known is not None and id(trial) not in reasons]
    bench.timer.total = bench.timer.done + len(CUTS) * len(hopeful)
    found = []
    for trial in trials[1:]:
        if trial.known is None or plain.later is None:
            found.append(trial)
        elif id(trial) in reasons:
            found.append(replace(trial, problem=reasons[id(trial)]))
        else:
            found.append(bench.scored(trial, plain.later))
    return [plain, *found]


def _left_out(trials: list[Trial]) -> dict[int, str]:
    """Why candidates need not be asked for later rows: by rows that they have seen, which flatter all of them."""
    plain = trials[0]
    ranked = [trial for trial in trials[1:] if trial.known is not None]
    ranked.sort(key=lambda trial: -_ahead(trial, plain))
    # what changes freely with time follows every row that it has seen, and foretells none by that
    steady = [trial for trial in ranked if TREND not in trial.candidate]
    reasons = {}
    for k, trial in enumerate(ranked):
        behind = _lead(steady[0], trial) if steady else 0.0
        if _gained(trial, plain) <= LEAST_GAIN:
            reasons[id(trial)] = "no more probable than the plain model"
        elif behind > HOPELESS:
            reasons[id(trial)] = f"{behind:.0f} nats less probable than {named(steady[0].candidate)}"
        elif k >= SCORED:
            reasons[id(trial)] = "others are more probable"
    return reasons


def _ahead(trial: Trial, plain: Trial) -> float:
    """ln of how much more probable it makes a row."""
    return -np.inf if trial.known is None or plain.known is None else difference(trial.known, plain.known).mean


def _lead(best: Trial, trial: Trial) -> float:
    """ln of how much more probable the best makes all rows; 0 where that may be an accident."""
    if best.known is None or trial.known is None or best is trial:
        return 0.0
    found = difference(best.known, trial.known)
    return _gained(best, trial) if found.mean > SURELY * found.error else 0.0


def _thinner(bench: Bench) -> list[Trial]:
    """The plain model at longer and longer steps, until it fits."""
    found: list[Trial] = []
    for every in EVERY:
        if len(bench.trajectory.step) // every < LEAST_STEPS or (found and found[-1].fits):
            break
        found.append(bench.thinned(every))
    return found


def _season_of(model: Model) -> Any:
    """The period that a model has, found or given."""
    return next((one.period for one in model.variables if one.name == "season" and one.period), None)


def _mended(bench: Bench, settings: Settings, trials: list[Trial], chosen: Trial) -> Mended[Fitted]:
    plain, which = trials[0], trials.index(chosen)
    assert plain.model is not None
    assert plain.diagnosis is not None
    scored = [trial for trial in trials if trial.later is not None]
    best = max(scored, key=lambda trial: against(trial, plain).mean, default=plain)
    rows = tuple(_row(trial, plain, best) for trial in trials)
    count = 0 if plain.later is None else len(plain.later.rows)
    before = lines_of(plain.model) if which else ()
    said = conclusion(rows, which, count, bench.timer.left < 0)
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
