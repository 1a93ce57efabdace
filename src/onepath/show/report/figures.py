"""Figures as inline SVG whose colours follow the page: light, dark or printed."""

import io
import re
from collections.abc import Callable
from xml.etree import ElementTree

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from onepath.model import Model
from onepath.show.plots import draw, size_of
from onepath.show.plots.style import FIT, INK, LINE, MUTED, SECOND, STYLE, Truth

PAPER, UNKNOWN = "#ffffff", "#c2351f"
VARIABLES = {INK: "--ink", MUTED: "--muted", LINE: "--line", FIT: "--fit", SECOND: "--second"}
VARIABLES |= {PAPER: "--paper", UNKNOWN: "--warn"}
COLOUR = re.compile("|".join(VARIABLES), re.IGNORECASE)

SVG, LINK = "http://www.w3.org/2000/svg", "{http://www.w3.org/1999/xlink}href"
REFERENCE = re.compile(r"url\(#([^)]+)\)")


def svg_of(model: Model, name: str, number: int, truth: Truth | None, phone: bool = False) -> str:
    """One figure of a model as an SVG element, its ids made unique by a number."""
    return inlined(drawn(lambda figure: draw(model, name, figure, truth), size_of(name, model, phone)), number, name)


def drawn(drawing: Callable[[Figure], None], size: tuple[float, float]) -> str:
    """An SVG document of what is drawn into a figure of this size in inches."""
    with matplotlib.rc_context(STYLE):
        figure, buffer = Figure(figsize=size, layout="constrained"), io.StringIO()
        drawing(figure)
        # `savefig` would draw twice where there is a layout to find, though drawing finds it
        nothing = {"Date": None, "Creator": None, "Type": None, "Format": None}
        FigureCanvasSVG(figure).print_svg(buffer, metadata=nothing)
    return buffer.getvalue()


def inlined(svg: str, number: int, described: str) -> str:
    """Without the document around it, with its own ids, colours as the page's variables, and a title for readers."""
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{SVG}}}")
        attributes = dict(element.attrib)
        element.attrib.clear()
        for name, value in attributes.items():
            if name == "id":
                value = f"f{number}-{value}"
            elif name == LINK:
                name, value = "href", f"#f{number}-{value.removeprefix('#')}"
            element.set(name, _coloured(REFERENCE.sub(rf"url(#f{number}-\1)", value)))
        if element.tag == "style" and element.text:
            element.text = _coloured(REFERENCE.sub(rf"url(#f{number}-\1)", element.text))
        element.tail = "\n" if element.tail and not element.tail.strip() else element.tail
    for metadata in root.findall("metadata"):
        root.remove(metadata)
    for name in ("width", "height"):
        del root.attrib[name]
    title = ElementTree.Element("title")
    title.text = described
    root.insert(0, title)
    root.attrib.update(role="img", xmlns=SVG)
    return ElementTree.tostring(root, encoding="unicode")


def _coloured(text: str) -> str:
    return COLOUR.sub(lambda found: f"var({VARIABLES[found[0].lower()]})", text)
