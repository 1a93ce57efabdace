"""Is dX = f(X) dt + σ(X) dW the right model for these data at this step? Numbers first, then a verdict in words.

Every test is made on residuals whitened by the model's own law, so that noise which depends on the state is no fault.
"""

from dataclasses import dataclass

from onepath.after.diagnose.change import (
    ask_drift_change,
    ask_noise_change,
    ask_season,
    cycles_of,
    without_seasons_and_changes,
)
from onepath.after.diagnose.check import LEVEL, Check, CheckResult, holm
from onepath.after.diagnose.memory import ask_inertia, ask_jumps, ask_markov, ask_noise
from onepath.after.diagnose.residuals import Residuals, ask_residuals, whitened
from onepath.after.diagnose.steps import ask_reach, ask_step
from onepath.after.diagnose.waves import ask_waves
from onepath.model import Model, asked_once

__all__ = ["CheckResult", "Diagnosis", "diagnose", "diagnosis_of", "whitened"]


@dataclass(frozen=True)
class Diagnosis:
    """Answers to all questions, and one verdict; `faults` names the flagged questions, the most telling first."""

    verdict: str
    questions: list[CheckResult]
    faults: tuple[str, ...]

    def __str__(self) -> str:
        lines = [self.verdict, ""]
        for question in self.questions:
            p = "" if question.p_value != question.p_value else f"p = {question.p_value:.2g}"
            lines.append(f"{'✗' if question.flagged else '✓'} {question.name:18} {p:12} {question.verdict}")
        return "\n".join(lines)


@asked_once
def diagnose(model: Model) -> Diagnosis:
    """Put all questions to a fitted model."""
    residuals = whitened(model.transitions, model.trajectory.step, model.increments)
    checks = law_checks(residuals, model.trajectory.times)
    return diagnosis_of([*checks, ask_step(model, residuals), ask_reach(model, residuals)])


def law_checks(residuals: Residuals, times: str) -> list[Check]:
    """All that can be asked of a transition law and data alone."""
    clean = without_seasons_and_changes(residuals, cycles_of(residuals))
    return [
        ask_residuals(residuals),
        ask_markov(residuals),
        ask_noise(residuals, clean),
        ask_inertia(residuals, clean),
        ask_jumps(residuals),
        ask_drift_change(residuals),
        ask_noise_change(residuals),
        ask_season(residuals, times),
        ask_waves(residuals),
    ]


def diagnosis_of(checks: list[Check]) -> Diagnosis:
    """Correct the p-values for the number of questions; name what says most first."""
    corrected = holm([check.log_p for check in checks])
    flags = [check.matters and p < LEVEL for check, p in zip(checks, corrected, strict=True)]
    questions = [
        CheckResult(check.name, check.fault if flag else check.fine, check.statistic, p, flag)
        for check, p, flag in zip(checks, corrected, flags, strict=True)
    ]
    raised = [check for check, flag in zip(checks, flags, strict=True) if flag]
    raised.sort(key=lambda check: (not check.specific, check.log_p))
    if not raised:
        verdict = "The model fits: nothing in these data speaks against dX = f(X) dt + σ(X) dW at this step."
    else:
        others = ", ".join(check.name for check in raised[1:])
        verdict = raised[0].fault + (f" Also flagged: {others}." if others else "")
    return Diagnosis(verdict, questions, tuple(check.name for check in raised))
