"""A model as the page tells it: whether it fits, what to try, what follows, and tables of everything in words."""

from typing import Any

import numpy as np

from onepath.after import consequences as following
from onepath.after.consequences import consequences
from onepath.after.diagnose import diagnose
from onepath.after.diagnose.picture import picture_of
from onepath.compare.processes import Process
from onepath.model import Model
from onepath.numerics.arrays import evenly
from onepath.show import equations, sentences
from onepath.show.reach import dependence
from onepath.show.report import words
from onepath.show.report.typeset import typeset
from onepath.show.summary import summarise
from onepath.studio.cures import cures_for
from onepath.studio.drawn import histogram, rounded, rounded_times, times_of
from onepath.studio.options import Asked

DOTS = 500
"""Residuals that are drawn."""


def verdict(model: Model, asked: Asked) -> dict[str, Any]:
    """Whether it fits, the answers, what to try, and what the figure of the diagnosis shows."""
    found = diagnose(model)
    flagged = [each for name in found.faults for each in found.questions if each.name == name]
    answers = [(each.name, each.verdict) for each in flagged]
    return {
        "fits": found.fits,
        "verdict": typeset(found.verdict),
        "looked": found.looked,
        "caution": None if (said := sentences.caution(model)) is None else typeset(said),
        "questions": [
            {
                "name": each.name,
                "answer": typeset(each.verdict),
                "p": rounded(np.asarray(each.p_value)),
                "flagged": each.flagged,
            }
            for each in found.questions
        ],
        "cures": [cure._asdict() for cure in cures_for(answers, asked)],
        "picture": _picture(model),
    }


def _picture(model: Model) -> dict[str, Any]:
    found = picture_of(model)
    some = evenly(len(found.t), DOTS)
    when = found.t[some]
    if model.trajectory.record.max() == 0:
        when = times_of(model, when)
    moved = [model.names[k] for k in model.moved]
    return {
        "names": moved,
        "t": rounded_times(when),
        "dates": bool(model.trajectory.record.max() == 0) and model.trajectory.clock.origin is not None,
        "z": rounded(found.z[some].T),
        "ordered": rounded(np.sort(found.z[some], axis=0).T),
        "correlations": rounded(found.correlations.T),
        "errors": rounded(found.errors.T),
    }


def follows(model: Model, truth: Process | None) -> dict[str, Any]:
    """Potential and density, where there are some, and what follows in words."""
    found, rows = consequences(model, 0.9, 400, 0), words.consequences_table(model)
    drawn: dict[str, Any] = {}
    for name, band in (("potential", found.potential), ("density", found.density)):
        if band is not None:
            drawn[name] = {key: rounded(part) for key, part in band._asdict().items()}
    if drawn:
        drawn |= {"x": rounded(found.x), "data": histogram(model.transitions.x[:, 0])}
    if drawn and truth is not None:
        x = found.x[:, None]
        f, s = truth.drift(x)[:, 0], np.abs(truth.diffusion(x)[:, 0, 0])
        well = following.potential(found.x, f)
        drawn["truth"] = {
            "potential": rounded(well - well.min()),
            "density": rounded(following.density_of(model, found.x, f, s)),
        }
    return drawn | {
        "table": table(rows),
        "notes": [typeset(text) for text in words.about_consequences(model)] if rows.body else [],
    }


def tables(model: Model) -> dict[str, Any]:
    """Everything in words: equations, values, parameters, how it was made, and the summary."""
    return {
        "equations": [typeset(line) for line in equations.found(model)],
        "values": table(words.values_table(model)),
        "others": words.others(model),
        "noise": [typeset(text) for text in words.about_noise(model)],
        "inputs": [typeset(text) for text in (*dependence(model), *([words.held(model)] if model.variables else []))],
        "readings": [typeset(text) for text in sentences.readings(model)],
        "disturbance": [[name, typeset(text)] for name, text in sentences.disturbance(model)],
        "parameters": [typeset(text) for text in words.parameters_in_words(model)],
        "made": table(words.model_facts(model)),
        "summary": summarise(model),
    }


def table(rows: words.Rows) -> dict[str, Any]:
    return {"head": rows.head, "body": [[typeset(cell) for cell in row] for row in rows.body]}
