"""The tables of docs/paper.md, filled in from kept results, so that page and results cannot drift apart.

    python -m onepath.compare.paper.page docs/paper.md

The words around the tables are not made here.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from onepath.compare.paper import filling
from onepath.compare.paper.methods import METHODS
from onepath.compare.paper.plan import STEP_METHODS, STEP_TABLES, TABLES
from onepath.compare.paper.population import population_tables
from onepath.compare.paper.runs import JOURNAL, POPULATION_JOURNAL
from onepath.compare.paper.tables import level_table, markdown, process_table, step_table
from onepath.io.journal import Journal


def fill(page: str, folder: Path) -> str:
    """The page with every table made anew from the results in this folder."""
    return filling.fill(page, _makers(folder))


def _makers(folder: Path) -> dict[str, Callable[[], str]]:
    """What makes each table, by the name that the page calls it by."""
    journal, population = Journal(folder / JOURNAL), Journal(folder / POPULATION_JOURNAL)
    seeds = sorted({record["seed"] for record in population.records.values()})
    makers: dict[str, Callable[[], str]] = {}
    for name in TABLES:
        makers[name] = partial(_process, name, journal)
        makers[f"population-{name}"] = partial(_population, name, population, seeds)
    for name in STEP_TABLES:
        makers[f"{name}-level"] = partial(_level, name)
        for method in STEP_METHODS:
            makers[f"{name}-{method}"] = partial(_steps, name, journal, method)
            makers[f"population-{name}-{method}"] = partial(_population, name, population, seeds, (method,))
    return makers


def _process(name: str, journal: Journal) -> str:
    return markdown(process_table(name, journal, METHODS))


def _steps(name: str, journal: Journal, method: str) -> str:
    return markdown(step_table(name, journal, method))


def _level(name: str) -> str:
    return markdown(level_table(name))


def _population(name: str, journal: Journal, seeds: list[int], methods: Sequence[str] = METHODS) -> str:
    made = population_tables([name], journal, methods, seeds)
    return "\n\n".join(f"{table.title}:\n\n{markdown(table)}" for table in made)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(fill(target.read_text(), target.with_suffix("")))
