"""One series of a panel: from its rows to a record that is a line of JSON, whatever becomes of it."""

import hashlib
import math
import time
import warnings
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from onepath.after.diagnose import diagnose
from onepath.after.equations import Equations, equations_of
from onepath.data.trajectory import Trajectory
from onepath.data.transitions import Transitions
from onepath.inference.disturbance.disturbance import since_of
from onepath.io.columns import choose_columns
from onepath.model import Model
from onepath.numerics.arrays import Floats
from onepath.panel.layout import Layout, Series
from onepath.sde import SDE
from onepath.show import equations
from onepath.show.numbers import Shown, shown_at
from onepath.show.tables import curves_over_data

Record = dict[str, Any]
"""`key`, `name` and `recipe`, a row of the table of series, and columns of the table of curves."""

MODELS, REPORTS = "models", "reports"
"""Folders of what is kept of single series."""

ENDS = ("", "_lower", "_upper")

EQUATIONS = ("drift_equation", "noise_equation")


class Kept(NamedTuple):
    """Of which series a model file and a report are written, and where."""

    folder: Path
    names: frozenset[str] | None = frozenset()  # None is all

    def wants(self, series: Series) -> bool:
        return self.names is None or series.key in self.names

    def model(self, series: Series) -> Path:
        return self.folder / MODELS / f"{quote(series.key, safe=' ')}.onepath"

    def report(self, series: Series) -> Path:
        return self.folder / REPORTS / f"{quote(series.key, safe=' ')}.html"

    def lacks(self, series: Series) -> bool:
        """Whether something is wanted of a series that is not there."""
        return self.wants(series) and not (self.model(series).exists() and self.report(series).exists())


class Plan(NamedTuple):
    """What is done with each series: the same for all of them, so that none depends on another."""

    sde: SDE  # whose settings are taken
    layout: Layout
    points: tuple[str | float, ...]  # "q50" is a median; a number is a value of the state
    curve_points: int
    verdict: bool  # whether each model is diagnosed
    seed: int
    kept: Kept | None = None

    @property
    def recipe(self) -> str:
        """All but what is kept, as text."""
        settings = sorted((name, repr(value)) for name, value in self.sde.get_params().items())
        return repr((settings, *self[1:-1]))

    def seed_of(self, series: Series) -> int:
        """Its own, by its name alone."""
        return int.from_bytes(hashlib.sha256(f"{self.seed}/{series.key}".encode()).digest()[:4])


