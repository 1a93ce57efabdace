"""Is dX = f(X) dt + σ(X) dW the right model for these data at this step? Numbers first, then a verdict in words.

Every test is made on residuals whitened by the model's own law, so that noise which depends on the state is no fault.
"""

from dataclasses import dataclass, replace

import numpy as np

from onepath.after.diagnose.change import (
    When,
    ask_drift_change,
    ask_noise_change,
    ask_season,
    clear_season,
    in_per_cent,
    lines_of,
    without_seasons_and_changes,
)
from onepath.after.diagnose.check import LEVEL, Check, CheckResult, holm
from onepath.after.diagnose.differences import ask_differences
from onepath.after.diagnose.lags import lag_checks, lags_of
from onepath.after.diagnose.memory import ask_jumps, ask_markov
from onepath.after.diagnose.readings import ask_readings
from onepath.after.diagnose.residuals import (
    Increments,
    Residuals,
    ask_balance,
    ask_residuals,
    freed,
    whitened,
    whole_of,
)
from onepath.after.diagnose.sample import Sample
from onepath.after.diagnose.steps import ask_reach, ask_step
from onepath.after.diagnose.table import Table, tabled
from onepath.after.diagnose.waves import ask_waves
from onepath.data.parts import time_of
from onepath.data.stretches import LENGTH, MOST, rows_looked_at
from onepath.data.trajectory import Trajectory
from onepath.data.transitions import Transitions
from onepath.inference.disturbance.disturbance import since_of
from onepath.model import Model, asked_once
from onepath.numerics.arrays import Floats, Integers, evenly
from onepath.numerics.notebook import InNotebooks

__all__ = ["CheckResult", "Diagnosis", "diagnose", "diagnosis_of", "whitened"]

POINTS, BAND = 64, 0.9
"""At which the diffusion's band is looked at, and its level."""


@dataclass(frozen=True)
class Diagnosis(InNotebooks):
    """Answers to all questions, and one verdict; `faults` names the flagged questions, the most telling first."""

    verdict: str  #: in a sentence or two, "Fits" or "Does not fit" first
    questions: list[CheckResult]  #: an answer to each, in the order of asking
    faults: tuple[str, ...]  #: names of the flagged questions, the most telling first
    looked: str = ""  #: at which part of a long record; "" at all of it
    within: tuple[float, float] | None = None  #: factors of σ between which it is if readings are not quite the state

    @property
    def fits(self) -> bool:
        """Whether nothing speaks against the model."""
        return not self.faults

    def __str__(self) -> str:
        lines = [self.verdict, *([f"({self.looked})"] if self.looked else []), ""]
        for question in self.questions:
            p = "" if question.p_value != question.p_value else f"p = {question.p_value:.2g}"
            lines.append(f"{'✗' if question.flagged else '✓'} {question.name:18} {p:12} {question.verdict}")
        return "\n".join(lines)


@asked_once
def diagnose(model: Model) -> Diagnosis:
    """Put all questions to a fitted model."""
    residuals, room = residuals_in(model), _room(model)
    checks = law_checks(residuals, model.trajectory.times, room, _when(model.trajectory))
    readings = []
    if model.observed is None:
        readings = [ask_readings(model.trajectory, model.transitions, room)]
        readings += [ask_differences(residuals)] if model.period is None else []
    else:  # what readings have that states have not is what a hidden state's noise is learned from
        checks = [check._replace(within=None) for check in checks]
    found = diagnosis_of([*readings, *checks, ask_step(model, residuals), ask_reach(model)], model.equation)
    if model.trajectory.whole is not None:
        return replace(found, looked=model.trajectory.whole.told(len(residuals.z)))
    return found if residuals.sample is None else replace(found, looked=residuals.sample.told)


@asked_once
def residuals_in(model: Model) -> Residuals:
    """Residuals in the coordinates that are compared, freed of what a disturbance accounts for."""
    found = residuals_of(*_compared(model))
    if model.disturbance is None:
        return found
    since = since_of(model.trajectory)
    if found.sample is not None:
        since = since[found.sample.rows]
        since[::LENGTH] = np.inf
    return freed(found, model.disturbance, since)


