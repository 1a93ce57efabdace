"""Commands that use a model file: simulate, forecast, curves, states, report, info."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onepath.cli.console import as_json, emit, ending, note, say, telling
from onepath.cli.fit import DRAWING, ForceOption, JsonOption, SeedOption, this_command, told
from onepath.numerics.memory import check_memory

if TYPE_CHECKING:
    import pandas as pd

    from onepath.after.forecast import Paths
    from onepath.sde import SDE

ModelArgument = Annotated[Path, typer.Argument(help="Model file, made by onepath fit --model.", show_default=False)]
StepsOption = Annotated[int, typer.Option("--steps", min=1, help="Steps ahead.")]
PathsOption = Annotated[int, typer.Option("--paths", min=1, help="Number of paths.")]
OutOption = Annotated[Path | None, typer.Option("--out", "-o", help="CSV file to write; without it, the screen.")]

InputsOption = Annotated[
    Path | None, typer.Option("--inputs", help="Table of the inputs ahead, a row for each step, under their names.")
]

PER_CELL = 120.0
"""Bytes of memory for each number of a table on its way to a CSV file."""

FORMULA = ("=", "+", "-", "@")
"""What a spreadsheet takes for the beginning of a formula, which it would run."""


def opened(path: Path) -> tuple["SDE", dict[str, Any]]:
    """A model and the facts that travel with it."""
    _check_there(path)
    from onepath.io.model import load_model
    from onepath.sde import SDE

    model, settings, facts = load_model(path)
    return SDE.from_model(model, settings), facts


def _check_there(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a model file")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: make it with onepath fit DATA --model {path}")


def _with_times(frame: "pd.DataFrame", t: Any) -> "pd.DataFrame":
    """The index as columns, and times (n,) beside dates."""
    import numpy as np

    table = frame.reset_index(allow_duplicates=True)
    if "date" in frame.index.names:
        table.insert(frame.index.nlevels, "t", np.resize(t, len(table)), allow_duplicates=True)
    return table


def _write(frame: "pd.DataFrame", out: Path | None, force: bool) -> None:
    from onepath.io.atomic import write_atomically

    header = [f"'{name}" if name.startswith(FORMULA) else name for name in frame.columns]
    text = frame.to_csv(index=False, lineterminator="\n", header=header)
    if out is None:
        emit(text)
    else:
        note(f"wrote {write_atomically(out, text.encode(), force=force)}")


def simulate(
    model: ModelArgument,
    steps: StepsOption = 500,
    paths: PathsOption = 1,
    dt: Annotated[float | None, typer.Option("--dt", help="Step; the data's median step if not given.")] = None,
    start: Annotated[list[float] | None, typer.Option("--start", help="Start, once for each dimension.")] = None,
    inputs: InputsOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Simulate paths of a learned equation.

    Example:  onepath simulate model.onepath --steps 1000 --paths 5 --out paths.csv
    """
    with ending(json):
        import numpy as np

        from onepath.after.forecast import last_point
        from onepath.io.atomic import check_places

        check_places([out], read=[model], force=force)
        sde, _ = opened(model)
        d = sde.model_.dimension
        if start is not None and len(start) != d:
            raise ValueError(f"--start was given {len(start)} times, and the state has {d} dimensions")
        begin = last_point(sde.model_) if start is None else np.asarray(start)
        values = float(paths) * (steps + 1) * (d + 3)  # beside path, date and time
        check_memory(f"a table of {values:.3g} numbers", PER_CELL * values, "ask for fewer --steps or --paths")
        step = float(np.median(sde.model_.transitions.dt)) if dt is None else dt
        ahead = _ahead(sde, inputs, steps)
        drawn = sde.simulate(begin, steps=steps, dt=step, paths=paths, random_state=seed, inputs=ahead)
        if json:
            as_json({"t": drawn.t, **_dates(drawn), "names": drawn.names, "x": drawn.x})
            return
        _write(_with_times(drawn.frame(), drawn.t), out, force)


