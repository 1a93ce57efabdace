"""onepath fit: a table in; a summary, a model file and a report out."""

import shlex
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onepath.cli.console import as_json, ending, note, say

if TYPE_CHECKING:
    from onepath.files import Observations
    from onepath.sde import SDE

Data = Annotated[Path, typer.Argument(help="CSV, TSV, Parquet, NPY or NPZ file.", show_default=False)]
Time = Annotated[str | None, typer.Option("--time", help="Column that tells the time.")]
Values = Annotated[list[str] | None, typer.Option("--value", help="Column of the state; once for each dimension.")]
Group = Annotated[str | None, typer.Option("--group", help="Column that names the trajectory a row belongs to.")]
Step = Annotated[float | None, typer.Option("--dt", help="Step between rows, where no column tells the time.")]
Unit = Annotated[str | None, typer.Option("--unit", help="Time unit that rates are per: day, month, year ...")]
Gap = Annotated[float, typer.Option("--gap", help="Steps longer than this many median steps are recording gaps.")]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Of a text file, if not UTF-8: latin-1, utf-16 ...")]
Drift = Annotated[str | None, typer.Option("--drift", help="Kernel: matern52, or '4*Matern52(0.5)+DotProduct()'.")]
Diffusion = Annotated[str | None, typer.Option("--diffusion", help="Kernel of the diffusion, likewise.")]
Noise = Annotated[str, typer.Option("--noise", help="auto, diagonal, isotropic or full.")]
Link = Annotated[str, typer.Option("--link", help="softplus, exp or identity.")]
Transition = Annotated[str | None, typer.Option("--transition", help="Law of a step, such as euler.")]
Solver = Annotated[str, typer.Option("--solver", help="fisher, newton or gradient.")]
Learn = Annotated[str, typer.Option("--learn", help="evidence, crossval, bayesopt or none.")]
Cells = Annotated[int | None, typer.Option("--cells", help="Cells that many points are merged into.")]
Seed = Annotated[int, typer.Option("--seed", help="Of what is drawn at random.")]
Model = Annotated[Path | None, typer.Option("--model", help="Write the fitted model here, such as model.onepath.")]
Report = Annotated[Path | None, typer.Option("--report", help="Write the report here, such as report.html.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def fit(
    data: Data,
    time: Time = None,
    value: Values = None,
    group: Group = None,
    dt: Step = None,
    unit: Unit = None,
    gap: Gap = 10.0,
    encoding: Encoding = None,
    drift: Drift = None,
    diffusion: Diffusion = None,
    noise: Noise = "auto",
    link: Link = "softplus",
    transition: Transition = None,
    solver: Solver = "fisher",
    learn: Learn = "evidence",
    cells: Cells = None,
    seed: Seed = 0,
    model: Model = None,
    report: Report = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Learn drift and diffusion from a table of observations.

    Example:  onepath fit prices.csv --report report.html
    """
    with ending(json):
        from onepath.files import Chosen, check_free, choose_columns, read_table
        from onepath.report.words import caution

        for place in (model, report):
            if place is not None:
                check_free(place, force=force)
        table = read_table(data, encoding)
        seen = choose_columns(table.frame, Chosen(time, tuple(value or ()), group, dt, unit))
        notes = [*table.notes, *seen.notes]
        if not json:
            note(f"{data}: {'; '.join(notes)}")
        settings: dict[str, Any] = {
            "noise": noise,
            "link": link,
            "solver": solver,
            "cells": cells,
            "random_state": seed,
        }
        settings |= {"learn": None if learn.lower() == "none" else learn, "progress": not json}
        settings |= {} if transition is None else {"transition": transition}
        sde = learned(seen, gap, settings, {"drift": drift, "diffusion": diffusion}, notes, quiet=json)
        about = about_data(seen, str(data), notes)
        written = keep(sde, about, model, report, force)
        if json:
            as_json(facts_of(sde) | {"data": about, "written": [str(path) for path in written]})
            return
        say(sde.summary())
        if (said := caution(sde)) is not None:
            note(f"note: {said}")
        for path in written:
            note(f"wrote {path}")


def learned(
    seen: "Observations",
    gap: float,
    settings: dict[str, Any],
    kernels: dict[str, str | None],
    notes: list[str],
    quiet: bool = False,
) -> "SDE":
    """Fit, with what the door warns of among the notes."""
    from onepath.cli.kernels import kernel_by_name
    from onepath.sde import SDE
    from onepath.trajectory import read_trajectory
    from onepath.transitions import transitions_of

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if any(kernels.values()):
            transitions = transitions_of(read_trajectory(**seen.arguments, gap=gap))
            settings = settings | {role: kernel_by_name(text, role, transitions) for role, text in kernels.items()}
        sde = SDE(**settings).fit(**seen.arguments, gap=gap)
    for text in dict.fromkeys(str(warning.message) for warning in caught if warning.category is UserWarning):
        notes.append(text)
        if not quiet:
            note(f"note: {text}")
    return sde


def about_data(seen: "Observations", source: str, notes: list[str]) -> dict[str, Any]:
    """Where the data came from, for the report and the model file."""
    about: dict[str, Any] = {"source": source, "notes": notes, "command": this_command()}
    times = seen.t if isinstance(seen.t, list) else [seen.t]
    if times[0] is not None and times[0].dtype.kind == "M":
        first, last = min(part.iloc[0] for part in times), max(part.iloc[-1] for part in times)
        daily = first == first.normalize() and last == last.normalize()
        about["first"], about["last"] = (
            f"{day:%Y-%m-%d}" if daily else f"{day:%Y-%m-%d %H:%M:%S}" for day in (first, last)
        )
    return about


def this_command() -> str:
    """The command as it was typed."""
    return shlex.join(["onepath", *sys.argv[1:]])


def keep(
    sde: Any, about: dict[str, Any], model: Path | None, report: Path | None, force: bool, **more: Any
) -> list[Path]:
    """Write what was asked for."""
    written = []
    if model is not None:
        from onepath.files import save_model

        written.append(save_model(sde, model, force=force, facts=about))
    if report is not None:
        written.append(sde.report(report, force=force, **about, **more))
    return written


def facts_of(sde: Any) -> dict[str, Any]:
    """A fit for machines: numbers in the data's units, with bands."""
    import numpy as np

    from onepath.report.words import equations

    observed, x = sde.trajectory_, sde.transitions_.x
    points = np.tile(np.median(x, axis=0), (5 * observed.dimension, 1))
    for i in range(observed.dimension):
        points[5 * i : 5 * i + 5, i] = np.quantile(x[:, i], [0.05, 0.25, 0.5, 0.75, 0.95])
    return {
        "names": observed.names,
        "unit": observed.unit,
        "rows": len(observed.t),
        "transitions": observed.transitions,
        "missing": observed.missing,
        "gaps": observed.gaps,
        "log_evidence": sde.evidence_,
        "loss": sde.loss_,
        "outcome": sde.outcome_,
        "constant_noise": sde.constant_noise_,
        "equations": equations(sde),
        "parameters": sde.parameters_,
        "points": points,
        "drift": {"mean": sde.drift(points), "band_90": sde.drift_band(points)},
        "diffusion": {"mean": sde.diffusion(points), "band_90": sde.diffusion_band(points)},
    }
