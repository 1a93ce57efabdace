"""Pictures of a fit, each by itself or all together, in matplotlib."""

from collections.abc import Callable
from typing import Any, NamedTuple

import matplotlib

from onepath.after.equations import equations_of
from onepath.inference.disturbance.volatility import Volatility
from onepath.model import Model
from onepath.show.mended import compared
from onepath.show.plots import curves, disturbed, driven, fields, mended, residuals, terms
from onepath.show.plots.style import STYLE, Truth


class Drawing(NamedTuple):
    """Draws a model into a matplotlib figure or a part of one, beside the truth if it can show that."""

    draw: Callable[..., None]
    shows_truth: bool = False


FIGURES = {
    "trajectory": Drawing(curves.trajectory),
    "drift": Drawing(curves.drift, shows_truth=True),
    "diffusion": Drawing(curves.diffusion, shows_truth=True),
    "potential": Drawing(curves.potential, shows_truth=True),
    "density": Drawing(curves.density, shows_truth=True),
    "field": Drawing(fields.field, shows_truth=True),
    "ellipses": Drawing(fields.ellipses),
    "maps": Drawing(fields.maps),
    "inputs": Drawing(driven.inputs),
    "level": Drawing(disturbed.level),
    "forecast": Drawing(curves.forecast),
    "diagnosis": Drawing(residuals.diagnosis),
    "terms": Drawing(terms.terms),
    "mended": Drawing(mended.before_and_after),
}

BY_DIMENSION = {1: ("potential", "density"), 2: ("field", "ellipses", "maps")}


def figures_of(model: Model) -> list[str]:
    """Names of the figures that this model has."""
    along = ("inputs",) if model.variables else ()
    clustered = ("level",) if isinstance(model.disturbance, Volatility) and model.disturbance.found else ()
    shape = BY_DIMENSION.get(model.dimension, ())
    beside = () if equations_of(model) is None else ("terms",)
    sides = ("mended",) if compared(model) else ()
    return ["trajectory", "drift", "diffusion", *along, *clustered, *shape, "forecast", "diagnosis", *beside, *sides]


WIDE, PHONE = 7.6, 4.8
"""Inches that a figure of the whole page's width has on a screen and on a phone."""


def size_of(name: str, model: Model, phone: bool = False) -> tuple[float, float]:
    """Inches that a figure by itself takes."""
    dimension, along = model.dimension, 0.4 + 2.6 * len(model.variables)
    if name == "overview":
        return 9.0, (15.0 if dimension == 1 else 22.0) + (along if model.variables else 0.0)
    width, rows = (PHONE, 4) if phone else (WIDE, 2)
    if name == "inputs":
        return width, along
    if name == "terms":
        return width, terms.height_of(model, 1 if phone else 2)
    if name == "level":
        return width, 2.6
    if name in ("trajectory", "forecast"):
        return width, 1.2 + 1.5 * dimension
    if name == "mended":
        return width, 2.9 * len(compared(model)) * (2 if phone else 1)
    if name in ("drift", "diffusion") and dimension > 1:
        return width, 3.3 * (dimension if phone else -(-dimension // 2))
    return {"maps": (width, 3.1 * rows), "diagnosis": (width, 2.7 * rows)}.get(name, (5.0, 3.6))


def draw(model: Model, name: str, figure: Any, truth: Truth | None = None) -> None:
    """Draw one figure, or the overview, into a matplotlib figure."""
    if name == "overview":
        _overview(model, figure, truth)
        return
    if name not in figures_of(model):
        raise ValueError(
            f"A model of {model.dimension} dimensions has no figure {name!r}. It has 'overview', "
            f"{', '.join(map(repr, figures_of(model)))}."
        )
    drawing = FIGURES[name]
    drawing.draw(model, figure, truth) if drawing.shows_truth else drawing.draw(model, figure)


def _overview(model: Model, figure: Any, truth: Truth | None) -> None:
    """The trajectory above, everything else in two columns or whole rows below."""
    whole = ["trajectory", "inputs", "level", "maps", "forecast", "diagnosis", "mended"] + (
        ["drift", "diffusion"] if model.dimension > 1 else []
    )
    names = [name for name in figures_of(model) if name != "terms"]
    pairs = [name for name in names if name not in whole]
    rows = [["trajectory"], *(pairs[i : i + 2] for i in range(0, len(pairs), 2))]
    rows += [[name] for name in whole if name in names and name != "trajectory"]
    heights = [max(size_of(name, model)[1] for name in row) for row in rows]
    bands = figure.subfigures(len(rows), 1, height_ratios=heights, squeeze=False)[:, 0]
    for band, row in zip(bands, rows, strict=True):
        parts = band.subfigures(1, len(row), squeeze=False)[0]
        for part, name in zip(parts, row, strict=True):
            draw(model, name, part, truth)


def plot(model: Model, what: str = "overview", *, truth: Truth | None = None, figure: Any = None) -> Any:
    """A pyplot figure of this, or of everything; drawn into `figure` where one is given."""
    with matplotlib.rc_context(STYLE):
        if figure is None:
            import matplotlib.pyplot as plt

            figure = plt.figure(figsize=size_of(what, model), layout="constrained", facecolor="white")
        draw(model, what, figure, truth)
    return figure
