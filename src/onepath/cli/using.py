"""Commands that use a model file: simulate, forecast, report, info."""

from pathlib import Path
from typing import Annotated, Any

import typer

from onepath.cli.console import as_json, ending, note, say
from onepath.cli.fitting import Force, Json, Seed, facts_of, this_command

ModelFile = Annotated[Path, typer.Argument(help="Model file, made by onepath fit --model.", show_default=False)]
Steps = Annotated[int, typer.Option("--steps", min=1, help="Steps ahead.")]
Paths = Annotated[int, typer.Option("--paths", min=1, help="Number of paths.")]
Out = Annotated[Path | None, typer.Option("--out", help="CSV file to write; without it, the screen.")]


def opened(path: Path) -> tuple[Any, dict[str, Any]]:
    """A model and the facts that travel with it."""
    from onepath.files import load_model
    from onepath.sde import SDE

    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a model file")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: make it with onepath fit DATA --model {path}")
    sde = SDE()
    return sde, load_model(sde, path)


def _written(frame: Any, out: Path | None, force: bool) -> None:
    from onepath.files import write_atomically

    text = frame.to_csv(index=False, lineterminator="\n")
    if out is None:
        typer.echo(text, nl=False)
    else:
        note(f"wrote {write_atomically(out, text.encode(), force=force)}")


def simulate(
    model: ModelFile,
    steps: Steps = 500,
    paths: Paths = 1,
    dt: Annotated[float | None, typer.Option("--dt", help="Step; the data's median step if not given.")] = None,
    start: Annotated[list[float] | None, typer.Option("--start", help="Start, once for each dimension.")] = None,
    seed: Seed = 0,
    out: Out = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Simulate paths of a learned equation.

    Example:  onepath simulate model.onepath --steps 1000 --paths 5 --out paths.csv
    """
    with ending(json):
        import numpy as np
        import pandas as pd

        if out is not None:
            from onepath.files import check_free

            check_free(out, force=force)
        sde, _ = opened(model)
        d = sde.n_features_in_
        if start is not None and len(start) != d:
            raise ValueError(f"--start was given {len(start)} times, and the state has {d} dimensions")
        seen = sde.trajectory_.x
        begin = seen[~np.isnan(seen).any(axis=1)][-1] if start is None else np.asarray(start)
        step = float(np.median(sde.transitions_.dt)) if dt is None else dt
        drawn = sde.simulate(begin, steps=steps, dt=step, paths=paths, random_state=seed)
        if json:
            as_json({"t": drawn.t, "names": sde.trajectory_.names, "x": drawn.x})
            return
        columns = {"path": np.repeat(np.arange(paths), steps + 1), "t": np.tile(drawn.t, paths)}
        columns |= {name: drawn.x[:, :, i].ravel() for i, name in enumerate(sde.trajectory_.names)}
        _written(pd.DataFrame(columns), out, force)


def forecast(
    model: ModelFile,
    steps: Steps = 100,
    paths: Paths = 1000,
    level: Annotated[list[float] | None, typer.Option("--level", help="Quantiles to give, each in (0, 1).")] = None,
    seed: Seed = 0,
    out: Out = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Where it goes from the last observed state: quantiles at every step.

    Example:  onepath forecast model.onepath --steps 24 --level 0.05 --level 0.5 --level 0.95 --out fan.csv
    """
    with ending(json):
        import numpy as np
        import pandas as pd

        levels = level or [0.05, 0.25, 0.5, 0.75, 0.95]
        if not all(0.0 < each < 1.0 for each in levels):
            raise ValueError(f"--level {levels} cannot be used: quantiles are between 0 and 1")
        if out is not None:
            from onepath.files import check_free

            check_free(out, force=force)
        sde, _ = opened(model)
        fan = sde.forecast(steps, paths=paths, random_state=seed)
        quantiles = np.asarray(fan.quantiles(levels))
        names = sde.trajectory_.names
        if json:
            as_json({"t": fan.t, "levels": levels, "names": names, "quantiles": quantiles})
            return
        columns = {"t": fan.t}
        columns |= {
            f"{name}_{each:g}": quantiles[k, :, i] for i, name in enumerate(names) for k, each in enumerate(levels)
        }
        _written(pd.DataFrame(columns), out, force)


def report(
    model: ModelFile,
    out: Annotated[Path, typer.Option("--out", help="HTML file to write.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option("--title", help="Title of the page.")] = None,
    force: Force = False,
) -> None:
    """Write the report of a model as one HTML page.

    Example:  onepath report model.onepath --out report.html
    """
    with ending():
        from onepath.files import check_free

        check_free(out, force=force)
        sde, about = opened(model)
        made = about.get("command")
        about["command"] = f"{made}, then {this_command()}" if made else this_command()
        note(f"wrote {sde.report(out, force=force, title=title, **about)}")


def info(model: ModelFile, json: Json = False) -> None:
    """Say what a model file holds.

    Example:  onepath info model.onepath
    """
    with ending(json):
        sde, about = opened(model)
        if json:
            as_json(facts_of(sde) | {"data": about})
            return
        for name in ("source", "command"):
            if about.get(name):
                say(f"{name.capitalize():<11} {about[name]}")
        say(sde.summary())
