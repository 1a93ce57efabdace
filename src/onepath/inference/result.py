"""What came of a fit, in the engine's own terms."""

from typing import NamedTuple

from onepath.data.transitions import Transitions, Units
from onepath.inference.adequacy import Stiffness
from onepath.inference.disturbance.disturbance import Disturbance
from onepath.inference.hidden.reading import Observed
from onepath.inference.learning.learned import LearnedTheta
from onepath.inference.posterior.increments import increments
from onepath.inference.posterior.mixture import Completed
from onepath.numerics.arrays import Floats
from onepath.numerics.precision import in_double


class Fit(NamedTuple):
    """What came of a fit: the data it was made of, the posterior, how it was found, and what its steps are like."""

    transitions: Transitions  #: that it was made of
    units: Units  #: in which it is standardised
    completed: Completed  #: the posterior, and how completion went
    learned: LearnedTheta | None  #: how kernels were found; None as given
    stiffness: Stiffness | None  #: how coarse steps are
    observed: Observed | None = None  #: how readings come from states, where they are not the states themselves
    disturbance: Disturbance | None = None  #: what increments are beside N(m, V), where that was asked

    @in_double
    def increments(self, x: Floats, dt: Floats | float) -> tuple[Floats, Floats]:
        """Means (n, d) and covariances (n, d, d) of increments from x (n, d) over dt, in the data's units."""
        return increments(self.completed.posterior, self.units, x, dt)
