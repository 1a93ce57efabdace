"""What a fit found, in sentences that the summary, the report and the command share."""

import math
from typing import Any

import numpy as np

from onepath.after.disturbed import jumps_of, tails_of, volatility_of
from onepath.after.equation import equations, written
from onepath.after.states import noise_of
from onepath.data.reading import spaced
from onepath.data.statistics import mean_square
from onepath.gp.features import Known as Given
from onepath.graph.formula import Formula
from onepath.graph.laws import EULER
from onepath.inference.disturbance.disturbance import Banded
from onepath.model import Model
from onepath.show import numbers

MUCH = 0.1
"""Share of an increment's mean square in λ from which the diffusion is not the whole story."""

COARSE = 0.3
"""|f'| Δt from which a state is forgotten too soon to tell noise of readings from its own."""

LITTLE = 0.3
"""Of an increment: what noise of readings must be under to be called little."""


def per_time(model: Model, root: bool = False) -> str:
    """Such as "per month", or "per √month" for a diffusion; "per unit of time" where none is known."""
    return per_unit(model.trajectory.unit, root)


def per_unit(unit: str | None, root: bool = False) -> str:
    """The same of a unit of time."""
    return f"per √{unit or 'time'}" if root else f"per {unit or 'unit of time'}"


def probability(value: float) -> str:
    """In per cent, and never said to be certain."""
    return f"{value:.0%}" if 0.01 <= value <= 0.99 else "under 1%" if value < 0.01 else "over 99%"


def law(model: Model) -> str:
    """Which transition law, and why."""
    if model.graph.compared is not None:
        return f"{model.law.name}, in which velocities move positions within a step"
    if model.stiffness is None:
        return f"{model.law.name}, as asked"
    change, shift = model.stiffness
    shifts = f"shifts an answer by {shift:.2g} of its standard errors" if math.isfinite(shift) else "says nothing"
    saw = f"|f'| Δt = {change:.2g}, so Euler's law {shifts}"
    kept = "" if model.law != EULER or model.stiffness.euler_is_adequate else "; the linearised law has not converged"
    return f"{model.law.name}: {saw}{kept}"


def polynomials(model: Model) -> list[str]:
    """Drift and diffusion as polynomials, for each dimension where that is nearly all of them."""
    if model.period is not None:  # a polynomial says nothing of an angle
        return []
    found, lines = equations(model), []
    for side, polynomials in (("drift", found.drift), (noise(model), found.diffusion)):
        for name, polynomial in [(model.names[k], polynomials[k]) for k in model.moved]:
            if polynomial.is_clear:
                text = written(polynomial, found.variables)
                lines.append(f"{side} of {name} = {text}   {per_time(model, side != 'drift')}")
    return lines


def disturbance(model: Model) -> list[tuple[str, str]]:
    """What was learned of increments beside N(m, V), as names and sentences; [] where nothing was asked."""
    return _jumps(model) + _volatility(model) + _tails(model)


def _jumps(model: Model) -> list[tuple[str, str]]:
    found = jumps_of(model)
    if found is None:
        return []
    if found.rate.value == 0.0:
        return [("Jumps", f"none found: with 95 % certainty fewer than {found.rate.upper:.3g} {per_time(model)}")]
    sizes = [
        f"{f' of {name}' * (model.dimension > 1)} {banded(mean)} on average, {banded(size)} root mean square"
        for name, mean, size in zip(model.names, found.mean, found.size, strict=True)
    ]
    steps = f"{len(found.steps)} of {len(found.probability)} steps probably jumped"
    unit = " times the noise of a step" * found.relative
    return [("Jumps", f"{banded(found.rate)} {per_time(model)}, {steps}; sizes{';'.join(sizes)}{unit}")]


def _volatility(model: Model) -> list[tuple[str, str]]:
    found = volatility_of(model)
    if found is None:
        return []
    if found.spread.value == 0.0:
        return [("Volatility", "none found: the level of the noise is the same all along the record")]
    low, high = float(found.level.min()), float(found.level.max())
    moved = f"its level was between {low:.2g} and {high:.2g} times σ, {found.level[-1]:.2g} times at the end"
    times = model.trajectory.times
    spread, memory = banded(found.spread), banded(found.memory)
    return [("Volatility", f"{moved}; ln of it has a spread of {spread} and a memory of {memory} {times}")]


def _tails(model: Model) -> list[tuple[str, str]]:
    found = tails_of(model)
    if found is None:
        return []
    if not math.isfinite(found.value):
        return [("Tails", "none found: increments are as good as normal")]
    freedom = f"{banded(found)} degrees of freedom" if found.lower < found.upper else f"{found.value:.3g}, as asked"
    more = f"; the standard deviation of dL is {math.sqrt(found.value / (found.value - 2)):.3g}" * (found.value > 2)
    return [("Tails", f"increments dL are Student's with {freedom}, σ is their scale{more}")]


def banded(value: Banded) -> str:
    """Such as 1.2 [1, 1.5]."""
    return f"{value.value:.3g} [{value.lower:.3g}, {value.upper:.3g}]"


