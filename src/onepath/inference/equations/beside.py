"""A fit with equations beside its process: `Formulas` from the hypotheses of each function."""

from math import comb
from typing import NamedTuple

import numpy as np

from onepath.data.cells import Cells
from onepath.data.inputs import SEASON, Variables, in_equation_units
from onepath.data.transitions import Units
from onepath.gp.terms import Exponents, Terms, monomials
from onepath.inference.equations.expressions import Own
from onepath.inference.equations.hypotheses import (
    DEGREES,
    MOST,
    MOST_TERMS,
    PRIOR,
    WHOLE,
    Hypotheses,
    Seen,
    Told,
    diffusion_hypotheses,
    drift_hypotheses,
)
from onepath.inference.learning.learned import LearnedTheta
from onepath.inference.posterior.formulas import Formulas
from onepath.inference.posterior.mixture import Completed
from onepath.numerics.arrays import Floats
from onepath.numerics.modules import changed

DRIVEN = 3
"""Degree of monomials in the state alone where there are inputs: that of those in two dimensions."""

LEAST_SQUARE = 1e-4
"""Of σ², in units of the noise's mean square: what an equation that says less is taken for."""


class EquationOptions(NamedTuple):
    """Whether equations are asked for, alone or beside the process, and the user's own terms, by name."""

    alone: bool = False
    own: Own = ()


def terms_of(units: Units, own: Own = (), variables: Variables = ()) -> Terms:
    """Monomials about the user's zero, of inputs too, and the user's own."""
    d = len(units.scale)
    degree = DEGREES.get(d) or _highest(d)
    if units.input_location is None or units.input_scale is None:
        return Terms(units.location / units.scale, units.scale, monomials(d, degree), own)
    alone = monomials(d, min(degree, DRIVEN))
    origin = np.r_[units.location / units.scale, units.input_location / units.input_scale]
    scale = np.r_[units.scale, units.input_scale * in_equation_units(variables)]
    return Terms(origin, scale, _with_inputs(alone, len(scale) - d, variables), own, d)


def _highest(dimension: int) -> int:
    """Degree of monomials in so many dimensions."""
    return max(k for k in (1, 2, 3) if k == 1 or comb(dimension + k, k) <= MOST_TERMS)


def _with_inputs(alone: Exponents, columns: int, variables: Variables) -> Exponents:
    """Monomials of the state, and its products with columns of inputs; sin² of a season is 1 - cos²."""
    d = len(alone[0])
    sines = d + np.cumsum([0, *(one.columns for one in variables)])[1:] - 1
    sines = sines[[one.kind == SEASON for one in variables]]
    products = np.asarray(monomials(d + columns, _highest(d + columns)))
    products = products[products[:, d:].any(axis=1) & np.all(products[:, sines] < 2, axis=1)]
    return tuple((*powers, *[0] * columns) for powers in alone) + tuple(map(tuple, products.tolist()))


def with_equations(
    found: Completed,
    learned: LearnedTheta | None,
    cells: Cells,
    units: Units,
    options: EquationOptions,
    variables: Variables = (),
    told: Told = WHOLE,
) -> Completed:
    """The same, with equations as members of its posterior; `told` is what increments say that are not normal."""
    posterior, completion = found.posterior, found.completion
    graph = posterior.graph
    if graph.knows_drift and (graph.knows_diffusion or graph.structure == "full"):
        return found
    if learned is None or learned.optimum.curvature is None or completion.blocks is None or not completion.converged:
        return found
    try:
        formulas = _formulas(found, learned, cells, terms_of(units, options.own, variables), options.alone, told)
    except np.linalg.LinAlgError:  # no fit fails for want of an equation
        return found
    sound = all(np.all(np.isfinite(part)) for part in (formulas.mass, formulas.mean, formulas.root))
    return found._replace(posterior=changed(posterior, formulas=formulas)) if sound else found


def _formulas(found: Completed, learned: LearnedTheta, cells: Cells, terms: Terms, alone: bool, told: Told) -> Formulas:
    """Hypotheses of each function in turn."""
    posterior = found.posterior
    graph, seen = posterior.graph, Seen(found, learned, cells, told)
    each: list[Hypotheses | None] = [None] * graph.drifts
    if not graph.knows_drift:
        each = [drift_hypotheses(seen, i, terms, PRIOR) for i in range(graph.drifts)]
    entries = len(graph.unit)
    if graph.structure == "full" or graph.knows_diffusion:
        each += [None] * entries
    else:
        constant = None if alone else posterior.constant_noise
        constant = told.constant_noise if constant is not None and told.constant_noise is not None else constant
        each += [diffusion_hypotheses(seen, i, terms, PRIOR, constant) for i in range(entries)]
    used = np.asarray(cells.used)
    return Formulas(
        terms=terms,
        **_stacked(each + [None] * graph.constants, terms.count, alone),
        least=np.asarray(LEAST_SQUARE),
        lower=cells.x[used].min(axis=0),
        upper=cells.x[used].max(axis=0),
        link=graph.link,
        drifts=graph.drifts,
        entries=entries,
    )


def _stacked(each: list[Hypotheses | None], terms: int, alone: bool) -> dict[str, Floats]:
    """Masses, coefficients and roots of their covariances, in as many places for each function."""
    mass = np.zeros((len(each), MOST))
    mean, root = np.zeros((len(each), MOST, terms)), np.zeros((len(each), MOST, terms, terms))
    for f, one in enumerate(each):
        if one is None:
            continue
        own = one.mass
        count = len(own)
        mass[f, :count] = own / own.sum() if alone else own
        mean[f, :count] = one.fitted.coefficients
        pairs = one.subsets[:, :, None] & one.subsets[:, None, :]
        root[f, :count] = np.where(pairs, np.swapaxes(np.linalg.inv(one.fitted.lower), 1, 2), 0.0)
    return {"mass": mass, "mean": mean, "root": root}
