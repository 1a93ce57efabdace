"""Weak log-normal priors on θ: they keep what the data cannot tell near sensible values."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

SPREADS = (
    ("noise", 1.5),
    ("level", 1.0),
    ("diffusion.linear.amplitude", 1.5),
    ("linear.amplitude", 1.0),
    ("cubic.amplitude", 1.5),
    ("matern.amplitude", 1.5),
    ("drift.matern.scale", 1.0),
    ("diffusion.matern.scale", 0.7),
)
"""Standard deviations of log-parameters, by the end of their names; of a kernel that a user gives, `GIVEN_SPREAD`."""

GIVEN_SPREAD = 3.0

NORMAL, REACH = 2.0, 6.0
"""How many standard deviations a prior is normal, and how many the search may go."""


class ParameterPrior(NamedTuple):
    """Independent distributions of the logarithms: normal, with exponential tails, since data may be unusual."""

    mean: Vector
    spread: Vector

    @property
    def bounds(self) -> Vector:
        return np.stack([self.mean - REACH * self.spread, self.mean + REACH * self.spread], axis=1)

    def no_wider(self, curvatures: Vector) -> Vector:
        """Eigenvalues of a curvature, none of which says less than the widest prior does."""
        return np.maximum(curvatures, 1.0 / np.max(self.spread) ** 2)

    def negative_log(self, logarithms: Vector) -> tuple[float, Vector]:
        """½ Σ z², linear where |z| > 2, and its slope."""
        z = (logarithms - self.mean) / self.spread
        inner = np.clip(z, -NORMAL, NORMAL)
        return float(inner @ (z - 0.5 * inner)), inner / self.spread


def parameter_prior(names: tuple[str, ...], centre: Vector) -> ParameterPrior:
    """Centred on the values that a graph is built with."""
    stems = [name.split("[")[0] for name in names]
    spread = [next((s for end, s in SPREADS if stem.endswith(end)), GIVEN_SPREAD) for stem in stems]
    return ParameterPrior(np.asarray(centre), np.asarray(spread))
