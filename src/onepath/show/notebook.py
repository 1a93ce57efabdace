"""How a fit and its results look in a notebook: verdict, equation, figures in the colours of the page around them."""

from collections.abc import Callable
from functools import partial, singledispatch
from html import escape
from typing import Any
from zlib import crc32

from matplotlib.figure import Figure

from onepath.after.consequences import Consequences
from onepath.after.diagnose import Diagnosis, diagnose
from onepath.after.forecast import Paths
from onepath.after.states import States
from onepath.model import Model
from onepath.show import equations
from onepath.show.plots import draw, size_of
from onepath.show.plots.results import draw_band, draw_fan
from onepath.show.report.answers import answers, verdict, warned
from onepath.show.report.figures import drawn, inlined
from onepath.show.report.page import paragraph, table
from onepath.show.report.typeset import number, typeset
from onepath.show.report.words import Rows, values_table

STYLE = """
.onepath { --ink: currentColor; --fit: #2b8ac6; --second: #dd6b20; --good: #1a9b74; --warn: #d0622a;
  --muted: color-mix(in srgb, currentColor 55%, transparent); --line: color-mix(in srgb, currentColor 16%, transparent);
  --panel: color-mix(in srgb, currentColor 5%, transparent); max-width: 56rem; font-size: .95em; line-height: 1.45 }
.onepath .pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: .6rem }
.onepath svg { display: block; width: 100%; height: auto }
.onepath svg text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif !important }
.onepath p { margin: .4rem 0 }
.onepath .verdict, .onepath .equation { border-left: 3px solid var(--good); background: var(--panel);
  padding: .5rem .8rem; margin: .5rem 0 }
.onepath .verdict.flagged { border-color: var(--warn) }
.onepath .verdict strong { color: var(--good) } .onepath .verdict.flagged strong { color: var(--warn) }
.onepath .equation { border-color: var(--fit); font-family: ui-monospace, Menlo, Consolas, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere }
.onepath .scroll { overflow-x: auto }
.onepath table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .4rem 0 }
.onepath th, .onepath td { text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0;
  border-bottom: 1px solid var(--line); background: none }
.onepath .answers td:nth-child(2) { min-width: 15rem }
.onepath details summary { cursor: pointer }
"""
"""Ink is the colour of the text around, so that light and dark pages are served alike."""


@singledispatch
def as_html(result: Any) -> str | None:
    """A result as HTML that needs nothing else; None where its text says as much."""
    del result
    return None


@as_html.register
def _of_model(model: Model) -> str:
    no = f"{model.equation}; the figures are the answer, f and σ being no simple polynomials"
    lines = equations.found(model) or [no]
    names = {1: ("drift", "diffusion"), 2: ("field",)}.get(model.dimension, ("drift",))
    figures = [_figure(partial(draw, model, name), size_of(name, model), name) for name in names]
    values = table(values_table(model), kind="numbers")
    return _shown(
        verdict(diagnose(model)),
        warned(model),
        *map(_line, lines),
        _beside(*figures),
        f"<details><summary>Drift and diffusion in numbers</summary>{values}</details>",
    )


@as_html.register
def _of_diagnosis(diagnosis: Diagnosis) -> str:
    looked = paragraph(f"The diagnosis {diagnosis.looked}.") if diagnosis.looked else ""
    return _shown(verdict(diagnosis), looked, answers(diagnosis))


@as_html.register
def _of_paths(paths: Paths) -> str:
    count, times, d = paths.x.shape
    ends = paths.quantiles((0.05, 0.5, 0.95))[:, -1]
    rows = [(name, *map(number, column)) for name, column in zip(paths.names, ends.T.tolist(), strict=True)]
    stopped = f", of which {paths.exploded.sum()} were stopped far from the data" if paths.exploded.any() else ""
    return _shown(
        _figure(partial(draw_fan, paths), (7.6, 1.2 + 1.6 * d), "simulated paths"),
        paragraph(f"{count} paths of {times - 1} steps{stopped}. At their end:"),
        table(Rows(("", "5 %", "median", "95 %"), rows), kind="numbers"),
    )


@as_html.register
def _of_consequences(found: Consequences) -> str:
    bands = {"potential": found.potential, "stationary density": found.density}
    figures = [
        _figure(partial(draw_band, found.x, band, found.level, name), (4.8, 3.3), name)
        for name, band in bands.items()
        if band is not None
    ]
    return _shown(_beside(*figures), _line(str(found)))


@as_html.register
def _of_states(states: States) -> str:
    said = f"States at {len(states.t)} rows: given all readings, with 90 % bands, and given those up to the row."
    rows: str = states.frame().to_html(max_rows=10, border=0)
    return _shown(paragraph(said), f'<div class="scroll">{rows}</div>')


def _shown(*parts: str) -> str:
    return f'<div class="onepath"><style>{STYLE}</style>{"".join(parts)}</div>'


def _line(text: str) -> str:
    return f'<div class="equation">{escape(typeset(text))}</div>'


def _beside(*figures: str) -> str:
    return f'<div class="pair">{"".join(figures)}</div>' if len(figures) > 1 else "".join(figures)


def _figure(drawing: Callable[[Figure], None], size: tuple[float, float], described: str) -> str:
    """Inline SVG, with ids that no other figure has and this one has again whenever it is drawn."""
    document = drawn(drawing, size)
    return inlined(document, crc32(document.encode()), described)