def fit_series(plan: Plan, series: Series) -> Record:
    """Fit one series, and say what was found, or why nothing was. Nothing that it does goes beyond it."""
    begun, found, curves = time.perf_counter(), {}, {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            sde = fit_one(plan, series)
            found, curves = _found(plan, sde.model_), _curves(plan, sde.model_)
            _keep(plan, series, sde)
            reason = ""
        except Exception as error:  # a row like all others, never the end
            reason, found, curves = reason_of(error), {}, {}
    notes, seconds = said_of(caught), time.perf_counter() - begun
    row = {"fitted": not reason, "reason": reason, **found, "notes": notes, "seconds": seconds}
    return record_of(series, row, curves)


def said_of(caught: Iterable[warnings.WarningMessage]) -> str:
    """What was said of a series on the way, each thing once."""
    return "; ".join(dict.fromkeys(str(each.message) for each in caught if each.category is UserWarning))


def record_of(series: Series, row: dict[str, Any], curves: dict[str, list[Any]]) -> Record:
    """What is kept of a series; a name that is no number is kept as text."""
    name = series.name.item() if isinstance(series.name, np.generic) else series.name
    name = name if isinstance(name, int | float) else series.key
    return {"key": series.key, "name": name, "recipe": series.recipe, "row": row, "curves": curves}


def fit_all(plan: Plan, batch: Iterable[Series]) -> list[Record]:
    """Several, one after another: what is sent to another process."""
    return [fit_series(plan, series) for series in batch]


def failed(series: Series, reason: str) -> Record:
    """The record of a series that could not be tried to the end."""
    row = {"fitted": False, "reason": reason, "notes": "", "seconds": math.nan}
    return record_of(series, row, {})


def fit_one(plan: Plan, series: Series) -> SDE:
    """The fit alone."""
    layout = plan.layout
    seen = choose_columns(series.frame, layout.chosen)
    settings = plan.sde.get_params() | {"random_state": plan.seed_of(series), "progress": False}
    return SDE().set_params(**settings).fit(**seen.arguments, gap=layout.gap, calendar=layout.calendar)


def reason_of(error: Exception) -> str:
    """As people read it; what is no refusal with its kind."""
    said = " ".join(str(error).split())
    return said if isinstance(error, ValueError | TypeError) and said else f"{type(error).__name__}: {said}"


def _found(plan: Plan, model: Model) -> dict[str, Any]:
    """What a row says of a model."""
    trajectory = model.trajectory
    facts: dict[str, Any] = {}
    if plan.verdict:
        found = diagnose(model)
        facts = {"fits": found.fits, "verdict": found.verdict, "faults": ", ".join(found.faults)}
    facts |= (
        _equations(plan, model)
        | rows_of(trajectory, model.transitions)
        | {
            "law": model.law.name,
            "score": model.score(model.transitions, since_of(trajectory)) if model.observed is None else math.nan,
            "log_evidence": model.evidence,
            "constant_noise": math.nan if model.constant_noise is None else model.constant_noise,
        }
    )
    return facts | _estimates(model, plan.points)


def _equations(plan: Plan, model: Model) -> dict[str, str]:
    """The most probable ones; of polynomials where none were asked for and the model is looked at more closely."""
    asked = equations_of(model)
    if asked is not None:
        return written_of(asked, model.trajectory.unit)
    if not plan.verdict:
        return {}
    # what is indented are other equations of the function before
    lines = [line for line in equations.found(model) if not line.startswith(" ")]
    drifts = [line for line in lines if line.startswith("drift")]
    return dict(zip(EQUATIONS, ("; ".join(drifts), "; ".join(x for x in lines if x not in drifts)), strict=True))


def written_of(asked: Equations, unit: str | None) -> dict[str, str]:
    """Columns of the most probable equations."""
    return dict(zip(EQUATIONS, equations.briefly(asked, unit), strict=True))


def rows_of(trajectory: Trajectory, transitions: Transitions) -> dict[str, Any]:
    """What a row says of the data."""
    return {
        "rows": trajectory.rows,
        "transitions": trajectory.transitions,
        "missing": trajectory.missing,
        "gaps": trajectory.gaps,
        "step": float(np.median(transitions.dt)),
        "unit": trajectory.unit or "",
    }


def _estimates(model: Model, points: tuple[str | float, ...]) -> dict[str, float]:
    """Drift and noise of each coordinate at the named points along it, the others at their median."""
    x, facts = model.transitions.x, dict[str, float]()
    middle, alone = np.median(x, axis=0), model.dimension == 1
    for i, name in enumerate(model.names):
        at: Floats = np.tile(middle, (len(points), 1))
        at[:, i] = places_of(x[:, i], points)
        shown, k = shown_at(model, at), model.shown_along(i)
        for row, point in enumerate(points):
            label = label_of(point) if alone else f"{name}_{label_of(point)}"
            facts |= {label: float(at[row, i])} | _banded(shown, row, k, label)
    return facts


def _banded(shown: Shown, row: int, k: int, label: str) -> dict[str, float]:
    curves = (("drift", shown.drift), ("noise", shown.noise))
    return {
        f"{what}_{label}{end}": float(part[row, k])
        for what, curve in curves
        for end, part in zip(ENDS, curve, strict=True)
    }


def label_of(point: str | float) -> str:
    """Of what is estimated at a point."""
    return point if isinstance(point, str) else f"at_{point:g}"


def places_of(column: Floats, points: tuple[str | float, ...]) -> Floats:
    """Where points are, among values of a coordinate."""
    shares = [float(point[1:]) / 100 if isinstance(point, str) else None for point in points]
    quantiles = iter(np.quantile(column, [share for share in shares if share is not None]).tolist())
    pairs = zip(points, shares, strict=True)
    return np.asarray([float(point) if share is None else next(quantiles) for point, share in pairs])


def _curves(plan: Plan, model: Model) -> dict[str, list[Any]]:
    """Columns of curves over the data, with the ends of their 90 % bands."""
    if plan.curve_points == 0:
        return {}
    return {str(name): column.tolist() for name, column in curves_over_data(model, plan.curve_points).items()}


def _keep(plan: Plan, series: Series, sde: SDE) -> None:
    """Its model file and its report, where they are wanted."""
    if plan.kept is None or not plan.kept.wants(series):
        return
    model, report = plan.kept.model(series), plan.kept.report(series)
    for path in (model, report):
        with suppress(FileExistsError):
            path.parent.mkdir(parents=True)
    sde.save(model, force=True)
    sde.report(report, force=True, title=f"What moves {series.key}")
