"""Whether to believe a model, as HTML: the verdict, what a reader must know first, and all answers of the diagnosis."""

import re
from html import escape

from onepath.after.diagnose import CheckResult, Diagnosis
from onepath.model import Model
from onepath.show.report.page import table
from onepath.show.report.typeset import number, typeset
from onepath.show.report.words import Rows
from onepath.show.sentences import caution


def verdict(diagnosis: Diagnosis) -> str:
    """In a panel, its first sentence strong."""
    kind = "verdict" if diagnosis.fits else "verdict flagged"
    said = re.sub(r"^([^.:]*[.:]?)", r"<strong>\1</strong>", escape(typeset(diagnosis.verdict)), count=1)
    return f'<p class="{kind}">{said}</p>'


def warned(model: Model) -> str:
    """What must be known before the noise is trusted; "" if there is nothing."""
    said = caution(model)
    return f'<p class="verdict flagged">{escape(typeset(said))}</p>' if said else ""


def answers(diagnosis: Diagnosis) -> str:
    """A row for each question."""
    body = [
        (_marked(item), item.verdict, _number(item.statistic), _probability(item.p_value))
        for item in diagnosis.questions
    ]
    return table(Rows(("question", "answer", "statistic", "p"), body), kind="answers")


def _marked(question: CheckResult) -> str:
    return f"⚠ {question.name}" if question.flagged else question.name


def _number(value: float) -> str:
    return "" if value != value else number(value, 3)


def _probability(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else _number(value)
