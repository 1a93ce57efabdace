"""Figures as inline SVG whose colours follow the page: light, dark or printed."""

import io
import re
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from onepath.plots import draw, size_of
from onepath.plots.style import FIT, INK, LINE, MUTED, SECOND, STYLE

VARIABLES = {INK: "--ink", MUTED: "--muted", LINE: "--line", FIT: "--fit", SECOND: "--second"}


def svg_of(sde: Any, name: str, number: int, described: str, **options: Any) -> str:
    """One figure as an SVG element, its ids made unique by a number."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size_of(name, sde.n_features_in_), layout="constrained")
        draw(sde, name, figure, **options)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Type": None, "Format": None})
    return _inline(buffer.getvalue(), number, described)


def _inline(svg: str, number: int, described: str) -> str:
    """Without the document around it, with its own ids, colours as the page's variables, and a title for readers."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="([^"]+)"', rf'id="f{number}-\1"', body)
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#f{number}-\1)", body)
    body = re.sub(r'xlink:href="#([^"]+)"', rf'href="#f{number}-\1"', body)
    for colour, variable in VARIABLES.items():
        body = re.sub(colour, f"var({variable})", body, flags=re.IGNORECASE)
    body = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    body = re.sub(r"\n\s*", "\n", body)
    opening = body.index(">") + 1
    start = body[:opening].replace("<svg", '<svg role="img"', 1)
    return f"{start}<title>{described}</title>{body[opening:]}".strip()
