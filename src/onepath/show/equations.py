"""Equations in words and for machines: what summary, report and command say of them."""

from typing import Any

from onepath.after.equation import Polynomial, equations, written
from onepath.after.equations import Candidates, Equations, equations_of
from onepath.model import Model
from onepath.show.sentences import per_time, per_unit, polynomials, probability

OTHERS, CLEAR = 2, 0.1
"""How many equations besides the best are told of, and how probable one must be for that."""


def lines(model: Model) -> list[str]:
    """A line for each function: its most probable equation, or that there is none; and other probable ones."""
    asked = equations_of(model)
    if asked is None:
        return _projected(model)
    # draws of the drift are dear: for those that have no equation
    cubics = {} if all(one.best for one in asked.drift) else dict(enumerate(equations(model).drift))
    said = []
    for i, one in enumerate(asked.drift):
        said += _said(one, per_time(model), cubics.get(i))
    for one in asked.noise:
        said += _said(one, per_time(model), None)
    return said


def briefly(asked: Equations, unit: str | None) -> tuple[str, str]:
    """The most probable equation of each function of the drift and of the noise, or that there is none."""
    drift, noise = (
        "; ".join(_said(one, per_unit(unit), None)[0] for one in part) for part in (asked.drift, asked.noise)
    )
    return drift, noise


def found(model: Model) -> list[str]:
    """A line for each function that can be written down; of polynomials where no equations were asked for."""
    return polynomials(model) if equations_of(model) is None else lines(model)


def _said(one: Candidates, per: str, cubic: Polynomial | None) -> list[str]:
    if one.best is None:
        share = "" if cubic is None else f"; the best cubic polynomial explains {max(cubic.explained, 0.0):.0%} of it"
        return [f"{one.of}: no simple equation, probability {probability(one.none)}{share}"]
    said = [f"{one.of} = {one.best.text} {per}, probability {probability(one.best.probability)}"]
    others = [each for each in one.equations[1 : 1 + OTHERS] if each.probability >= CLEAR]
    return said + [f"  or {each.text}, {probability(each.probability)}" for each in others]


def _projected(model: Model) -> list[str]:
    """Where no equations were asked for: the drift as a polynomial, where that is nearly all of it."""
    if model.period is not None:
        return ["none: a polynomial says nothing of an angle"]
    said, projected = [], equations(model)
    for name, polynomial in [(model.names[k], projected.drift[k]) for k in model.moved]:
        of = f" of {name}" if model.dimension > 1 else ""
        if polynomial.is_clear:
            per = f" per {model.trajectory.unit}" if model.trajectory.unit else ""
            said.append(f"drift{of} = {written(polynomial, projected.variables)}{per}")
        else:
            share = max(polynomial.explained, 0.0)
            said.append(f"none: the best cubic polynomial explains {share:.0%} of the drift{of}")
    return said


def facts(model: Model) -> list[dict[str, Any]] | None:
    """Of each function, for machines; None where no equations were asked for, or could be."""
    found = equations_of(model)
    if found is None:
        return None
    return [
        {
            "of": one.of,
            "none": one.none,
            "terms": one.terms,
            "equations": [
                {
                    "probability": each.probability,
                    "text": each.text,
                    "latex": each.latex,
                    "python": each.python,
                    "coefficients": each.coefficients,
                    "errors": each.errors,
                }
                for each in one.equations
            ],
        }
        for one in found.all
    ]
