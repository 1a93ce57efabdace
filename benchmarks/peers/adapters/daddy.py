"""PyDaddy: sparse polynomials of drift and squared diffusion.

As in its notebook "Getting started": Characterize, then fit(..., tune=True), which sets the sparsity threshold by
cross-validation, at the order of that notebook, 3; with higher ones the choice can be poor, as it says. Scalars
and pairs only. Times are handed over as they are; it takes the mean step from them. Its standard errors are of single
coefficients, so it has no bands.
"""

import contextlib
import io

import numpy as np
from contract import Answer, Refused

PACKAGES = ("pydaddy", "numpy", "setuptools")
ORDER = 3


def fit(observed):
    import pydaddy

    if observed.dimension > 2:
        raise Refused("PyDaddy takes one or two dimensions")
    clock = observed.dt if observed.t is None else observed.t
    with contextlib.redirect_stdout(io.StringIO()):
        found = pydaddy.Characterize([column.copy() for column in observed.x.T], clock, show_summary=False)
        names = ("F", "G") if observed.dimension == 1 else ("F1", "F2", "G11", "G22", "G12")
        functions = {name: found.fit(name, order=ORDER, tune=True) for name in names}
    return Fitted(functions)


class Fitted:
    def __init__(self, functions):
        self.functions = functions

    def answer(self, points):
        at = {name: function(*points.T) for name, function in self.functions.items()}
        if "F" in at:
            return Answer(at["F"][:, None], at["G"][:, None, None])
        rows = [np.stack([at["G11"], at["G12"]], axis=-1), np.stack([at["G12"], at["G22"]], axis=-1)]
        return Answer(np.stack([at["F1"], at["F2"]], axis=-1), np.stack(rows, axis=-2))
