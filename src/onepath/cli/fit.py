"""onepath fit: a table in; a summary, a model file and a report out."""

import shlex
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onepath.cli.console import FAILED, REFUTED, as_json, ending, note, plain, say, telling
from onepath.cli.given import bounds_of, number_or_learn, number_or_word, numbers_or_learn, periods_of, season_of
from onepath.cli.known import (
    DiffusionReadsOption,
    DriftReadsOption,
    KnownDiffusionOption,
    KnownDriftOption,
    OnlyKnownOption,
    ParameterOption,
    known_parts,
    reads,
)
from onepath.data.reading import printable

if TYPE_CHECKING:
    from onepath.io.chosen import Chosen
    from onepath.io.columns import Readings
    from onepath.sde import SDE
    from onepath.show.about import About

CHECKING, DRAWING = "checking whether the model fits …", "drawing the report …"

DataOption = Annotated[
    Path,
    typer.Argument(help="CSV, TSV, Parquet, NPY or NPZ file, or a folder of Parquet files.", show_default=False),
]
TimeOption = Annotated[str | None, typer.Option("--time", help="Column that tells the time.")]
ValuesOption = Annotated[
    list[str] | None, typer.Option("--value", help="Column of the state; once for each dimension.")
]
GroupOption = Annotated[str | None, typer.Option("--group", help="Column that names the trajectory a row belongs to.")]


def step_of(text: str) -> float:
    """A number, or a fraction of two."""
    try:
        above, slash, below = text.partition("/")
        return float(above) / float(below if slash else 1)
    except (ValueError, ZeroDivisionError):
        raise typer.BadParameter(
            f"{text!r} is neither a number nor a fraction: write 0.004 or 1/252, in the unit of time"
        ) from None


