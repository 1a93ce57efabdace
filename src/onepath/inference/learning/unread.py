"""Does a function depend on an input at all? For each, that it does not is a hypothesis, beforehand as probable as not.

A reach far beyond the data is that hypothesis. The default prior of reaches comes close to it only in its tail.
"""

from collections.abc import Sequence

import numpy as np

from onepath.gp.parameters import REACH, Parameter
from onepath.inference.learning.optimisers import Criterion, Optimum
from onepath.inference.learning.prior import ParameterPrior
from onepath.numerics.arrays import Floats

FARTHEST = np.log(1e3)
"""ln of a reach, in standard deviations, over which nothing changes."""


def unread(parameters: Sequence[Parameter], evidence: Criterion, prior: ParameterPrior, optimum: Optimum) -> Floats:
    """ln p(data | no input) - ln ∫ p(data, reach) d reach, for each reach in turn; NaN for other parameters (k,).

    The integral is Laplace's, other parameters stay where they were found: without the input they could do better yet.
    """
    found, curvature = np.full(len(parameters), np.nan), np.asarray(optimum.curvature)
    best = evidence(optimum.theta)[0] - prior.negative_log(optimum.theta)[0]
    for k, each in enumerate(parameters):
        if each.role != REACH:
            continue
        theta, alone = optimum.theta.copy(), prior.mean.copy()
        theta[k], alone[k] = FARTHEST, optimum.theta[k]
        gain = best - (evidence(theta)[0] - prior.negative_log(theta)[0])
        width = 0.5 * np.log(max(curvature[k, k] * prior.spread[k] ** 2, 1.0))
        found[k] = gain + width + prior.negative_log(alone)[0]
    return found
