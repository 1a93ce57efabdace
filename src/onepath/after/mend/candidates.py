"""Which candidates there are: what was asked for, what a verdict suggests, and what the first of them leave."""

from collections.abc import Sequence

from onepath.after.diagnose import residuals_in
from onepath.after.diagnose.scan import drift_change, noise_change
from onepath.after.diagnose.seasons import season_in
from onepath.after.mend.bench import Trial
from onepath.after.mend.choice import gained
from onepath.after.mend.cures import (
    NOISE,
    VELOCITY,
    Candidate,
    Cure,
    Settings,
    for_faults,
    named,
    refined,
    season,
    settings_of,
    since,
    together,
)
from onepath.after.mend.presets import PRESETS
from onepath.data.parts import time_of

WIDE = 3
"""Candidates whose own faults suggest a second cure, and cures that each of them suggests."""

LEAST_GAIN = 3.0
"""ln of how much more probable a candidate must make all rows, which it has seen, to be taken further."""


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
    hopeful = [trial for trial in singles if gained(trial, plain) > LEAST_GAIN]
    hopeful.sort(key=lambda trial: -gained(trial, plain))
    tried, found = {_key(trial.candidate) for trial in trials}, []

    def add(candidate: Candidate | None, why: str) -> None:
        if candidate is not None and len(candidate) < 3 and _key(candidate) not in tried:
            tried.add(_key(candidate))
            found.append((candidate, why))

    for cure in _found_in(plain).values() if hopeful and hopeful[0].fits else ():
        # one fault may drown in what undoes another, and is no less there for that: a year among noisy readings
        add(together(hopeful[0].candidate, cure), "flagged beside it")
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
