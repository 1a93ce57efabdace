"""Our numbers beside the printed ones, with a mark at every number that the paper prints too."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onepath.compare.paper import filling
from onepath.compare.paper.cases import AS_DESCRIBED, AS_PRINTED, STEPS, level
from onepath.compare.paper.methods import DEFAULT, LEARNED, LEARNED_NEWTON, NON_LEARNED
from onepath.compare.paper.plan import STEP_METHODS, STEP_TABLES, TABLES, run_of, step_run
from onepath.compare.paper.printed import PRINTED_BY_STEP, Row, printed_row
from onepath.compare.paper.runs import Run, row_of
from onepath.io.journal import Journal

METRICS = ("L", "δ_f", "δ_σ")

SAME, NEAR, OTHER = ("=", "≈", "≠")
KEY_TO_MARKS = "= the printed digits (one unit in the last allowed), ≈ within 0.01, ≠ neither."

LAST_DIGIT, NEARBY = 0.001, 0.01

PRINTED_AS = {LEARNED_NEWTON: LEARNED}
"""The paper prints one learned row and does not say which of its two solvers it is from."""


class Table(NamedTuple):
    """Text, ready for a terminal or a page."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def mark(ours: float, printed: float) -> str:
    """Whether a number is the paper's, to its three printed decimals or nearly."""
    distance = abs(round(ours, 3) - printed)
    # a little above the limit, because decimals are not exact in binary
    if distance <= LAST_DIGIT * (1 + 1e-6):
        return SAME
    return NEAR if abs(ours - printed) <= NEARBY * (1 + 1e-6) else OTHER


def plain(row: Row | None) -> tuple[str, ...]:
    """A row as the paper prints it, and nothing where there is none."""
    return ("",) * 3 if row is None else tuple(f"{value:.3f}" for value in row)


def _marked(row: Row | None, printed: Row | None) -> tuple[str, ...]:
    if row is None or printed is None:
        return plain(row)
    return tuple(f"{ours:.3f} {mark(ours, theirs)}" for ours, theirs in zip(row, printed, strict=True))


def _kept(journal: Journal, run: Run) -> Row | None:
    record = journal.get(run)
    return None if record is None else row_of(record)


def _printed(run: Run) -> Row | None:
    case = run.case
    method = PRINTED_AS.get(run.method, run.method)
    return printed_row(case.trajectory, run.kernel, method, case.view, case.k)


def _headings(blocks: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{block}: {metric}" if metric == "L" else metric for block in blocks for metric in METRICS)


def process_table(name: str, journal: Journal, methods: Sequence[str]) -> Table:
    """One of tables 1 to 4: for each method what the paper prints, and what comes out here."""
    blocks, rows = TABLES[name], []
    for method in methods:
        runs = [run_of(block.trajectory, block.kernel, method) for block in blocks]
        printed = [_printed(run) for run in runs]
        ours = [_kept(journal, run) for run in runs]
        printed_as = PRINTED_AS.get(method, method)
        if any(printed) and (printed_as == method or printed_as not in methods):
            rows.append((f"{printed_as}, paper", *(text for row in printed for text in plain(row))))
        if any(ours):
            pairs = zip(ours, printed, strict=True)
            rows.append((f"{method}, here", *(text for pair in pairs for text in _marked(*pair))))
    return Table(name, ("", *_headings([block.heading for block in blocks])), rows)


def step_table(name: str, journal: Journal, method: str) -> Table:
    """One half of table 5 or 6: the paper's rows, and ours from its data as printed and as described."""
    trajectory, rows = STEP_TABLES[name], []
    for k in STEPS:
        as_printed, as_described = (step_run(trajectory, method, view, k) for view in (AS_PRINTED, AS_DESCRIBED))
        printed = _printed(as_printed)
        rows.append(
            (
                str(k),
                *(plain(printed) if method != DEFAULT else ()),
                *_marked(_kept(journal, as_printed), printed),
                *plain(_kept(journal, as_described)),
            )
        )
    views = (["paper"] if method != DEFAULT else []) + ["as printed", "as described"]
    return Table(f"{name}, {method}", ("k", *_headings(views)), rows)


def level_table(name: str) -> Table:
    """The check that needs no fit: which increments are the paper's L those of?"""
    trajectory, rows = STEP_TABLES[name], []
    halves = [PRINTED_BY_STEP[trajectory, method] for method in (NON_LEARNED, LEARNED)]
    for k in STEPS:
        one, several = (level(trajectory, view, k) for view in (AS_PRINTED, AS_DESCRIBED))
        numbers = (one, several, several - one, 0.5 * np.log(k), *(half[k - 1].loss for half in halves))
        rows.append((str(k), *(f"{number:.3f}" for number in numbers)))
    columns = ("k", "level of 1 step", "of k steps", "rise", "½ ln k", "paper's L, not learned", "learned")
    return Table(f"{name}, L without a fit", columns, rows)


def tables(names: Sequence[str], journal: Journal, methods: Sequence[str]) -> list[Table]:
    """Every table of these names."""
    found = []
    for name in names:
        if name in TABLES:
            found.append(process_table(name, journal, methods))
        else:
            found += [step_table(name, journal, method) for method in methods if method in STEP_METHODS]
            found.append(level_table(name))
    return found


def markdown(table: Table) -> str:
    """The table alone, without its title."""
    return filling.markdown(table.columns, table.rows)
