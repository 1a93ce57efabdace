"""The tables of pages in docs/, made from kept results, so that they cannot drift apart.

    python benchmarks/documents.py docs

The words around the tables are not made here.
"""

import json
import sys
from functools import partial
from pathlib import Path

import driven_tables
import equation_tables
import hidden_tables
import mended_tables
import numpy as np
import population
import stiff

from onepath.compare.paper.filling import fill, markdown

RESULTS = Path(__file__).parent / "results"
FIELDS = ("drift", "diffusion")


def cells_by(results, *places):
    """Cells under the parts of their keys in these places."""
    groups = {}
    for key, cell in results.items():
        parts = key.split("/")
        if "error" not in cell:
            groups.setdefault(tuple(parts[place] for place in places), []).append(cell)
    return groups


def middle(cells, score):
    known = [cell[score] for cell in cells if score in cell]
    return float(np.median(known)) if known else None


def mean(cells, score):
    return float(np.mean([cell[score] for cell in cells])) if cells else None


def short(value, places=3):
    """.098 for 0.098, and nothing where there is nothing."""
    return "" if value is None else f"{value:.{places}f}".removeprefix("0") if value < 100 else f"{value:.0f}"


def best_marked(values, places):
    """Numbers of a row, the smallest in bold."""
    least = min(value for value in values if value is not None)
    return [f"**{short(value, places)}**" if value == least else short(value, places) for value in values]


def step_table(results):
    """Median errors of diffusion and drift, a row a process and distance of observations, a column a law."""
    groups, rows = cells_by(results, 0, 1, 3, 2), []
    for kind, name, k, law in groups:
        if kind == "steps" and law == "auto":
            cells = [groups[kind, name, k, law] for law in stiff.LAWS]
            change, second = middle(cells[2], "change"), mean(cells[2], "second")
            errors = [short(middle(each, score)) for score in ("diffusion", "drift") for each in cells]
            # seeds stand in the same order under every law
            paired = np.median([a["drift"] / e["drift"] for a, e in zip(cells[2], cells[0], strict=True)])
            ratio = middle(cells[2], "seconds") / middle(cells[0], "seconds")
            taken = f"{second:.0%}".replace("%", " %")
            rows.append([name, k, f"{change:.2g}", *errors, f"{paired:.2f}", taken, f"{ratio:.1f}"])
    rows.sort(key=lambda row: (row[0], int(row[1])))
    laws = [f"{symbol}: {law}" for symbol in ("σ", "f") for law in stiff.LAWS]
    compared = ["f: auto / euler, seed by seed", "second law taken", "time, auto / euler"]
    return markdown(["process", "k", "\\|f'\\| Δt", *laws, *compared], rows)


def coverage_table(results):
    """Mean coverage of 90 % bands, a row a process."""
    groups, rows, numbers = cells_by(results, 0, 1, 2), [], []
    for name, dt in stiff.COVERAGE.items():
        cells = [groups["coverage", name, law] for law in stiff.COVERAGE_LAWS]
        row = [mean(each, f"{field}_coverage") for field in reversed(FIELDS) for each in cells]
        numbers.append(row)
        rows.append([name, f"{dt:g}", f"{middle(cells[1], 'change'):.2g}", *(short(x, 2) for x in row)])
    rows.append(["**average**", "", "", *(f"**{short(x)}**" for x in np.mean(numbers, axis=0))])
    covered = [f"{symbol} covered: {law}" for symbol in ("σ", "f") for law in stiff.COVERAGE_LAWS]
    return markdown(["process", "Δt", "\\|f'\\| Δt", *covered], rows)


def gap_table(results):
    """Median gap of the test loss to the true model's, a column a method, the yardstick's, and onepath's otherwise."""
    groups, rows = cells_by(results, 0, 1), []
    for name in dict.fromkeys(name for name, method in groups if method == "onepath"):
        cells = [groups.get((name, method), []) for method in population.METHODS]
        numbers = best_marked([middle(each, "gap") for each in cells], 4)
        told = short(middle(groups.get((name, population.YARDSTICK), []), "gap"), 4)
        inside = short(middle(cells[0], "gap_inside"), 4)
        means = [short(mean(cells[0], score), 4) for score in ("gap", "predictive_gap")]
        rows.append([name, *numbers, told, inside, *means])
    others = ["told the form", "onepath, inside", "mean of onepath", "mean, predictive density"]
    head = ["process", *population.METHODS, *others]
    return markdown(head, sorted(rows, key=_paper_first))


