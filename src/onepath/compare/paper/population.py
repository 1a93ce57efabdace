"""The same tables over fresh seeds: medians, and how far single trajectories lie from them."""

from collections.abc import Iterable, Sequence

import numpy as np

from onepath.compare.paper.cases import AS_DESCRIBED, AS_PRINTED, STEPS, WHOLE
from onepath.compare.paper.plan import STEP_METHODS, STEP_TABLES, TABLES, Block, run_of, step_run
from onepath.compare.paper.printed import printed_row
from onepath.compare.paper.runs import Run
from onepath.compare.paper.tables import METRICS, Table, plain
from onepath.io.journal import Journal
from onepath.numerics.arrays import Floats

LOW, HIGH = 10, 90
"""Percentiles that say how far single trajectories lie apart."""

LOSS, GAP, DRIFT, DIFFUSION = range(4)


def values(journal: Journal, runs: Iterable[Run]) -> Floats:
    """(seeds, 4) of those runs that are there and did not fail: L, L less the true model's, δ_f and δ_σ.

    How low L can be differs from one trajectory to the next; the gap to the true model's can be compared.
    """
    records = [record for run in runs if (record := journal.get(run)) is not None and "error" not in record]
    rows = [(one["loss"], one["loss"] - one["true_loss"], one["drift"], one["diffusion"]) for one in records]
    return np.asarray(rows, float).reshape(-1, 4)


def _spread(found: Floats) -> tuple[str, ...]:
    """Median of L; median and the two percentiles of the others."""
    low, middle, high = np.percentile(found, (LOW, 50, HIGH), axis=0)
    rest = (f"{middle[i]:.3f} ({low[i]:.3f} to {high[i]:.3f})" for i in (GAP, DRIFT, DIFFUSION))
    return f"{middle[LOSS]:.3f}", *rest


def _medians(found: Floats) -> tuple[str, ...]:
    if len(found) == 0:
        return ("",) * 3
    return tuple(f"{middle:.3f}" for middle in np.median(found[:, (LOSS, DRIFT, DIFFUSION)], axis=0))


def block_table(name: str, block: Block, journal: Journal, methods: Sequence[str], seeds: Sequence[int]) -> Table:
    """One half of tables 1 to 4."""
    rows: list[tuple[str, ...]] = []
    for method in methods:
        ours = values(journal, [run_of(block.trajectory, block.kernel, method, seed) for seed in seeds])
        if len(ours):
            printed = printed_row(block.trajectory, block.kernel, method, WHOLE, 1)
            rows.append((method, str(len(ours)), *plain(printed), *_spread(ours)))
    columns = ("", "seeds", "paper: L", *METRICS[1:], "median: L", "L above the truth's", *METRICS[1:])
    return Table(f"{name}, {block.heading}", columns, rows)


def step_medians(name: str, journal: Journal, method: str, seeds: Sequence[int]) -> Table:
    """Table 5 or 6 for one method: medians by k, as printed and as described."""
    trajectory, rows = STEP_TABLES[name], []
    for k in STEPS:
        halves = [
            values(journal, [step_run(trajectory, method, view, k, seed) for seed in seeds])
            for view in (AS_PRINTED, AS_DESCRIBED)
        ]
        rows.append((str(k), str(len(halves[1])), *_medians(halves[0]), *_medians(halves[1])))
    columns = ("k", "seeds", "as printed: L", *METRICS[1:], "as described: L", *METRICS[1:])
    return Table(f"{name}, {method}, medians", columns, rows)


def population_tables(
    names: Sequence[str], journal: Journal, methods: Sequence[str], seeds: Sequence[int]
) -> list[Table]:
    """Every table of these names over these seeds."""
    found: list[Table] = []
    for name in names:
        if name in TABLES:
            found += [block_table(name, block, journal, methods, seeds) for block in TABLES[name]]
        else:
            found += [step_medians(name, journal, method, seeds) for method in methods if method in STEP_METHODS]
    return found
