"""PySINDy: sparse polynomials of the drift, and of σσ' from products of its residuals.

PySINDy is made for ordinary differential equations. SINDy with its default optimiser, STLSQ(threshold=0.1), regresses
increments over the step, given as x_dot, on PolynomialLibrary(degree=5); the same again regresses the residuals'
products over the step, in units of their mean square. Several stretches of a record go in as a list of trajectories,
which it supports. No errors.
"""

import warnings

import numpy as np
from contract import Answer

PACKAGES = ("pysindy", "numpy", "scikit-learn")
DEGREE, THRESHOLD = 5, 0.1


def fit(observed):
    import pysindy

    dt, pieces = observed.step, observed.pieces()
    x, slopes = [p[:-1] for p in pieces], [np.diff(p, axis=0) / dt for p in pieces]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that coefficients were eliminated, which is what it is for
        library, optimiser = pysindy.PolynomialLibrary(degree=DEGREE), pysindy.STLSQ(threshold=THRESHOLD)
        drift = pysindy.SINDy(feature_library=library, optimizer=optimiser).fit(x, t=dt, x_dot=slopes)
        starts, rows_columns = np.concatenate(x), np.tril_indices(observed.dimension)
        residuals = (np.concatenate(slopes) - np.asarray(drift.predict(starts))) * np.sqrt(dt)
        return Fitted(drift, *_variances(starts, residuals, rows_columns), rows_columns)


def _variances(x, residuals, rows_columns):
    """The library, the optimiser fitted to products of residuals, and the unit that these are in.

    SINDy itself wants as many targets as states, so its two parts are used one after the other. Its threshold is
    absolute; the unit is the mean square of the residuals.
    """
    import pysindy

    rows, columns = rows_columns
    unit = np.mean(np.square(residuals))
    library, optimiser = pysindy.PolynomialLibrary(degree=DEGREE).fit(x), pysindy.STLSQ(threshold=THRESHOLD)
    optimiser.fit(np.asarray(library.transform(x)), residuals[:, rows] * residuals[:, columns] / unit)
    return library, optimiser, unit


class Fitted:
    def __init__(self, drift, library, optimiser, unit, rows_columns):
        self.drift, self.library, self.optimiser, self.unit = drift, library, optimiser, unit
        self.rows, self.columns = rows_columns

    def answer(self, points):
        n, d = points.shape
        covariance = np.zeros((n, d, d))
        found = self.unit * np.asarray(self.library.transform(points)) @ np.asarray(self.optimiser.coef_).T
        covariance[:, self.rows, self.columns] = covariance[:, self.columns, self.rows] = found
        return Answer(np.asarray(self.drift.predict(points)), covariance)
