"""One HTML page that shows a panel: how many were fitted, who is like whom, who is odd, who failed and why."""

import io
import re
from collections import Counter
from html import escape
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from onepath.numerics.arrays import Floats, evenly
from onepath.panel.one import REPORTS, Plan
from onepath.show.about import today
from onepath.show.plots.style import FIT, MUTED, SECOND, STYLE, plain
from onepath.show.report.figures import inlined
from onepath.show.report.page import figure, page, paragraph, section, table
from onepath.show.report.typeset import number
from onepath.show.report.words import Rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

LISTED, NAMED, DRAWN, LABELLED = 200, 8, 200, 10
"""Series in the long table, examples of a reason, curves in a figure, and odd series with their name on the map."""

COORDINATES = 3
"""Of which curves are drawn."""

APART = 3.0
"""Where series lie farther apart than this many of their ranges, each is drawn in its own units."""

VARYING = re.compile(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?|'[^']*'")
"""What differs between reasons of one kind."""


def panel_page(series: "pd.DataFrame", curves: "pd.DataFrame", likeness: "pd.DataFrame", plan: Plan) -> str:
    """The page."""
    fitted = series[series["fitted"]]
    odd = likeness[likeness["odd"] != ""].sort_values("how_odd", ascending=False)
    sections = [
        section("all", "All together", *_figures(curves, likeness, odd, plan), table(_facts(series))),
        *_likeness(likeness, odd, plan.layout.key),
        *_failed(series, plan.layout.key),
        *_verdicts(fitted),
        section("series", "Series by series", *_series(series, likeness, plan)),
        section("made", "How this was made", table(_made(plan))),
    ]
    lead = f"Each series was fitted by itself, with its own drift and diffusion, from its own rows of {_columns(plan)}."
    made = f"Written by onepath {version('onepath')} on {today()}. This page loads nothing from anywhere."
    return page(f"{len(series)} series", lead, _banner(series, odd), sections, made)


def counted(series: "pd.DataFrame") -> str:
    """How many were fitted, and how many models fit, in a sentence."""
    fitted = int(series["fitted"].sum())
    said = f"{fitted} of {len(series)} series were fitted"
    if "fits" in series.columns:
        said += f"; the equation fits {int(series['fits'].fillna(False).sum())} of them"
    return said + (f", {len(series) - fitted} failed." if fitted < len(series) else ".")


def kinds_of(reasons: "pd.Series") -> list[tuple[str, list[Any]]]:
    """Reasons of one kind, which differ in numbers and names alone, with the rows that have them; the most common
    kind first."""
    kinds: dict[str, list[Any]] = {}
    for row, reason in reasons.items():
        kinds.setdefault(VARYING.sub("…", str(reason)), []).append(row)
    return sorted(kinds.items(), key=lambda kind: -len(kind[1]))


def _banner(series: "pd.DataFrame", odd: "pd.DataFrame") -> str:
    flagged = "" if series["fitted"].all() else " flagged"
    more = f" {len(odd)} {'is' if len(odd) == 1 else 'are'} odd among the others." if len(odd) else ""
    return f'<p class="verdict{flagged}"><strong>{escape(counted(series))}</strong>{escape(more)}</p>'


def _columns(plan: Plan) -> str:
    return " and ".join(plan.layout.chosen.values) or "the table"


def _facts(series: "pd.DataFrame") -> Rows:
    fitted = series[series["fitted"]]
    rows = [("series", str(len(series)))]
    if len(fitted):
        lengths = fitted["transitions"].astype(float)
        rows += [
            ("transitions of each", f"{lengths.min():.0f} to {lengths.max():.0f}, median {lengths.median():.0f}"),
            ("seconds of each", f"median {fitted['seconds'].median():.2g}, in all {series['seconds'].sum():.3g}"),
        ]
    return Rows((), rows)


