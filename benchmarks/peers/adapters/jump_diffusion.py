"""jumpdiff: Nadaraya-Watson estimates of conditional moments with second-order corrections.

As in its README: moments(x) with its defaults (5000 bins, Silverman's rule, corrections on); drift M₁/dt. None of the
problems has jumps, so all of the corrected second moment is diffusion: M₂/dt. One dimension, rows a constant step
apart, no errors.
"""

import numpy as np
from contract import Answer, Refused

PACKAGES = ("jumpdiff", "numpy", "scipy")


def fit(observed):
    import jumpdiff

    if observed.dimension > 1:
        raise Refused("jumpdiff takes one dimension")
    edges, moments = jumpdiff.moments(observed.unbroken("jumpdiff")[:, 0])
    known = moments[0, :, 0] > 0
    return Fitted(edges[known, 0], moments[1, known, 0] / observed.dt, moments[2, known, 0] / observed.dt)


class Fitted:
    def __init__(self, edges, drift, variance):
        self.edges, self.drift, self.variance = edges, drift, variance

    def answer(self, points):
        drift, variance = (np.interp(points[:, 0], self.edges, v) for v in (self.drift, self.variance))
        return Answer(drift[:, None], variance[:, None, None])
