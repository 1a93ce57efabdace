"""A model as the page draws it: the numbers of its figures, ready to be written as JSON."""

from typing import Any

import numpy as np

from onepath.after.diagnose import residuals_in
from onepath.after.diagnose.change import clear_season, lines_of, without_seasons_and_changes
from onepath.after.diagnose.lags import ratio_at
from onepath.after.forecast import Paths
from onepath.after.lagged import lagged, lags_in
from onepath.after.states import states
from onepath.compare.processes import Process
from onepath.data.calendar import written
from onepath.model import Model
from onepath.numerics.arrays import Floats
from onepath.show import numbers, sentences
from onepath.show.reach import held
from onepath.show.report.typeset import number, typeset
from onepath.show.tables import line_through
from onepath.studio.drawn import banded, histogram, rounded, rounded_times, times_of

POINTS = 200
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def curves(model: Model, truth: Process | None) -> dict[str, Any]:
    """Drift and noise along every coordinate, the data's density under them, and the truth where it is known."""
    along = []
    for i, name in enumerate(model.names):
        of = model.shown_along(i)
        points, drift, noise = numbers.shown_at(model, line_through(model, i, POINTS))
        true = None
        if truth is not None:
            sigma = truth.diffusion(points)[:, of]
            true = {"drift": rounded(truth.drift(points)[:, of]), "noise": rounded(np.linalg.norm(sigma, axis=1))}
        along.append(
            {
                "name": name,
                "of": model.names[of],
                "at": rounded(points[:, i]),
                "drift": banded(drift, of),
                "noise": banded(noise, of),
                "truth": true,
                "data": histogram(model.transitions.x[:, i]),
            }
        )
    return {
        "names": model.names,
        "along": along,
        "noise": sentences.noise(model),
        "per": sentences.per_time(model),
        "per_root": sentences.per_time(model, root=True),
        "equation": model.equation,
        "truth": None if truth is None else truth.equation,
        "seconds": rounded(np.asarray(model.seconds)),
        "score": rounded(np.asarray(model.evidence / model.transitions.total)),
        "held": held(model),
    }


def forecast(model: Model, paths: Paths) -> dict[str, Any]:
    """Quantiles ahead, and where it is at the end of them in words."""
    quantiles = paths.quantiles(LEVELS)
    ahead = f"{number(paths.t[-1] - paths.t[0])} {model.trajectory.times}"
    ahead += f", on {written(paths.dates)[-1]}" if paths.dates is not None else ""
    last = quantiles[[0, 2, 4], -1]
    ends = "; ".join(
        f"{name} {number(middle)}, between {number(low)} and {number(high)} with 90 % probability"
        for name, low, middle, high in zip(model.names, *last, strict=True)
    )
    return {
        "t": rounded_times(times_of(model, paths.t)),
        "dates": paths.dates is not None,
        "names": model.names,
        "quantiles": rounded(np.moveaxis(quantiles, 2, 0)),  # (d, levels, steps + 1)
        "steps": len(paths.t) - 1,
        "told": typeset(f"After {ahead}: {ends}."),
    }


def lags(model: Model) -> dict[str, Any]:
    """Drift and noise at longer steps, along each coordinate, and σ² against the step."""
    residuals = residuals_in(model)
    clean = without_seasons_and_changes(residuals, clear_season(lines_of(residuals)))
    steps = lags_in(model)
    pairs = [ratio_at(residuals, clean, each) for each in steps]
    along = []
    shown = range(model.trajectory.dimension) if model.graph.compared is None else ()
    for i in shown:
        each = [lagged(model, i, lag) for lag in steps]
        along.append([{name: _part(part) for name, part in one._asdict().items()} for one in each])
    return {
        "steps": steps,
        "names": [model.names[k] for k in model.moved],
        "ratios": rounded(np.array([ratio for ratio, _ in pairs]).T.reshape(-1, len(steps))),
        "errors": rounded(np.array([error for _, error in pairs]).T.reshape(-1, len(steps))),
        "along": along,
        "unit": model.trajectory.times,
    }


def _part(part: Any) -> Any:
    return part if isinstance(part, int) else rounded(part)


def readings(model: Model) -> tuple[Floats, dict[str, Any]]:
    """Columns (n, c) of everything that is drawn against time, NaN between records, and what they are."""
    observed = model.trajectory
    columns, series = [times_of(model, observed.t)], []

    def add(values: Floats) -> int:
        columns.append(values)
        return len(columns) - 1

    for i, name in enumerate(observed.names):
        series.append(
            {
                "name": name,
                "kind": "readings" if model.observed is not None else "state",
                "values": add(observed.x[:, i]),
            }
        )
    if model.observed is not None:
        found = states(model)
        lower, upper = found.band()
        for i, name in enumerate(model.names):
            band = {"lower": add(lower[:, i]), "upper": add(upper[:, i])}
            series.append({"name": name, "kind": "hidden", "values": add(found.smoothed[:, i]), **band})
    broken = np.setdiff1d(np.arange(len(observed.t) - 1), observed.step) + 1
    whole = np.stack(columns, axis=1)
    holes = np.full((len(broken), whole.shape[1]), np.nan)
    holes[:, 0] = whole[broken, 0]
    about = {
        "series": series,
        "dates": observed.clock.origin is not None,
        "unit": observed.times,
        "records": int(observed.record.max()) + 1,
    }
    return np.insert(whole, broken, holes, axis=0), about
