"""One fit in a process of its own: from an upload to everything that the page shows of it, part by part."""

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onepath.after.forecast import Paths, forecast
from onepath.data.calendar import written
from onepath.io.atomic import sha256_of
from onepath.io.columns import Readings, choose_columns
from onepath.io.model import load_model, save_model
from onepath.sde import SDE
from onepath.show.about import About, today
from onepath.show.plots.curves import fan_of
from onepath.show.report import write_report
from onepath.show.sentences import weekends
from onepath.studio import shown, told
from onepath.studio.examples import process_of
from onepath.studio.look import opened
from onepath.studio.options import Asked, settings_of
from onepath.studio.plane import plane
from onepath.studio.said import Said

MODEL, REPORT, CURVES, FORECAST, SUMMARY = "model.onepath", "report.html", "curves.csv", "forecast.csv", "summary.txt"
PATHS = 1000
FORMULA = ("=", "+", "-", "@")
"""What a spreadsheet takes for the beginning of a formula, which it would run."""

Told = Callable[[str], object]


class Job(NamedTuple):
    """A fit that was asked for."""

    source: Path
    name: str  # of the file, as its client called it
    folder: Path  # that everything is written into
    said: Said
    asked: Asked
    command: str
    example: str | None = None


def warm() -> None:
    """Fit next to nothing, so that compiled programs are there when they are needed."""
    noise = np.random.default_rng(0).standard_normal(300)
    x = np.convolve(noise, np.exp(-np.arange(20) / 5.0))
    shown.curves(SDE(progress=False).fit(x, dt=1.0).model_, None)


def learn(job: Job, tell: Told, made: Told) -> None:
    """Fit, and write part after part; `tell` hears how far it is, `made` what has been written."""
    tell("reading the table")
    table = opened(job.source, job.name, job.said)
    notes = list(table.notes)
    seen = choose_columns(table.frame, job.said.chosen(table.missing))
    notes += seen.notes
    del table
    tell("learning")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sde = SDE(**settings_of(job.asked), random_state=0, progress=tell).fit(**seen.arguments, **job.said.times)
    sde.set_params(progress=True)
    said = [str(each.message) for each in caught if each.category is UserWarning]
    notes += dict.fromkeys([*said, *filter(None, [weekends(sde.model_)])])
    for name in _parts(sde, job, notes, seen, tell):
        made(name)


def _parts(sde: SDE, job: Job, notes: list[str], seen: Readings, tell: Told) -> Iterator[str]:
    """Write everything, and say so one after another: what a page shows first comes first."""
    model, truth = sde.model_, process_of(job.example)
    warnings.simplefilter("ignore")  # what a forecast has to say is said in its own words

    def keep(name: str, part: Any) -> str:
        (job.folder / f"{name}.json").write_text(json.dumps(part, allow_nan=False))
        return name

    yield keep("curves", shown.curves(model, truth) | {"notes": notes})
    values, about_series = shown.readings(model)
    np.save(job.folder / "series.npy", values)
    yield keep("series", about_series)
    tell("checking whether the model fits")
    yield keep("verdict", told.verdict(model, job.asked))
    tell("looking at longer steps")
    yield keep("lags", shown.lags(model))
    if model.dimension == 2:
        yield keep("plane", plane(model, truth))
    tell("working out what follows")
    yield keep("follows", told.follows(model, truth))
    tell("forecasting")
    yield keep("forecast", shown.forecast(model, fan_of(model)))
    yield keep("tables", told.tables(model))
    about = about_data(job, seen, notes)
    save_model(model, sde.get_params(), job.folder / MODEL, facts=_facts(about))
    yield "model"
    (job.folder / CURVES).write_text(_csv(sde.curves()))
    (job.folder / SUMMARY).write_text(sde.summary() + "\n")
    yield "curves.csv"
    write_forecast(job.folder, fan_of(model))
    yield "forecast.csv"
    tell("drawing the report")
    true_equation = truth.equation if truth is not None else ""
    write_report(model, job.folder / REPORT, truth=truth, about=about._replace(true_equation=true_equation))
    yield "report"


def about_data(job: Job, seen: Readings, notes: list[str]) -> About:
    """Where the data came from, for the report and the model file."""
    facts = {"made": today(), "sha256": sha256_of(job.source)}
    about = About(source=job.name, notes=tuple(notes), command=job.command, **facts)
    times = seen.t if isinstance(seen.t, list) else [seen.t]
    if times[0] is None or times[0].dtype.kind != "M":
        return about
    ends = np.array([min(part.iloc[0] for part in times), max(part.iloc[-1] for part in times)], dtype="M8[s]")
    first, last = written(ends)
    return about._replace(first=first, last=last)


def _facts(about: About) -> dict[str, Any]:
    return {name: value for name, value in about._asdict().items() if value} | {"notes": list(about.notes)}


def ahead(folder: Path, steps: int) -> None:
    """Forecast so many steps from a model that was kept, in place of the forecast that is there."""
    model, *_ = load_model(folder / MODEL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paths = forecast(model, steps, None, PATHS, 0, True)
    (folder / "forecast.json").write_text(json.dumps(shown.forecast(model, paths), allow_nan=False))
    write_forecast(folder, paths)


def write_forecast(folder: Path, paths: Paths) -> None:
    """As a table."""
    (folder / FORECAST).write_text(_csv(paths.quantiles_frame().reset_index(allow_duplicates=True)))


def _csv(frame: Any) -> str:
    header = [f"'{name}" if str(name).startswith(FORMULA) else name for name in frame.columns]
    return str(frame.to_csv(index=False, lineterminator="\n", header=header))
