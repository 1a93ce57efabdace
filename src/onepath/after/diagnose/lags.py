"""Is the diffusion the same at longer steps? If not: measurement noise, blur, or a hidden velocity.

Sums of k residuals vary k times as much as one if they are independent. Noise on readings makes them vary less, and
averages over an exposure, or a velocity of its own, more: the diffusion shown is then the step's, not the state's.
"""

from typing import NamedTuple

import numpy as np

from onepath.after.diagnose.check import Check, smallest
from onepath.after.diagnose.residuals import Residuals, autocorrelation, normal_tail
from onepath.numerics.arrays import Floats

STEPS = (2, 3, 5)
"""Lengths, in steps, at which the diffusion is looked at again."""

ASKED = (2, 5)
"""Those that are tested: the first sees what neighbours share, the last what lasts longer."""

LEAST_BIAS = 0.01
"""Share of the diffusion that is too small to matter, however narrow the band."""

BUDGET = 3.0
"""Times as much of the permitted false alarms as other questions have: this one guards the numbers that are shown."""

BAND = 1.645
"""Standard errors to either side of a 90 % interval."""

LEAST_SURE = 0.25
"""Standard error of neighbours' correlation beyond which nothing is said of readings that are not quite the state."""

FULL_EXPOSURE = 0.25
"""Correlation of neighbouring increments if each reading is the mean over all of the step."""


class Lags(NamedTuple):
    """What longer steps say of each dimension's diffusion."""

    neighbours: Floats  # (2, d), correlation of residuals one and two steps apart
    errors: Floats  # (2, d), their standard errors
    ratios: Floats  # (len(STEPS), d), σ² at longer steps over σ² shown
    log_p: float
    dimension: int  # in which the difference is clearest
    biases: Floats  # (d,), by which σ shown is too large (or, negative, too small), as a share
    matters: bool
    memory: str  # what a positive correlation may be: "blur", "velocity" or "either"
    room: Floats  # (d,), by how much of itself σ may be off within its band

    @property
    def told(self) -> str:
        """Such as "its square comes out 1.10, 1.13 and 1.16 times as large at every 2nd, 3rd and 5th point"."""
        found = [f"{ratio:.2f}" for ratio in self.ratios[:, self.dimension]]
        return f"its square comes out {found[0]}, {found[1]} and {found[2]} times as large at every 2nd, 3rd, 5th point"

    @property
    def within(self) -> tuple[float, float] | None:
        """Of σ shown, where it is with 90 % if readings may be in error, or means over a part of the step.

        Both leave variance + 2 covariance of increments as it is, so that σ² is 1 + 2r times what is shown whichever it
        is; and errors of r are independent of those of σ.
        """
        if float(self.errors[0].max()) > LEAST_SURE:
            return None
        factor = np.maximum(1.0 + 2.0 * self.neighbours[0], 0.1)
        width = np.hypot(BAND * self.errors[0] / factor, self.room)
        k = int(np.argmax(width))
        low, high = np.sqrt(factor[k]) * np.exp(width[k] * np.array([-1.0, 1.0]))
        return float(low), float(high)


def lags_of(residuals: Residuals, clean: Floats, room: Floats) -> Lags:
    """Look at longer steps; `room` (d,) is how far σ may be off within its band, as a share of it."""
    pairs = [autocorrelation(residuals, clean, lag) for lag in (1, 2)]
    neighbours, errors = (np.stack(part) for part in zip(*pairs, strict=True))
    found = {steps: ratio_at(residuals, clean, steps) for steps in STEPS}
    scores = np.stack([(found[steps][0] - 1.0) / found[steps][1] for steps in ASKED])
    _, k = np.unravel_index(np.argmax(np.abs(scores)), scores.shape)
    ratios = np.stack([ratio for ratio, _ in found.values()])
    # the clearest difference, and for what only neighbours share, what it comes to in the long run
    longest = np.where(np.abs(scores[0]) >= np.abs(scores[1]), 2.0 * ratios[0] - 1.0, ratios[-1])
    biases = 1.0 / np.sqrt(np.maximum(longest, 0.1)) - 1.0
    return Lags(
        neighbours,
        errors,
        ratios,
        smallest(normal_tail(scores)),
        int(k),
        biases,
        bool(abs(biases[k]) > max(room[k], LEAST_BIAS)),
        _memory(neighbours[:, k], errors[:, k]),
        room,
    )


