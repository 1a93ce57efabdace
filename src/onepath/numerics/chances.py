"""Logarithms of tail probabilities. SciPy's statistics have them too, and take longer to load than a fit takes."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, fdtrc, log_ndtr, ndtri, pdtrc

from onepath.numerics.arrays import Floats


def normal(z: npt.ArrayLike) -> Floats:
    """ln P(ξ > z)."""
    return np.asarray(log_ndtr(-np.asarray(z, float)))


def normal_quantile(tail: float) -> float:
    """What a standard normal number exceeds with this probability."""
    return float(-ndtri(tail))


def poisson(least: int, mean: float) -> float:
    """ln P(N > least)."""
    return float(_log(pdtrc(least, mean)))


def chi_squared(value: npt.ArrayLike, freedom: int) -> Floats:
    """ln P(χ² > value)."""
    return np.asarray(_log(chdtrc(freedom, value)))


def f_ratio(value: float, freedom: float, other: float) -> float:
    """ln P(F > value)."""
    return float(_log(fdtrc(freedom, other, value)))


def _log(probability: Any) -> Any:
    """-∞ for what is too improbable to be a number."""
    with np.errstate(divide="ignore"):
        return np.log(probability)
