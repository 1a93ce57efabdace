"""One self-contained HTML page with everything that was learned: no script, no network, light, dark and printed."""

from html import escape
from importlib.metadata import version
from pathlib import Path

from onepath.after.diagnose import Diagnosis, diagnose
from onepath.after.equations import equations_of
from onepath.data.calendar import written
from onepath.io.atomic import check_free, write_atomically
from onepath.model import Model
from onepath.show.about import About, today
from onepath.show.graph import drawn
from onepath.show.mended import changes, compared, tried_rows
from onepath.show.plots import BY_DIMENSION, FIGURES, figures_of, size_of
from onepath.show.plots.curves import fan_of
from onepath.show.plots.style import Truth
from onepath.show.reach import dependence
from onepath.show.report import mathml, words
from onepath.show.report.answers import answers, verdict, warned
from onepath.show.report.figures import inlined, svg_of
from onepath.show.report.page import figure, page, paragraph, section, table
from onepath.show.report.typeset import number, typeset
from onepath.show.sentences import per_time, polynomials
from onepath.show.sentences import probability as per_cent

SHOWN = 3
"""Equations of a function that are listed."""

CAPTIONS = {
    "trajectory": "What was observed. Gaps and missing rows are left empty.",
    "drift": "Posterior mean of the drift and its 90 % band, point by point; grey, where the data are.",
    "diffusion": "Posterior mean of the noise and its 90 % band, point by point; grey, where the data are.",
    "potential": "U = −∫ f dx, zero at the data's median. Valleys are where the drift leads to.",
    "density": "Where a path of the learned equation would spend its time, over the range of the data, with its 90 % "
    "band, against the histogram of the data. They differ where the record is too short to have settled.",
    "field": "Arrows follow the drift, each axis in its own spread where scales differ; pale where the data do not "
    "tell the direction, both 90 % bands containing zero.",
    "ellipses": "Each ellipse is the spread of σ dW during the same short time, one time for all of them.",
    "maps": "Posterior means where there are data. How sure they are is in the bands of the figures above.",
    "diagnosis": "Whitened residuals, independent standard normal numbers if the model is right: in time; their "
    "autocorrelation, grey where 90 % would lie; against normal quantiles; and the diffusion as every 2nd, 3rd, 5th, "
    "10th point has it, with its 90 % range, which is 1 if the diffusion does not depend on the step.",
    "terms": "How probable it is that each term is in an equation, with the coefficient of the most probable one.",
    "level": "By what factor the noise was larger than σ(x) at each time, with its 90 % band.",
    "inputs": "Drift and noise along each input, the others held where they are, with 90 % bands.",
    "mended": "Drift and noise of the plain model, dashed, and of the one in its place, with 90 % bands.",
    "graph": "The computational graph that was completed, from a state Xₙ to its increment Yₙ: unknown functions red, "
    "random variables blue.",
    "forecast": "From the last state onwards: the median and the central 50 % and 90 % of simulated paths, what is not "
    "known about drift and diffusion included.",
}

HIDDEN_CAPTIONS = {
    "trajectory": "Readings, and the state that was hidden: its mean and 90 % band given all of them.",
    "diagnosis": "Whitened innovations, what a reading was beyond what those before it foretold; independent standard "
    "normal numbers if the model is right: in time; their autocorrelation, grey where 90 % would lie; against normal "
    "quantiles; and the diffusion as every 2nd, 3rd, 5th, 10th point has it, with its 90 % range.",
}
"""Where readings are not the state itself."""


