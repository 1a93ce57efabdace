"""What a cure has changed: drift and noise of the plain model and of the one in its place."""

from typing import Any

from onepath.model import Curve, Model
from onepath.show.mended import compared
from onepath.show.plots.style import FIT, MUTED, SECOND, columns_in, legend_above, noise_label, plain, rate_label


def before_and_after(model: Model, figure: Any) -> None:
    """Two panels for each coordinate: its drift, and its noise."""
    lines = compared(model)
    rows, columns = (len(lines), 2) if columns_in(figure) > 1 else (2 * len(lines), 1)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for k, line in enumerate(lines):
        x, i = line.points[:, line.along], line.along
        for axes, old, new, label in (
            (panels[2 * k], line.drift_before, line.drift_after, rate_label(model, i)),
            (panels[2 * k + 1], line.noise_before, line.noise_after, noise_label(model, i)),
        ):
            for curve, colour, name, style in ((old, SECOND, "plain", "--"), (new, FIT, "in its place", "-")):
                _banded(axes, x, curve, colour, name, style)
            axes.set(xlabel=plain(model.names[i]), ylabel=label, xlim=x[[0, -1]])
        panels[2 * k].axhline(0.0, color=MUTED, lw=0.8)
    panels[0].set_title("Before and after")
    legend_above(panels[0])


def _banded(axes: Any, x: Any, curve: Curve, colour: str, name: str, style: str) -> None:
    axes.fill_between(x, curve.lower, curve.upper, color=colour, alpha=0.18, lw=0)
    axes.plot(x, curve.mean, color=colour, ls=style, label=name)
