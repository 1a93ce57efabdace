"""What no method can learn from, and what double precision cannot hold: refused at the door, or said there."""

import numpy as np

from onepath.numerics.arrays import Floats, Integers, evenly
from onepath.numerics.caution import caution

LEAST_TRANSITIONS = 10  # per dimension

LARGEST_POWER = 150
"""Power of ten within which values, steps and their ratios must lie, so that squares of them are numbers too."""

LEAST_DIGITS = 3.0
"""Decimal digits of a step that must be left beside a large offset."""

SAME = 1e-12
"""Share of the mean square of increments below which a combination of them does not move."""

LOOKED_AT = 1000
"""Steps that tell whether a look at all of them is worth while."""


def check_sound(x: Floats, t: Floats, step: Integers, names: tuple[str, ...], left_out: str) -> None:
    """Refuse or warn of what cannot be learned from: rows x (n, d) at times t, of which `step` begin transitions."""
    _check_enough(x, step, names, left_out)
    _check_sizes(x, t, step, names)
    _check_apart(x, step, names)


def _check_enough(x: Floats, step: Integers, names: tuple[str, ...], left_out: str) -> None:
    """Hardly any transitions, or a dimension that never moves."""
    least = LEAST_TRANSITIONS * len(names)
    if len(step) < least:
        raise ValueError(
            f"x has {len(step)} transitions (of the other steps, {left_out}), too few to tell drift from noise: pass "
            f"at least {least}, {LEAST_TRANSITIONS} per dimension{_without_holes(x, least)}"
        )
    constant = [name for name, column in zip(names, x.T, strict=True) if not _moves(column, step)]
    if constant:
        raise ValueError(f"{', '.join(constant)} is constant in all transitions, with nothing to learn: leave it out")
    last = [name for name, column in zip(names, x.T, strict=True) if not _varies(column, step)]
    if last:
        raise ValueError(
            f"{', '.join(last)} stays where it is until the last step, so that one transition is all there is to learn "
            "from: leave it out, or observe longer"
        )


def _without_holes(x: Floats, least: int) -> str:
    """The cure where a missing row follows each that was observed, and would leave enough if it were not there."""
    rows = np.flatnonzero(~np.isnan(x).any(axis=1))
    if len(rows) <= least or (apart := int(np.median(np.diff(rows)))) < 2:
        return ""
    longer = "twice" if apart == 2 else f"{apart} times"
    return f". One row of {apart} is observed: drop the missing rows, so that the step, and dt, is {longer} as long"


def _moves(column: Floats, step: Integers) -> bool:
    """Whether any transition changes it; the first few nearly always tell."""
    return any(bool(np.any(column[part + 1] != column[part])) for part in (step[:100], step[100:]))


def _varies(column: Floats, step: Integers) -> bool:
    """Whether transitions start from different values."""
    return any(bool(np.any(column[part] != column[step[0]])) for part in (step[:100], step[100:]))


def _check_sizes(x: Floats, t: Floats, step: Integers, names: tuple[str, ...]) -> None:
    """Values, or steps, whose squares or ratios are no numbers any more; offsets that leave no digits."""
    some = step[evenly(len(step), LOOKED_AT)]
    shortest = float(np.median(t[some + 1] - t[some]))
    _check_power("the step between times", shortest, "t")
    _check_digits("The time", "passes", float(max(-t.min(), t.max())), shortest)
    for name, column in zip(names, x.T, strict=True):
        # plain ends, since sums of squares are what may overflow
        low, high = float(np.nanmin(column)), float(np.nanmax(column))
        spread, largest = high / 2 - low / 2, max(abs(low), abs(high))
        _check_power(name, largest if largest > 1 else spread, name)
        if abs(np.log10(spread)) + abs(np.log10(shortest)) > LARGEST_POWER:
            raise ValueError(
                f"{name} moves over {spread:.2g} at steps of {shortest:.2g}: its drift and diffusion are beyond what "
                "double precision can hold. Pass both in units in which they are nearer to 1"
            )
        moved = float(np.sqrt(np.mean(np.square((column[some + 1] - column[some]) / spread)))) * spread
        if moved > 0.0:
            _check_digits(name, "moves by", largest, moved)


def _check_power(what: str, size: float, cure: str) -> None:
    if not 10.0**-LARGEST_POWER <= size <= 10.0**LARGEST_POWER:
        raise ValueError(
            f"{what} is of the size {size:.2g}, whose square double precision cannot hold (1e±{LARGEST_POWER} is "
            f"possible): pass it in another unit, such as {cure} / {10.0 ** np.floor(np.log10(size)):.0e}"
        )


def _check_digits(what: str, verb: str, largest: float, moved: float) -> None:
    digits = float(np.log10(moved) - np.log10(np.spacing(largest)))
    if digits < LEAST_DIGITS:
        caution(
            f"{what} lies near {largest:.3g} and {verb} {moved:.2g} from row to row, of which double precision keeps "
            f"{max(digits, 0.0):.1f} decimal digits: subtract a constant before numbers are stored"
        )


def _check_apart(x: Floats, step: Integers, names: tuple[str, ...]) -> None:
    """Columns of which a combination never moves: copies, shares of a whole."""
    if len(names) == 1:
        return
    for some in (step[evenly(len(step), LOOKED_AT)], step):
        if (weights := _still(x[some + 1] - x[some])) is None:
            return
    assert weights is not None
    together = [name for name, weight in zip(names, weights, strict=True) if weight > 0.1]
    raise ValueError(
        f"{' and '.join(together)} move together exactly: "
        + (
            "one is a copy of the other, maybe in another unit"
            if len(together) == 2
            else "each follows from the others"
        )
        + f", so there is no noise of its own to learn. Leave {together[-1]} out"
    )


def _still(y: Floats) -> Floats | None:
    """|weights| (d,) of a combination of increments (n, d), each in its own units, that does not move; None if none."""
    size = np.max(np.abs(y), axis=0)
    if not np.all(size > 0.0):
        return None
    scaled = y / size
    scaled = scaled / np.sqrt(np.mean(np.square(scaled), axis=0))
    values, vectors = np.linalg.eigh(scaled.T @ scaled / len(scaled))
    return np.abs(vectors[:, 0]) if values[0] < SAME else None
