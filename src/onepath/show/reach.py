"""What inputs there are, and which of them drift and diffusion turned out to depend on."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtr

from onepath.data.inputs import CLASS, SEASON, Input, listed, owners
from onepath.gp.features import Unknown
from onepath.gp.parameters import REACH
from onepath.inference.disturbance.disturbance import NINETY
from onepath.model import Model
from onepath.numerics.arrays import Flags, Floats
from onepath.show import numbers
from onepath.show.numbers import Banded
from onepath.show.sentences import probability

DIAMETER = {CLASS: 2.0, SEASON: 2.0 * np.sqrt(2.0)}
"""Of their columns: how far two classes, or two ends of a cycle, are apart."""


SURE = 0.9
"""How probable it must be that an input matters for it to be said without a perhaps."""


class Reach(NamedTuple):
    """How far an input must move for a function to change, against how far it has moved, and whether it changes at all.

    Numbers and trends in their own units; classes and seasons in shares of how far they can.
    """

    function: str
    variable: Input
    length: Banded
    span: float
    probability: float  # that the function depends on the input

    @property
    def clarity(self) -> str:
        """Whether the input matters: "yes", "perhaps" or "no"."""
        if self.probability < 0.5:
            return "no"
        return "perhaps" if self.probability < SURE else "yes"


def reaches(model: Model, function: str) -> list[Reach]:
    """Of every input that "drift" or "diffusion" reads under a default prior; the median over outputs."""
    asked = [each for each in model.parameters if (each.function, each.role) == (function, REACH)]
    if not asked:
        return []
    of_process = _reading(model, [each.name for each in asked], max(one.place[1] for one in asked) + 1)
    known, found = numbers.intervals(model), model.values
    each = np.asarray([known.get(one.name, Banded(found[one.name], np.nan, np.nan)) for one in asked])
    middle = np.median(each.reshape(-1, max(one.place[1] for one in asked) + 1, 3), axis=0)
    scale, of = np.asarray(model.units.input_scale), np.asarray(owners(model.variables))
    said = []
    for row, reads, i in zip(middle, of_process, _read(model, function), strict=True):
        one, (low, high) = model.variables[i], model.ranges[i]
        unit = 1.0 / DIAMETER[one.kind] if one.kind in DIAMETER else float(scale[of == i][0])
        length, span = Banded(*(row * unit).tolist()), 1.0 if one.kind in DIAMETER else high - low
        said.append(
            Reach(function, one, length, span, _probability(model, function, of == i, reads * _within(length, span)))
        )
    return said


def _reading(model: Model, names: list[str], inputs: int) -> Floats:
    """How probable it is that a process reads each of its inputs at all, of outputs the one that most probably does."""
    optimum = model.optimum
    if optimum is None or optimum.unread is None:
        return np.ones(inputs)
    known = dict(zip([each.name for each in model.learned], np.asarray(optimum.unread).tolist(), strict=True))
    against = np.asarray([known.get(name, -np.inf) for name in names])
    return np.asarray(expit(-against).reshape(-1, inputs).max(axis=0))


def _within(length: Banded, span: float) -> float:
    """How probable it is that a length, whose logarithm is taken for normal, is less than a range."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.log(span / length.value) / (np.log(length.upper / length.value) / NINETY)
    return float(ndtr(z)) if np.isfinite(z) else float(length.value <= span)


def _probability(model: Model, function: str, columns: Flags, of_process: float) -> float:
    """That a function depends on an input: as an equation that has it, or as the process. Of outputs the largest."""
    posterior, formulas = model.posterior, model.posterior.formulas
    if function == "diffusion" and posterior.band_mass is not None:
        of_process *= 1.0 - float(posterior.mass[-1])
    if formulas is None:
        return of_process
    powers = np.asarray(formulas.terms.exponents)[:, formulas.terms.dimension :]
    has = np.pad(powers[:, columns].any(axis=1), (0, len(formulas.terms.own)))
    own = range(formulas.drifts) if function == "drift" else range(formulas.drifts, formulas.drifts + formulas.noises)
    mass, there = np.asarray(formulas.mass)[own], np.any((np.asarray(formulas.mean)[own] != 0.0) & has, axis=2)
    return float(np.max(np.sum(np.where(there, mass, 0.0), axis=1) + (1.0 - mass.sum(axis=1)) * of_process))


def _unknown(model: Model, function: str) -> Unknown | None:
    """What is learned of a function; None where it is known altogether."""
    parts = model.graph.drift if function == "drift" else model.graph.diffusion
    return next((part for part in parts if isinstance(part, Unknown)), None)


def _read(model: Model, function: str) -> list[int]:
    """Which inputs a function reads, as far as it is unknown."""
    unknown = _unknown(model, function)
    if unknown is None:
        return []
    columns = list(range(model.graph.inputs))
    if unknown.reads is not None:
        columns = [place - model.dimension for place in unknown.reads if place >= model.dimension]
    of = owners(model.variables)
    return sorted({of[column] for column in columns})


def described(model: Model) -> str:
    """Which inputs there are."""
    parts = []
    for one, (low, high) in zip(model.variables, model.ranges, strict=True):
        if one.kind == CLASS:
            parts.append(f"{one.name} ({', '.join(one.levels)})")
        elif one.kind == SEASON:
            parts.append(f"{one.name} (a cycle of {one.period:.4g} {model.trajectory.times})")
        else:
            parts.append(f"{one.name} ({low:.4g} to {high:.4g})")
    return ", ".join(parts)


def held(model: Model) -> str:
    """At which inputs everything is shown that is shown at one; "" where there are none."""
    pairs = zip(model.variables, model.at_inputs, strict=True)
    return ", ".join(f"{one.name} = {one.said(float(value))}" for one, value in pairs)


def dependence(model: Model) -> list[str]:
    """What drift and diffusion depend on, a sentence for each."""
    return [_depends(model, function) for function in ("drift", "diffusion")] if model.variables else []


def _depends(model: Model, function: str) -> str:
    if _unknown(model, function) is None:
        return f"The {function} depends on inputs as its known form says."
    reads = [model.variables[i] for i in _read(model, function)]
    if not reads:
        return f"The {function} reads none of the inputs, as asked."
    if function == "diffusion" and (model.constant_noise or 0.0) > 0.5:
        return f"The diffusion is the same everywhere with probability {probability(model.constant_noise or 0.0)}."
    found = reaches(model, function)
    if not found or model.optimum is None:
        return f"The {function} reads {listed(tuple(reads))}."
    lead = {"yes": "on", "perhaps": "perhaps on", "no": "not on"}
    parts = [(word, [_said(each) for each in found if each.clarity == clarity]) for clarity, word in lead.items()]
    return f"The {function} depends {', and '.join(f'{word} {_joined(part)}' for word, part in parts if part)}."


def _joined(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _said(each: Reach) -> str:
    """Such as "level (over about 1.2 of 4)"."""
    clear, length = each.clarity != "no", each.length.value
    if clear != (length <= each.span):  # what equations say, and not the process's length
        return f"{each.variable.name} (probability {probability(each.probability)})"
    if each.variable.kind in DIAMETER:
        whole = "how far classes are apart" if each.variable.kind == CLASS else "the width of its cycle"
        return f"{each.variable.name} ({'over about' if clear else 'its length scale is'} {length:.2g} times {whole})"
    over = (
        f"over about {length:.3g} of {each.span:.3g}" if clear else f"length scale {length:.3g}, range {each.span:.3g}"
    )
    return f"{each.variable.name} ({over})"
