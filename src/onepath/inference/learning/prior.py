"""Weak log-normal priors on θ: they keep what the data cannot tell near sensible values."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onepath.gp.parameters import Parameter
from onepath.numerics.arrays import Floats

NORMAL, REACH = 2.0, 6.0
"""How many standard deviations a prior is normal, and how many the search may go."""


class ParameterPrior(NamedTuple):
    """Independent distributions of the logarithms: normal, with exponential tails, since data may be unusual."""

    mean: Floats
    spread: Floats

    @property
    def bounds(self) -> Floats:
        return np.stack([self.mean - REACH * self.spread, self.mean + REACH * self.spread], axis=1)

    def no_wider(self, curvatures: Floats) -> Floats:
        """Eigenvalues of a curvature, none of which says less than the widest prior does."""
        return np.maximum(curvatures, 1.0 / np.max(self.spread) ** 2)

    def negative_log(self, theta: Floats) -> tuple[float, Floats]:
        """½ Σ z², linear where |z| > 2, and its slope."""
        z = (theta - self.mean) / self.spread
        inner = np.clip(z, -NORMAL, NORMAL)
        return float(inner @ (z - 0.5 * inner)), inner / self.spread


def parameter_prior(parameters: Sequence[Parameter], centre: Floats) -> ParameterPrior:
    """Centred on the values that a graph is built with, as wide as each parameter says."""
    return ParameterPrior(np.asarray(centre), np.asarray([each.spread for each in parameters]))
