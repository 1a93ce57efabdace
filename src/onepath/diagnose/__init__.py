"""Is dX = f(X) dt + σ(X) dW the right model for these data at this step? Numbers first, then a verdict in words.

Every test is made on residuals whitened by the model's own law, so that noise which depends on the state is no fault.
"""

from dataclasses import dataclass
from typing import Any

from onepath.diagnose.change import (
    ask_drift_change,
    ask_noise_change,
    ask_season,
    cycles_of,
    without_seasons_and_changes,
)
from onepath.diagnose.memory import ask_inertia, ask_jumps, ask_markov, ask_noise
from onepath.diagnose.question import LEVEL, Answer, Question, holm
from onepath.diagnose.residuals import Residuals, ask_residuals, whitened
from onepath.diagnose.steps import ask_reach, ask_step
from onepath.diagnose.waves import ask_waves
from onepath.increments import mean_increments

__all__ = ["Diagnosis", "Question", "diagnose", "diagnosis_of", "whitened"]


@dataclass(frozen=True)
class Diagnosis:
    """Answers to all questions, and one verdict; `faults` names the flagged questions, the most telling first."""

    verdict: str
    questions: list[Question]
    faults: tuple[str, ...]

    def __str__(self) -> str:
        lines = [self.verdict, ""]
        for question in self.questions:
            p = "" if question.p_value != question.p_value else f"p = {question.p_value:.2g}"
            lines.append(f"{'✗' if question.flagged else '✓'} {question.name:18} {p:12} {question.verdict}")
        return "\n".join(lines)


def diagnose(sde: Any) -> Diagnosis:
    """Put all questions to a fitted model."""
    residuals = whitened(sde.transitions_, sde.trajectory_.step, lambda x, dt: mean_increments(sde, x, dt))
    answers = law_answers(residuals, sde.trajectory_.times)
    return diagnosis_of([*answers, ask_step(sde, residuals), ask_reach(sde, residuals)])


def law_answers(residuals: Residuals, times: str) -> list[Answer]:
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


def diagnosis_of(answers: list[Answer]) -> Diagnosis:
    """Correct the p-values for the number of questions; name what says most first."""
    corrected = holm([answer.log_p for answer in answers])
    flags = [answer.matters and p < LEVEL for answer, p in zip(answers, corrected, strict=True)]
    questions = [
        Question(answer.name, answer.fault if flag else answer.fine, answer.statistic, p, flag)
        for answer, p, flag in zip(answers, corrected, flags, strict=True)
    ]
    raised = [answer for answer, flag in zip(answers, flags, strict=True) if flag]
    raised.sort(key=lambda answer: (not answer.specific, answer.log_p))
    if not raised:
        verdict = "The model fits: nothing in these data speaks against dX = f(X) dt + σ(X) dW at this step."
    else:
        others = ", ".join(answer.name for answer in raised[1:])
        verdict = raised[0].fault + (f" Also flagged: {others}." if others else "")
    return Diagnosis(verdict, questions, tuple(answer.name for answer in raised))
