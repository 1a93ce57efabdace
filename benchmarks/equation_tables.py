"""Tables of docs/equations.md, from what `equations.py` has kept."""

import re

import numpy as np
from equation_systems import OTHER, POLYNOMIAL
from equations import FUNCTIONS, every, median, ratio

from onepath.compare.paper.filling import markdown

HEAD = ("drift error: off", "auto", "told", "σ error: off", "auto", "drift band: off", "auto")


def rows_of(results, system):
    return [row for key, row in sorted(results.items()) if key.startswith(f"{system.process.name}/")]


def percent(values):
    known = [value for value in values if not np.isnan(value)]
    return f"{np.mean(known):.0%}".replace("%", " %") if known else ""


def number(value, places=3):
    return "" if np.isnan(value) else f"{value:.{places}f}".removeprefix("0")


def _errors(rows):
    drift = [number(median(rows, *path)) for path in (("off", "drift"), ("auto", "drift"), ("told",))]
    sigma = [number(median(rows, how, "diffusion"), 4) for how in ("off", "auto")]
    bands = [percent([median(rows, how, "drift_coverage")]) for how in ("off", "auto")]
    return [*drift, *sigma, *bands]


def polynomial_table(results):
    """A row a system: errors, coverage, what happens beyond the data, and how often the true terms come first."""
    lines = []
    for system in POLYNOMIAL:
        rows = rows_of(results, system)
        if rows:
            first = [percent(every(rows, what, "first")) for what in FUNCTIONS]
            held = sum(np.nansum(every(rows, what, "held")) for what in FUNCTIONS)
            count = sum(np.nansum(every(rows, what, "coefficients")) for what in FUNCTIONS)
            beyond = f"{ratio(rows, 'beyond'):.2g}"
            covered = percent([held / count]) if count else ""
            lines.append([system.process.name, str(len(rows)), *_errors(rows), beyond, *first, covered])
    more = ("beyond the data: mean square, auto / off", "true terms first: f", "σ²", "coefficients held")
    return markdown(["system", "seeds", *HEAD, *more], lines)


def other_table(results):
    """The same where something is no polynomial: how often an equation is nevertheless thought probable."""
    lines = []
    for system in OTHER:
        rows = rows_of(results, system)
        if rows:
            errors = _errors(rows)
            del errors[2]
            sure = [
                percent(np.asarray(every(rows, what, "largest")) > 0.9) if none is None else "it is one"
                for what, none in zip(FUNCTIONS, (system.drift, system.noise), strict=True)
            ]
            each = [f"{ratio(rows, key):.2f}" for key in ("drift", "diffusion")]
            beyond = f"{ratio(rows, 'beyond'):.2g}"
            lines.append([system.process.name, str(len(rows)), *errors, *each, beyond, *sure])
    head = [name for name in HEAD if name != "told"]
    more = ("auto / off: f", "σ", "beyond", "an equation above .9: f", "σ²")
    return markdown(["system", "seeds", *head, *more], lines)


def short_table(results):
    """Of short records: errors, coverage, and what a step of another path gains."""
    lines = []
    for system in POLYNOMIAL + OTHER:
        rows = rows_of(results, system)
        if rows:
            drift = [number(median(rows, how, "drift")) for how in ("off", "auto")]
            bands = [
                percent([np.mean([row[how][f"{what}_coverage"] for row in rows])])
                for what in ("drift", "diffusion")
                for how in ("off", "auto")
            ]
            gain = np.median([row["auto"]["score"] - row["off"]["score"] for row in rows])
            lines.append([system.process.name, str(len(rows)), *drift, *bands, f"{gain:+.4f}"])
    head = ("drift error: off", "auto", "f covered: off", "auto", "σ covered: off", "auto", "gain, nats a step")
    return markdown(["system", "seeds", *head], lines)


def said(results):
    """What all of it comes to."""
    found = [rows for rows in (rows_of(results, system) for system in POLYNOMIAL) if rows]
    others = [rows for rows in (rows_of(results, system) for system in OTHER) if rows]
    over, before = (
        np.median([median(rows, how, "drift") / median(rows, "told") for rows in found]) for how in ("auto", "off")
    )
    flat = [row for rows in found for row in rows]
    first = [one for what in FUNCTIONS for one in every(flat, what, "first")]
    held, count = (sum(np.nansum(every(flat, what, key)) for what in FUNCTIONS) for key in ("held", "coefficients"))
    worse = np.median([ratio(rows, "drift") for rows in others])
    timed = [row["seconds"] / row["seconds_off"] for row in results.values() if "seconds_off" in row]
    parts = [
        f"Over the polynomial systems the drift error is {over:.2f} times that of the yardstick,",
        f"{before:.2f} times without equations (medians of systems). The true terms are the most probable equation",
        f"of {np.nanmean(first):.0%} of all functions; where they are, 90 % intervals hold {held / count:.0%} of their",
        f"{count:.0f} coefficients. Over the others the drift error is {worse:.2f} times what it is without equations.",
        f"A fit takes {np.median(timed):.2f} times as long.",
    ]
    return " ".join(re.sub(r"(\d)%", r"\1 %", part) for part in parts)
