"""Results as tables: one for people to read in the documentation, one with everything beside the results."""

import re

import numpy as np
from adapters import ORACLE
from judge import CRASHED, LATE, OK, REFUSED, SILENT, WRONG
from problems import LONG, PROBLEMS, SHORT
from summary import SCORES, cells, firsts, in_order, lost, share_first

from onepath.compare.paper.filling import markdown


def digits(value):
    """Three digits, as in .128 or 1.28; large numbers short."""
    if value is None:
        return "–"
    if value >= 99.5:
        return f"{value:.0f}" if value < 1e4 else f"{value:.0e}"
    text = f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 9.995 else f"{value:.1f}"
    return text.removeprefix("0") if value < 1 else text


def board_table(results):
    """Rows are problems, columns methods: median errors of drift / diffusion, and failures."""
    board = cells(results)
    methods, first = in_order(board), {score: firsts(board, score) for score in ("drift", "diffusion")}
    rows = []
    for problem in PROBLEMS:
        row = [problem.replace("_", " ")]
        for method in methods:
            cell = board.get((method, problem))
            row.append(_board_cell(cell, [method in first[score].get(problem, ()) for score in first]))
        rows.append(row)
    return markdown(["problem", *methods], rows)


def _board_cell(cell, is_first):
    if cell is None:
        return ""
    if cell.medians["drift"] is None and cell.medians["diffusion"] is None:
        return f"{cell.fate}, {cell.failures} of {cell.seeds}"
    pair = [digits(cell.medians[score]) for score in ("drift", "diffusion")]
    pair = [f"**{text}**" if first else text for text, first in zip(pair, is_first, strict=True)]
    return " / ".join(pair) + (f" ({cell.failures}✗)" if cell.failures else "")


def method_table(results):
    """Rows are methods: how often first, what went wrong, coverage, time and memory."""
    board, rows = cells(results), []
    for method in in_order(board):
        mine = {problem: cell for (name, problem), cell in board.items() if name == method}
        won, of = share_first(board, method)
        count = [sum(c.statuses[s] for c in mine.values()) for s in (OK, WRONG, SILENT, REFUSED, CRASHED, LATE)]
        first = "yardstick" if method == ORACLE else f"{won} of {of}"
        coverage = [_mean(mine, score) for score in ("drift_coverage", "diffusion_coverage")]
        times = [_middle(mine, "warm", n) for n in (SHORT, LONG)] + [_middle(mine, "cold", LONG)]
        rows.append([method, first, *map(str, count), *coverage, *times, _middle(mine, "memory", LONG)])
    head = ["method", "first or within 5 %", *(OK, WRONG, SILENT, REFUSED, CRASHED, LATE)]
    head += ["drift covered", "diffusion covered", "warm 500, s", "warm 10 000, s", "cold, s", "memory, MB"]
    return markdown(head, rows)


def _mean(mine, score):
    known = [cell.medians[score] for cell in mine.values() if cell.medians[score] is not None]
    return f"{np.mean(known):.2f}".removeprefix("0") if known else "–"


def _middle(mine, name, n):
    """Median over the one-dimensional problems of this length, which all methods have."""
    known = [
        cell.medians[name]
        for problem, cell in mine.items()
        if PROBLEMS[problem].n == n and PROBLEMS[problem].truth.dimension == 1 and cell.medians[name] is not None
    ]
    return digits(float(np.median(known))) if known else "–"


def failure_table(results):
    """Why methods failed: every message, with how many seeds it was said for."""
    told = {}
    for (method, problem), cell in cells(results).items():
        for message, count in cell.messages.items():
            told.setdefault((method, _alike(message)), []).append((problem, count))
    rows = [
        [method, message.replace("|", "/"), ", ".join(sorted({p for p, _ in where})), str(sum(n for _, n in where))]
        for (method, message), where in sorted(told.items())
    ]
    return markdown(["method", "what happened", "problems", "seeds"], rows)


def _alike(message):
    """The same words for messages that differ in a count."""
    return LATE if message.startswith(LATE) else re.sub(r"\d{3,}|\d+(?= gaps)", "n", message)


def lost_table(results):
    """Where somebody else is first."""
    rows = [
        [p.replace("_", " "), score, digits(own), who, digits(best)]
        for p, score, own, who, best in lost(cells(results))
    ]
    return markdown(["problem", "error of", "onepath", "first", "its error"], rows)


def text_table(results):
    """Everything, a line a cell."""
    head = f"{'method':16}{'problem':33}{'seeds':>6}{'fail':>5}"
    lines = [head + "".join(f"{name:>19}" for name in (*SCORES, "warm", "cold", "memory")) + "  outcomes"]
    for (method, problem), cell in sorted(cells(results).items()):
        numbers = "".join(f"{digits(cell.medians[name]):>19}" for name in (*SCORES, "warm", "cold", "memory"))
        outcomes = ", ".join(f"{n} {status}" for status, n in cell.statuses.most_common())
        lines.append(f"{method:16}{problem:33}{cell.seeds:>6}{cell.failures:>5}{numbers}  {outcomes}")
    return "\n".join(lines)
