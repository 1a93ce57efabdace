"""onepath with its default settings, one and the same everywhere.

`SDE().fit(x, dt=...)` or `t=`; bands are those of `drift_band` and `diffusion_band`, 90 % and 99.73 % (three standard
errors of a normal law). What `fit` warns of, and a verdict of `diagnose()` that something is amiss, are its own word
against its answer.
"""

import warnings

import numpy as np
from contract import Answer

PACKAGES = ("onepath", "jax", "numpy", "scipy", "scikit-learn")
LEVELS = (0.9, 0.9973002)


def fit(observed):
    from onepath import SDE

    clock = {"dt": observed.dt} if observed.t is None else {"t": observed.t}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        sde = SDE(progress=False, random_state=0).fit(observed.x, **clock)
    # that gaps were left out is how it should be, and nothing against the answer
    return Fitted(sde, [str(w.message) for w in said if "recording gaps" not in str(w.message)])


class Fitted:
    def __init__(self, sde, said):
        self.sde, self.said = sde, said

    def answer(self, points):
        model = self.sde.model_
        factor = model.diffusion(points)
        bands = [np.stack(band(points, level)) for band in (model.drift_band, model.diffusion_band) for level in LEVELS]
        return Answer(model.drift(points), factor @ np.swapaxes(factor, 1, 2), *bands)

    def flags(self):
        """After the clock has stopped: warnings of the fit, and what the diagnosis finds."""
        return [*self.said, *(question.verdict for question in self.sde.diagnose().questions if question.flagged)]

    def log_density(self, x, y, dt):
        return self.sde.score(list(np.stack([x, x + y], axis=1)), dt=dt)