def _figures(curves: "pd.DataFrame", likeness: "pd.DataFrame", odd: "pd.DataFrame", plan: Plan) -> list[str]:
    key, parts = plan.layout.key, []
    if len(likeness):
        drawn = _svg(lambda one: _map(one, likeness, odd, key), (7.0, 3.6), "map of the panel", 1)
        parts.append(figure(drawn, "Every series that was fitted, near those that are like it: along the two "
                            "directions in which their drift and noise differ most. Odd ones are named."))  # fmt: skip
    if len(curves):
        strange = set(odd[key])
        names = _coordinates(curves, key)[:COORDINATES]
        drawn = _svg(lambda one: _all_curves(one, curves, strange, names, key), (9.0, 3.2 * len(names)), "curves", 2)
        parts.append(figure(drawn, "Drift (left) and diffusion (right) of each series, a line for each; odd ones in "
                            f"the second colour. At most {DRAWN} are drawn."))  # fmt: skip
    return parts


def _svg(draw: Any, size: tuple[float, float], described: str, count: int) -> str:
    with matplotlib.rc_context(STYLE):
        one = Figure(figsize=size, layout="constrained")
        draw(one)
        buffer = io.StringIO()
        one.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Type": None, "Format": None})
    return inlined(buffer.getvalue(), count, described)


def _map(one: Figure, likeness: "pd.DataFrame", odd: "pd.DataFrame", key: str) -> None:
    axes = one.add_subplot()
    strange = likeness["odd"] != ""
    for some, colour in ((~strange, FIT), (strange, SECOND)):
        axes.plot(likeness.loc[some, "map_x"], likeness.loc[some, "map_y"], ".", color=colour, ms=5.0, alpha=0.7)
    for _, row in odd.iloc[:LABELLED].iterrows():
        where = (row["map_x"], row["map_y"])
        axes.annotate(plain(str(row[key])), where, (4, 3), textcoords="offset points", fontsize=8.5)
    axes.set_title("A map of the panel, in robust standard deviations")


def _coordinates(curves: "pd.DataFrame", key: str) -> list[str]:
    """Names of what curves are drawn along."""
    if "along" in curves.columns:
        return [str(name) for name in curves["along"].drop_duplicates()]
    return [str(curves.columns[list(curves.columns).index(key) + 1])]


def _all_curves(one: Figure, curves: "pd.DataFrame", strange: set[Any], names: list[str], key: str) -> None:
    """A row of two panels for each coordinate: drift and diffusion."""
    panels = one.subplots(len(names), 2, squeeze=False)
    alone = "along" not in curves.columns
    for name, pair in zip(names, panels, strict=True):
        own = curves if alone else curves[curves["along"] == name]
        groups = [(label, part) for label, part in own.groupby(key, sort=False)]
        some = [groups[i] for i in evenly(len(groups), DRAWN)]
        own_units = _far_apart([part[name].to_numpy(float) for _, part in groups])
        for what, axes in zip(("drift", "diffusion"), pair, strict=True):
            column = what if alone else f"{what}_{name}"
            if column in own.columns:
                _lines(axes, some, name, column, strange, own_units)
            axes.set_xlabel(plain(name) + (", from its range's low end to its high one" if own_units else ""))
            axes.set_title(plain(column.replace("_", " of ")) + (" per range" if own_units else ""))


def _lines(axes: "Axes", some: list[Any], name: str, column: str, strange: set[Any], own_units: bool) -> None:
    for label, part in sorted(some, key=lambda each: each[0] in strange):
        x, y = part[name].to_numpy(float), part[column].to_numpy(float)
        if own_units:
            reach = np.ptp(x) or 1.0
            x, y = (x - x.min()) / reach, y / reach
        odd = label in strange
        axes.plot(x, y, color=SECOND if odd else FIT, lw=1.2 if odd else 0.7, alpha=0.9 if odd else 0.35)
    axes.axhline(0.0, color=MUTED, lw=0.6)


def _far_apart(parts: list[Floats]) -> bool:
    middles, reaches = [np.median(part) for part in parts], [np.ptp(part) for part in parts]
    return bool(np.ptp(middles) > APART * np.median(reaches))


