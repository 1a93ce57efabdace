"""The tables of docs/hidden.md, from what benchmarks/hidden.py and benchmarks/hidden_kinds.py kept."""

import json
from pathlib import Path

import numpy as np
from driven_tables import middle, number, share

from onepath.compare.paper.filling import markdown

RESULTS = Path(__file__).parent / "results"
LITTLE = 0.3
"""Of an increment, as in the summary: what the end of a band must be under for it to say "little error or none"."""

FIELDS = (("drift", "f"), ("diffusion", "σ"))


def grouped(results):
    """Cells of every seed that did not fail, by the rest of their keys."""
    groups = {}
    for key, cell in sorted(results.items()):
        if "error" not in cell:
            groups.setdefault(tuple(key.split("/")[:-1]), []).append(cell)
    return groups


def of(method, part):
    """What a method scored in a cell; None where it was not asked, or failed."""
    return lambda cell: cell.get(method, {}).get(part)


def with_peer(results, name="hidden-peer"):
    """Each cell with what the peer scored in it."""
    kept = RESULTS / f"{name}.json"
    peer = json.loads(kept.read_text()) if kept.exists() else {}
    return {key: cell | peer.get(key, {}) for key, cell in results.items()}


def mean(cells, method, part):
    known = [value for value in map(of(method, part), cells) if value is not None]
    return float(np.mean(known)) if known else None


def noise_table(results):
    """A row a process and noise; the last rows are averages over processes."""
    groups, rows, covered = grouped(with_peer(results)), [], {}
    noises = sorted({float(noise) for _, noise, _ in groups} - {0.0})
    for name in dict.fromkeys(name for name, *_ in groups):
        for noise in noises:
            cells = next((cells for (own, size, _), cells in groups.items() if (own, float(size)) == (name, noise)), [])
            if not cells:
                continue
            row = [f"{name}, {noise:g}", str(len(cells))]
            for field, _ in FIELDS:
                clean, raw, own, peer = (middle(cells, of(method, field)) for method in METHODS)
                row += [number(clean), number(raw), number(own), number(own / clean, 2), number(peer)]
            row.append(number(middle(cells, of("filtered", "noise"))))
            pair = [mean(cells, "filtered", f"{field}_coverage") for field, _ in FIELDS]
            covered.setdefault(noise, []).append(pair)
            rows.append([*row, *(number(each, 2) for each in pair)])
    for noise, pairs in covered.items():
        rows.append(
            [f"**average, {noise:g}**", *[""] * 12, *(f"**{number(each, 2)}**" for each in np.mean(pairs, axis=0))]
        )
    columns = [f"{symbol}{what}" for _, symbol in FIELDS for what in (" clean", " raw", "", " / clean", " of SFI")]
    return markdown(["", "seeds", *columns, "noise found / true", "f covered", "σ covered"], rows)


METHODS = ("clean", "raw", "filtered", "force-inference")


def short_table(results):
    """Short records: beside the fit to the readings themselves."""
    rows = []
    for (name, noise, _), cells in grouped(results).items():
        if float(noise) == 0.0:
            continue
        row = [f"{name}, {float(noise):g}", str(len(cells))]
        for field, _ in FIELDS:
            row += [number(middle(cells, of(method, field))) for method in ("clean", "raw", "filtered")]
        found = [cell["filtered"]["noise"] for cell in cells if "noise" in cell.get("filtered", {})]
        rows.append([*row, number(float(np.median(found))), f"{number(min(found), 2)} to {number(max(found), 2)}"])
    columns = [f"{symbol}{what}" for _, symbol in FIELDS for what in (" clean", " raw", "")]
    return markdown(["", "seeds", *columns, "noise found / true", "from, to"], rows)


def ratio_text(results):
    """Errors by those of the clean fit, seed by seed, over all processes."""
    parts = []
    for noise in (0.5, 1.0, 3.0):
        cells = [cell for (_, size, _), cells in grouped(results).items() for cell in cells if float(size) == noise]
        ratios = [
            number(middle(cells, lambda cell, field=field: cell["filtered"][field] / cell["clean"][field]), 2)
            for field, _ in FIELDS
        ]
        parts.append(f"{ratios[0]} and {ratios[1]} at {noise:g}")
    return f"Seed by seed, over all processes, errors of f and σ are {', '.join(parts)} times those of the clean fit."


def none_table(results):
    """What learning noise costs where there is none."""
    rows = []
    for (name, noise, n), cells in grouped(results).items():
        if float(noise) != 0.0:
            continue
        ratios = [middle(cells, of("filtered", field)) / middle(cells, of("clean", field)) for field, _ in FIELDS]
        said = share(cells, lambda cell: cell["filtered"]["low"] <= 0.0 and cell["filtered"]["high"] < LITTLE)
        most = middle(cells, of("filtered", "high"))
        rows.append(
            [f"{name}, {n} steps", str(len(cells)), *(number(each, 2) for each in ratios), number(most, 2), said]
        )
    return markdown(["", "seeds", "f / exact", "σ / exact", "at most, of an increment", "said little or none"], rows)


