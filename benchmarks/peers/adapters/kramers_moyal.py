"""kramersmoyal: Kramers-Moyal coefficients by kernel estimates.

As in its README: km(x, powers=2) with its default number of bins, Epanechnikov kernel and bandwidth (Silverman's rule);
drift M₁/dt, squared diffusion 2 M₂/dt, with the factorials that it divides by. Between bins linear interpolation; where
no datum is within a bandwidth, the nearest bin that has one. It takes rows a constant step apart, without errors.
"""

import numpy as np
from contract import Answer
from scipy.interpolate import RegularGridInterpolator
from scipy.ndimage import distance_transform_edt

PACKAGES = ("kramersmoyal", "numpy", "scipy")


def fit(observed):
    from kramersmoyal import km

    x, d = observed.unbroken("kramersmoyal"), observed.dimension
    units = [tuple(row) for row in np.eye(d, dtype=int)]
    pairs = [(i, j) for i in range(d) for j in range(i + 1)]
    powers = [(0,) * d, *units, *(tuple(np.add(units[i], units[j])) for i, j in pairs)]
    moments, centres = km(x, powers=np.array(powers))
    filled = _filled(moments[1:], moments[0] > 0)
    # the second moment of a coordinate is divided by 2!, a mixed one by 1
    scale = [1.0] * d + [2.0 if i == j else 1.0 for i, j in pairs]
    return Fitted(filled * np.reshape(scale, (-1, *[1] * d)) / observed.dt, centres, pairs)


def _filled(values, known):
    """Empty bins get the value of the nearest one with data."""
    nearest = distance_transform_edt(~known, return_distances=False, return_indices=True)
    return values[(slice(None), *nearest)]


class Fitted:
    def __init__(self, moments, centres, pairs):
        self.at = [RegularGridInterpolator(centres, m, bounds_error=False, fill_value=None) for m in moments]
        self.pairs = pairs

    def answer(self, points):
        n, d = points.shape
        covariance = np.zeros((n, d, d))
        for (i, j), moment in zip(self.pairs, self.at[d:], strict=True):
            covariance[:, i, j] = covariance[:, j, i] = moment(points)
        return Answer(np.stack([moment(points) for moment in self.at[:d]], axis=-1), covariance)
