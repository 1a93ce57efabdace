"""onepath demo: two examples that need no file, a simulated path with known truth and a real series."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from onepath.cli.console import ending, note, say
from onepath.cli.fit import about_data, keep, learned, tell

STEPS = 10_000
TREASURY = "treasury_bill.csv"


def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Folder to write into; made if it is not there.")] = Path(
        "out"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace reports of an earlier demo.")] = False,
) -> None:
    """Learn two examples and write their reports: no file is needed.

    Example:  onepath demo --folder out
    """
    with ending():
        from onepath.io.atomic import check_places

        folder.mkdir(parents=True, exist_ok=True)
        places = [folder / "double_well.html", folder / "treasury_bill.html", folder / "treasury_bill.onepath"]
        check_places(places, force=force)
        _double_well(places[0], force)
        say()
        _treasury_bill(places[1], places[2], force)


def _double_well(place: Path, force: bool) -> None:
    """A path whose equation is known: the fit is drawn over the truth."""
    from onepath.compare.processes import PROCESSES
    from onepath.io.columns import Readings

    process = PROCESSES["double_well_multiplicative"]
    say(f"1. A simulated double well, {process.equation}, {STEPS} steps of {process.dt}")
    path = process.simulate(STEPS, random_state=1)[0]
    seen = Readings(path, None, process.dt, None, [f"simulated, {STEPS} steps of {process.dt}"])
    sde = learned(seen, {}, {}, seen.notes)
    tell(sde)
    about = about_data(seen, "simulated by onepath", seen.notes)._replace(true_equation=process.equation)
    for path in keep(sde, about, None, place, force, title="A double well, learned from one path", truth=process):
        note(f"wrote {path}")


def _treasury_bill(place: Path, model: Path, force: bool) -> None:
    """A real series, in the public domain, which ships with the package."""
    from onepath.io.columns import Chosen, choose_columns
    from onepath.io.tables import read_table

    say("2. The US three-month Treasury bill rate, monthly, 1955 to 1999, percent (Federal Reserve, public domain)")
    source = Path(str(files("onepath").joinpath("examples", TREASURY)))
    table = read_table(source)
    seen = choose_columns(table.frame, Chosen(unit="year"))
    notes = [*table.notes, *seen.notes]
    sde = learned(seen, {}, {}, notes)
    tell(sde)
    about = about_data(seen, "US three-month Treasury bill rate, percent, Federal Reserve Board H.15", notes)
    for path in keep(sde, about, model, place, force, title="The US three-month Treasury bill rate, 1955 to 1999"):
        note(f"wrote {path}")
