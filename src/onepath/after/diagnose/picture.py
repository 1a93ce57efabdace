"""What a figure of the diagnosis shows: residuals in time, their correlations, and the diffusion at longer steps."""

from typing import NamedTuple

import numpy as np

from onepath.after.diagnose import residuals_in
from onepath.after.diagnose.change import clear_season, lines_of, without_seasons_and_changes
from onepath.after.diagnose.lags import ratio_at
from onepath.after.diagnose.residuals import autocorrelation
from onepath.model import Model
from onepath.numerics.arrays import Floats

LAGS = 20
STEPS = (1, 2, 3, 5, 10)
"""Every how many points the diffusion is looked at."""


class Picture(NamedTuple):
    """Of n residuals that count, in d dimensions."""

    t: Floats  # (n,), when each begins, or which it is where there are several records
    z: Floats  # (n, d)
    correlations: Floats  # (LAGS, d), from 1 step apart on
    errors: Floats  # (LAGS, d), their standard errors
    ratios: Floats  # (len(STEPS), d), σ² at every so manyth point over that shown
    ratio_errors: Floats  # (len(STEPS), d)


def picture_of(model: Model) -> Picture:
    """The numbers that the questions are asked of: seasons and changes with time are taken out of the correlations."""
    observed = model.trajectory
    residuals = residuals_in(model)
    clean = without_seasons_and_changes(residuals, clear_season(lines_of(residuals)))
    correlations = [autocorrelation(residuals, clean, lag) for lag in range(1, LAGS + 1)]
    ratios = [ratio_at(residuals, clean, steps) for steps in STEPS]
    begun = (
        observed.t[residuals.row]
        if observed.record.max() == 0
        else np.searchsorted(observed.step, residuals.row).astype(float)
    )
    counts = residuals.weight > 0
    parts = (np.stack(part) for pairs in (correlations, ratios) for part in zip(*pairs, strict=True))
    return Picture(begun[counts], residuals.z[counts], *parts)
