"""Are the readings what a state can be? Rounded, repeated or floored values, and angles that wrap round."""

from typing import NamedTuple

import numpy as np

from onepath.after.diagnose.check import Check
from onepath.data.stretches import rows_looked_at
from onepath.data.trajectory import Trajectory
from onepath.data.transitions import Transitions
from onepath.numerics.arrays import Floats

REPEATED, STUCK = 0.05, 0.02
"""Shares of steps without any movement, and of rows at the lowest or highest value, from which they are said."""

LEAST_ROWS = 5
WRAPPED = 0.8
"""Share of the whole range from which a single step is no step."""

MIDDLE = 0.2
"""Share of rows in the middle half of the range that an angle has, and a switch between two states has not."""

CERTAIN = -1000.0
"""ln p of what is plain to see."""


class Oddity(NamedTuple):
    """Something that readings are and a diffusion is not, and by what share it changes the diffusion."""

    text: str
    bias: float


def ask_readings(trajectory: Trajectory, transitions: Transitions, room: Floats) -> Check:
    """What is odd in any dimension; it matters if the diffusion is off by more than its band for it."""
    found = [
        (odd, odd.bias > allowed)
        for name, values, y, allowed in zip(trajectory.names, trajectory.x.T, transitions.y.T, room, strict=True)
        for odd in _oddities(name, values, y)
    ]
    found.sort(key=lambda pair: -pair[0].bias)
    wrong = [odd for odd, matters in found if matters]
    small = " ".join(odd.text for odd, matters in found if not matters)
    return Check(
        "readings",
        float(found[0][0].bias) if found else 0.0,
        CERTAIN if wrong else 0.0,
        bool(wrong),
        f"Readings are numbers as a state has them. {small}".strip(),
        " ".join(odd.text for odd in wrong),
        specific=True,
        budget=1.0 if wrong else None,
    )


def _oddities(name: str, values: Floats, y: Floats) -> list[Oddity]:
    """All of the readings count; which values there are, some stretches of a long record say."""
    values = values[~np.isnan(values)] if np.isnan(values.min()) else values
    rows = rows_looked_at(len(values))
    distinct = np.unique(values if rows is None else values[rows])
    of = len(values) if rows is None else len(rows)
    still = float(np.mean(y == 0.0))
    looks = (
        _wrapped(name, values, y),
        _rounded(name, distinct, of, y),
        _repeated(name, still),
        _floored(name, values, len(distinct), still),
    )
    return [odd for odd in looks if odd is not None]


def _wrapped(name: str, values: Floats, y: Floats) -> Oddity | None:
    """Jumps over nearly all of the range, nothing between them and ordinary steps, and values everywhere."""
    low, reach = float(values.min()), float(np.ptp(values))
    if max(y.max(), -y.min()) <= WRAPPED * reach:
        return None
    far = np.abs(y) > WRAPPED * reach
    between = np.any((np.abs(y) > WRAPPED / 2 * reach) & ~far)
    inside = np.mean(np.abs(values - low - reach / 2) < reach / 4)
    if np.sum(far) < LEAST_ROWS or between or inside < MIDDLE:
        return None
    return Oddity(
        f"Wrapped values: {np.sum(far)} steps of {name} are all of about {reach:.3g}, its whole range, as of an angle "
        f"that wraps round. Say so: periodic={_turn(reach):.7g}, or --periodic {_turn(reach):.7g}.",
        float(np.sum(np.square(y[far])) / np.sum(np.square(y[~far]))),
    )


def _turn(reach: float) -> float:
    """The period of angles that cover so much: a usual one where that is near, else the range itself."""
    usual = min((1.0, 2 * np.pi, 24.0, 360.0, np.pi), key=lambda turn: abs(np.log(turn / reach)))
    return usual if 0.9 < reach / usual <= 1.0 else reach


def _rounded(name: str, distinct: Floats, of: int, y: Floats) -> Oddity | None:
    """All differences are multiples of one step q: rounding adds q²/6 to the variance of an increment.

    `distinct` are the different ones of so many values.
    """
    if not 2 <= len(distinct) <= of / 2:
        return None
    unit = float(np.min(np.diff(distinct)))
    multiples = (distinct - distinct[0]) / unit
    regular = bool(np.all(np.abs(multiples - np.round(multiples)) < 1e-3 + 1e-9 * np.abs(multiples)))
    variance = float(y @ y) / len(y)
    bias = unit**2 / 12 / variance
    if not regular or bias < 1e-4:
        return None
    return Oddity(
        f"Rounded values: {name} comes in steps of {unit:.3g} and moves by {np.sqrt(variance):.3g} from row to row: "
        f"rounding makes the diffusion too large, by about {bias:.0%}.",
        bias,
    )


def _repeated(name: str, share: float) -> Oddity | None:
    """Steps without movement, which a diffusion does not make."""
    if share < REPEATED:
        return None
    return Oddity(
        f"Repeated values: {name} does not move in {share:.0%} of steps, as if readings were held, filled or rounded.",
        share / 2,
    )


def _floored(name: str, values: Floats, distinct: int, still: float) -> Oddity | None:
    """Many rows at the very lowest or highest value, of so many different ones."""
    typical = len(values) / max(distinct, 1)
    for what, end in (("lowest", values.min()), ("highest", values.max())):
        there = int(np.sum(values == end))
        if there >= max(LEAST_ROWS, STUCK * len(values)) and there > 5 * typical and still < 0.9:
            return Oddity(
                f"Cut-off values: {there} rows of {name} are at its {what} value, {end:.4g}, as if an instrument could "
                "show no more.",
                there / len(values),
            )
    return None