def error_table(results):
    """Median errors of drift and diffusion at the test points, and onepath's coverage at the training points."""
    groups, rows = cells_by(results, 0, 1), []
    for name in dict.fromkeys(name for name, method in groups if method == "onepath"):
        cells = [groups.get((name, method), []) for method in population.METHODS]
        numbers = best_marked([middle(each, "diffusion") for each in cells], 3)
        covered = [short(mean(cells[0], f"{field}_coverage"), 2) for field in FIELDS]
        rows.append([name, *numbers, short(middle(cells[0], "drift"), 2), *covered])
    averages = [
        np.mean([mean(cells, f"{f}_coverage") for (_, m), cells in groups.items() if m == "onepath"]) for f in FIELDS
    ]
    rows.sort(key=_paper_first)
    rows.append(["**average**", *[""] * 5, *(f"**{short(x)}**" for x in averages)])
    head = ["process", *(f"σ: {method}" for method in population.METHODS), "f: onepath", "f covered", "σ covered"]
    return markdown(head, rows)


def _paper_first(row):
    paper = ("exponential", "trigonometric", "gbm", "ou")
    return (paper.index(row[0]) if row[0] in paper else len(paper), row[0])


def _steps(kept):
    return {"steps": lambda: step_table(kept), "coverage": lambda: coverage_table(kept)}


def _learning(kept):
    return {"gaps": lambda: gap_table(kept), "errors": lambda: error_table(kept)}


def _disturbed(kept):
    kinds = ("jumps", "tails", "volatility")
    return {kind: partial(driven_tables.disturbed_table, kind, kept) for kind in kinds}


def _driven(kept):
    return {
        "seasons": lambda: driven_tables.season_table(kept),
        "driven": lambda: driven_tables.driven_table(kept),
        "known": lambda: driven_tables.known_text(kept),
    }


def _equations(kept):
    tables = ("polynomial_table", "other_table", "said")
    return {name.removesuffix("_table"): partial(getattr(equation_tables, name), kept) for name in tables}


def _mended(kept):
    return {
        "planted": lambda: mended_tables.planted_table(kept),
        "differenced": lambda: mended_tables.differenced_text(kept),
        **{f"walk-{step}": partial(mended_tables.walked, RESULTS / "walk.txt", step) for step in WALK},
    }


WALK = ("fit", "mend", "forecast")
"""Commands of the walk in docs/mend.md, as they were typed and what they printed."""


def _noise(kept):
    return {
        "noise": lambda: hidden_tables.noise_table(kept),
        "none": lambda: hidden_tables.none_table(kept),
        "ratios": lambda: hidden_tables.ratio_text(kept),
        "cost": lambda: hidden_tables.cost_text(kept),
    }


def _with_equations(kept):
    return {
        "none-equations": lambda: hidden_tables.none_table(kept),
        "ratios-equations": lambda: hidden_tables.ratio_text(kept),
    }


def _kinds(kept):
    return {
        "velocity": lambda: hidden_tables.velocity_table(kept),
        "blur": lambda: hidden_tables.blur_table(kept),
        "missing": lambda: hidden_tables.missing_table(kept),
        "coarse": lambda: hidden_tables.coarse_text(kept),
        "long": lambda: hidden_tables.long_table(kept),
    }


def _studio(kept):
    rows = {
        "`onepath fit`, from beginning to end": "command",
        "from a dropped file to drift and diffusion": "curves",
        "to the verdict": "verdict",
        "to everything, the report too": "everything",
        "from `onepath studio` to its address": "listening",
        "from the address to the first paint": "first_paint",
    }
    return {"studio": lambda: markdown(("", "seconds"), [(told, f"{kept[name]:.2f}") for told, name in rows.items()])}


PAGES = {
    "studio.md": {"studio": _studio},
    "mend.md": {"mending": _mended, "mended_series": lambda kept: {"series": lambda: mended_tables.series_table(kept)}},
    "steps.md": {"stiff": _steps},
    "learning.md": {"population": _learning},
    "jumps.md": {"disturbed": _disturbed},
    "inputs.md": {"inputs": _driven},
    "equations.md": {
        "equations": _equations,
        "equations-500": lambda kept: {"short": lambda: equation_tables.short_table(kept)},
    },
    "hidden.md": {
        "hidden": _noise,
        "hidden-equations": _with_equations,
        "hidden-500": lambda kept: {"short": lambda: hidden_tables.short_table(kept)},
        "hidden-kinds": _kinds,
    },
}
"""Of each page, which results it shows, and what makes its tables of them."""


def pages():
    """What makes each table of each page whose results are kept, by the name that the page calls it by."""
    found = {}
    for page, results in PAGES.items():
        for name, tables in results.items():
            if (kept := RESULTS / f"{name}.json").exists():
                found[page] = found.get(page, {}) | tables(json.loads(kept.read_text()))
    return found


def main():
    for name, makers in pages().items():
        page = Path(sys.argv[1]) / name
        page.write_text(fill(page.read_text(), makers))


if __name__ == "__main__":
    main()
