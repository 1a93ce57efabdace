"""Who is asked for later rows, and what is looked at where nothing holds."""

from dataclasses import replace

from onepath.after.mend.bench import CUTS, Bench, Trial
from onepath.after.mend.candidates import LEAST_GAIN
from onepath.after.mend.choice import ahead, gained
from onepath.after.mend.cures import TREND, named
from onepath.after.mend.densities import difference

SCORED = 6
"""Candidates that are asked for later rows."""

HOPELESS, SURELY = 100.0, 5.0
"""ln of how much less probable than the best one, in rows that both have seen, and standard errors of that, from which
a candidate is not asked for later rows."""

LEAST_STEPS = 200
"""That leave enough to learn from and enough to foretell."""

EVERY = (2, 5, 10)
"""Rows of which one is taken, where nothing else holds."""


def scored(bench: Bench, trials: list[Trial]) -> list[Trial]:
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
    ranked.sort(key=lambda trial: -ahead(trial, plain))
    # what changes freely with time follows every row that it has seen, and foretells none by that
    steady = [trial for trial in ranked if TREND not in trial.candidate]
    reasons = {}
    for k, trial in enumerate(ranked):
        behind = _lead(steady[0], trial) if steady else 0.0
        if gained(trial, plain) <= LEAST_GAIN:
            reasons[id(trial)] = "no more probable than the plain model"
        elif behind > HOPELESS:
            reasons[id(trial)] = f"{behind:.0f} nats less probable than {named(steady[0].candidate)}"
        elif k >= SCORED:
            reasons[id(trial)] = "others are more probable"
    return reasons


def _lead(best: Trial, trial: Trial) -> float:
    """ln of how much more probable the best makes all rows; 0 where that may be an accident."""
    if best.known is None or trial.known is None or best is trial:
        return 0.0
    found = difference(best.known, trial.known)
    return gained(best, trial) if found.mean > SURELY * found.error else 0.0


def thinner(bench: Bench) -> list[Trial]:
    """The plain model at longer and longer steps, until it fits."""
    found: list[Trial] = []
    for every in EVERY:
        if len(bench.trajectory.step) // every < LEAST_STEPS or (found and found[-1].fits):
            break
        found.append(bench.thinned(every))
    return found
