"""Does the law change with time? Drift or noise that differ between early and late, and seasons."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from onepath.after.diagnose.check import Check, smallest
from onepath.after.diagnose.residuals import Residuals, normal_tail
from onepath.after.diagnose.scan import Change, drift_change, noise_change
from onepath.data.stretches import LENGTH
from onepath.numerics import chances
from onepath.numerics.arrays import Floats, Integers

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

CLEAR = float(np.log(1e-3))
"""ln p of a season that is left out before memory is looked for."""


When = Callable[[Residuals, int], float | str]
"""What a row of the data is called: its date or its time."""


def in_per_cent(residuals: Residuals, row: int) -> str:
    """Where in the record a row is."""
    return f"{np.mean(residuals.row < row):.0%} of the record"


def ask_drift_change(residuals: Residuals, when: When = in_per_cent) -> Check:
    """Residuals regressed on cubics of the state and those × early/late: χ² of the latter, the best of three splits."""
    n = len(residuals.z)
    u = np.clip(residuals.u, -FAR, FAR)
    design = np.column_stack([np.ones(n), u, u**2, u**3])
    z, variance = residuals.weighted(residuals.z), residuals.mean(np.square(residuals.z - residuals.mean(residuals.z)))
    logs, shares, without = [], [], _explained(residuals.weighted(design), z)
    for split in SPLITS:
        late = _late(residuals, split)
        full = np.column_stack([design, design * late[:, None]])
        gain = _explained(residuals.weighted(full), z) - without
        logs.append(chances.chi_squared(gain / variance, design.shape[1]))
        shares.append(gain / variance / residuals.total)
    k = int(np.argmin(np.min(logs, axis=1)))
    share = float(np.max(shares[k]))
    return Check(
        "drift over time",
        share,
        smallest(logs),
        share > DRIFT_SHARE,
        "The drift is the same early and late.",
        f"The drift changes with time, {_cured(drift_change(residuals), residuals, when)} What differs explains "
        f"{share:.1%} of the residuals' variance.",
        specific=True,
    )


def ask_noise_change(residuals: Residuals, when: When = in_per_cent) -> Check:
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
        f"The noise changes with time, {_cured(noise_change(residuals), residuals, when)} If its level goes up and "
        f"down: volatility='learn' or --volatility. After {SPLITS[k]:.0%} of the record its variance is "
        f"{np.exp(worst):.2f} times that before.",
        specific=True,
    )


def _cured(change: Change, residuals: Residuals, when: When) -> str:
    """When it changes, and what to ask for then."""
    best, first, last = (when(residuals, row) for row in change)
    around = f" (90 %: {first} to {last})" if first != last else ""
    typed = f"since={best!r} or --since {best}" if when is not in_per_cent else "since="
    slowly = "or, if it changes slowly, trend=True or --trend"
    return f"about {best}{around}. Learn from what came after, with {typed}; {slowly}."


class Line(NamedTuple):
    """The sharpest line in the spectrum of residuals."""

    log_p: float
    period: float  # in steps
    share: float  # of the residuals' variance
    phased: bool = True  # whether its phase is known all along the record, and not in each stretch alone


def ask_season(residuals: Residuals, lines: list[Line], times: str) -> Check:
    """A line in the spectrum of residuals, or of their squares, against the spectrum around it: sharp, as hidden motion
    is not.

    `times` is what time is counted in.
    """
    sizes, best, sample = size_lines_of(residuals), _clearest(lines), residuals.sample
    of_noise = bool(sizes) and _clearest(sizes).log_p < best.log_p
    best, lines = _clearest(sizes) if of_noise else best, [*lines, *sizes]
    step = float(np.sum(residuals.transitions.dt)) / len(residuals.z) if sample is None else sample.step
    length = step * best.period
    short = "" if sample is None or sample.whole else f" Periods of up to {LENGTH // LEAST_CYCLES} steps count."
    return Check(
        "season",
        length,
        smallest([line.log_p for line in lines]) if len(residuals.z) >= 8 * LEAST_CYCLES else None,
        best.share > DRIFT_SHARE,
        f"No season: the sharpest line in the residuals' spectrum has {best.share:.2%} of their variance.{short}",
        f"A season: {'squares of ' * of_noise}residuals repeat with a period of {length:.4g} {times}, which is "
        f"{best.share:.1%} of their variance. Learn it, with season='auto' or --season auto.",
        specific=True,
    )


def lines_of(residuals: Residuals) -> list[Line]:
    """The sharpest line of each dimension: of a sample in its stretches, and of all of the record in its blocks."""
    columns, sample = residuals.weighted(residuals.z).T, residuals.sample
    if sample is None:
        return [_line(column[None]) for column in columns]
    short = [_line(column.reshape(-1, LENGTH)) for column in columns]
    if sample.whole is None:
        return short
    long, block = [_line(column[None]) for column in sample.whole.series.T], sample.whole.block
    # a block's mean has its share of a slow wave, and a block-th of the noise
    return short + [line._replace(period=line.period * block, share=line.share / block) for line in long]


def size_lines_of(residuals: Residuals) -> list[Line]:
    """Of squares: seasons of the noise. None of a long record, of which stretches are looked at."""
    if residuals.sample is not None:
        return []
    squares = np.square(residuals.z)
    return lines_of(residuals._replace(z=squares - residuals.mean(squares)))


def _moments(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Weighted mean, and its variance."""
    total = weight.sum()
    mean = weight @ values / total
    return mean, weight @ np.square(values - mean) / total**2


