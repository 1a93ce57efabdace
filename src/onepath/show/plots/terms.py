"""How probable each term of an equation is, function by function."""

import re
from typing import Any

import numpy as np

from onepath.after.equations import Candidates, equations_of
from onepath.model import Model
from onepath.show.plots.style import COLOURS, INK, MUTED, columns_in, plain

NONE = "no simple equation"

POWER, RAISED = re.compile(r"\^(\d+)"), str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

MOST = 10
"""Terms that are drawn for one function, the most probable ones."""


def height_of(model: Model, across: int) -> float:
    """Inches for panels in so many columns: a line for each term of the longest list."""
    found = equations_of(model)
    longest = 0 if found is None else max(len(bars(one)) for one in found.all)
    return (0.8 + 0.24 * longest) * (1 if found is None else -(-len(found.all) // across))


def bars(one: Candidates) -> list[tuple[str, float]]:
    """Names and probabilities from top to bottom: terms in their order, and none at all."""
    most = sorted(one.terms, key=lambda name: -one.terms[name])[:MOST]
    return [(name, one.terms[name]) for name in one.terms if name in most] + [(NONE, one.none)]


def terms(model: Model, figure: Any) -> None:
    """Bars for terms, with the coefficient that the most probable equation has."""
    found = equations_of(model)
    assert found is not None
    across = columns_in(figure)
    axes = figure.subplots(-(-len(found.all) // across), across, squeeze=False)
    for one, place in zip(found.all, axes.flat, strict=False):
        names, values = zip(*bars(one), strict=True)
        at = np.arange(len(names))[::-1]
        colours = [MUTED if name == NONE else COLOURS[0 if one.of.startswith("drift") else 1] for name in names]
        place.barh(at, values, color=colours, height=0.62)
        texts = {} if one.best is None else {term.name: term.text for term in one.best.terms}
        for y, name, value in zip(at, names, values, strict=True):
            inside = value > 0.6
            place.text(
                value - 0.02 if inside else value + 0.02,
                y,
                texts.get(name, ""),
                ha="right" if inside else "left",
                va="center",
                fontsize=8.5,
                color="white" if inside else INK,
            )
        place.set_yticks(at, [raised(plain(name)) for name in names])
        place.set_xlim(0.0, 1.0)
        place.grid(visible=False, axis="y")
        place.set_xlabel("probability")
        place.set_title(one.of)
    for place in axes.flat[len(found.all) :]:
        place.remove()


def raised(name: str) -> str:
    """With powers as they are written by hand."""
    return POWER.sub(lambda found: found[1].translate(RAISED), name)
