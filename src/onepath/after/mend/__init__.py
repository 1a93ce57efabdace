"""From verdict to cure: what the diagnosis of a fit suggests is tried, compared fairly, and one is proposed, or none.

diagnosis → cures, alone → each fitted and diagnosed → pairs that their faults suggest → later rows → choice
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from onepath.after.mend.bench import CUTS, Bench, Trial, cuts_in
from onepath.after.mend.candidates import asked_for, seconds, suggested
from onepath.after.mend.choice import choose
from onepath.after.mend.cures import Settings
from onepath.after.mend.mended import Fitted, Mended, mended_of
from onepath.after.mend.presets import PRESETS, Preset
from onepath.after.mend.scoring import LEAST_STEPS, SCORED, scored, thinner
from onepath.after.mend.timer import Stage, Tell, Timer, shown_by
from onepath.data.parts import without_clockwork
from onepath.model import Model
from onepath.numerics.checks import check_not_negative

__all__ = ["PRESETS", "Fitted", "Mended", "Preset", "Stage", "Tell", "mend", "shown_by"]

BUDGET = 180.0
"""Seconds."""

OF_THE_STEP = ("blur", "hidden velocity", "longer steps", "markov")
"""Faults that may be gone at longer steps."""

HOPELESSLY = "differences"
"""A fault of the series itself: of differences nothing is learned but that they are."""


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
    unknown = [name for each in cures for name in each if name not in settings]
    if unknown:
        raise ValueError(
            f"cures name {', '.join(unknown)}, which SDE has no setting for. It has {', '.join(settings)}."
        )
    if model.trajectory.whole is not None:
        raise ValueError("A stream passed by once, and models are compared by rows in memory: mend a fit to a part")
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
        return mended_of(bench, settings, [plain], plain)
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
    trials = scored(bench, trials)
    chosen = choose(trials)
    if not chosen.fits and set(plain.faults) & set(OF_THE_STEP):
        trials += thinner(bench)
    return mended_of(bench, settings, trials, chosen)


def _season_of(model: Model) -> Any:
    """The period that a model has, found or given."""
    return next((one.period for one in model.variables if one.name == "season" and one.period), None)