def _late(residuals: Residuals, split: float) -> Floats:
    """0 to 1 where the record is split, less its mean."""
    return np.where(residuals.elapsed >= split, split, split - 1.0)


def _line(z: Floats) -> Line:
    """The sharpest line in the mean spectrum of stretches (k, n).

    The spectrum around is the larger of the means on both sides: on a slope, as memory makes one, nothing stands out.
    """
    stretches, n = z.shape
    centred = z - z.mean(axis=1, keepdims=True)
    power = np.square(np.abs(np.fft.rfft(centred, FINER * n))).sum(axis=0)
    bins = np.arange(FINER * LEAST_CYCLES, len(power) - FINER)
    if len(bins) < SIDE:
        return Line(0.0, float(n), 0.0)
    cumulative = np.concatenate([[0.0], np.cumsum(power)])
    around = np.zeros(len(bins))
    for shift in (-MARGIN - SIDE, MARGIN + 1):
        first, last = (np.clip(bins + FINER * (shift + end), 1, len(power)) for end in (0, SIDE))
        enough = last - first >= FINER * LEAST_CYCLES / 2
        mean = (cumulative[last] - cumulative[first]) / np.maximum(last - first, 1)
        around = np.maximum(around, np.where(enough, mean, 0.0))
    k = int(np.argmax(power[bins] / around))
    ratio = power[bins[k]] / around[k]
    # k bins over the mean of SIDE k others are F(2k, 2k SIDE)
    log_p, height = -SIDE * np.log1p(ratio / SIDE), power[bins[k]]
    if stretches > 1:  # where noise adds up too
        log_p, height = chances.f_ratio(ratio, 2 * stretches, 2 * stretches * SIDE), height - around[k]
    # a wave of amplitude A over n residuals has the power (A n / 2)², and A² / 2 of the variance
    share = 2.0 * height / n / np.sum(np.square(centred))
    return Line(float(min(0.0, log_p + np.log(len(bins)))), float(FINER * n / bins[k]), float(share), stretches == 1)


def without_seasons_and_changes(residuals: Residuals, season: Line | None) -> Floats:
    """Residuals less what state, early/late and the season explain, so that none of it is taken for memory."""
    z, sample = residuals.z, residuals.sample
    columns = [np.ones_like(z[:, 0])]
    for split in SPLITS:
        late = _late(residuals, split)
        columns += [late, *(late[:, None] * residuals.u).T]
    if season is not None and season.phased:
        columns += _waves(season, np.arange(len(z)) if sample is None else sample.rows)
    design = np.column_stack(columns)
    rest = z - design @ np.linalg.lstsq(residuals.weighted(design), residuals.weighted(z), rcond=None)[0]
    if season is None or season.phased or sample is None:
        return rest
    waves = np.column_stack(_waves(season, np.arange(LENGTH)))
    each = np.moveaxis(rest.reshape(-1, LENGTH, z.shape[1]), 1, 0).reshape(LENGTH, -1)
    left = (each - waves @ np.linalg.lstsq(waves, each, rcond=None)[0]).reshape(LENGTH, -1, z.shape[1])
    return np.moveaxis(left, 0, 1).reshape(z.shape)


def _waves(season: Line, row: Integers) -> list[Floats]:
    """The season and its first overtone at these steps."""
    phase = 2 * np.pi * (row + 0.5) / season.period
    return [wave(k * phase) for k in (1, 2) for wave in (np.cos, np.sin)]


def clear_season(lines: list[Line]) -> Line | None:
    """A season that residuals clearly have, or None."""
    best = _clearest(lines)
    return best if best.log_p < CLEAR else None


def _clearest(lines: list[Line]) -> Line:
    """The most certain one; one that is seen along all of the record tells its period best."""
    return min(lines, key=lambda line: (not (line.phased and line.log_p < CLEAR), line.log_p))


def _explained(design: Floats, z: Floats) -> Floats:
    fitted = design @ np.linalg.lstsq(design, z, rcond=None)[0]
    return np.asarray(np.sum(np.square(fitted), axis=0))