def known(model: Model) -> str | None:
    """What was known, and what was learned of its parameters; None where nothing was."""
    physics, rates = model.graph.physics, [each for each in model.graph.drift if isinstance(each, Given)]
    parts = []
    for each in rates:
        names = [model.names[i] for i in each.reads or ()]
        parts.append(f"a rate is {', '.join(names)}")
    for role in ("drift", "diffusion") if physics is not None else ():
        if getattr(physics, role) is not None:
            rest = getattr(model.graph, role)
            more = (" and an unknown rest" if role == "drift" else " and an unknown factor") if rest else ""
            function = getattr(physics, role).function
            parts.append(f"the {role}, {function.text if isinstance(function, Formula) else 'by a function'}{more}")
    found = [f"{name} = {one.value:.4g} [{one.lower:.4g}, {one.upper:.4g}]" for name, one in model.known().items()]
    return "; ".join([*parts, *found]) or None


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


def streamed(model: Model) -> str:
    """What is a sample, where data were never in memory as a whole."""
    kept = spaced(len(model.trajectory.t))
    return f"all transitions are in the fit; {kept} rows were kept, for quantiles, figures and the diagnosis"


def noise(model: Model) -> str:
    """What the spread of dX is called: the diffusion, where that is σ itself."""
    return "noise" if model.graph.structure == "full" or model.constant_part.any() else "diffusion"


def whole_noise(model: Model) -> str | None:
    """What is shown as noise, where that is not σ itself."""
    full, constant = model.graph.structure == "full", bool(model.constant_part.any())
    if not (full or constant):
        return None
    root = f"√({'(σσᵀ)ᵢᵢ' if full else 'σ²'}{' + λ/Δt' if constant else ''})"
    each = " of each coordinate" if model.dimension > 1 else ""
    what = f"Noise is the standard deviation of dX{each}, {root} {per_time(model, root=True)}"
    if not constant:
        return f"{what}; what coordinates have in common is in σ."
    share = numbers.unexplained(model)
    return f"{what}: λ, which does not grow with the step, is {share:.0%} of an increment's mean square."


def readings(model: Model) -> list[str]:
    """How readings come from states, where they are not the states themselves."""
    if model.observed is None:
        return []
    reading, said = model.observed.reading, []
    if reading.order == 2:
        said.append("Readings are positions; velocities are hidden, and were filtered from them.")
    if reading.exposure is not None:
        said.append(f"A reading averages over {reading.exposure:.3g} of the step before it.")
    if reading.learns_noise:
        said += _learned_noise(model)
    elif reading.measurement is not None:
        known = " and ".join(f"{each:.4g}" for each in noise_of(model).deviation)
        said.append(f"Readings have an error of {known}, as given.")
    elif model.trajectory.error is not None:
        said.append("Readings have the errors that came with them.")
    return said


def _learned_noise(model: Model) -> list[str]:
    """Of each channel, with what the data cannot tell."""
    scaled, said = model.trajectory.error is not None, []
    moves = np.sqrt(mean_square(model.transitions))[: model.trajectory.dimension]
    parts = zip(model.trajectory.names, *noise_of(model), moves, strict=False)
    for name, deviation, low, high, move in parts:
        of = f" of {name}" if model.trajectory.dimension > 1 else ""
        what = (
            f"The errors given for readings{of} are right up to a factor of"
            if scaled
            else f"Readings{of} have an error of"
        )
        if low > 0.0:
            said.append(f"{what} {deviation:.4g} (90 % band {low:.4g} to {high:.4g}), learned.")
        elif scaled:
            said.append(f"{what} at most {high:.4g}: they may be none.")
        elif high < LITTLE * move:
            said.append(
                f"Readings{of} have little error or none: at most {high:.4g}, {high / move:.0%} of an increment."
            )
        else:
            said.append(
                f"Readings{of} have an error of at most {high:.4g}, and maybe none: at this step the data hardly tell "
                "noise of readings from diffusion. Read more often, or give the error that the instrument has."
            )
    if model.stiffness is not None and model.stiffness.change > COARSE:
        said.append(
            f"A step lasts {model.stiffness.change:.2g} relaxation times, so noise of readings and diffusion are "
            "hardly told apart: their bands are wide, and the truth may be anywhere in them. Read more often, or give "
            "the error."
        )
    return said


def readings_facts(model: Model) -> dict[str, Any] | None:
    """The same for machines."""
    if model.observed is None:
        return None
    noise, reading = noise_of(model), model.observed.reading
    return {
        "noise": noise.deviation,
        "band_90": [noise.lower, noise.upper],
        "learned": reading.learns_noise,
        "order": reading.order,
        "exposure": reading.exposure,
    }


def caution(model: Model) -> str | None:
    """What a reader must know before trusting the noise."""
    share = numbers.unexplained(model)
    if share < MUCH:
        return None
    return (
        f"{share:.0%} of the mean square of an increment does not grow with the length of a step: this is what "
        "measurement noise, rounding, or steps of unequal activity (such as weekends) do. The noise shown is the whole "
        "of it at the data's step, and not that of other steps."
    )
