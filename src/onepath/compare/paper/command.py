"""The command: compute what is missing, then write tables and figures."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable

from onepath.compare.paper.methods import METHODS
from onepath.compare.paper.plan import NAMES, plan
from onepath.compare.paper.population import population_tables
from onepath.compare.paper.runs import JOURNAL, POPULATION_JOURNAL, Run
from onepath.compare.paper.tables import KEY_TO_MARKS, Table, markdown, tables
from onepath.io.journal import Journal


def paper(
    names: Annotated[list[str] | None, typer.Argument(help=f"Tables: {', '.join(NAMES)}, or all.")] = None,
    seeds: Annotated[int, typer.Option(help="Medians over this many fresh seeds instead of the paper's own.")] = 0,
    method: Annotated[str, typer.Option(help=f"Separated by commas: {', '.join(METHODS)}, or all.")] = "all",
    again: Annotated[
        bool, typer.Option("--again", help="Forget what is kept of these tables and methods, and compute it anew.")
    ] = False,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for results, tables and figures.")] = Path(
        "out/paper"
    ),
) -> None:
    """Re-run the one-shot paper: its tables and figures, what it printed beside what comes out here.

    Every finished run is kept in the output folder; started once more, the command goes on where it was stopped, and
    computes again only those runs whose settings have changed, or, with --again, all that it was asked for.
    """
    chosen, methods = _chosen(names or ["all"], NAMES, "table"), _chosen(method.split(","), METHODS, "method")
    if seeds < 0:
        raise typer.BadParameter(f"--seeds {seeds} cannot be used: give a number of fresh seeds, or 0 for the paper's.")
    # a file or a pipe has no width of its own: wide enough for every table
    console, population = Console(width=None if sys.stdout.isatty() else 120), list(range(1, seeds + 1))
    journal = Journal(output / (POPULATION_JOURNAL if seeds else JOURNAL))
    runs = plan(chosen, methods, population or [None])
    try:
        if again:
            journal.forget(runs)
        compute(runs, journal, Console(stderr=True))
    except BlockingIOError as error:
        raise typer.BadParameter(str(error)) from error
    if seeds:
        made, where = population_tables(chosen, journal, methods, population), output / "population.md"
    else:
        made, where = tables(chosen, journal, methods), output / "tables.md"
    where.write_text(as_page(made))
    for table in made:
        console.print(as_rich(table))
    if not seeds:
        console.print(KEY_TO_MARKS)
    drawn = _draw(chosen, journal, output, population)
    console.print(f"Tables in {where}, {len(drawn)} figures in {output}.")


def compute(runs: Sequence[Run], journal: Journal, console: Console) -> None:
    """Compute the runs that are not finished, one after another, and keep each as soon as it is."""
    missing = [run for run in runs if not journal.finished(run)]
    if not missing:
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with journal.writing() as writer, Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(runs), completed=len(runs) - len(missing))
        for run in missing:
            progress.update(task, description=run.key)
            if not journal.finished(run):
                writer.keep(run.compute())
            progress.advance(task)


def _chosen(wanted: Sequence[str], known: Sequence[str], what: str) -> list[str]:
    """The names asked for, in the paper's order."""
    asked = [name.strip() for name in wanted]
    unknown = [name for name in asked if name not in (*known, "all")]
    if unknown:
        raise typer.BadParameter(f"There is no {what} {unknown[0]!r}. Choose from {', '.join(known)}, or all.")
    return [name for name in known if name in asked or "all" in asked]


def _draw(names: Sequence[str], journal: Journal, output: Path, seeds: Sequence[int]) -> list[Path]:
    # matplotlib takes a second to load, which a wrong option should not cost
    from onepath.compare.paper.figures import draw_all
    from onepath.compare.paper.step_figures import draw_population

    if seeds:
        return draw_population(names, journal, seeds, output)
    return draw_all(names, journal, output)


def as_page(made: Sequence[Table]) -> str:
    return "\n".join(f"## {table.title}\n\n{markdown(table)}\n" for table in made)


def as_rich(table: Table) -> RichTable:
    shown = RichTable(title=table.title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for index, column in enumerate(table.columns):
        shown.add_column(column.replace(": ", "\n"), justify="right" if index else "left", no_wrap=not index)
    for row in table.rows:
        shown.add_row(*row)
    return shown