def forecast(
    model: ModelArgument,
    steps: StepsOption = 100,
    paths: PathsOption = 1000,
    level: Annotated[list[float] | None, typer.Option("--level", help="Quantiles to give, each in (0, 1).")] = None,
    readings: Annotated[
        bool, typer.Option("--readings", help="Of what would be read, where the state is hidden.")
    ] = False,
    inputs: InputsOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Where it goes from the last observed state: quantiles at every step.

    Example:  onepath forecast model.onepath --steps 24 --level 0.05 --level 0.5 --level 0.95 --out fan.csv
    """
    with ending(json):
        if not all(0.0 < each < 1.0 for each in level or ()):
            raise ValueError(f"--level {level} cannot be used: quantiles are between 0 and 1")
        from onepath.io.atomic import check_places

        check_places([out], read=[model], force=force)
        sde, _ = opened(model)
        from onepath.after.forecast import QUANTILES

        ahead, levels = _ahead(sde, inputs, steps), level or list(QUANTILES)
        fan = sde.forecast(steps, paths=paths, random_state=seed, readings=readings, inputs=ahead)
        if json:
            facts = {"t": fan.t, **_dates(fan), "levels": levels, "names": fan.names}
            as_json(facts | {"quantiles": fan.quantiles(levels)})
            return
        _write(_with_times(fan.quantiles_frame(levels), fan.t), out, force)


def _ahead(sde: "SDE", inputs: Path | None, steps: int) -> "pd.DataFrame | None":
    """The first rows of a table of inputs, as many as there are steps; what is held still where there is none."""
    from onepath.data.inputs import listed, outside

    wanted = outside(sde.model_.variables)
    if inputs is None:
        if wanted:
            note(f"note: {listed(wanted)} held at what was last: pass --inputs for a table of what is known ahead")
        return None
    from onepath.io.tables import read_table

    table = read_table(inputs).frame
    if len(table) < steps:
        raise ValueError(f"{inputs} has {len(table)} rows, and --steps {steps} needs one for each step")
    return table.iloc[:steps]


def _dates(drawn: "Paths") -> dict[str, Any]:
    """As text, where there are some."""
    from onepath.data.calendar import written

    return {} if drawn.dates is None else {"dates": written(drawn.dates)}


def curves(
    model: ModelArgument,
    points: Annotated[int, typer.Option("--points", min=2, help="Points along each coordinate.")] = 101,
    level: Annotated[float, typer.Option("--level", help="Probability that a band holds, in (0, 1).")] = 0.9,
    out: OutOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Drift and diffusion with their bands, on a grid over the data.

    Example:  onepath curves model.onepath -o curves.csv
    """
    with ending(json):
        from onepath.io.atomic import check_places

        check_places([out], read=[model], force=force)
        sde, _ = opened(model)
        table = sde.curves(points, level)
        if json:
            unit = sde.model_.trajectory.unit
            as_json({"names": sde.model_.names, "unit": unit, "level": level, "curves": table.to_dict("list")})
            return
        _write(table, out, force)


def states(
    model: ModelArgument,
    level: Annotated[float, typer.Option("--level", help="Probability that a band holds, in (0, 1).")] = 0.9,
    out: OutOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """What was hidden, a row for each of the data: the state with its band, which steps jumped, or the noise's level.

    Example:  onepath states model.onepath -o denoised.csv
    """
    with ending(json):
        from onepath.io.atomic import check_places

        check_places([out], read=[model], force=force)
        sde, _ = opened(model)
        table = _hidden(sde, level)
        if json:
            shown = table.drop(columns="date").assign(date=table["date"].astype(str)) if "date" in table else table
            as_json({"names": sde.model_.names, "level": level, "states": shown.to_dict("list")})
            return
        _write(table, out, force)


def _hidden(sde: "SDE", level: float) -> "pd.DataFrame":
    """The hidden state, or what was learned of single steps."""
    if sde.model_.observed is not None:
        found = sde.state_
        return _with_times(found.frame(level), found.t)
    of_steps = sde.jumps_ or sde.volatility_
    if of_steps is None:
        raise ValueError(
            "nothing is hidden in this model: it takes readings for the state itself. Fit with --measurement, --error, "
            "--order 2 or --exposure for a hidden state, with --jumps or --volatility for what happened in each step"
        )
    return _with_times(of_steps.frame(), of_steps.t)


def report(
    model: ModelArgument,
    out: Annotated[Path, typer.Option("--out", help="HTML file to write.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option("--title", help="Title of the page.")] = None,
    force: ForceOption = False,
) -> None:
    """Write the report of a model as one HTML page.

    Example:  onepath report model.onepath --out report.html
    """
    with ending():
        from onepath.io.atomic import check_places

        check_places([out], read=[model], force=force)
        sde, facts = opened(model)
        from onepath.show.about import About

        about = About.of(facts)
        about = about._replace(command=f"{about.command}, then {this_command()}" if about.command else this_command())
        with telling(DRAWING):
            written = sde.report(out, force=force, title=title, about=about)
        note(f"wrote {written}")


def info(
    model: Annotated[Path | None, typer.Argument(help="Model file.", show_default=False)] = None,
    json: JsonOption = False,
    cache: Annotated[bool, typer.Option("--cache", help="Say what compiled programs are kept, and where.")] = False,
    clear_cache: Annotated[bool, typer.Option("--clear-cache", help="Remove them.")] = False,
) -> None:
    """Say what a model file holds, or what is kept of compiled programs.

    Example:  onepath info model.onepath
    """
    with ending(json):
        if cache or clear_cache:
            _cache(clear_cache, json)
            return
        if model is None:
            raise ValueError("give a model file, or --cache for what is kept of compiled programs")
        from onepath.io.container import facts_in

        _check_there(model)
        facts = facts_in(model)
        known = facts.pop("told", None)
        if not isinstance(known, dict) or {"summary", "facts"} - set(known):
            known = told(opened(model)[0])
        if json:
            as_json(known["facts"] | {"data": facts})
            return
        say(str(known["summary"]))
        for name in ("source", "command"):
            if facts.get(name):
                say(f"{name.capitalize():<11} {facts[name]}")


def _cache(remove: bool, json: bool) -> None:
    """What is kept of compiled programs; after removing it, what was."""
    from onepath.numerics.cache import LARGEST, clear, kept

    found = clear() if remove else kept()
    if json:
        as_json({"folder": found.folder, "files": found.files, "bytes": found.size, "removed": remove})
    elif found.folder is None:
        say("Compiled programs are not kept.")
    else:
        said = "removed" if remove else f"kept, of at most {LARGEST >> 20} MB"
        say(f"{found.folder}: {found.files} files, {found.size / (1 << 20):.1f} MB {said}")
