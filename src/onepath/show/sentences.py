"""What a fit found, in sentences that the summary, the report and the command share."""

import math

from onepath.after.equation import equations, written
from onepath.model import Model
from onepath.show import numbers

MUCH = 0.1
"""Share of an increment's mean square in λ from which the diffusion is not the whole story."""


def per_time(model: Model, root: bool = False) -> str:
    """Such as "per month", or "per √month" for a diffusion; "per unit of time" where none is known."""
    unit = model.trajectory.unit
    return f"per √{unit or 'time'}" if root else f"per {unit or 'unit of time'}"


def probability(value: float) -> str:
    """In per cent, and never said to be certain."""
    return f"{value:.0%}" if 0.01 <= value <= 0.99 else "under 1%" if value < 0.01 else "over 99%"


def law(model: Model) -> str:
    """Which transition law, and why."""
    if model.stiffness is None:
        return f"{model.law.name}, as asked"
    change, shift = model.stiffness
    shifts = f"shifts an answer by {shift:.2g} of its standard errors" if math.isfinite(shift) else "says nothing"
    saw = f"|f'| Δt = {change:.2g}, so Euler's law {shifts}"
    return f"{model.law.name}: {saw}"


def polynomials(model: Model) -> list[str]:
    """Drift and diffusion as polynomials, for each dimension where that is nearly all of them."""
    found, lines = equations(model), []
    for side, polynomials in (("drift", found.drift), ("diffusion", found.diffusion)):
        for name, polynomial in zip(model.names, polynomials, strict=True):
            if polynomial.is_clear:
                text = written(polynomial, found.variables)
                lines.append(f"{side} of {name} = {text}   {per_time(model, side == 'diffusion')}")
    return lines


def search(model: Model) -> str | None:
    """How parameters were learned; None if they were not."""
    if model.optimum is None:
        return None
    return f"by {model.methods.learn}: {model.optimum.outcome} ({model.optimum.evaluations} evaluations)"


def weekends(model: Model) -> str | None:
    """Whether weekends count as time, and why; None where no rows skip them, or nothing is known of it."""
    (business, moves), state = model.trajectory.clock.weekends, " and ".join(model.names)
    move = "moves" if model.dimension == 1 else "move"
    why = f"over one, {state} {move} as in {moves:.1f} ordinary days" if math.isfinite(moves) else ""
    if business is None:
        return f"Weekends are counted, though no rows fall on them: {why}." if why else None
    days = f"A day is a business day, and a year has {business.year:.0f} of them."
    if business.holidays is None:
        others = " Other days without rows are counted."
    else:
        others = f" Nor are {len(business.holidays)} other days without rows." if len(business.holidays) else ""
    return f"Weekends are not counted{f': {why}' if why else ''}.{others} {days}"


def caution(model: Model) -> str | None:
    """What a reader must know before trusting the diffusion."""
    share = numbers.unexplained(model)
    if share < MUCH:
        return None
    return (
        f"{share:.0%} of the mean square of an increment does not grow with the length of a step, and is not in the "
        "diffusion shown: this is what measurement noise, rounding, or steps of unequal activity (such as weekends) do."
    )
