"""The tables of docs/mend.md, from what benchmarks/mending.py and benchmarks/mended_series.py kept."""

import mending
import numpy as np
from driven_tables import middle, number, share

from onepath.compare.paper.filling import markdown

CALLED = {
    "none": "nothing",
    "noise": "noise on readings, .5 increments",
    "blur": "means over the whole step",
    "underdamped": "positions, velocities hidden",
    "jumps": "jumps at 1 % of steps, 6 increments",
    "season": "a season of 365 steps",
    "change": "drift shifted half-way",
    "noise+season": "noise and season",
    "jumps+season": "jumps and season",
}


def planted_table(results):
    """A row for each fault, over all processes and seeds."""
    rows, failed = [], sum("error" in row for row in results.values())
    for fault, called in CALLED.items():
        cells = [row for key, row in results.items() if key.split("/")[1] == fault and "error" not in row]
        if not cells:
            continue
        right = share(cells, lambda row, fault=fault: mending.is_right(fault, row["proposed"]))
        flagged, clear = share(cells, lambda row: bool(row["plain"])), share(cells, lambda row: not row["left"])
        ratios = [middle(cells, lambda row, i=i: _ratio(row, "errors", i)) for i in (0, 1)]
        before = [middle(cells, lambda row, i=i: _ratio(row, "plain_errors", i)) for i in (0, 1)]
        numbers = (number(value, 2) for pair in zip(before, ratios, strict=True) for value in pair)
        seconds = number(middle(cells, lambda row: row["cpu"]), 0)
        rows.append([called, str(len(cells)), flagged, right, clear, *numbers, seconds])
    head = ["planted", "paths", "flagged", "right cure", "clear after", "f before", "f after", "σ before", "σ after"]
    seeds = sorted({int(key.split("/")[-1]) for key in results if key.split("/")[1] in CALLED})
    which = f"Seed {seeds[0]}" if len(seeds) == 1 else f"Seeds {seeds[0]} to {seeds[-1]}"
    said = f"{which}, as many paths as were computed so far." + f" {failed} failed." * bool(failed)
    return f"{said}\n\n{markdown([*head, 'CPU s'], rows)}"


def _ratio(row, what, i):
    return row[what][i] / row["clean"][i] if what in row else None


def differenced_text(results):
    """How often differences are said to be that."""
    said = []
    for kind, name in zip(mending.DIFFERENCED, ("white noise", "an OU process"), strict=True):
        cells = [row for key, row in results.items() if key.startswith(f"{kind}/differenced/") and "error" not in row]
        if cells:
            said.append(f"of {name} in {sum(row['named'] for row in cells)} of {len(cells)}")
    return f"Differences are called differences: {', '.join(said)}." if said else "Not measured."


def series_table(results):
    """Verdict and score of later rows of each series, before and after."""
    rows = []
    if not results:
        return "Not measured yet."
    for name, result in results.items():
        plain, chosen = result["tried"][0], result["tried"][result["chosen"]]
        rows.append([name, str(result["rows"]), _faults(plain), _score(plain)])
        if result["chosen"]:
            gain = f"{chosen['gain']:+.3f} ± {chosen['error']:.3f}"
            rows[-1] += [f"`{chosen['command']}`", _faults(chosen), f"{_score(chosen)} ({gain})"]
        else:
            rows[-1] += ["none", "", ""]
    return markdown(["series", "rows", "faults", "score", "proposed", "faults left", "score"], rows)


def _faults(row):
    return ", ".join(row["faults"]) or "none"


def _score(row):
    return "" if row["score"] is None or not np.isfinite(row["score"]) else f"{row['score']:.3f}"


def walked(path, step):
    """A command and what it printed, from a file in which each begins with `== name`."""
    parts = dict(part.split("\n", 1) for part in path.read_text().split("== ")[1:])
    return f"```console\n{parts[step].strip()}\n```"
