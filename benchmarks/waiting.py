"""What a user waits for: first fits, later processes and warm fits in one to four dimensions, beside another version.

    python benchmarks/waiting.py --other SOURCE [--only warm] [-o benchmarks/results/waiting.json] [--page]

SOURCE is the folder `src` of another checkout, run by the same Python. Every measurement is a process of its own on one
core, the two versions in turns; CPU seconds, which a busy machine changes less than wall-clock time, the best of
`--repeats`; and the largest memory. Compiled programs go to an empty folder for each version. Rows that the output
has already are not run again; `--page` puts the table into docs/speed.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SERIES = """
import resource, sys, time
import numpy as np
def series(n, d, seed=0):
    rng, x = np.random.default_rng(seed), np.zeros((n, d))
    for i in range(1, n):
        x[i] = 0.97 * x[i - 1] + 0.015 * np.roll(x[i - 1], 1) * (d > 1)
        x[i] += 0.2 * np.sqrt(1 + 0.2 * x[i - 1] ** 2) * rng.standard_normal(d)
    return x[:, 0] if d == 1 else x
def told(begun):
    print(time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
FIRST = (
    SERIES
    + """
begun = time.process_time()
import onepath
onepath.SDE(progress=False).fit(series({n}, {d}), dt=0.1).summary()
told(0.0)
"""
)
WARM = (
    SERIES
    + """
import onepath
x, settings = series({n}, {d}), dict(progress=False, {settings})
onepath.SDE(**settings).fit(x, dt=0.1)
begun = time.process_time()
onepath.SDE(**settings).fit(x, dt=0.1)
told(begun)
"""
)
COMMAND = (
    SERIES
    + """
import contextlib, io, tempfile, warnings
from pathlib import Path
folder = Path(tempfile.mkdtemp())
np.savetxt(folder / "x.csv", np.column_stack([0.1 * np.arange({n}), series({n}, {d})]), delimiter=",",
           header=",".join(["t", *"xyz"[:{d}]]), comments="")
from onepath.cli import main
begun = time.process_time()
sys.argv = ["onepath", "fit", str(folder / "x.csv"), "--report", str(folder / "r.html"), "--model", str(folder / "m")]
quiet = io.StringIO()
with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet), contextlib.suppress(SystemExit):
    main()
told(begun)
"""
)
ROWS = {
    "first fit and summary, empty cache, 1-D, 500 rows": (FIRST, {"n": 500, "d": 1}, True),
    "first fit and summary, empty cache, 2-D, 2000 rows": (FIRST, {"n": 2000, "d": 2}, True),
    "next process, cache filled, 1-D, 500 rows": (FIRST, {"n": 500, "d": 1}, False),
    "next process, cache filled, 2-D, 2000 rows": (FIRST, {"n": 2000, "d": 2}, False),
    "warm fit, 1-D, 500 rows": (WARM, {"n": 500, "d": 1, "settings": ""}, False),
    "warm fit, 2-D, 5000 rows, diagonal noise": (WARM, {"n": 5000, "d": 2, "settings": "noise='diagonal'"}, False),
    "warm fit, 2-D, 5000 rows, full noise": (WARM, {"n": 5000, "d": 2, "settings": "noise='full'"}, False),
    "command with report and model, second run, 1-D, 10 000 rows": (COMMAND, {"n": 10_000, "d": 1}, False),
    "command with report and model, second run, 2-D, 10 000 rows": (COMMAND, {"n": 10_000, "d": 2}, False),
    "first fit and summary, empty cache, 3-D, 2000 rows": (FIRST, {"n": 2000, "d": 3}, True),
    "warm fit, 3-D, 5000 rows": (WARM, {"n": 5000, "d": 3, "settings": ""}, False),
    "warm fit, 4-D, 5000 rows": (WARM, {"n": 5000, "d": 4, "settings": ""}, False),
}


def measured(script, source, cache):
    """CPU seconds and megabytes that a process says it took."""
    environment = os.environ | {"PYTHONPATH": source, "ONEPATH_CACHE": cache}
    core = str(min(os.sched_getaffinity(0)))
    command = ["taskset", "-c", core, sys.executable, "-c", script]
    said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=1200).stdout
    return [float(part) for part in said.split()[-2:]]


def compare(name, sources, caches, repeats):
    """The best of several runs of each version, in turns; a first run that fills the cache does not count."""
    script, sizes, empty = ROWS[name]
    code, best = script.format(**sizes), {}
    for _ in range(repeats):
        for version, source in sources.items():
            with tempfile.TemporaryDirectory() as fresh:
                cache = fresh if empty else caches[version]
                if not empty and version not in best:
                    measured(code, source, cache)
                found = measured(code, source, cache)
            best[version] = min(best.get(version, found), found)
    return best


PAGE, BEGIN, END = Path(__file__).parents[1] / "docs" / "speed.md", "<!-- waiting -->\n", "<!-- end of waiting -->\n"


def write_table(results):
    """Put the table between its marks in the page."""
    lines = ["| what | s | MB | s of the older version | ratio | MB, ratio |", "|---|---|---|---|---|---|"]
    for name, best in results.items():
        (s, mb), other = best["now"], best.get("other")
        beside = "| | |" if other is None else f"| {other[0]:.3g} | {s / other[0]:.2f} | {mb / other[1]:.2f} |"
        lines.append(f"| {name} | {s:.3g} | {mb:.0f} {beside}")
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n\n" + END + rest.partition(END)[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", help="the folder src of another version")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--page", action="store_true", help="put the table into docs/speed.md")
    options = parser.parse_args()
    sources = {"now": str(Path(__file__).parents[1] / "src")} | ({"other": options.other} if options.other else {})
    results = json.loads(options.output.read_text()) if options.output and options.output.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        caches = {version: str(Path(folder) / version) for version in sources}
        for cache in caches.values():
            Path(cache).mkdir(mode=0o700)
        for name in [name for name in ROWS if options.only in name and name not in results]:
            results[name] = best = compare(name, sources, caches, options.repeats)
            line = "   ".join(f"{version} {s:.2f} s, {mb:.0f} MB" for version, (s, mb) in best.items())
            ratio = f"   ratio {best['now'][0] / best['other'][0]:.2f}" if "other" in best else ""
            print(f"{name:62}{line}{ratio}", flush=True)
            if options.output:
                options.output.write_text(json.dumps(results, indent=1) + "\n")
    if options.page:
        write_table(results)


if __name__ == "__main__":
    main()
