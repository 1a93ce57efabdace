"""The walk of docs/mend.md: its commands, run as a new user would, and what they print.

python benchmarks/walk.py -o benchmarks/results/walk.txt
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import mending

COMMANDS = {
    "fit": "onepath fit level.csv",
    "mend": "onepath fit level.csv --mend --model level.onepath --report level.html",
    "forecast": "onepath forecast level.onepath --steps 30 --level 0.05 --level 0.5 --level 0.95",
}
SHOWN = {"forecast": 5}
"""Lines of what is printed, where that is a long table."""

NARROW = 110
"""Columns after which lines of a sentence are broken."""


def printed(name, folder, budget):
    """The command, and what it says on both streams, without progress."""
    words = COMMANDS[name].split()
    more = ["--budget", str(budget)] if name == "mend" else []
    done = subprocess.run(
        [sys.executable, "-m", *words, *more], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{COMMANDS[name]} ended with {done.returncode}: {done.stderr}")
    said = [line for line in done.stderr.splitlines() if not line.rstrip().endswith(("…", "s left"))]
    lines = [*said[:1], *done.stdout.splitlines(), *said[1:]]
    some = SHOWN.get(name, len(lines))
    rest = ["..."] if len(lines) > some else []
    return [f"$ {COMMANDS[name]}", *(part for line in lines[:some] for part in broken(line)), *rest]


def broken(line):
    """A line in several where it is long."""
    found = []
    while len(line) > NARROW:
        at = line.rfind(" ", 0, NARROW)
        found.append(line[:at])
        line = line[at + 1 :]
    return [*found, line]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/walk.txt"))
    parser.add_argument("--budget", type=float, default=180.0, help="seconds; more on a machine that is busy")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mending.example().to_csv(Path(folder) / "level.csv", index=False)
        parts = [f"== {name}\n" + "\n".join(printed(name, folder, given.budget)) for name in COMMANDS]
    given.output.write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
