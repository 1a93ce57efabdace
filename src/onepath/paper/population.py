"""The same tables over fresh seeds: medians, and how far single trajectories lie from them."""

from collections.abc import Iterable, Sequence

import numpy as np

from onepath.paper.cases import AS_DESCRIBED, AS_PRINTED, STEPS
from onepath.paper.cells import Cell, Journal, row_of
from onepath.paper.plan import STEP_METHODS, STEP_TABLES, TABLES, cell, step_cell
from onepath.paper.printed import Row, printed_row
from onepath.paper.tables import METRICS, Table

LOW, HIGH = 10, 90
"""Percentiles that say how far single trajectories lie apart."""


def values(journal: Journal, cells: Iterable[Cell]) -> np.ndarray:
    """(seeds, 3): the metrics of those cells that are there and did not fail."""
    records = [journal.get(wanted) for wanted in cells]
    rows = [row for record in records if record is not None and (row := row_of(record)) is not None]
    return np.asarray(rows, float).reshape(-1, 3)


def _spread(found: np.ndarray) -> tuple[str, ...]:
    """Median and the two percentiles of each metric."""
    if len(found) == 0:
        return ("",) * 3
    low, middle, high = np.percentile(found, (LOW, 50, HIGH), axis=0)
    return tuple(f"{m:.3f} ({a:.3f} to {b:.3f})" for a, m, b in zip(low, middle, high, strict=True))


def _medians(found: np.ndarray) -> tuple[str, ...]:
    return ("",) * 3 if len(found) == 0 else tuple(f"{middle:.3f}" for middle in np.median(found, axis=0))


def _texts(row: Row | None) -> tuple[str, ...]:
    return ("",) * 3 if row is None else tuple(f"{value:.3f}" for value in row)


def process_table(name: str, journal: Journal, methods: Sequence[str], seeds: Sequence[int]) -> list[Table]:
    """One of tables 1 to 4, a table for each of its two blocks."""
    found = []
    for block in TABLES[name]:
        rows: list[tuple[str, ...]] = []
        for method in methods:
            cells = [cell(block.trajectory, block.kernel, method, seed) for seed in seeds]
            ours = values(journal, cells)
            if len(ours):
                printed = printed_row(block.trajectory, block.kernel, method, cells[0].case.view, 1)
                rows.append((method, str(len(ours)), *_texts(printed), *_spread(ours)))
        columns = ("", "seeds", *(f"paper: {m}" if m == "L" else m for m in METRICS), "median: L", *METRICS[1:])
        found.append(Table(f"{name}, {block.heading}", columns, rows))
    return found


def step_table(name: str, journal: Journal, methods: Sequence[str], seeds: Sequence[int]) -> Table:
    """Table 5 or 6: medians by k, as printed and as described."""
    trajectory, rows = STEP_TABLES[name], []
    used = [method for method in methods if method in STEP_METHODS]
    for k in STEPS:
        row: tuple[str, ...] = (str(k),)
        for method in used:
            for view in (AS_PRINTED, AS_DESCRIBED):
                row += _medians(values(journal, [step_cell(trajectory, method, view, k, seed) for seed in seeds]))
        rows.append(row)
    headings = tuple(
        f"{method}, {view}: {metric}" if metric == "L" else metric
        for method in used
        for view in ("as printed", "as described")
        for metric in METRICS
    )
    return Table(f"{name}, medians", ("k", *headings), rows)


def population_tables(
    names: Sequence[str], journal: Journal, methods: Sequence[str], seeds: Sequence[int]
) -> list[Table]:
    """Every table of these names over these seeds."""
    found: list[Table] = []
    for name in names:
        if name in TABLES:
            found += process_table(name, journal, methods, seeds)
        elif any(method in STEP_METHODS for method in methods):
            found.append(step_table(name, journal, methods, seeds))
    return found