def _compared(model: Model) -> tuple[Transitions, Integers, Increments]:
    """Transitions, their rows and their law, in the coordinates that are compared; of a filter's those that count.

    The law is that of a copy without answers: a model that keeps an answer that holds the model outlives its use.
    """
    transitions, row, law = model.transitions, model.trajectory.step, replace(model).increments
    if model.observed is not None and not transitions.alike:
        counted = np.flatnonzero(transitions.weight > 0)
        transitions, row = replace(transitions.rows(counted), weights=None), row[counted]
    if model.graph.compared is None:
        return transitions, row, law
    moved = np.asarray(model.graph.compared)

    def of_moved(x: Floats, dt: Floats) -> tuple[Floats, Floats]:
        mean, covariance = law(x, dt)
        return mean[:, moved], covariance[:, moved[:, None], moved]

    return replace(transitions, y=transitions.y[:, moved]), row, of_moved


def residuals_of(transitions: Transitions, row: Integers, law: Increments) -> Residuals:
    """Residuals of all transitions; of a long record those of some stretches, and sums over all where that is quick."""
    law, rows = tabled(transitions, law), rows_looked_at(len(transitions))
    if rows is None:
        return whitened(transitions, row, law)
    whole = whole_of(transitions, law, MOST) if isinstance(law, Table) else None
    sample = Sample(rows, len(transitions), float(transitions.dt.mean()), whole)
    return whitened(transitions.rows(rows), row[rows], law, sample)


def _room(model: Model) -> Floats:
    """Half of the width of the diffusion's 90 % band, as a share of it: the median over the data, (d,)."""
    points = model.transitions.rows(evenly(len(model.transitions), POINTS)).points
    lower, upper = (np.diagonal(end, axis1=1, axis2=2) for end in model.diffusion_band(points, BAND))
    if model.graph.compared is not None:
        lower, upper = (end[:, np.asarray(model.graph.compared)] for end in (lower, upper))
    return np.asarray(np.median((upper - lower) / np.maximum(upper + lower, np.finfo(float).tiny), axis=0))


def _when(trajectory: Trajectory) -> When:
    """Rows are told by their time, in one record; in several, by where they are."""
    return in_per_cent if trajectory.record[-1] > 0 else lambda _, row: time_of(trajectory, row)


def law_checks(residuals: Residuals, times: str, room: Floats | None = None, when: When = in_per_cent) -> list[Check]:
    """All that can be asked of a transition law and data alone.

    `room` (d,) is by how much of itself the diffusion may be off within its band; None is for a constant one.
    """
    if room is None:
        room = np.full(residuals.z.shape[1], 1.645 / np.sqrt(2 * residuals.total))
    lines = lines_of(residuals)
    clean = without_seasons_and_changes(residuals, clear_season(lines))
    return [
        ask_residuals(residuals),
        ask_balance(residuals),
        ask_markov(residuals),
        *lag_checks(lags_of(residuals, clean, room)),
        ask_jumps(residuals),
        ask_drift_change(residuals, when),
        ask_noise_change(residuals, when),
        ask_season(residuals, lines, times),
        ask_waves(residuals),
    ]


def diagnosis_of(checks: list[Check], equation: str = "dX = f(X) dt + σ(X) dW") -> Diagnosis:
    """Correct the p-values for the number of questions; name what says most first.

    An explanation that is not flagged has no p-value: the one it would have is that of what it does not explain.
    """

    def said(check: Check, p: float, flag: bool) -> float:
        return p if flag or check.budget is not None else np.nan

    corrected = holm(checks)
    flags = [check.matters and p < LEVEL for check, p in zip(checks, corrected, strict=True)]
    questions = [
        CheckResult(check.name, check.fault if flag else check.fine, check.statistic, said(check, p, flag), flag)
        for check, p, flag in zip(checks, corrected, flags, strict=True)
    ]
    raised = [check for check, flag in zip(checks, flags, strict=True) if flag]
    raised.sort(key=lambda check: (not check.specific, check.log_p))
    within = None if raised else next((check.within for check in checks if check.within is not None), None)
    if not raised:
        verdict = f"Fits: nothing in these data speaks against {equation} at this step."
        if within is not None:
            verdict += (
                " That readings are the state itself is taken for granted: if they may be blurred or in error, the "
                f"diffusion is {within[0]:.2f} to {within[1]:.2f} times what is shown (90 %)."
            )
    else:
        others = ", ".join(check.name for check in raised[1:])
        verdict = f"Does not fit. {raised[0].fault}" + (f" Also flagged: {others}." if others else "")
    return Diagnosis(verdict, questions, tuple(check.name for check in raised), within=within)
