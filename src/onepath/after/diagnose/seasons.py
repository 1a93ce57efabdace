"""A season for the model to have: found where a fit without one leaves a sharp line in its residuals, or their size."""

import numpy as np

from onepath.after.diagnose import residuals_in
from onepath.after.diagnose.change import DRIFT_SHARE, LEAST_CYCLES, Line, lines_of, size_lines_of
from onepath.after.diagnose.check import smallest
from onepath.after.diagnose.residuals import Residuals
from onepath.data.clocks import Clock
from onepath.data.seasons import LEAST_STEPS, year_in
from onepath.data.time_units import in_other_unit
from onepath.model import Model
from onepath.numerics.arrays import Floats

CLEAR = float(np.log(0.01))
"""ln p from which a line is a season."""

FINE, HARMONICS = 64, 4
"""Frequencies that are tried within one of the spectrum; and parts of a calendar's cycle that stand for all of it."""

CYCLES = ("day", "week", "year")
"""Of the calendar, which seasons follow if they can."""

BY_CALENDAR, BY_STEPS = 0.25, 0.1
"""Cycles over the record by which a period may be off, and still be taken for one of the calendar, or for a whole
number of steps."""


def season_in(model: Model) -> float | None:
    """The period of a season, in the data's unit of time; None where the fit has left none."""
    residuals = residuals_in(model)
    z = residuals.z
    sizes = residuals._replace(z=np.square(z) - residuals.mean(np.square(z)))
    found = [(line, residuals) for line in lines_of(residuals)]
    found += [(line, sizes) for line in size_lines_of(residuals)]
    line, of = min(found, key=lambda pair: pair[0].log_p)
    unclear = smallest([each.log_p for each, _ in found]) > CLEAR or line.share < DRIFT_SHARE
    if unclear or len(z) < 8 * LEAST_CYCLES or line.period < LEAST_STEPS:
        return None
    step = float(np.mean(residuals.transitions.dt)) if of.sample is None else of.sample.step
    steps = _refined(line, of) if of.sample is None else line.period
    return _rounded(steps, len(model.transitions), step, model.trajectory.clock, model.trajectory.unit)


def _refined(line: Line, residuals: Residuals) -> float:
    """The period, in steps, at which the spectrum is highest hereabouts."""
    z, n = residuals.z - residuals.z.mean(axis=0), len(residuals.z)
    frequencies = 1.0 / line.period + np.linspace(-0.5, 0.5, FINE + 1) / n
    waves = np.exp(-2j * np.pi * np.outer(frequencies, np.arange(n)))
    power: Floats = np.max(np.square(np.abs(waves @ z)), axis=1)
    return float(1.0 / frequencies[np.argmax(power)])


def _rounded(steps: float, n: int, step: float, clock: Clock, unit: str | None) -> float:
    """The calendar's own cycle, or a whole number of steps, where n of them cannot tell this period from it.

    A cycle of the calendar may show as a part of it alone.
    """
    for name in CYCLES if clock.origin is not None else ():
        cycle = year_in(clock, str(unit)) if name == "year" else float(in_other_unit(1.0, name, str(unit)))
        parts = round(cycle / (step * steps))
        near = 1 <= parts <= HARMONICS and abs(1.0 / steps - parts * step / cycle) < BY_CALENDAR / n
        if near and (name == "year" or clock.business is None):
            return cycle
    whole = round(steps)
    return step * (whole if abs(1.0 / steps - 1.0 / whole) < BY_STEPS / n else steps)
