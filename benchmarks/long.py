"""Long records: seconds and memory of a summary, a diagnosis, and the command on a CSV, in this version and another.

    python benchmarks/long.py --other PATH/TO/OTHER/src

Each row runs in a process of its own, on one core, with compiled programs kept from a run before it; the two versions
take turns, and the best of `--repeats` counts. Seconds are the processor's, without the fit where it is not named.
Data are made in a temporary folder and not kept.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

SUMMARY = """
import resource, sys, time
import numpy as np
from onepath import SDE
x = np.load(sys.argv[1])
SDE(progress=False).fit(x[:30_000], dt=0.01).summary()
sde = SDE(progress=False).fit(x, dt=0.01)
begun = time.process_time()
sde.{question}()
print(time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""

COMMAND = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-m", "onepath", "fit", sys.argv[1]], check=True, capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""

ROWS = {
    "summary, 1 000 000 rows": (SUMMARY.format(question="summary"), "million.npy"),
    "diagnose, 10 000 rows": (SUMMARY.format(question="diagnose"), "line.npy"),
    "diagnose, 10 000 rows in 2-D": (SUMMARY.format(question="diagnose"), "plane.npy"),
    "command, long CSV": (COMMAND, "long.csv"),
}


def path(rows, dimensions=1):
    """An Ornstein–Uhlenbeck process."""
    noise = np.random.default_rng(0).standard_normal((rows, dimensions))
    return 0.1 * lfilter([1.0], [1.0, -0.99], noise, axis=0)


def make(folder, rows):
    np.save(folder / "million.npy", path(1_000_000)[:, 0])
    np.save(folder / "line.npy", path(10_000)[:, 0])
    np.save(folder / "plane.npy", path(10_000, 2))
    with (folder / "long.csv").open("w") as file:
        file.write("time,x\n")
        for k, x in enumerate(path(rows)[:, 0].tolist()):
            file.write(f"{k / 100},{x:.8f}\n")


def measure(script, data, version, source, folder):
    """Seconds and megabytes, of a version whose compiled programs are kept in a folder of their own."""
    environment = os.environ | {"PYTHONPATH": source, "ONEPATH_CACHE": str(folder / version)}
    core = ["taskset", "-c", str(max(os.sched_getaffinity(0)))] if hasattr(os, "sched_getaffinity") else []
    run = [*core, sys.executable, "-c", script, str(folder / data)]
    done = subprocess.run(run, env=environment, check=True, capture_output=True, text=True)
    return tuple(map(float, done.stdout.split()[-2:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", help="PYTHONPATH of another version")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the long CSV")
    parser.add_argument("--only", default="", help="rows of the table with this in their name")
    options = parser.parse_args()
    here = str(Path(__file__).parents[1] / "src")
    versions = {"this": here} | ({"other": options.other} if options.other else {})
    print(f"{'':34}" + "".join(f"{name + ', s':>10}{'MB':>8}" for name in versions))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, options.rows)
        for what, (script, data) in ROWS.items():
            if options.only not in what:
                continue
            found = {version: [] for version in versions}
            for _ in range(options.repeats + 1):  # the first compiles
                for version, source in versions.items():
                    found[version].append(measure(script, data, version, source, folder))
            best = {version: np.min(each[1:], axis=0) for version, each in found.items()}
            row = "".join(f"{seconds:>10.2f}{memory:>8.0f}" for seconds, memory in best.values())
            ratios = "".join(f"{ratio:>7.2f}" for ratio in best["this"] / best["other"]) if options.other else ""
            print(f"{what:34}{row}{ratios}", flush=True)


if __name__ == "__main__":
    main()
