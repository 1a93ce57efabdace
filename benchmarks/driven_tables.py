"""The tables of docs/jumps.md and docs/inputs.md, from what benchmarks/disturbed.py and benchmarks/inputs.py kept."""

import disturbed
import inputs
import numpy as np

from onepath.compare.paper.filling import markdown


def groups_of(results, kind):
    """Cells that did not fail, by what stands between the kind and the seed in their keys."""
    found = {}
    for key, cell in sorted(results.items()):
        first, *middle, _ = key.split("/")
        if first == kind and "error" not in cell:
            found.setdefault(tuple(middle), []).append(cell)
    return found


def seeds_of(results, kind):
    """Such as "seeds 100 to 105": those of which there is any cell."""
    seeds = sorted({int(key.split("/")[-1]) for key in results if key.startswith(f"{kind}/")})
    whole = seeds == list(range(seeds[0], seeds[-1] + 1))
    if len(seeds) == 1:
        return f"Seed {seeds[0]}"
    return f"Seeds {seeds[0]} to {seeds[-1]}" if whole else f"Seeds {', '.join(map(str, seeds))}"


def with_seeds(results, kind, columns, rows):
    failed = sum(key.startswith(f"{kind}/") and "error" in cell for key, cell in results.items())
    said = f"{seeds_of(results, kind)}; medians, but for shares, which are of all paths."
    return f"{said}{f' {failed} cells failed.' * bool(failed)}\n\n{markdown(columns, rows)}"


def number(value, places=3):
    return "" if value is None or value != value else f"{value:.{places}f}".removeprefix("0")


def middle(cells, of):
    """The median over cells of what is there."""
    known = [value for value in map(of, cells) if value is not None]
    return float(np.median(known)) if known else None


def share(cells, of):
    known = [value for value in map(of, cells) if value is not None]
    return f"{np.mean(known):.0%}".replace("%", " %") if known else ""


def errors(cells):
    """Of drift and σ: with the law, without anything in the path, and with a plain fit; and σ's ratio to the second."""
    parts = [
        middle(cells, lambda cell, a=a, b=b: cell[a][b])
        for b in ("drift", "diffusion")
        for a in ("own", "clean", "plain")
    ]
    return [*(number(part) for part in parts), number(parts[3] / parts[4], 2)]


ERRORS = ["f", "f, undisturbed", "f, plain", "σ", "σ, undisturbed", "σ, plain", "σ / undisturbed"]


def disturbed_table(kind, results):
    """A row a process and case."""
    own = {
        "jumps": (["σ / told", "rate off", "beyond 6 marked", "none claimed"], jump_columns),
        "tails": (["ν", "ν within 1.5", "shortest length"], tail_columns),
        "volatility": (["bound", "path correlates", "found", "plain bands cover"], level_columns),
    }[kind]
    grouped, rows = groups_of(results, kind), []
    for name in disturbed.PROCESSES:
        for case in disturbed.CASES[kind]:
            cells = grouped.get((name, f"{case:g}"), [])
            if cells:
                verdict = share(cells, lambda cell: cell["fits"])
                covers = number(np.mean([cell["own"]["covered"] for cell in cells]), 2)
                rows.append(
                    [f"{name}, {case:g}", str(len(cells)), *errors(cells), covers, verdict, *own[1](cells, case)]
                )
    return with_seeds(results, kind, ["", "seeds", *ERRORS, "covered", "fits", *own[0]], rows)


def jump_columns(cells, case):
    if not case:
        return ["", "", "", share(cells, lambda cell: cell["rate"][1] == 0.0)]
    told = middle(cells, lambda cell: cell["own"]["diffusion"] / cell["told"]["diffusion"] if "told" in cell else None)
    off = middle(cells, lambda cell: abs(cell["count"] / max(cell["jumps"], 1) - 1))
    return [number(told, 2), number(off, 2), share(cells, lambda cell: cell["marked"]), ""]


def tail_columns(cells, case):
    freedom = [cell["freedom"][0] for cell in cells]
    shortest = number(min(cell["shortest"] for cell in cells), 2)
    if not case:
        return ["none found", share(freedom, lambda nu: nu is None), shortest]
    within = share(freedom, lambda nu: nu is not None and 1 / 1.5 < nu / case < 1.5)
    return [number(middle(freedom, lambda nu: nu), 1), within, shortest]


def level_columns(cells, case):
    found = share(cells, lambda cell: cell["spread"][0] > 0)
    covers = number(np.mean([cell["plain"]["covered"] for cell in cells]), 2)
    together = number(middle(cells, lambda cell: cell["together"]), 2) if case else ""
    bound = middle(cells, lambda cell: cell.get("bound"))
    return [number(bound, 2), together, found, covers]


def season_table(results):
    """A row a process."""
    grouped, rows = groups_of(results, "season"), []
    for (name,), cells in grouped.items():
        if name in inputs.STILL:
            none = share(cells, lambda cell: cell["period"] is None)
            rows.append([f"none: {name}", str(len(cells)), *[""] * 8, none])
            continue
        row = [f"of {name}" if name != "both" else "of mean and noise", str(len(cells))]
        for what in ("drift", "diffusion"):
            pair = [middle(cells, lambda cell, key=f"{what} {which}": cell[key]) for which in ("with", "without")]
            ratio = middle(cells, lambda cell, what=what: cell[f"{what} with"] / cell[f"{what} without"])
            row += [*map(number, pair), number(ratio, 2)]
        row += [share(cells, lambda cell, key=f"clear {which}": cell[key]) for which in ("with", "without")]
        right = share(cells, lambda cell: cell["period"] is not None and abs(cell["period"] - 12) < 0.3)
        rows.append([*row, right])
    head = ["season", "seeds", "f", "f, without", "ratio", "σ", "σ, without", "ratio"]
    return with_seeds(results, "season", [*head, "fits", "fits, without", '"auto" is right'], rows)


def driven_table(results):
    """A row a process and function."""
    rows = []
    for (name,), cells in groups_of(results, "inputs").items():
        for what, symbol in (("drift", "f"), ("diffusion", "σ")):
            pair = [middle(cells, lambda cell, key=key: cell[key]) for key in (what, f"oracle {what}")]
            ratio = middle(cells, lambda cell, what=what: cell[what] / cell[f"oracle {what}"])
            told = [share(cells, lambda cell, i=i, what=what: cell[f"depends {what}"][i] >= 0.5) for i in (0, 1)]
            rows.append([f"{name}, {symbol}", str(len(cells)), *map(number, pair), number(ratio, 2), *told])
    head = ["", "seeds", "error", "of an oracle", "ratio", "said to depend on the input", "on the other"]
    return with_seeds(results, "inputs", head, rows)


def known_text(results):
    """Two sentences and a half."""
    parts = []
    for kind, said in (("trap", inputs.said_of_trap), ("stiffness", inputs.said_of_stiffness)):
        for cells in groups_of(results, kind).values():
            parts += [f"{kind}, {seeds_of(results, kind).lower()}: {', '.join(said(cells))}"]
    for cells in groups_of(results, "beside").values():
        parts.append(f"diffusion beside a known drift, {seeds_of(results, 'beside').lower()}, errors: ")
        parts[-1] += inputs.said_of_beside(cells)[0]
    return "\n".join(f"- {part}." for part in parts)
