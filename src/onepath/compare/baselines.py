"""What the paper compares with: Gaussian-process regression of the increments, and a length scale from the data."""

import warnings
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import pdist

from onepath.numerics.arrays import Floats, evenly
from onepath.numerics.extras import needs

LAMBDA = 1e-5
"""λ, the measurement variance of the increments in the paper's benchmark."""

BASELINE = "for the paper's benchmark"
_MOST_POINTS = 4000


def mean_pairwise_distance(x: Floats) -> float:
    """1 / (N (N - 1)) Σ_{i≠j} ‖x_i - x_j‖ for x (N, d), the paper's length scale before learning.

    Beyond 4000 points, 4000 evenly spaced ones stand for all.
    """
    if x.ndim != 2 or len(x) < 2:
        raise ValueError(f"x has shape {x.shape}, but a mean pairwise distance needs (N, d) with N of at least 2")
    return float(np.mean(pdist(x[evenly(len(x), _MOST_POINTS)])))


class GPRegression:
    """The paper's benchmark: y = g(x) + ε, g a Gaussian process, ε ~ N(0, s²), one regression per coordinate.

    drift = E[y | x] / dt,  diffusion = std[y | x] / √dt.  `kernel` is "matern" (ν = 5/2, amplitude 1) or "linear".
    The noise variance s² is learned from 0.1 on; elsewhere the optimiser may find another optimum.
    """

    def __init__(self, kernel: str = "matern") -> None:
        self.kernel = kernel

    def fit(self, x: Floats, y: Floats, dt: float) -> Self:
        """Learn from increments y (n, d) that start at x (n, d) and last dt."""
        regression = needs("sklearn.gaussian_process", BASELINE, "paper")
        if x.ndim != 2 or x.shape != y.shape:
            raise ValueError(f"x has shape {x.shape} and y {y.shape}, but both must be (n, d), with d = 1 written out")
        kernel = _kernel(self.kernel)
        self.dt_ = dt
        self.regressors_ = []
        with warnings.catch_warnings():
            # the optimiser stops at a bound or short of its tolerance; the paper's rows do so too
            warnings.simplefilter("ignore", needs("sklearn.exceptions", BASELINE, "paper").ConvergenceWarning)
            for coordinate in y.T:
                regressor = regression.GaussianProcessRegressor(kernel, alpha=LAMBDA)
                self.regressors_.append(regressor.fit(x, coordinate))
        return self

    def drift(self, x: Floats) -> Floats:
        """(n, d) -> (n, d)."""
        means = [regressor.predict(x) for regressor in self.regressors_]
        return np.stack(means, axis=-1) / self.dt_

    def diffusion(self, x: Floats) -> Floats:
        """(n, d) -> (n, d, d), diagonal because the coordinates are regressed one by one."""
        deviations = [regressor.predict(x, return_std=True)[1] for regressor in self.regressors_]
        scale = np.stack(deviations, axis=-1) / np.sqrt(self.dt_)
        return scale[..., None] * np.eye(scale.shape[-1])


def _kernel(name: str) -> Any:
    kernels = needs("sklearn.gaussian_process.kernels", BASELINE, "paper")
    signals = {"matern": kernels.Matern(nu=2.5), "linear": kernels.DotProduct()}
    if name not in signals:
        raise ValueError(f'kernel is {name!r}, but only "matern" and "linear" are known')
    return signals[name] + kernels.WhiteKernel(0.1)
