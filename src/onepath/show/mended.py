"""What was tried before a model was chosen, as tables, for people and for machines."""

from typing import Any, NamedTuple

import numpy as np

from onepath.after.mend.words import verdict_of
from onepath.inference.tried import Mending, Tried
from onepath.model import Curve, Model, asked_once
from onepath.numerics.arrays import Floats
from onepath.show.numbers import shown_at

TINY = float(np.finfo(float).tiny)


def mending_facts(model: Model) -> dict[str, Any] | None:
    """All of it as JSON has it; None where nothing was asked."""
    record = model.mending
    if record is None:
        return None
    proposed = record.proposed
    return {
        "said": record.said,
        "proposed": None if proposed is None else proposed.settings,
        "command": None if proposed is None else proposed.command,
        "later_rows": record.rows,
        "cuts": record.cuts,
        "verdict_before": record.plain.verdict,
        "tried": [row._asdict() | {"fits": row.fits} for row in record.tried],
    }


def tried_rows(record: Mending) -> list[tuple[str, ...]]:
    """Name, why, score, gain over the plain model, and verdict of each candidate."""
    return [
        (
            f"{row.name} (proposed)" if row is record.proposed else row.name,
            row.why,
            f"{row.score:.4f}" if row.score == row.score else "",
            _gain(row) if row is not record.plain else "",
            verdict_of(row),
        )
        for row in record.tried
    ]


def _gain(row: Tried) -> str:
    return f"{row.gain:+.4f} ± {row.gain_error:.4f}" if row.gain == row.gain else ""


class Compared(NamedTuple):
    """Drift and noise along one coordinate, of the plain model and of the one in its place, (n,) each."""

    along: int
    points: Floats  # (n, d)
    drift_before: Curve
    drift_after: Curve
    noise_before: Curve
    noise_after: Curve


@asked_once
def compared(model: Model) -> tuple[Compared, ...]:
    """Along each coordinate; () where nothing was proposed, or states are others and cannot be laid side by side."""
    record = model.mending
    if record is None or not record.before or record.before[0].points.shape[1] != model.dimension:
        return ()
    found = []
    for i, line in zip(model.moved, record.before, strict=True):
        _, drift, noise = shown_at(model, line.points)
        after = [Curve(*(part[:, i] for part in curve)) for curve in (drift, noise)]
        found.append(Compared(i, line.points, Curve(*line.drift), after[0], Curve(*line.noise), after[1]))
    return tuple(found)


def changes(model: Model) -> list[str]:
    """What the cure has changed about drift and noise, in words."""
    record = model.mending
    if record is None or record.proposed is None:
        return []
    lines = compared(model)
    if not lines:
        return ["The state is another one than the plain model's, so their drifts are not laid side by side."]
    said = []
    for line in lines:
        noise = float(np.median(line.noise_after.mean / line.noise_before.mean))
        sizes = [np.sqrt(np.mean(np.square(curve.mean))) for curve in (line.drift_after, line.drift_before)]
        said.append(
            f"With {record.proposed.name}, the noise of {model.names[line.along]} is {noise:.2f} times what the plain "
            f"model has (median over the data's range), and its drift {sizes[0] / max(sizes[1], TINY):.2f} times as "
            "large (root mean square)."
        )
    return said
