"""A fit with equations beside its process: `Formulas` from the hypotheses of each function."""

from math import comb
from typing import NamedTuple

import numpy as np

from onepath.data.cells import Cells
from onepath.data.transitions import Units
from onepath.gp.terms import Terms, monomials
from onepath.inference.equations.expressions import Own
from onepath.inference.equations.hypotheses import (
    DEGREES,
    MOST,
    MOST_TERMS,
    PRIOR,
    Hypotheses,
    Seen,
    diffusion_hypotheses,
    drift_hypotheses,
)
from onepath.inference.learning.learned import LearnedTheta
from onepath.inference.posterior.formulas import Formulas
from onepath.inference.posterior.mixture import Completed
from onepath.numerics.arrays import Floats
from onepath.numerics.modules import changed

LEAST_SQUARE = 1e-4
"""Of σ², in units of the noise's mean square: what an equation that says less is taken for."""


class EquationOptions(NamedTuple):
    """Whether equations are asked for, alone or beside the process, and the user's own terms, by name."""

    alone: bool = False
    own: Own = ()


def terms_of(units: Units, own: Own = ()) -> Terms:
    """Monomials about the user's zero, and the user's own."""
    d = len(units.scale)
    degree = DEGREES[d] if d in DEGREES else max(k for k in (1, 2, 3) if k == 1 or comb(d + k, k) <= MOST_TERMS)
    exponents = monomials(d, degree)
    return Terms(units.location / units.scale, units.scale, exponents, own)


def with_equations(
    found: Completed, learned: LearnedTheta | None, cells: Cells, units: Units, options: EquationOptions
) -> Completed:
    """The same, with equations as members of its posterior."""
    posterior, completion = found.posterior, found.completion
    if learned is None or learned.optimum.curvature is None or completion.blocks is None or not completion.converged:
        return found
    try:
        formulas = _formulas(found, learned, cells, units, options)
    except np.linalg.LinAlgError:  # no fit fails for want of an equation
        return found
    sound = all(np.all(np.isfinite(part)) for part in (formulas.mass, formulas.mean, formulas.root))
    return found._replace(posterior=changed(posterior, formulas=formulas)) if sound else found


def _formulas(
    found: Completed, learned: LearnedTheta, cells: Cells, units: Units, options: EquationOptions
) -> Formulas:
    """Hypotheses of each function in turn."""
    posterior = found.posterior
    graph, terms, seen = posterior.graph, terms_of(units, options.own), Seen(found, learned, cells)
    each: list[Hypotheses | None] = [drift_hypotheses(seen, i, terms, PRIOR) for i in range(graph.drifts)]
    entries = len(graph.unit)
    if graph.structure == "full":
        each += [None] * entries
    else:
        constant = None if options.alone else posterior.constant_noise
        each += [diffusion_hypotheses(seen, i, terms, PRIOR, constant) for i in range(entries)]
    used = np.asarray(cells.used)
    return Formulas(
        terms=terms,
        **_stacked(each, terms.count, options.alone),
        least=np.asarray(LEAST_SQUARE),
        lower=cells.x[used].min(axis=0),
        upper=cells.x[used].max(axis=0),
        link=graph.link,
        drifts=graph.drifts,
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
