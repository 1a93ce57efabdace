"""The choice: the simplest candidate whose verdict is clear and that foretells later rows about as well as the best."""

import numpy as np

from onepath.after.mend.bench import Trial
from onepath.after.mend.cures import price_of
from onepath.after.mend.densities import Difference, difference

NEAR = 1.0
"""Standard errors by which a score may be behind the best one."""

SURE = 3.0
"""Standard errors by which a candidate must foretell better for more faults of its own not to count."""

CLEARLY = 10.0
"""ln of how much more probable all rows must be, for each unit of price, for a candidate to beat a simpler one that
foretells later rows about as well: so blur, velocity and season are told apart where predictions are much the same."""


def choose(trials: list[Trial]) -> Trial:
    """The plain model, which is the first of them, or the one to propose in its place."""
    plain, scored = trials[0], [trial for trial in trials if trial.later is not None]
    if plain.later is None or len(scored) < 2:
        return plain
    best = max(scored, key=lambda trial: against(trial, plain).mean)
    near = [trial for trial in scored if trial is best or _is_near(trial, best)]
    better = [trial for trial in near if not trial.is_plain and _is_better(trial, plain)]
    if not better or (plain in near and (plain.fits or not any(trial.fits for trial in better))):
        return plain
    clear = [trial for trial in better if trial.fits] or better
    chosen = min(clear, key=lambda trial: price_of(trial.candidate))
    return max(clear, key=lambda trial: _worth(trial, chosen))


def against(trial: Trial, other: Trial) -> Difference:
    """By how much it foretells later rows better."""
    if trial.later is None or other.later is None:
        return Difference(np.nan, np.nan)
    return difference(trial.later, other.later)


def _is_near(trial: Trial, best: Trial) -> bool:
    lack = against(best, trial)
    return lack.mean <= NEAR * lack.error


def _is_better(trial: Trial, plain: Trial) -> bool:
    """It foretells better, and its own diagnosis is not worse: unless it foretells so much better that this is sure.

    One large fault may hide others.
    """
    gain = against(trial, plain)
    return gain.mean > 0.0 and (len(trial.faults) <= len(plain.faults) or gain.mean > SURE * gain.error)


def _worth(trial: Trial, simplest: Trial) -> float:
    """How much more probable it makes all rows than the simplest one, less what its price asks for."""
    if trial is simplest:
        return 0.0
    dearer = price_of(trial.candidate) - price_of(simplest.candidate)
    return gained(trial, simplest) - CLEARLY * max(dearer, 1.0)


def gained(trial: Trial, plain: Trial) -> float:
    """ln of how much more probable it makes the rows that both know."""
    if trial.known is None or plain.known is None:
        return -np.inf
    rows = len(np.intersect1d(trial.known.rows, plain.known.rows))
    return difference(trial.known, plain.known).mean * rows


def ahead(trial: Trial, plain: Trial) -> float:
    """ln of how much more probable it makes a row."""
    return -np.inf if trial.known is None or plain.known is None else difference(trial.known, plain.known).mean
