"""Does the law change with time? Drift or noise that differ between early and late, and seasons."""

import numpy as np
from scipy import stats

from onepath.after.diagnose.check import Check, smallest
from onepath.after.diagnose.residuals import Residuals, normal_tail
from onepath.numerics.arrays import Floats

SPLITS = (0.25, 0.5, 0.75)
"""Where in the record a change is looked for."""

FAR = 2.5
"""Standard deviations from the mean beyond which states count as this far only."""

DRIFT_SHARE, NOISE_CHANGE = 2e-3, 0.1
"""Share of the residuals' variance, of a change or of a season, and difference of their variance, that are too small to
matter."""

LEAST_CYCLES, SIDE, MARGIN, FINER = 8, 40, 2, 2
"""A season needs so many cycles; its line in the spectrum, evaluated at frequencies finer than 1 cycle over the record
by a factor, is compared with so many cycles on either side, past a margin."""


def ask_drift_change(residuals: Residuals) -> Check:
    """Residuals regressed on cubics of the state and those × early/late: χ² of the latter, the best of three splits."""
    n = len(residuals.z)
    u = np.clip(residuals.u, -FAR, FAR)
    design = np.column_stack([np.ones(n), u, u**2, u**3])
    z, variance = residuals.weighted(residuals.z), residuals.mean(np.square(residuals.z - residuals.mean(residuals.z)))
    logs, shares = [], []
    for split in SPLITS:
        late = _late(residuals, split)
        full = np.column_stack([design, design * late[:, None]])
        gain = _explained(residuals.weighted(full), z) - _explained(residuals.weighted(design), z)
        logs.append(stats.chi2.logsf(gain / variance, design.shape[1]))
        shares.append(gain / variance / residuals.total)
    k = int(np.argmin(np.min(logs, axis=1)))
    share = float(np.max(shares[k]))
    return Check(
        "drift over time",
        share,
        smallest(logs),
        share > DRIFT_SHARE,
        "The drift is the same early and late.",
        f"The drift changes with time: before and after {SPLITS[k]:.0%} of the record it differs, which explains "
        f"{share:.1%} of the residuals' variance. Fit the parts on their own.",
        specific=True,
    )


def ask_noise_change(residuals: Residuals) -> Check:
    """Variance of residuals early and late, the best of three splits."""
    squares = np.square(residuals.z)
    logs, ratios = [], []
    for split in SPLITS:
        late = residuals.elapsed >= split
        means, variances = zip(
            *(_moments(squares[part], residuals.weight[part]) for part in (~late, late)), strict=True
        )
        logs.append(normal_tail((means[1] - means[0]) / np.sqrt(sum(variances))))
        ratios.append(np.log(means[1] / means[0]))
    k = int(np.argmin(np.min(logs, axis=1)))
    worst = float(ratios[k][np.argmax(np.abs(ratios[k]))])
    return Check(
        "noise over time",
        worst,
        smallest(logs),
        abs(worst) > NOISE_CHANGE,
        "The noise is the same early and late.",
        f"The noise changes with time: after {SPLITS[k]:.0%} of the record its variance is {np.exp(worst):.2f} times "
        "that before. Fit the parts on their own.",
        specific=True,
    )


def ask_season(residuals: Residuals, times: str) -> Check:
    """A line in the spectrum of residuals, against the spectrum around it: sharp, as hidden motion is not.

    `times` is what time is counted in.
    """
    n = len(residuals.z)
    logs, bins, shares = zip(*[_line(column) for column in residuals.weighted(residuals.z).T], strict=True)
    best = int(np.argmin(logs))
    length = float(np.sum(residuals.transitions.dt)) / max(bins[best], 1.0)
    return Check(
        "season",
        length,
        smallest(logs) if n >= 8 * LEAST_CYCLES else None,
        shares[best] > DRIFT_SHARE,
        f"No season: the sharpest line in the residuals' spectrum has {shares[best]:.2%} of their variance.",
        f"A season: residuals repeat with a period of {length:.4g} {times}, which is {shares[best]:.1%} of their "
        "variance. Subtract the mean cycle, or add its phase as a dimension.",
        specific=True,
    )


def _moments(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Weighted mean, and its variance."""
    total = weight.sum()
    mean = weight @ values / total
    return mean, weight @ np.square(values - mean) / total**2


def _late(residuals: Residuals, split: float) -> Floats:
    """0 to 1 where the record is split, less its mean."""
    return np.where(residuals.elapsed >= split, split, split - 1.0)


def _line(z: Floats) -> tuple[float, float, float]:
    """Logarithm of the p-value of the sharpest line, its cycles over the record, and its share of the variance.

    The spectrum around is the larger of the means on both sides: on a slope, as memory makes one, nothing stands out.
    """
    power = np.square(np.abs(np.fft.rfft(z - z.mean(), FINER * len(z))))
    bins = np.arange(FINER * LEAST_CYCLES, len(power) - FINER)
    if len(bins) < SIDE:
        return 0.0, 0.0, 0.0
    cumulative = np.concatenate([[0.0], np.cumsum(power)])
    around = np.zeros(len(bins))
    for shift in (-MARGIN - SIDE, MARGIN + 1):
        first, last = (np.clip(bins + FINER * (shift + end), 1, len(power)) for end in (0, SIDE))
        enough = last - first >= FINER * LEAST_CYCLES / 2
        mean = (cumulative[last] - cumulative[first]) / np.maximum(last - first, 1)
        around = np.maximum(around, np.where(enough, mean, 0.0))
    # one bin over the mean of SIDE others is F(2, 2 SIDE)
    logs = -SIDE * np.log1p(power[bins] / around / SIDE)
    k = int(np.argmin(logs))
    # a wave of amplitude A over n residuals has the power (A n / 2)², and A² / 2 of the variance
    share = 2.0 * power[bins[k]] / len(z) / np.sum(np.square(z - z.mean()))
    return float(min(0.0, logs[k] + np.log(len(bins)))), float(bins[k] / FINER), float(share)


def without_seasons_and_changes(residuals: Residuals, cycles: float | None) -> Floats:
    """Residuals less what state, early/late and the season explain, so that none of it is taken for memory."""
    z, n = residuals.z, len(residuals.z)
    columns = [np.ones_like(z[:, 0])]
    for split in SPLITS:
        late = _late(residuals, split)
        columns += [late, *(late[:, None] * residuals.u).T]
    if cycles:
        phase = 2 * np.pi * cycles * (np.arange(n) + 0.5) / n
        columns += [wave(k * phase) for k in (1, 2) for wave in (np.cos, np.sin)]
    design = np.column_stack(columns)
    return z - design @ np.linalg.lstsq(residuals.weighted(design), residuals.weighted(z), rcond=None)[0]


def cycles_of(residuals: Residuals) -> float | None:
    """Cycles of a clear season over the record, or None."""
    log_p, cycles, _ = min(_line(column) for column in residuals.weighted(residuals.z).T)
    return cycles if log_p < np.log(1e-3) else None


def _explained(design: Floats, z: Floats) -> Floats:
    fitted = design @ np.linalg.lstsq(design, z, rcond=None)[0]
    return np.asarray(np.sum(np.square(fitted), axis=0))