def _likeness(likeness: "pd.DataFrame", odd: "pd.DataFrame", key: str) -> list[tuple[str, str, str]]:
    if len(likeness) == 0:
        return []
    said = paragraph("Series are compared by level, range, return, bend of the drift and noise at the 5th, 50th and "
                     "95th percentile of their own data. The nearest of each is in the table below.")  # fmt: skip
    if len(odd) == 0:
        return [section("odd", "Who is odd", said, paragraph("None is far from all others."))]
    rows = [(str(row[key]), row["odd"], str(row["like"])) for _, row in odd.iloc[:LISTED].iterrows()]
    return [section("odd", "Who is odd", said, table(Rows((key, "what is odd", "nearest"), rows)))]


def _failed(series: "pd.DataFrame", key: str) -> list[tuple[str, str, str]]:
    failed = series[~series["fitted"]]
    if len(failed) == 0:
        return []
    rows = []
    for _, which in kinds_of(failed["reason"]):
        names = ", ".join(str(failed.at[row, key]) for row in which[:NAMED])
        rest = f" and {len(which) - NAMED} more" if len(which) > NAMED else ""
        rows.append((str(failed.at[which[0], "reason"]), str(len(which)), names + rest))
    return [section("failed", "Who failed, and why", table(Rows(("reason, of the first", "series", "which"), rows)))]


def _verdicts(fitted: "pd.DataFrame") -> list[tuple[str, str, str]]:
    if "faults" not in fitted.columns or len(fitted) == 0:
        return []
    counts = Counter(fault for faults in fitted["faults"] for fault in str(faults).split(", ") if fault)
    clear = int(fitted["fits"].fillna(False).sum())
    rows = [("none: the equation fits", f"{clear}", f"{clear / len(fitted):.0%}")]
    rows += [(fault, f"{count}", f"{count / len(fitted):.0%}") for fault, count in counts.most_common()]
    said = paragraph("What the diagnosis of each model found. A series may have several faults; of many series whose "
                     "equation is right, a few per cent are flagged by chance.")  # fmt: skip
    return [section("verdicts", "Which models fit", said, table(Rows(("fault", "series", "share"), rows), "numbers"))]


def _series(series: "pd.DataFrame", likeness: "pd.DataFrame", plan: Plan) -> list[str]:
    """The first of them, with links to the reports that were kept."""
    key = plan.layout.key
    like = dict(zip(likeness[key], likeness["like"], strict=True)) if len(likeness) else {}
    middles = [name for name in series.columns if re.fullmatch(r"(drift|noise)_(.*_)?q50", str(name))]
    shown, rows = series[series["fitted"]].iloc[:LISTED], []
    for _, row in shown.iterrows():
        verdict = "" if "fits" not in row else "fits" if row["fits"] is True or row["fits"] else str(row["faults"])
        numbers = [number(float(row[name])) for name in middles]
        equation = str(row.get("drift_equation", ""))
        rows.append((str(row[key]), verdict, *numbers, equation, str(like.get(row[key], ""))))
    head = (key, "verdict", *(str(name).replace("_", " ") for name in middles), "equation of the drift", "nearest")
    parts = [table(Rows(head, rows))] if rows else []
    if len(shown) < int(series["fitted"].sum()):
        parts.append(paragraph(f"The first {LISTED}; all are in the table of series."))
    if plan.kept is not None:
        kept = [one for one in series.loc[series["fitted"], key].astype(str) if plan.kept.names is None
                or one in plan.kept.names][:LISTED]  # fmt: skip
        links = [f'<a href="{REPORTS}/{quote(quote(one, safe=" "), safe="")}.html">{escape(one)}</a>' for one in kept]
        parts.append(f"<p>Reports: {', '.join(links)}</p>" if links else "")
    return parts


def _made(plan: Plan) -> Rows:
    chosen, layout = plan.layout.chosen, plan.layout
    rows = [
        ("settings", repr(plan.sde)),
        ("column that names series", layout.key),
        ("time", chosen.time or (f"a constant step of {chosen.dt:g}" if chosen.dt else "joined from several columns")),
        ("state", ", ".join(chosen.values)),
        ("rates are per", chosen.unit or "unit of time"),
        ("seed", f"{plan.seed}, and of each series its own, by its name"),
    ]
    return Rows((), rows)
