"""Is the noise the same everywhere? A hypothesis of its own, beforehand as probable as not.

The default prior of a diffusion comes close to it, but only where all its amplitudes are small, which is improbable.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onepath.learning.optimisers import Found, Slope, settle
from onepath.learning.prior import ParameterPrior

Vector = npt.NDArray[np.float64]

TERMS = {"diffusion.linear.amplitude", "diffusion.matern.amplitude", "diffusion.matern.scale"}
"""Parameters of what lets the noise depend on the state."""

ABSENT = 1e-3
"""Amplitude of a term that is left out."""


class ConstantNoise(NamedTuple):
    """The best parameters θ̂ under the hypothesis, and ln [∫ p(data, θ) dθ / p(data | θ̂)]."""

    parameters: Vector
    log_width: float


def constant_noise(
    names: tuple[str, ...], evidence: Slope, prior: ParameterPrior, found: Found
) -> ConstantNoise | None:
    """The hypothesis for the default prior of a diffusion with entries that are positive; for others there is none.

    The drift's parameters stay as they were found, with the curvature H that they had; level and λ are found anew. By
    Laplace, ∫ p(data, θ) dθ = p(data | θ̂) p(θ̂) √det 2πH⁻¹ over the parameters that are left. Like `around`, this
    leaves out what all of the parameters have in common: the powers of 2π, and the spreads of their priors.
    """
    stems = np.array([name.split("[")[0] for name in names])
    absent = np.isin(stems, list(TERMS))
    free = np.isin(stems, ["level", "noise"])
    levels, amplitudes = (np.sum(stems == stem) for stem in ("level", "diffusion.linear.amplitude"))
    said = {stem for stem in stems if stem.startswith("diffusion.")}
    if said != TERMS or levels != amplitudes or found.curvature is None:
        return None

    def with_free(parameters: Vector) -> Vector:
        whole = np.where([stem.endswith("amplitude") for stem in stems] & absent, np.log(ABSENT), found.parameters)
        whole[free] = parameters
        return whole

    def restricted(parameters: Vector) -> tuple[float, Vector]:
        value, slope = evidence(with_free(parameters))
        return value, slope[free]

    start = np.where(stems == "level", prior.mean, found.parameters)[free]
    best = settle(restricted, Found(start, 0.0, None, 0, ""), prior.bounds[free])
    parameters = with_free(best.parameters)
    kept = ~(free | absent)
    curvatures = (np.asarray(found.curvature)[np.ix_(kept, kept)], np.asarray(best.curvature))
    values = np.concatenate([np.linalg.eigvalsh(curvature) for curvature in curvatures])
    penalty, _ = prior.negative_log(np.where(absent, prior.mean, parameters))
    width = -0.5 * np.sum(np.log(prior.no_wider(values))) + np.sum(np.log(prior.spread[absent]))
    return ConstantNoise(parameters, float(width - penalty))
