"""pymle-diffusion: maximum likelihood, told the true form of drift and diffusion and asked for its parameters alone.

No rival but a yardstick: what is lost by not knowing the form. AnalyticalMLE with KesslerDensity, its approximation of
second order for noise that depends on the state, started from ones. Its default minimiser stops short of the maximum
(CIR, 10 000 rows: log-likelihood 11627 against 11638), so its ScipyMinimizer goes on from there with L-BFGS-B, and the
likelier of the two ends is kept. Steps may differ, so missing rows and gaps are longer steps. One dimension, no errors.
"""

import contextlib
import io

import numpy as np
from contract import Answer, Refused

PACKAGES = ("pymle-diffusion", "numpy", "scipy")

FORMS = {
    # process: drift and diffusion as functions of x and parameters, and how many of these there are
    "exponential": (lambda x, p: -p[0] * x, lambda x, p: p[1] * np.exp(-p[2] * x**2), 3),
    "trigonometric": (
        lambda x, p: p[0] * np.sin(2 * np.pi * x),
        lambda x, p: p[1] * np.abs(np.cos(2 * np.pi * x)),
        2,
    ),
    "gbm": (lambda x, p: p[0] * x, lambda x, p: p[1] * x, 2),
    "ou": (lambda x, p: -p[0] * x, lambda x, p: p[1] + 0 * x, 2),
    "double_well": (lambda x, p: p[0] * x - p[1] * x**3, lambda x, p: p[2] + 0 * x, 3),
    "double_well_multiplicative": (
        lambda x, p: p[0] * x - p[1] * x**3,
        lambda x, p: p[2] * np.sqrt(1 + p[3] * x**2),
        4,
    ),
    "wiggly": (lambda x, p: -p[0] * x + p[1] * np.sin(4 * x), lambda x, p: p[2] + p[3] * np.tanh(3 * x), 4),
    "cir": (lambda x, p: p[0] * (p[1] - x), lambda x, p: p[2] * np.sqrt(np.maximum(x, 0)), 3),
}
BOUNDS = (1e-3, 50.0)
"""All parameters are positive in the forms above."""


def fit(observed):
    from pymle.core.Model import Model1D
    from pymle.core.TransitionDensity import KesslerDensity
    from pymle.fit.AnalyticalMLE import AnalyticalMLE
    from pymle.fit.Minimizer import ScipyMinimizer

    if observed.dimension > 1:
        raise Refused("pymle takes one dimension")
    drift, diffusion, count = FORMS[observed.process]

    class Form(Model1D):
        def drift(self, x, t):  # noqa: ARG002
            return drift(x, self._params)

        def diffusion(self, x, t):  # noqa: ARG002
            return diffusion(x, self._params)

    known = ~np.isnan(observed.x[:, 0])
    x, steps = observed.x[known, 0], np.diff(observed.times[known])
    with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        exact = ScipyMinimizer(method="L-BFGS-B", tol=1e-10, options={"maxiter": 500})
        given, density = (x, [BOUNDS] * count, steps), KesslerDensity(Form())
        found = AnalyticalMLE(*given, density).estimate_params(np.ones(count))
        better = AnalyticalMLE(*given, density, minimizer=exact).estimate_params(found.params)
    best = max(found, better, key=lambda end: end.log_like)
    return Fitted(drift, diffusion, best.params)


class Fitted:
    def __init__(self, drift, diffusion, parameters):
        self.drift, self.diffusion, self.parameters = drift, diffusion, parameters

    def answer(self, points):
        sigma = self.diffusion(points, self.parameters)
        return Answer(self.drift(points, self.parameters), np.square(sigma)[..., None])
