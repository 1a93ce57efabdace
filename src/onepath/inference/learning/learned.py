"""What a search has found: θ, what is known about it, and parameters that stand for that."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from onepath.graph.graph import Graph
from onepath.inference.learning.constant import ConstantNoise
from onepath.inference.learning.optimisers import Optimum
from onepath.inference.learning.prior import ParameterPrior
from onepath.numerics.arrays import Floats


class LearnedTheta(NamedTuple):
    """Learned parameters, in a graph, what is known about them, and how the search ended.

    Besides, another optimum that is about as good, and what the parameters are if the noise is the same everywhere.
    """

    graph: Graph
    prior: ParameterPrior
    optimum: Optimum
    other: "LearnedTheta | None" = None
    constant: ConstantNoise | None = None

    def around(self, most: int) -> tuple[Floats, Floats]:
        """At most this many θ = θ̂ + H^-½ z, as rows, that stand for N(θ̂, H⁻¹), and -ln of its density at each.

        H is the curvature of the negative log posterior at θ̂; no direction is wider than the prior. As many around the
        other optimum, if there is one.
        """
        if self.other is not None and self.other.optimum.curvature is not None:
            both = zip(self._replace(other=None).around(most), self.other.around(most), strict=True)
            thetas, densities = (np.concatenate(pair) for pair in both)
            return thetas, densities
        values, vectors = np.linalg.eigh(np.asarray(self.optimum.curvature))
        # the symmetric root, which changes no more than H does
        values = self.prior.no_wider(values)
        root, z = (vectors / np.sqrt(values)) @ vectors.T, standard_points(len(values), most)
        density = 0.5 * np.sum(np.square(z), axis=1) - 0.5 * np.sum(np.log(values))
        return np.clip(self.optimum.theta + z @ root, *self.prior.bounds.T), density


def standard_points(dimension: int, most: int) -> Floats:
    """Rows that stand for N(0, I): ±√k q for k orthogonal q, exact up to third moments; else a quasi-random sequence.

    The latter where the former are too many: some of them would leave out what the others stand for.
    """
    if 2 * dimension <= most:
        rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((dimension, dimension)))[0]
        return np.sqrt(dimension) * np.concatenate([rotation, -rotation])
    # SciPy's statistics take as long to load as many a fit
    from scipy.stats import qmc

    return np.asarray(ndtri(qmc.Sobol(dimension, scramble=True, rng=0).random(most)))
