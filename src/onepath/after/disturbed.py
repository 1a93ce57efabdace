"""What was learned of jumps, tails and volatility: numbers with bands, and what is known of each step."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from onepath.inference.disturbance.disturbance import NINETY, Banded
from onepath.inference.disturbance.jumps import Jumps
from onepath.inference.disturbance.tails import Tails
from onepath.inference.disturbance.volatility import Volatility
from onepath.model import Model, asked_once
from onepath.numerics.arrays import Floats, Integers
from onepath.numerics.precision import in_double

if TYPE_CHECKING:
    import pandas as pd

CERTAIN = 0.5
"""How probable a jump must be for its step to be told."""


class FoundJumps(NamedTuple):
    """How often there are jumps, how large they are, and which steps jumped. Bands are of 90 %.

    `mean` and `size`, the root mean square, are of jumps along each dimension; both are empty if none were found. They
    are in the data's units or, with `relative`, in standard deviations of the noise of a step where they happen.
    """

    rate: Banded  #: per unit of time
    mean: tuple[Banded, ...]  #: (d,), of jumps along each coordinate; empty if none were found
    size: tuple[Banded, ...]  #: (d,), their root mean squares; empty if none were found
    probability: Floats  #: (n,), that a transition jumped
    steps: Integers  #: (k,), which transitions probably did
    t: Floats  #: (n,), when each transition begins
    dates: np.ndarray | None = None  #: (n,), on which date each begins, where the data have dates
    relative: bool = False  #: whether sizes are in standard deviations of the noise of a step

    def frame(self) -> "pd.DataFrame":
        """How probable it is that each transition jumped, by date or time of its beginning."""
        import pandas as pd

        return pd.DataFrame({"probability": self.probability}, _index(self.t, self.dates))


@asked_once
@in_double
def jumps_of(model: Model) -> FoundJumps | None:
    """None where jumps were not asked for."""
    law = model.disturbance
    if not isinstance(law, Jumps):
        return None
    probability = law.probability(model.steps)
    mean, size = (
        tuple(law.bands[f"{what} {i}"] for i in range(model.dimension) if law.found) for what in ("mean", "size")
    )
    t = model.trajectory.t[model.trajectory.step]
    steps = np.flatnonzero(probability > CERTAIN)
    rate, dates = law.bands.get("rate", Banded(0.0, 0.0, np.inf)), model.trajectory.dates(t)
    return FoundJumps(rate, mean, size, probability, steps, t, dates, law.step is not None)


class FoundVolatility(NamedTuple):
    """How the level of the noise changes with time: ln σ(x) + ℓ(t), with bands of 90 %; all zero if none was found."""

    spread: Banded  #: standard deviation of ℓ
    memory: Banded  #: τ, after which ℓ has forgotten all but 1/e
    level: Floats  #: (n,), e^ℓ in each transition, by which its noise is larger than usual
    lower: Floats  #: (n,), where its band begins
    upper: Floats  #: (n,), where its band ends
    t: Floats  #: (n,), when each transition begins
    dates: np.ndarray | None = None  #: (n,), on which date each begins, where the data have dates

    def frame(self) -> "pd.DataFrame":
        """The level and the ends of its band, by date or time."""
        import pandas as pd

        columns = {"level": self.level, "level_lower": self.lower, "level_upper": self.upper}
        return pd.DataFrame(columns, _index(self.t, self.dates))


def _index(t: Floats, dates: np.ndarray | None) -> "pd.Index":
    import pandas as pd

    return pd.Index(t, name="t") if dates is None else pd.DatetimeIndex(dates, name="date")


@asked_once
@in_double
def volatility_of(model: Model) -> FoundVolatility | None:
    """None where it was not asked for."""
    law = model.disturbance
    if not isinstance(law, Volatility):
        return None
    mean, deviation, _ = law.path(model.steps)
    lower, upper = (np.exp(mean + sign * NINETY * deviation) for sign in (-1, 1))
    t = model.trajectory.t[model.trajectory.step]
    none = Banded(0.0, 0.0, 0.0)
    spread, memory = (law.bands.get(name, none) for name in ("spread", "memory"))
    return FoundVolatility(spread, memory, np.exp(mean), lower, upper, t, model.trajectory.dates(t))


def tails_of(model: Model) -> Banded | None:
    """Degrees of freedom of Student's law, infinite of a normal one; None where tails were not asked for."""
    law = model.disturbance
    if not isinstance(law, Tails):
        return None
    return law.bands.get("freedom", Banded(law.freedom, law.freedom, law.freedom))


def disturbance_facts(model: Model) -> dict[str, Any]:
    """All of it for machines: numbers, arrays and None."""
    jumps, tails, volatility = jumps_of(model), tails_of(model), volatility_of(model)
    return {
        "jumps": None
        if jumps is None
        else {
            "rate": jumps.rate._asdict(),
            "mean": [each._asdict() for each in jumps.mean],
            "size": [each._asdict() for each in jumps.size],
            "relative": jumps.relative,
            "steps": jumps.steps,
            "times": jumps.t[jumps.steps],
            "probability": jumps.probability[jumps.steps],
        },
        "volatility": None
        if volatility is None
        else {
            "spread": volatility.spread._asdict(),
            "memory": volatility.memory._asdict(),
            "level": volatility.level,
            "band_90": (volatility.lower, volatility.upper),
        },
        "tails": None if tails is None else tails._asdict(),
    }
