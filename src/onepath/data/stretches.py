"""What is looked at of a long record: stretches of consecutive steps, spread evenly."""

import numpy as np

from onepath.numerics.arrays import Integers

MOST, STRETCHES = 1 << 17, 32
"""Steps that are looked at, and in how many stretches: enough to be certain of all that is large enough to matter."""

LENGTH = MOST // STRETCHES
"""Of a stretch, in steps."""


def rows_looked_at(count: int) -> Integers | None:
    """Which of so many steps are looked at; None is all of them."""
    if count <= MOST:
        return None
    begins = np.linspace(0, count - LENGTH, STRETCHES).astype(np.int64)
    return np.ravel(begins[:, None] + np.arange(LENGTH))
