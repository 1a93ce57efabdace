"""Many independent cells of a benchmark on several cores: finished ones are kept in a file and not computed again.

    python benchmarks/resumable.py parts/hidden-*.json -o benchmarks/results/hidden.json

puts together what several runs kept, each of other seeds, with what is in the last file already.
"""

import argparse
import json
import multiprocessing
import os
import time
from pathlib import Path

from onepath.io.atomic import write_atomically

SAVE_EVERY = 10.0
"""Seconds between two writes of the results."""


def kept(output):
    """Results that are there already, by key."""
    return json.loads(output.read_text()) if output.exists() else {}


def save(output, results):
    """JSON with a line for each result, whole at every moment."""
    output.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(results[key], sort_keys=True)}" for key in sorted(results))
    write_atomically(output, f"{{\n{lines}\n}}\n".encode(), force=True)


def _take_one_core(cores):
    """XLA's threads slow each other down badly when several processes share all cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cores.get()})


def finish(run, tasks, output, jobs, table):
    """Run every task, which gives {key: result}; print the table of all results, and save it beside them."""
    results = kept(output)
    # threads of a linear algebra that was loaded before its process had one core alone wait for each other there
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    context = multiprocessing.get_context("spawn")
    cores = context.Queue()
    available = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    for job in range(jobs):
        cores.put(available[job % len(available)])
    with context.Pool(jobs, _take_one_core, (cores,)) as pool:
        saved = time.monotonic()
        for done in pool.imap_unordered(run, tasks):
            results |= done
            if time.monotonic() - saved > SAVE_EVERY:
                save(output, results)
                saved = time.monotonic()
    save(output, results)
    text = table(results)
    output.with_suffix(".txt").write_text(text + "\n")
    print(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    results = kept(options.output)
    for part in options.parts:
        results |= kept(part)
    save(options.output, results)


if __name__ == "__main__":
    main()