StepOption = Annotated[
    float | None,
    typer.Option(
        "--dt",
        parser=step_of,
        metavar="NUMBER",
        help="Step between rows, where no column tells the time: 0.1 or 1/252.",
    ),
]
UnitOption = Annotated[str | None, typer.Option("--unit", help="Time unit that rates are per: day, month, year ...")]
TimeUnitOption = Annotated[
    str | None,
    typer.Option("--time-unit", help="What numbers of the time column, or --dt, are counted in: ms, hour ..."),
]
WideOption = Annotated[bool, typer.Option("--wide", help="Each column of values is a trajectory of its own.")]
MissingOption = Annotated[
    list[str] | None, typer.Option("--na", help="How missing values are written, such as n.d. or -999; repeatable.")
]
GapOption = Annotated[float, typer.Option("--gap", help="Steps longer than this many median steps are recording gaps.")]
CalendarOption = Annotated[
    str,
    typer.Option(
        "--calendar",
        help="Days of daily dates that count: all, business, or auto, by what the data do.",
    ),
]
EncodingOption = Annotated[
    str | None, typer.Option("--encoding", help="Of a text file, if not UTF-8: latin-1, utf-16 ...")
]
DriftOption = Annotated[
    str | None, typer.Option("--drift", help="Kernel: matern52, or '4*Matern52(0.5)+DotProduct()'.")
]
DiffusionOption = Annotated[str | None, typer.Option("--diffusion", help="Kernel of the diffusion, likewise.")]
NoiseOption = Annotated[str, typer.Option("--noise", help="auto, diagonal, isotropic or full.")]
LinkOption = Annotated[str, typer.Option("--link", help="softplus, exp or identity.")]
TransitionOption = Annotated[str | None, typer.Option("--transition", help="Law of a step, such as euler.")]
SolverOption = Annotated[str, typer.Option("--solver", help="fisher, newton or gradient.")]
LearnOption = Annotated[str, typer.Option("--learn", help="evidence, crossval, bayesopt or none.")]
CellsOption = Annotated[int | None, typer.Option("--cells", help="Cells that many points are merged into.")]
BoundsOption = Annotated[
    list[str] | None,
    typer.Option("--bounds", help="Values that the state cannot leave: 0,1 or 0,inf; once for each dimension."),
]
PeriodicOption = Annotated[
    list[str] | None,
    typer.Option("--periodic", help="Period of an angle: 6.2832 or 360; once for each dimension, none for others."),
]
MeasurementOption = Annotated[
    str | None,
    typer.Option(
        "--measurement",
        help="Noise of readings, which is not the state's: learn, a standard deviation, or one for each: 0.1,0.2.",
    ),
]
OrderOption = Annotated[
    int, typer.Option("--order", help="2 for readings of positions whose velocities are hidden; else 1.")
]
ExposureOption = Annotated[
    str | None,
    typer.Option("--exposure", help="Share of a step that a reading averages over, as a camera's; or learn."),
]
ErrorOption = Annotated[
    list[str] | None,
    typer.Option("--error", help="Column of the readings' standard errors; once, or once for each --value."),
]
JumpsOption = Annotated[bool, typer.Option("--jumps", help="Learn jumps: how often, how far, and when.")]
VolatilityOption = Annotated[
    bool, typer.Option("--volatility", help="Learn how the level of the noise changes with time.")
]
TailsOption = Annotated[
    str | None, typer.Option("--tails", help="Student increments: learn, or degrees of freedom such as 4.")
]
InputOption = Annotated[
    list[str] | None, typer.Option("--input", help="Column that drives the state and is known beforehand; repeatable.")
]
SeasonOption = Annotated[
    str | None,
    typer.Option("--season", help="Period of a season, in units of time: 12, year ..., or auto to look for one."),
]
TrendOption = Annotated[bool, typer.Option("--trend", help="Drift and diffusion may change with time.")]
EquationsOption = Annotated[
    str, typer.Option("--equations", help="Short equations beside the Gaussian process: auto, off or only.")
]
TermOption = Annotated[
    list[str] | None,
    typer.Option("--term", help="What an equation may have besides powers: 'sin(x)', or trigonometric; repeatable."),
]
SinceOption = Annotated[
    str | None, typer.Option("--since", help="Leave out rows before this date or time, such as 2008-09-15.")
]
MendOption = Annotated[
    bool, typer.Option("--mend", help="Try what the diagnosis suggests, compare it fairly, and take what holds.")
]
PresetOption = Annotated[
    str | None,
    typer.Option("--preset", help="With --mend: optical-trap, animal-track, interest-rate or climate-index."),
]
BudgetOption = Annotated[float, typer.Option("--budget", min=0.0, help="With --mend: seconds that it may take.")]
StreamOption = Annotated[
    bool,
    typer.Option("--stream", help="Read the file once, in constant memory; by itself where memory would not hold it."),
]
ResumeOption = Annotated[
    Path | None,
    typer.Option("--resume", help="File in which a stream keeps how far it is, to go on from there if interrupted."),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Of what is drawn at random.")]
ModelOption = Annotated[
    Path | None, typer.Option("--model", help="Write the fitted model here, such as model.onepath.")
]
ReportOption = Annotated[Path | None, typer.Option("--report", help="Write the report here, such as report.html.")]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit with 3 if the model does not fit.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def fit(
    data: DataOption,
    time: TimeOption = None,
    value: ValuesOption = None,
    group: GroupOption = None,
    dt: StepOption = None,
    unit: UnitOption = None,
    time_unit: TimeUnitOption = None,
    wide: WideOption = False,
    na: MissingOption = None,
    gap: GapOption = 10.0,
    calendar: CalendarOption = "auto",
    encoding: EncodingOption = None,
    drift: DriftOption = None,
    diffusion: DiffusionOption = None,
    noise: NoiseOption = "auto",
    link: LinkOption = "softplus",
    transition: TransitionOption = None,
    solver: SolverOption = "fisher",
    learn: LearnOption = "evidence",
    cells: CellsOption = None,
    bounds: BoundsOption = None,
    periodic: PeriodicOption = None,
    measurement: MeasurementOption = None,
    order: OrderOption = 1,
    exposure: ExposureOption = None,
    error: ErrorOption = None,
    jumps: JumpsOption = False,
    volatility: VolatilityOption = False,
    tails: TailsOption = None,
    driving: InputOption = None,
    drift_reads: DriftReadsOption = None,
    diffusion_reads: DiffusionReadsOption = None,
    known_drift: KnownDriftOption = None,
    known_diffusion: KnownDiffusionOption = None,
    parameter: ParameterOption = None,
    only_known: OnlyKnownOption = False,
    season: SeasonOption = None,
    trend: TrendOption = False,
    equations: EquationsOption = "auto",
    term: TermOption = None,
    since: SinceOption = None,
    mend: MendOption = False,
    preset: PresetOption = None,
    budget: BudgetOption = 180.0,
    stream: StreamOption = False,
    resume: ResumeOption = None,
    seed: SeedOption = 0,
    model: ModelOption = None,
    report: ReportOption = None,
    force: ForceOption = False,
    strict: StrictOption = False,
    json: JsonOption = False,
) -> None:
    """Learn drift and diffusion from a table of observations.

    Example:  onepath fit prices.csv --report report.html
    """
    with ending(json):
        from onepath.io.atomic import check_places, sha256_of
        from onepath.io.chosen import Chosen
        from onepath.io.columns import choose_columns
        from onepath.io.pieces import is_too_large
        from onepath.io.tables import read_table

        check_places((model, report), read=[data], force=force)
        _check_preset(preset, mend)
        physics = known_parts({"drift": known_drift, "diffusion": known_diffusion}, parameter, only_known)
        columns = (tuple(error or ()), tuple(driving or ()))
        chosen = Chosen(time, tuple(value or ()), group, dt, unit, time_unit, wide, tuple(na or ()), *columns)
        if mend and (stream or resume is not None or is_too_large(data)):
            raise ValueError("--mend compares models by rows in memory, and this file is streamed: fit a part of it")
        streamed, seen, notes, checksum = stream or resume is not None or is_too_large(data), None, list[str](), ""
        if not streamed:
            table, checksum = read_table(data, encoding, tuple(na or ())), sha256_of(data)
            seen = choose_columns(table.frame, chosen._replace(missing=(*(na or ()), *table.missing)))
            notes = [*table.notes, *seen.notes]
            del table  # which is as large as the data
            if not json:
                note(f"{data}: {'; '.join(notes)}")
        settings: dict[str, Any] = {
            "noise": noise,
            "link": link,
            "solver": solver,
            "cells": cells,
            "bounds": bounds_of(bounds),
            "periodic": periods_of(periodic),
            "measurement": numbers_or_learn(measurement, "--measurement"),
            "order": order,
            "exposure": number_or_learn(exposure, "--exposure"),
            "jumps": jumps,
            "volatility": "learn" if volatility else None,
            "tails": number_or_word(tails),
            "season": season_of(season),
            "trend": trend,
            "equations": equations,
            "terms": _terms(term),
            "since": number_or_word(since),
            "drift_reads": reads(drift_reads),
            "diffusion_reads": reads(diffusion_reads),
            "random_state": seed,
            "learn": None if learn.lower() == "none" else learn,
            "progress": not json,
            "transition": transition or "auto",
            **physics,
        }
        given = {"drift": drift, "diffusion": diffusion}
        times, kernels = {"gap": gap, "calendar": calendar}, {role: text for role, text in given.items() if text}
        for role in set(kernels) & set(physics):
            raise ValueError(f"--{role} is the kernel of all of it, and --known-{role} says what is known: give one")
        if seen is None:
            sde = _learned_in_passing(data, chosen, settings, kernels, notes, times, json, resume)
            about = _about(printable(str(data)), notes)
        else:
            sde = learned(seen, settings, kernels, notes, times, quiet=json)
            if mend:
                sde = mended(sde, preset, budget, quiet=json)
            about = about_data(seen, printable(str(data)), notes, sha256=checksum)
        if not json:
            tell(sde)
        # what was found is said first: a full disk must not lose it
        written, trouble = [], {}
        try:
            for path in keep(sde, about, model, report, force, quiet=json):
                written.append(str(path))
                if not json:
                    note(f"wrote {path}")
        except OSError as error:
            if not json:
                raise
            trouble = {"error": str(error), "kind": "failed"}
        if json:
            from onepath.show.facts import facts_of

            facts = facts_of(sde.model_) | {"curves": sde.curves().to_dict("list")}
            as_json(facts | {"data": facts_about(about), "written": written} | trouble)
        if trouble:
            raise typer.Exit(FAILED)
        if not (json or mend or sde.diagnose().fits):
            note("note: --mend tries what the verdict suggests, and says what holds")
        if strict and not sde.diagnose().fits:
            raise typer.Exit(REFUTED)


def _terms(given: list[str] | None) -> list[str] | str | None:
    """Expressions, or the name of a library."""
    return given[0] if given is not None and len(given) == 1 and given[0].isalpha() else given


def _check_preset(preset: str | None, mend: bool) -> None:
    """Refuse what nobody would read, or nobody knows, before any work."""
    if preset is None:
        return
    if not mend:
        raise ValueError("--preset says what --mend should try besides: give --mend too")
    from onepath.after.mend.candidates import asked_for

    asked_for((), preset)


def mended(sde: "SDE", preset: str | None, budget: float, quiet: bool = False) -> "SDE":
    """What holds: the proposed model, or this one, with the table of what was tried."""
    found = sde.mend(preset=preset, budget=budget)
    if not quiet:
        say(f"{found.before.verdict}\n")
        say(f"{found}\n")
    return found.best


def tell(sde: "SDE") -> None:
    """The summary, once it is known whether the model fits."""
    from onepath.show.sentences import caution

    with telling(CHECKING):
        said = sde.summary()
    say(said)
    if (warned := caution(sde.model_)) is not None:
        note(f"note: {warned}")


def learned(
    seen: "Readings",
    settings: dict[str, Any],
    kernels: dict[str, str],
    notes: list[str],
    times: dict[str, Any] | None = None,
    quiet: bool = False,
) -> "SDE":
    """Fit, with what the door warns of, and which days count, among the notes."""
    from onepath.sde import SDE
    from onepath.show.sentences import weekends

    arguments = seen.arguments | (times or {})

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if kernels:
            from onepath.cli.kernels import kernel_by_name
            from onepath.data.seasons import with_clockwork
            from onepath.data.trajectory import read_trajectory
            from onepath.data.transitions import transitions_of

            season = None if settings.get("season") == "auto" else settings.get("season")
            driven = with_clockwork(read_trajectory(**arguments), season, settings.get("trend", False))
            transitions = transitions_of(driven)
            settings = settings | {role: kernel_by_name(text, role, transitions) for role, text in kernels.items()}
        sde = SDE(**settings).fit(**arguments)
    _take_notes(caught, [weekends(sde.model_)], notes, quiet)
    return sde


def _learned_in_passing(
    data: Path,
    chosen: "Chosen",
    settings: dict[str, Any],
    kernels: dict[str, str],
    notes: list[str],
    times: dict[str, Any],
    quiet: bool,
    resume: Path | None,
) -> "SDE":
    """Fit to a file that is read once, part by part."""
    from onepath.sde import SDE

    if any(kernels.values()):
        raise ValueError(
            "--drift and --diffusion take their units from all data, and a file that is streamed passes by once: leave "
            "them out"
        )
    if times["calendar"] == "business":
        raise ValueError("--calendar business needs all rows in memory, and this file is streamed: leave it out")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sde = SDE(**settings).fit_stream(data, chosen, gap=times["gap"], notes=notes, resume=resume)
    if not quiet:
        note(f"{data}: {'; '.join(notes)}")
    _take_notes(caught, [], notes, quiet)
    return sde


def _take_notes(caught: list[warnings.WarningMessage], more: list[str | None], notes: list[str], quiet: bool) -> None:
    """Among the notes, and said: warnings, and more."""
    said = [str(warning.message) for warning in caught if warning.category is UserWarning]
    for text in dict.fromkeys([*said, *filter(None, more)]):
        notes.append(text)
        if not quiet:
            note(f"note: {text}")


def _about(source: str, notes: list[str], sha256: str = "") -> "About":
    from onepath.show.about import About, today

    return About(source=source, notes=tuple(notes), command=this_command(), made=today(), sha256=sha256)


def about_data(seen: "Readings", source: str, notes: list[str], sha256: str = "") -> "About":
    """Where the data came from, for the report and the model file."""
    about = _about(source, notes, sha256)
    times = seen.t if isinstance(seen.t, list) else [seen.t]
    if times[0] is None or times[0].dtype.kind != "M":
        return about
    first, last = min(part.iloc[0] for part in times), max(part.iloc[-1] for part in times)
    daily = first == first.normalize() and last == last.normalize()
    begin, end = (f"{day:%Y-%m-%d}" if daily else f"{day:%Y-%m-%d %H:%M:%S}" for day in (first, last))
    return about._replace(first=begin, last=end)


def facts_about(about: "About") -> dict[str, Any]:
    """As JSON: what is known of it."""
    return {name: value for name, value in about._asdict().items() if value or name == "notes"}


def this_command() -> str:
    """The command as it was typed."""
    return printable(shlex.join(["onepath", *sys.argv[1:]]))


def told(sde: "SDE") -> dict[str, Any]:
    """What is said of a fit, so that whoever opens its file need not work it out again."""
    from onepath.show.facts import facts_of

    return plain({"summary": sde.summary(), "facts": facts_of(sde.model_)})


def keep(
    sde: "SDE",
    about: "About",
    model: Path | None,
    report: Path | None,
    force: bool,
    title: str | None = None,
    truth: Any = None,
    quiet: bool = False,
) -> Iterator[Path]:
    """Write what was asked for, one after another."""
    if model is not None:
        from onepath.io.model import save_model

        facts = facts_about(about) | {"notes": list(about.notes), "told": told(sde)}
        yield save_model(sde.model_, sde.get_params(), model, force=force, facts=facts)
    if report is not None:
        with telling(DRAWING, shown=not quiet):
            written = sde.report(report, force=force, title=title, truth=truth, about=about)
        yield written
