"""The path that was hidden: filtered and smoothed states, and how well readings are foretold."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from onepath.data.trajectory import Trajectory
from onepath.inference.hidden.filter import smoothed
from onepath.inference.hidden.first import first_path
from onepath.inference.hidden.learning import Path, followed
from onepath.inference.hidden.reading import Observed, readings_of
from onepath.model import Model, asked_once
from onepath.numerics.arrays import Floats, Integers
from onepath.numerics.checks import check_probability
from onepath.numerics.linalg import lower_roots
from onepath.numerics.notebook import InNotebooks
from onepath.numerics.precision import in_double

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class States(InNotebooks):
    """States at every row: given the readings up to it (`filtered`), and given all of them (`smoothed`).

    With the standard deviation that is left of each coordinate.
    """

    t: Floats  #: (n,), times of the rows
    record: np.ndarray  #: (n,), which of the trajectories a row belongs to
    filtered: Floats  #: (n, D), means given the readings up to the row
    filtered_deviation: Floats  #: (n, D), standard deviations of what is left uncertain by those
    smoothed: Floats  #: (n, D), means given all readings
    smoothed_deviation: Floats  #: (n, D), standard deviations of what is left uncertain by all
    names: tuple[str, ...]  #: one for each coordinate of the state
    dates: np.ndarray | None = None  #: (n,), dates of the rows, where the data have dates

    def band(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """Ends (n, D) of the interval that holds each coordinate with this probability, given all readings."""
        from scipy.special import ndtri

        check_probability("level", level)
        reach = ndtri(0.5 + level / 2) * self.smoothed_deviation
        return self.smoothed - reach, self.smoothed + reach

    def frame(self, level: float = 0.9) -> "pd.DataFrame":
        """A row for each row of the data, by date, or time where there are no dates.

        For each coordinate `x` its smoothed value, `x_lower` and `x_upper`, the ends of its band, and `x_filtered`.
        """
        import pandas as pd

        lower, upper = self.band(level)
        parts = (("", self.smoothed), ("_lower", lower), ("_upper", upper), ("_filtered", self.filtered))
        columns = {f"{name}{end}": part[:, k] for k, name in enumerate(self.names) for end, part in parts}
        index = pd.Index(self.t, name="t") if self.dates is None else pd.DatetimeIndex(self.dates, name="date")
        several = {"record": self.record} if self.record.max() > 0 else {}
        return pd.DataFrame(several | columns, index)


class Noise(NamedTuple):
    """Standard deviations of readings (d,), and the ends of their 90 % bands."""

    deviation: Floats  #: (d,), standard deviations
    lower: Floats  #: (d,), where their 90 % bands begin
    upper: Floats  #: (d,), and end


@in_double
def followed_by(model: Model, trajectory: Trajectory) -> Path:
    """The filter along readings, under what a model has learned."""
    observed = observed_of(model)
    readings = readings_of(trajectory, replace(observed.reading, exposure=observed.exposure))
    return followed(readings, model, first_path(readings), observed.scales)


def observed_of(model: Model) -> Observed:
    if model.observed is None:
        raise ValueError(
            "This model takes readings for the state itself, so no state is hidden: fit with measurement='learn', or "
            "order=2 for the velocity"
        )
    return model.observed


@asked_once
@in_double
def states(model: Model) -> States:
    """States at every row of the data."""
    trajectory, path = model.trajectory, followed_by(model, model.trajectory)
    found, size = path.found, model.dimension
    mean, covariance = smoothed(found, path.rows)
    deviations = [
        np.sqrt(np.maximum(np.diagonal(part, axis1=1, axis2=2)[:, :size], 0.0))
        for part in (found.covariance, covariance)
    ]
    dates = trajectory.dates(trajectory.t)
    filtered = found.state[:, :size], deviations[0]
    return States(trajectory.t, trajectory.record, *filtered, mean[:, :size], deviations[1], model.names, dates)


@in_double
def last_state(model: Model) -> tuple[Floats, Floats]:
    """Mean (D,) and covariance (D, D) of the state at the last row that was read, given all readings."""
    last = int(np.flatnonzero(~np.isnan(model.trajectory.x).all(axis=1))[-1])
    found, size = followed_by(model, model.trajectory).found, model.dimension
    return found.state[last, :size], found.covariance[last, :size, :size]


def noise_of(model: Model) -> Noise:
    """Of usual readings; where they came with errors of their own and noise is learned, the factors of these."""
    observed = observed_of(model)
    given = np.sqrt(np.diagonal(reading_covariance(model)))
    parts = (observed.noise, observed.low, observed.high)
    return Noise(*(np.where(observed.learned, part, given) for part in parts))


def reading_covariance(model: Model) -> Floats:
    """R (d, d) of a usual reading: where errors differ from row to row, their mean square's."""
    observed = observed_of(model)
    readings = readings_of(model.trajectory, observed.reading)
    variance = np.exp(observed.scales[1:]) * readings.units.mean(axis=0)
    return readings.given.mean(axis=0) + np.diag(variance)


def score_readings(model: Model, trajectory: Trajectory) -> float:
    """Mean log predictive density of a row of readings that a step leads to, given those before it."""
    return float(np.mean(reading_densities(model, trajectory)[1]))


@in_double
def reading_densities(model: Model, trajectory: Trajectory) -> tuple[Integers, Floats]:
    """Rows (m,) that a step leads to and where something was read, and the log density of each given those before."""
    path = followed_by(model, trajectory)
    rows, found = path.rows, path.found
    lower = lower_roots(found.variance)
    white = np.linalg.solve(lower, found.innovation[:, :, None])[:, :, 0]
    volume = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    densities = -0.5 * np.square(white).sum(axis=1) - volume - 0.5 * np.log(2 * np.pi) * rows.read.sum(axis=1)
    scored = np.flatnonzero((rows.begins == 0) & rows.read.any(axis=1))
    return scored, densities[scored]