def cost_text(results):
    """Seconds of the processor, in the median over all cells."""
    cells = [cell for cells in grouped(results).values() for cell in cells]
    exact, own = (middle(cells, of(method, "seconds")) for method in ("clean", "filtered"))
    times = f"{own / exact:.1f} times"
    return f"At ten thousand rows a fit takes {own:.1f} s of the processor, an exact one {exact:.2f} s: {times}."


def percent(value):
    return "" if value is None else f"{100 * value:+.1f} %".replace("-", "−")


MOVED = {
    "friction": ("filtered", "told", "differences"),
    "force": ("filtered", "told", "differences"),
    "diffusion": ("filtered", "differences"),
}
"""What of a particle is judged, and by which methods."""

SYMBOLS = {"diffusion": "σ²"}


def velocity_table(results):
    """A row a particle, step and noise."""
    rows = []
    for (kind, case), cells in grouped(results).items():
        if kind != "velocity":
            continue
        name, step, noise = case.rsplit(" ", 2)
        row = [f"{name}, {float(step):g}, {float(noise):g}", str(len(cells))]
        for part, methods in MOVED.items():
            row += [percent(middle(cells, of(method, part))) for method in methods]
        covers = [number(mean(cells, "filtered", f"{field}_coverage"), 2) for field, _ in FIELDS]
        rows.append([*row, *covers])
    ends = {"filtered": "", "told": ", told", "differences": ", differences"}
    columns = [f"{SYMBOLS.get(what, what)}{ends[method]}" for what, methods in MOVED.items() for method in methods]
    return markdown(["particle, step, noise", "seeds", *columns, "f covered", "σ covered"], rows)


BLURRED = {"diffusion": ("exact", "told", "learned"), "stiffness": ("exact", "told", "learned", "state told")}
"""What of a blurred process is judged, and by which methods."""


def blur_table(results):
    """A row a process."""
    rows = []
    for (kind, case), cells in grouped(results).items():
        if kind == "blur":
            row = [case.rsplit(" ", 1)[0], str(len(cells))]
            for part, methods in BLURRED.items():
                row += [percent(middle(cells, of(method, part))) for method in methods]
            rows.append([*row, number(middle(cells, of("learned", "exposure")))])
    columns = [f"{SYMBOLS.get(what, what)}, {how}" for what, methods in BLURRED.items() for how in methods]
    return markdown(["", "seeds", *columns, "exposure found"], rows)


def missing_table(results):
    """Errors with a fifth of one channel missing, and with as many whole rows."""
    rows = []
    for (kind, case), cells in grouped(results).items():
        if kind == "missing":
            row = [case, str(len(cells))]
            for part in ("drift", "diffusion"):
                pair = [middle(cells, of(method, part)) for method in ("missing", "as many whole rows")]
                row += [*map(number, pair), number(pair[0] / pair[1], 2)]
            rows.append([*row, percent(middle(cells, of("missing", "noise")))])
    columns = [f"{symbol}{what}" for symbol in ("f", "σσᵀ") for what in ("", ", whole rows", " ratio")]
    return markdown(["", "seeds", *columns, "noise off"], rows)


def long_table(results):
    """What long records take, compiled or not."""
    rows = []
    for (kind, case), cells in sorted(grouped(results).items(), key=lambda item: len(item[0][1])):
        if kind == "long":
            row = [case, str(len(cells))]
            for method in ("exact", "filtered"):
                row += [
                    number(middle(cells, of(method, "seconds")), 1),
                    f"{middle(cells, of(method, 'megabytes')):.0f}",
                ]
            rows.append([*row, percent(middle(cells, of("filtered", "diffusion")))])
    columns = [f"{how}, {what}" for how in ("exact", "filtered") for what in ("seconds", "MB")]
    return markdown(["rows", "seeds", *columns, "σ² off"], rows)


def coarse_text(results):
    """One reading in a relaxation time."""
    cells = [cell["filtered"] for (kind, _), cells in grouped(results).items() if kind == "coarse" for cell in cells]
    noise, sigma = ([cell[part] for cell in cells] for part in ("noise", "diffusion"))
    held, also, said = (sum(cell[part] for cell in cells) for part in ("noise held", "diffusion held", "said"))
    found = f"the noise found is {np.median(noise) / 0.5:.2f} times the true one in the median"
    spread = f"from {min(noise) / 0.5:.2f} to {max(noise) / 0.5:.2f}"
    beside = f"σ {np.median(sigma):.2f} times, from {min(sigma):.2f} to {max(sigma):.2f}"
    bands = f"the band of the noise held the truth in {held:.0f}, that of σ in {also:.0f}"
    words = f"the summary said that they are hardly told apart in {said:.0f}"
    return f"Over {len(cells)} records {found}, {spread}, and {beside}; {bands}, and {words}."
