"""Computational graphs as SVG, in the paper's manner.

Squares are variables, circles aggregate, red arrows are unknown functions, blue squares are random variables; several
arrows into a square are a sum.
"""

from html import escape
from typing import NamedTuple

CELL_WIDTH, CELL_HEIGHT, BOX_HEIGHT, RADIUS = 170.0, 110.0, 40.0, 12.0

STYLE = """
  .graph text { font: 17px Georgia, 'Times New Roman', serif; text-anchor: middle; dominant-baseline: central;
    fill: #1b1b1b }
  .graph .small { font-size: 14px }
  .graph rect, .graph circle { fill: #ffffff; stroke: #1b1b1b; stroke-width: 1.5 }
  .graph path { fill: none; stroke: #1b1b1b; stroke-width: 1.5; marker-end: url(#tip) }
  .graph .random rect { stroke: #0072b2 } .graph .random text { fill: #0072b2 }
  .graph .unknown path { stroke: #c2351f; marker-end: url(#tip-unknown) } .graph .unknown text { fill: #c2351f }
  .graph marker path { stroke: none; marker-end: none; fill: #1b1b1b } .graph .tip-unknown path { fill: #c2351f }
"""


RANDOM = ' class="random"'


class Node(NamedTuple):
    """A square with a label, or a circle without one; column and row are its place."""

    column: float
    row: float
    label: str = ""
    random: bool = False

    @property
    def centre(self) -> tuple[float, float]:
        return (self.column + 0.5) * CELL_WIDTH, (self.row + 0.5) * CELL_HEIGHT

    @property
    def half_size(self) -> tuple[float, float]:
        return (max(26.0, 5.0 * len(self.label) + 12.0), BOX_HEIGHT / 2) if self.label else (RADIUS, RADIUS)


class Arrow(NamedTuple):
    """A known function in black; an unknown one in red, with its name."""

    source: str
    target: str
    name: str = ""


def draw_graph(nodes: dict[str, Node], arrows: list[Arrow]) -> str:
    """The graph as one SVG document."""
    columns = max(node.column for node in nodes.values()) + 1
    rows = max(node.row for node in nodes.values()) + 1
    width, height = columns * CELL_WIDTH, rows * CELL_HEIGHT
    body = [_arrow(nodes[arrow.source], nodes[arrow.target], arrow.name) for arrow in arrows]
    body += [_node(node) for node in nodes.values()]
    tips = "".join(
        f'<marker id="{name}" class="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        'orient="auto">'
        '<path d="M 0 1 L 9 5 L 0 9 z"/></marker>'
        for name in ("tip", "tip-unknown")
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" class="graph" role="img"><title>Computational graph</title><style>{STYLE}</style>'
        f'<defs>{tips}</defs><rect width="{width:g}" height="{height:g}" style="stroke: none"/>{"".join(body)}</svg>'
    )


def _node(node: Node) -> str:
    x, y = node.centre
    if not node.label:
        return f'<circle cx="{x:g}" cy="{y:g}" r="{RADIUS:g}"/>'
    half_width, half_height = node.half_size
    corner, size = (
        f'x="{x - half_width:g}" y="{y - half_height:g}"',
        f'width="{2 * half_width:g}" height="{BOX_HEIGHT:g}"',
    )
    box = f"<rect {corner} {size}/>"
    return f'<g{RANDOM if node.random else ""}>{box}<text x="{x:g}" y="{y:g}">{escape(node.label)}</text></g>'


def _arrow(source: Node, target: Node, name: str) -> str:
    """From rim to rim along the line between the centres."""
    (x0, y0), (x1, y1) = source.centre, target.centre
    x0, y0, x1, y1 = *_rim(source, x1 - x0, y1 - y0), *_rim(target, x0 - x1, y0 - y1)
    line = f'<path d="M {x0:.1f} {y0:.1f} L {x1:.1f} {y1:.1f}"/>'
    if not name:
        return line
    label = f'<text class="small" x="{(x0 + x1) / 2:.1f}" y="{(y0 + y1) / 2 - 14:.1f}">{escape(name)}</text>'
    return f'<g class="unknown">{line}{label}</g>'


def _rim(node: Node, dx: float, dy: float) -> tuple[float, float]:
    """Where a ray from the centre leaves the node."""
    x, y = node.centre
    half_width, half_height = node.half_size
    if node.label:
        reach = min(half_width / abs(dx) if dx else float("inf"), half_height / abs(dy) if dy else float("inf"))
    else:
        reach = RADIUS / (dx * dx + dy * dy) ** 0.5
    return x + reach * dx, y + reach * dy
