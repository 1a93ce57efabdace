"""The scoreboard: every method on every problem, ten seeds a cell.

    python benchmarks/peers/board.py --peers .venv-peers/bin/python

Run by `make bench-peers`. Finished cells are kept in the output file and not computed again. Seeds come in rounds, so
that a run which is stopped has all cells with fewer seeds, and not some cells with all. Versions stand with results.
"""

import argparse
import os
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from adapters import METHODS
from problems import PROBLEMS
from resumable import finish, kept, save
from running import given_up, interpreters, key, run
from tables import text_table

ROUNDS = (0, 1, 4, 10)
"""Seeds of a round: 0, then 1 to 3, then 4 to 9; a process is started anew for each."""

OUTPUT = Path(__file__).parents[1] / "results" / "peers.json"


def plan(results, methods, problems, seeds, about):
    """What is left to do of these seeds: a task a cell, with what else a task needs."""
    tasks = []
    for method in methods:
        for problem in problems:
            missing = [s for s in seeds if key(method, problem, s) not in results]
            if missing:
                tasks.append((method, problem, missing, *about))
    return tasks


def rounds(seeds):
    """The seeds in rounds, each a range."""
    edges = sorted({min(edge, seeds) for edge in (*ROUNDS, seeds)})
    return [range(begin, end) for begin, end in pairwise(edges)]


def chosen(given, known):
    names = given.split(",") if given else list(known)
    for name in names:
        if name not in known:
            raise SystemExit(f"{name!r} is none of {', '.join(known)}")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--methods", help="names, with commas between; all if left out")
    parser.add_argument("--problems", help="likewise")
    parser.add_argument("--peers", type=Path, default=Path(sys.executable), help="Python of the peers' environment")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "onepath-bench")
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    methods, problems = chosen(options.methods, METHODS), chosen(options.problems, PROBLEMS)
    about = interpreters(options.peers), options.cache
    for seeds in rounds(options.seeds):
        results = kept(options.output)
        for method in methods:
            for problem in problems:
                results |= given_up(method, problem, seeds, results)
        save(options.output, results)
        finish(run, plan(results, methods, problems, seeds, about), options.output, options.jobs, text_table)


if __name__ == "__main__":
    main()
