"""Seconds to learn, warm, at ten thousand and at a million rows, every method in the same run.

    python benchmarks/peers/speeds.py --peers .venv-peers/bin/python

An Ornstein–Uhlenbeck process, dt = 0.01. Each method in a process of its own: one fit to get warm, then the best of
three. Cold is that first fit with the start of the process and no compiled code kept from before.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from adapters import METHODS, OWN
from resumable import finish, kept
from running import LIMIT, Worker, interpreters
from scipy.signal import lfilter
from tables import digits

from onepath.compare.paper.filling import markdown

LENGTHS = (10_000, 1_000_000)
REPEATS = 3
OUTPUT = Path(__file__).parents[1] / "results" / "peers-speed.json"


def write_path(rows, file):
    """X' = X - X dt + √dt ξ, which is a first-order filter of white noise."""
    dt = 0.01
    x = lfilter([np.sqrt(dt)], [1.0, dt - 1.0], np.random.default_rng(0).standard_normal(rows))[:, None]
    points = np.linspace(*np.quantile(x, (0.05, 0.95)), 50)[:, None]
    np.savez(file, x=x, dt=dt, weighted=points, regime="clean", process="ou")


def run(task):
    """{key: seconds and peak memory} of one method at one length."""
    method, rows, pythons = task
    key, python = f"{method}/{rows}", pythons["own" if method == OWN else "peers"]
    if python is None:
        return {key: {"failed": "cannot be installed"}}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "path.npz"
        write_path(rows, file)
        worker, warm = Worker(python, method, LIMIT, Path(folder)), []
        said = worker.ask(file)
        cold = said.get("total")
        while "failed" not in said and len(warm) < REPEATS:
            said = worker.ask(file)
            warm.append(said.get("seconds"))
        worker.close()
    if "failed" in said:
        return {key: {"failed": said["failed"], "message": said["message"]}}
    return {key: {"warm": min(warm), "cold": cold, "memory": said["memory"], "versions": said["versions"]}}


def speed_table(results):
    rows = []
    for method in METHODS:
        row = [method]
        for length in LENGTHS:
            result = results.get(f"{method}/{length}", {})
            numbers = [digits(result.get(name)) for name in ("warm", "cold", "memory")]
            row += numbers if "failed" not in result else [result["failed"], "–", "–"]
        rows.append(row)
    lengths = [f"{length:,}".replace(",", " ") for length in LENGTHS]
    return markdown(["method", *(f"{what}, {n}" for n in lengths for what in ("warm", "cold", "MB"))], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, default=Path(sys.executable), help="Python of the peers' environment")
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    results, pythons = kept(options.output), interpreters(options.peers)
    tasks = [(m, n, pythons) for n in LENGTHS for m in METHODS if f"{m}/{n}" not in results]
    finish(run, tasks, options.output, 1, speed_table)


if __name__ == "__main__":
    main()