class Numbered:
    """Figures of one report, numbered as they come."""

    def __init__(self, model: Model, truth: Truth | None) -> None:
        self.model, self.truth, self.count = model, truth, 0

    def __call__(self, name: str) -> str:
        hidden = self.model.observed is not None and name in HIDDEN_CAPTIONS
        caption = HIDDEN_CAPTIONS[name] if hidden else CAPTIONS[name]
        if name == "trajectory" and self.model.trajectory.whole is not None:
            caption = "What was kept of the stream, in stretches that are spread evenly. Between them nothing is drawn."
        if self.truth is not None and FIGURES[name].shows_truth:
            caption += " Dashed or thin black: the truth."
        wide = size_of(name, self.model) != size_of(name, self.model, phone=True)
        return figure(self._drawn(name), caption, self._drawn(name, phone=True) if wide else None)

    def graph(self) -> str:
        """The computational graph; on a phone it would be too small to read."""
        self.count += 1
        return f'<div class="screen">{figure(inlined(drawn(self.model), self.count, "graph"), CAPTIONS["graph"])}</div>'

    def _drawn(self, name: str, phone: bool = False) -> str:
        self.count += 1
        return svg_of(self.model, name, self.count, self.truth, phone)


def report_page(
    model: Model, *, title: str | None = None, truth: Truth | None = None, about: About | None = None
) -> str:
    """The report as HTML."""
    about, draw = about or About(), Numbered(model, truth)
    title = title or f"What moves {' and '.join(model.names)}"
    per = model.trajectory.unit or "unit of time"
    lead = (
        f"A stochastic differential equation {model.equation}, learned from {model.trajectory.transitions} "
        f"observed steps. Rates are per {per}; bands hold 90 % of the posterior probability."
    )
    diagnosis = diagnose(model)
    shown = table(words.values_table(model), kind="numbers") + "".join(map(paragraph, words.about_noise(model)))
    sections = [
        section("data", "The data", draw("trajectory"), table(words.data_facts(model, about))),
        section("equation", "The learned equation", *_equation(model, about, draw)),
        section("functions", "Drift and diffusion", *_functions(model, draw), shown, *_others(model)),
        *_geometry(model, draw),
        *_consequences(model),
        *_forecast(model, draw),
        *_diagnostics(diagnosis, draw),
        *_mended(model, draw),
        section("parameters", "Learned parameters", *_parameters(model)),
        section(
            "origin", "How this was made", draw.graph(), table(words.model_facts(model)), table(words.origin(about))
        ),
    ]
    return page(
        title,
        lead,
        verdict(diagnosis) + warned(model),
        sections,
        f"Written by onepath {version('onepath')} on {today()}. This page loads nothing from anywhere.",
    )


def write_report(
    model: Model,
    path: str | Path,
    *,
    force: bool = False,
    title: str | None = None,
    truth: Truth | None = None,
    about: About | None = None,
) -> Path:
    """Write the page; an existing file is kept unless `force`."""
    check_free(path, force=force)
    return write_atomically(path, report_page(model, title=title, truth=truth, about=about).encode(), force=force)


def _equation(model: Model, about: About, draw: Numbered) -> list[str]:
    """Equations with their probabilities where they were asked for; else polynomials that say nearly all."""
    found = equations_of(model)
    if found is None:
        return _polynomials(model, about)
    rows: list[tuple[str, str]] = []
    for one in found.all:
        rows += [(mathml.math(each), per_cent(each.probability)) for each in one.equations[:SHOWN]]
        rows.append((f"{mathml.left(one.of)}: no simple equation", per_cent(one.none)))
    body = "".join(f"<tr><td>{left}</td><td>{escape(right)}</td></tr>" for left, right in rows)
    head = '<thead><tr><th scope="col">equation</th><th scope="col">probability</th></tr></thead>'
    shown = f'<div class="scroll"><table class="numbers equations">{head}<tbody>{body}</tbody></table></div>'
    said = paragraph(
        "Sums of few powers of the coordinates, and how probable the data make each of them; what is left is that no "
        f"simple equation is known. Rates are {per_time(model)}. Digits in brackets are the standard error of the last "
        "digits. Drift and diffusion, below, average over all of this."
    )
    code = "".join(
        f"<details><summary>As {name}</summary><pre>{escape(text)}</pre></details>"
        for name, text in (("LaTeX", found.latex), ("Python", found.python))
        if found.latex
    )
    return [shown, said, draw("terms"), code, *_truth(about)]


def _truth(about: About) -> list[str]:
    if not about.true_equation:
        return []
    return [paragraph(f"The truth, known because this path was simulated: {about.true_equation}")]


