"""Does a function go up and down within the data more often than the fit can follow?"""

import numpy as np

from onepath.after.diagnose.check import Check, smallest
from onepath.after.diagnose.residuals import Residuals
from onepath.numerics.arrays import Floats
from onepath.numerics.spectrum import Waves, waves_in

BINS, BINS_PER_WAVE = 256, 4
"""Along each coordinate, and for a wave at least."""

ENDS = (0.005, 0.995)
"""Quantiles between which states are looked at."""

SHARE = 2e-3
"""Of the residuals' variance: what is too small to matter."""


def ask_waves(residuals: Residuals) -> Check:
    """Waves along each coordinate in the residuals, which are left of a drift, and in their squares, of a noise."""
    z, x, weight = residuals.z, residuals.transitions.x, residuals.weight
    found: list[tuple[str, int, Waves]] = []
    for name, of in (("drift", z), ("noise", np.square(z) - residuals.mean(np.square(z)))):
        for axis in range(x.shape[1]):
            for column in of.T:
                places, scores, often = binned(x[:, axis], column, weight)
                waves = waves_in(scores, places, len(places) // BINS_PER_WAVE)
                if waves is not None:
                    found.append((name, axis, waves._replace(share=waves.share / often)))
    if not found:
        return Check("waves", 0.0, None, False, "There are too few points to look for waves.", "", False)
    name, axis, waves = min(found, key=lambda each: each[2].log_p)
    along = "" if x.shape[1] == 1 else f" along dimension {axis + 1}"
    return Check(
        "waves",
        waves.share,
        smallest([each[2].log_p for each in found]),
        waves.share > SHARE,
        "What the fit leaves over has no waves along the state.",
        f"The {name} has waves{along}, about {waves.length:.2g} long, that the fit does not follow: they explain "
        f"{waves.share:.1%} of the residuals' variance. Give a kernel with a shorter length scale, or more data.",
        specific=False,
    )


def binned(x: Floats, values: Floats, weight: Floats) -> tuple[Floats, Floats, float]:
    """Middles of bins that are not empty, √n times the mean value in each, and the mean of n, the sum of weights."""
    low, high = np.quantile(x, ENDS)
    inside = (x >= low) & (x <= high)
    bins = np.minimum((BINS * (x[inside] - low) / (high - low)).astype(int), BINS - 1)
    counts = np.bincount(bins, weight[inside], BINS)
    used = counts > 0
    sums = np.bincount(bins, (weight * values)[inside], BINS)
    places = low + (np.flatnonzero(used) + 0.5) * (high - low) / BINS
    return places, sums[used] / np.sqrt(counts[used]), float(counts[used].mean())
