"""Many seeds become one cell: medians, how it went, and who comes first."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from adapters import METHODS, ORACLE, OWN
from judge import FAILURES, SILENT
from problems import PROBLEMS

SCORES = ("drift", "diffusion", "drift_uniform", "diffusion_uniform", "gap", "drift_coverage", "diffusion_coverage")
CLOSE = 1.05
"""Within five per cent of the first counts as first."""


@dataclass(frozen=True)
class Cell:
    """One method on one problem, over seeds. A median is None unless most seeds have the number."""

    seeds: int
    statuses: Counter
    medians: dict
    messages: Counter

    @property
    def failures(self):
        return sum(self.statuses[status] for status in FAILURES)

    @property
    def fate(self):
        """The commonest outcome."""
        return self.statuses.most_common(1)[0][0]


def cells(results):
    """{(method, problem): Cell} of all results that are there."""
    grouped = {}
    for key, result in results.items():
        if not key.startswith("versions/"):
            method, problem, _ = key.split("/")
            grouped.setdefault((method, problem), []).append(result)
    return {where: _cell(grouped[where]) for where in grouped}


def _cell(results):
    medians = {name: _median([r.get(name) for r in results], len(results)) for name in SCORES}
    warm = [r["seconds"] for r in results if "seconds" in r and not r["first"]]
    cold = [r["cold"] for r in results if "cold" in r]
    memory = [r["memory"] for r in results if "cold" in r]
    for name, values in (("warm", warm), ("cold", cold), ("memory", memory)):
        medians[name] = float(np.median(values)) if values else None
    messages = Counter(f"{r['status']}: {r['message']}" for r in results if r.get("message"))
    return Cell(len(results), Counter(r["status"] for r in results), medians, messages)


def _median(values, seeds):
    known = [value for value in values if value is not None]
    return float(np.median(known)) if len(known) > seeds / 2 else None


def firsts(board, score):
    """{problem: methods within five per cent of the smallest median}, the oracle out of competition."""
    found = {}
    for problem in PROBLEMS:
        known = {
            method: cell.medians[score]
            for (method, where), cell in board.items()
            if where == problem and method != ORACLE and cell.medians[score] is not None
        }
        if known:
            found[problem] = [m for m, value in known.items() if value <= CLOSE * min(known.values())]
    return found


def share_first(board, method, scores=("drift", "diffusion")):
    """In how many of the cells (problems × scores) a method is first or close to it, and of how many."""
    won = [method in methods for score in scores for methods in firsts(board, score).values()]
    return sum(won), len(won)


def lost(board, method=OWN, scores=("drift", "diffusion")):
    """Cells in which somebody else is first: (problem, score, own median, who, theirs)."""
    rows = []
    for score in scores:
        for problem, methods in firsts(board, score).items():
            if method not in methods:
                best = min(methods, key=lambda m, at=problem, s=score: board[m, at].medians[s])
                cell = board.get((method, problem))
                rows.append((problem, score, cell and cell.medians[score], best, board[best, problem].medians[score]))
    return rows


def silent(board):
    """{method: silently wrong seeds} over all cells."""
    count = Counter()
    for (method, _), cell in board.items():
        count[method] += cell.statuses[SILENT]
    return count


def in_order(board):
    """Methods that have results, in the order of the adapters."""
    return [method for method in METHODS if any(where[0] == method for where in board)]