def ratio_at(residuals: Residuals, z: Floats, steps: int) -> tuple[Floats, Floats]:
    """Variance of sums of successive residuals, over that of as many alone, and its standard error: (d,)."""
    if steps == 1:
        return np.ones(z.shape[1]), np.zeros(z.shape[1])
    parts = [(2 * (1 - k / steps), *autocorrelation(residuals, z, k)) for k in range(1, steps)]
    variance = np.asarray(sum(np.square(weight * error) for weight, _, error in parts))
    return np.asarray(1.0 + sum(weight * r for weight, r, _ in parts)), np.sqrt(variance)


def _memory(r: Floats, error: Floats) -> str:
    """By the second lag: none is left of blur there, and of a velocity the more the more there is at the first."""
    if r[0] - 2 * error[0] > FULL_EXPOSURE or r[1] > 2 * error[1]:
        return "velocity"
    return "blur" if _of_velocity(float(r[0])) - r[1] > 2 * error[1] else "either"


def _of_velocity(first: float) -> float:
    """Correlation two steps apart of displacements whose velocity relaxes such that neighbours correlate by `first`.

    r₁ = (1 - e⁻ᵍ)² / 2(g - 1 + e⁻ᵍ) and r₂ = r₁ e⁻ᵍ, g being the step in relaxation times.
    """
    g = np.geomspace(1e-3, 1e3, 400)
    r = np.square(-np.expm1(-g)) / (2 * (g + np.expm1(-g)))
    return float(first * np.exp(-np.interp(-first, -r, g)))


def lag_checks(lags: Lags) -> list[Check]:
    """The question, and beside it what it may be due to: flagged by the same p-value, where the signs are its own."""
    k = lags.dimension
    (r, second), longer = lags.neighbours[:, k], float(lags.ratios[-1, k]) > 1.0
    size = abs(lags.biases[k])
    wrong, off = lags.matters, "small" if longer else "large"
    share = np.sqrt(max(-r, 0.0) / max(1 + 2 * r, 0.1))
    neighbours = f"neighbouring residuals correlate by {r:.2f}, those two steps apart by {second:.2f}"
    small = f"The diffusion is too small, by about {size:.0%}"
    soon = ", or positions of a body whose velocity is soon forgotten" if lags.memory == "either" else ""
    return [
        Check(
            "longer steps",
            float(lags.ratios[-1, k]),
            lags.log_p,
            wrong,
            f"The diffusion is the same at longer steps: {lags.told}.",
            f"The diffusion depends on the step: {lags.told}, so what is shown is too {off}, by about {size:.0%}.",
            specific=False,
            budget=BUDGET,
            within=lags.within,
        ),
        Check(
            "measurement noise",
            float(r),
            lags.log_p,
            wrong and not longer,
            f"No sign of measurement noise: {neighbours}.",
            f"Measurement noise: {neighbours}, as if each reading had an error of {share:.1f} standard deviations of a "
            f"true increment. The diffusion is too large, by about {size:.0%}, and the drift too steep: learn it, with "
            "measurement='learn' or --measurement learn.",
            specific=True,
            budget=None,
        ),
        Check(
            "blur",
            float(r),
            lags.log_p,
            wrong and longer and lags.memory != "velocity",
            f"No sign of blur: {neighbours}.",
            f"Blur: {neighbours}, as of readings that are means over the time between them{soon}. {small}: say so, "
            "with exposure=1 or --exposure 1 (of a part of the step, its share, or 'learn').",
            specific=True,
            budget=None,
        ),
        Check(
            "hidden velocity",
            float(lags.ratios[-1, k] - 1.0),
            lags.log_p,
            wrong and longer and lags.memory == "velocity",
            f"No sign of a hidden velocity or a slow input: {neighbours}.",
            f"A hidden velocity, or an input that changes slowly: {neighbours}. The state is more than what was "
            f"observed. {small}, and the drift is not that of the state alone. Of positions, learn the velocity, with "
            "order=2 or --order 2; an input that is known goes to inputs= or --input.",
            specific=True,
            budget=None,
        ),
    ]