def _polynomials(model: Model, about: About) -> list[str]:
    lines = polynomials(model)
    parts = _truth(about)
    if not lines:
        return [paragraph("Neither drift nor diffusion is a simple polynomial: the figures are the answer."), *parts]
    said = paragraph("Digits in brackets are the standard error of the last digits. What a cubic polynomial does not "
                     "describe within its error is not listed here, but in the figures.")  # fmt: skip
    return [*(f'<div class="equation">{line}</div>' for line in map(escape, map(typeset, lines))), said, *parts]


def _functions(model: Model, draw: Numbered) -> list[str]:
    pair = draw("drift") + draw("diffusion")
    parts = [f'<div class="pair">{pair}</div>' if model.dimension == 1 else pair]
    if model.variables:
        parts += [draw("inputs"), paragraph(words.held(model)), *map(paragraph, dependence(model))]
    if "level" in figures_of(model):
        parts.append(draw("level"))
    return parts


def _others(model: Model) -> list[str]:
    """Where the other coordinates stand, in more than one dimension."""
    return [paragraph(said)] if (said := words.others(model)) else []


def _consequences(model: Model) -> list[tuple[str, str, str]]:
    """Left out where nothing follows: a density without a mode or a trough within the data's range."""
    rows, said = words.consequences_table(model), words.about_consequences(model)
    listed = [table(rows, kind="numbers")] if rows.body else []
    return [section("follows", "What follows", *listed, *map(paragraph, said))] if said else []


def _geometry(model: Model, draw: Numbered) -> list[tuple[str, str, str]]:
    """What one- and two-dimensional models have besides."""
    names = BY_DIMENSION.get(model.dimension, ())
    if not names:
        return []
    title = "Potential and stationary density" if model.dimension == 1 else "In the plane"
    drawn = [draw(name) for name in names]
    return [section("geometry", title, f'<div class="pair">{"".join(drawn[:2])}</div>', *drawn[2:])]


def _forecast(model: Model, draw: Numbered) -> list[tuple[str, str, str]]:
    fan = fan_of(model)
    last = fan.quantiles([0.05, 0.5, 0.95])[:, -1]
    ahead = f"{number(fan.t[-1] - fan.t[0])} {model.trajectory.times}"
    if fan.dates is not None:
        ahead += f", on {written(fan.dates)[-1]}"
    said = "; ".join(
        f"{name} {number(middle)}, between {number(low)} and {number(high)} with 90 % probability"
        for name, low, middle, high in zip(model.names, *last, strict=True)
    )
    return [section("forecast", "Forecast", draw("forecast"), paragraph(f"After {ahead}: {said}."))]


def _diagnostics(diagnosis: Diagnosis, draw: Numbered) -> list[tuple[str, str, str]]:
    looked = paragraph(f"The diagnosis {diagnosis.looked}.") if diagnosis.looked else ""
    said = paragraph(diagnosis.verdict) + looked
    return [section("diagnostics", "Is this model right?", said, draw("diagnosis"), answers(diagnosis))]


def _mended(model: Model, draw: Numbered) -> list[tuple[str, str, str]]:
    """What was tried and why, and what the model in place of the plain one has changed."""
    record = model.mending
    if record is None:
        return []
    head = ("candidate", "suggested by", "ln p of a later row", "over plain", "its own diagnosis")
    shown = table(words.Rows(head, tried_rows(record))) if len(record.tried) > 1 else ""
    how = paragraph(words.about_scores(record)) if record.rows else ""
    drawn = draw("mended") if compared(model) else ""
    before = paragraph(f"Before: {record.plain.verdict}") if record.proposed is not None else ""
    said = [paragraph(record.said), before, shown, how, *map(paragraph, changes(model)), drawn]
    return [section("mended", "What was tried", *said)]


def _parameters(model: Model) -> list[str]:
    said = "".join(paragraph(sentence) for sentence in words.parameters_in_words(model))
    every = table(words.parameter_table(model), kind="numbers")
    return [said, f"<details><summary>Every parameter, in standardised units</summary>{every}</details>"]
