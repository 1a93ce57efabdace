"""Gaussian-process regression of the increments with scikit-learn, one regression a coordinate.

As in its example of noisy targets: an amplitude times RBF, plus WhiteKernel, all learned with the default optimiser;
states are standardised first and targets by normalize_y=True. drift = mean/dt with the posterior's standard error,
white noise taken out, diffusion = √(white noise/dt), which is the same everywhere and has no errors.
"""

import warnings

import numpy as np
from contract import Answer, diagonal

PACKAGES = ("scikit-learn", "numpy", "scipy")


def fit(observed):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    x, y = observed.transitions()
    centre, scale = x.mean(axis=0), x.std(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # parameters near their bounds
        models = [
            GaussianProcessRegressor(ConstantKernel() * RBF(np.ones(x.shape[1])) + WhiteKernel(), normalize_y=True).fit(
                (x - centre) / scale, column
            )
            for column in y.T
        ]
    return Fitted(models, centre, scale, observed.step, y.std(axis=0))


class Fitted:
    def __init__(self, models, centre, scale, dt, spread):
        self.models, self.centre, self.scale, self.dt = models, centre, scale, dt
        # normalize_y: the kernel's noise is in units of the increments' variance
        self.white = np.array([m.kernel_.k2.noise_level for m in models]) * spread**2

    def answer(self, points):
        found = [m.predict((points - self.centre) / self.scale, return_std=True) for m in self.models]
        mean, deviation = (np.stack(part, axis=-1) for part in zip(*found, strict=True))
        errors = np.sqrt(np.maximum(deviation**2 - self.white, 0)) / self.dt
        covariance = diagonal(np.broadcast_to(self.white / self.dt, mean.shape))
        return Answer(mean / self.dt, covariance).with_drift_errors(errors)
