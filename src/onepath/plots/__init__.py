"""Pictures of a fit, each by itself or all together, in matplotlib."""

from collections.abc import Callable
from typing import Any

import matplotlib

from onepath.plots import curves, fields
from onepath.plots.style import STYLE

Draw = Callable[..., None]

FIGURES: dict[str, Draw] = {
    "trajectory": curves.trajectory,
    "drift": curves.drift,
    "diffusion": curves.diffusion,
    "potential": curves.potential,
    "density": curves.density,
    "field": fields.field,
    "ellipses": fields.ellipses,
    "maps": fields.maps,
    "forecast": curves.forecast,
}
"""Every figure draws a fitted SDE into a matplotlib figure or a part of one."""

BY_DIMENSION = {1: ("potential", "density"), 2: ("field", "ellipses", "maps")}


def figures_of(sde: Any) -> list[str]:
    """Names of the figures that this model has."""
    return ["trajectory", "drift", "diffusion", *BY_DIMENSION.get(sde.n_features_in_, ()), "forecast"]


def size_of(name: str, dimension: int) -> tuple[float, float]:
    """Inches that a figure by itself takes."""
    if name in ("trajectory", "forecast"):
        return 7.6, 1.2 + 1.5 * dimension
    if name in ("drift", "diffusion") and dimension > 1:
        return 7.6, 3.3 * (-(-dimension // 2))
    return {"maps": (7.6, 6.2)}.get(name, (5.0, 3.6))


def draw(sde: Any, name: str, figure: Any, **options: Any) -> None:
    """Draw one figure, or the overview, into a matplotlib figure."""
    if name == "overview":
        overview(sde, figure, **options)
        return
    if name not in figures_of(sde):
        raise ValueError(
            f"A model of {sde.n_features_in_} dimensions has no figure {name!r}. It has 'overview', "
            f"{', '.join(map(repr, figures_of(sde)))}."
        )
    FIGURES[name](sde, figure, **options)


def overview(sde: Any, figure: Any, **options: Any) -> None:
    """The trajectory above, everything else in two columns below."""
    names = [name for name in figures_of(sde) if name not in ("trajectory", "forecast")]
    wide = ["trajectory"] + [name for name in ("maps",) if name in names]
    if "forecast" in figures_of(sde):
        wide.append("forecast")
    pairs = [name for name in names if name not in wide]
    if sde.n_features_in_ > 1:
        wide, pairs = [*wide, "drift", "diffusion"], [name for name in pairs if name not in ("drift", "diffusion")]
    rows: list[list[str]] = [["trajectory"], *(pairs[i : i + 2] for i in range(0, len(pairs), 2))]
    rows += [[name] for name in wide if name != "trajectory"]
    heights = [max(size_of(name, sde.n_features_in_)[1] for name in row) for row in rows]
    bands = figure.subfigures(len(rows), 1, height_ratios=heights, squeeze=False)[:, 0]
    for band, row in zip(bands, rows, strict=True):
        parts = band.subfigures(1, len(row), squeeze=False)[0]
        for part, name in zip(parts, row, strict=True):
            FIGURES[name](sde, part, **options)


def plot(sde: Any, what: str = "overview", figure: Any = None, **options: Any) -> Any:
    """A pyplot figure of this, or of everything; drawn into `figure` where one is given."""
    with matplotlib.rc_context(STYLE):
        if figure is None:
            import matplotlib.pyplot as plt

            d = sde.n_features_in_
            size = (9.0, 11.0 if d == 1 else 18.0) if what == "overview" else size_of(what, d)
            figure = plt.figure(figsize=size, layout="constrained", facecolor="white")
        draw(sde, what, figure, **options)
    return figure
