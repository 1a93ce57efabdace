"""Readings of a state: which coordinates were read, with which noise, and where the state begins anew."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from onepath.data.inputs import Variables, coded
from onepath.data.trajectory import Trajectory
from onepath.numerics.arrays import Flags, Floats

Given = float | tuple[float, ...] | tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Reading:
    """How readings come from states: z = H s + e, e ~ N(0, R).

    `measurement` is what is known of R: nothing ("learn"), a standard deviation, one for each channel, or a covariance;
    None is no noise but that which single readings come with.
    """

    measurement: str | Given | None = None
    order: int = 1
    exposure: float | str | None = None

    @property
    def learns_noise(self) -> bool:
        return self.measurement == "learn"

    @property
    def is_exact(self) -> bool:
        """Whether readings are the state itself, unless they come with errors."""
        return self.measurement is None and self.order == 1 and self.exposure is None

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Of the state's coordinates, from those of the readings."""
        return names if self.order == 1 else (*names, *(f"{name}_velocity" for name in names))


def reading_of(measurement: Any, order: Any, exposure: Any) -> Reading:
    """What a user said of readings, refused where it means nothing."""
    if order not in (1, 2):
        raise ValueError(f"order={order!r} cannot be used: 1 for readings of the state, 2 for those of positions")
    if not (exposure is None or exposure == "learn"):
        if isinstance(exposure, bool | str) or not 0 < float(exposure) <= 1:
            raise ValueError(
                f"exposure={exposure!r} cannot be used: give the share of a step, above 0 and at most 1, that a "
                "reading averages over, 'learn', or None for readings of a moment"
            )
        exposure = float(exposure)
    if measurement == "learn" and exposure == "learn":
        raise ValueError(
            "measurement='learn' and exposure='learn' are both asked for, but noise and blur change increments in the "
            "same way where the diffusion is constant: learn one of them and give the other"
        )
    return Reading(_given(measurement), int(order), exposure)


def _given(measurement: Any) -> str | Given | None:
    if measurement is None or (isinstance(measurement, str) and measurement == "learn"):
        return measurement
    try:
        known = np.asarray(measurement, float)
    except (TypeError, ValueError):
        known = np.full(1, np.nan)
    square = known.ndim == 2 and known.shape[0] == known.shape[1]
    sound = known.size > 0 and (known.ndim < 2 or square) and bool(np.all(np.isfinite(known)))
    if sound and square:
        sound = np.allclose(known, known.T) and bool(np.all(np.linalg.eigvalsh(known) >= 0))
    if not sound or (known.ndim < 2 and np.any(known < 0)):
        raise ValueError(
            f"measurement={measurement!r} cannot be used: give 'learn', a standard deviation, one for each dimension, "
            "or a covariance (d, d)"
        )
    if known.ndim == 2:
        return tuple(tuple(row) for row in known.tolist())
    return tuple(known.tolist()) if known.ndim else float(known)


class Observed(NamedTuple):
    """What was learned of how readings come from states."""

    reading: Reading
    noise: Floats  # (d,), standard deviations of readings where they were learned, factors of given errors; else 0
    low: Floats  # (d,), ends of their 90 % bands
    high: Floats
    learned: Flags  # (d,)
    likelihood: float  # of the innovations, its logarithm
    share: float  # of what as many exact readings would say of the diffusion's form
    exposure: float | None = None  # the share of a step that a reading averages over, given or learned

    @property
    def scales(self) -> Floats:
        """As the filter takes them: no factor on Q, and learned variances."""
        variances = np.where(self.learned, np.square(self.noise), 1.0)
        return np.concatenate([[0.0], np.log(np.maximum(variances, np.finfo(float).tiny))])


class Readings(NamedTuple):
    """Rows of a trajectory as a filter takes them."""

    z: Floats  # (n, d), 0 where missing
    read: Floats  # (n, d), 1 where there is a reading, 0 elsewhere
    begins: Floats  # (n,), 1 where no step leads to a row, 0 elsewhere
    dt: Floats  # (n,), of the step that leads to it
    given: Floats  # (n, d, d), the covariance of readings that is known
    units: Floats  # (n, d), what learned variances are multiplied with
    reading: Reading
    driven: Floats | None = None  # (n, k), columns of inputs of the step that leads to it
    variables: Variables = ()  # what the inputs are

    @property
    def learned(self) -> Flags:
        """Channels whose noise is learned (d,)."""
        return np.asarray(self.units.any(axis=0))

    @property
    def unit(self) -> Floats:
        """Mean of what a learned variance is multiplied with, (d,)."""
        return np.asarray(np.sum(self.units, axis=0) / np.maximum(np.sum(self.units > 0, axis=0), 1))

    @property
    def whole(self) -> Flags:
        """Rows of which every channel was read."""
        return np.asarray(self.read.all(axis=1))

    @property
    def total(self) -> int:
        """How many single readings there are."""
        return int(self.read.sum())


def readings_of(trajectory: Trajectory, reading: Reading) -> Readings:
    """The rows of a trajectory, with what is known of their noise."""
    x, (n, d) = trajectory.x, trajectory.x.shape
    read = (~np.isnan(x)).astype(float)
    begins, dt = np.ones(n), np.empty(n)
    begins[trajectory.step + 1] = 0.0
    dt[1:] = trajectory.t[1:] - trajectory.t[:-1]
    dt[begins > 0] = np.median(dt[trajectory.step + 1])
    given, error = np.zeros((n, d, d)), trajectory.error
    known = np.asarray(0.0 if reading.measurement in (None, "learn") else reading.measurement, float)
    if known.shape not in ((), (d,), (d, d)):
        raise ValueError(
            f"measurement has the shape {known.shape}, but readings have {d} dimensions: give one for each"
        )
    given += known if known.ndim == 2 else np.square(np.broadcast_to(known, d)) * np.eye(d)
    own = np.zeros((n, d)) if error is None else np.where(read > 0, np.square(np.nan_to_num(error)), 0.0)
    units = np.zeros((n, d))
    if reading.learns_noise:
        units = own if error is not None else np.ones((n, d))
    else:
        given += own[:, :, None] * np.eye(d)
    whole = Readings(np.where(read > 0, x, 0.0), read, begins, dt, given, units, reading)
    return whole if trajectory.inputs is None else whole._replace(**_driven(trajectory))


def _driven(trajectory: Trajectory) -> dict[str, Any]:
    """Inputs of the steps that lead to rows; where none does, those of the first step, which nothing comes of."""
    inputs, step = trajectory.inputs, trajectory.step
    assert inputs is not None
    columns = coded(inputs.variables, inputs.at_steps(step, trajectory.t))
    driven = np.tile(columns[:1], (len(trajectory.t), 1))
    driven[step + 1] = columns
    return {"driven": driven, "variables": inputs.variables}
