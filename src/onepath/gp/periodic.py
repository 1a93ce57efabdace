"""Kernels of functions of angles: those of the default prior with each angle as a point on its circle.

`turn` is 2π over the period of a coordinate, and 0 for one that is no angle. A circle in the plane is a Euclidean space
like any other, so these are covariances as much as their kin on the line are.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from tinygp.kernels import Kernel

from onepath.gp.kernels import Matern, for_all
from onepath.gp.parameters import AMPLITUDE, LENGTH, STRUCTURE, parameter
from onepath.numerics.linalg import constant


def chords(X1: Array, X2: Array, turn: Array | np.ndarray) -> Array:
    """X1 - X2, and for angles the straight way between two points of the circle."""
    apart, angle = X1 - X2, turn > 0.0
    some = jnp.where(angle, turn, 1.0)
    return jnp.where(angle, 2.0 * jnp.sin(0.5 * some * apart) / some, apart)


def likeness(X1: Array, X2: Array, turn: Array | np.ndarray) -> Array:
    """X1·X2, where an angle is a unit vector."""
    return jnp.sum(jnp.where(turn > 0.0, jnp.cos(turn * (X1 - X2)), X1 * X2))


class PeriodicMatern(Kernel):
    """The Matérn kernel of distances across the circle."""

    amplitude: Float[Array | np.ndarray, ""] = parameter(AMPLITUDE)
    scale: Float[Array | np.ndarray, " d"] = parameter(LENGTH)
    turn: Float[Array | np.ndarray, " d"] = parameter(STRUCTURE)
    spreads: tuple[float, ...] = eqx.field(static=True, default=(1.5, 1.0))

    def evaluate(self, X1: Array, X2: Array) -> Array:
        turn = for_all(self.turn, X1, 0.0)
        return Matern(self.amplitude, self.scale).evaluate(chords(X1, X2, turn), jnp.zeros_like(X1))


class Harmonics(Kernel):
    """amplitude² (1 + x·x'), or of order 3 amplitude² (1 + x·x' / 4)³: a constant and waves in place of polynomials.

    Along coordinates that are no angles polynomials stay what they are, up to the edges of the data.
    """

    amplitude: Float[Array | np.ndarray, ""] = parameter(AMPLITUDE)
    turn: Float[Array | np.ndarray, " d"] = parameter(STRUCTURE)
    lower: Float[Array | np.ndarray, " d"] = parameter(STRUCTURE)
    upper: Float[Array | np.ndarray, " d"] = parameter(STRUCTURE)
    order: int = eqx.field(static=True, default=1)
    spreads: tuple[float, ...] = eqx.field(static=True, default=(1.0,))

    @property
    def held(self) -> bool:
        """Whether it stays what it is at the edges of the data."""
        return self.order > 1

    def evaluate(self, X1: Array, X2: Array) -> Array:
        turn = for_all(self.turn, X1, 0.0)
        if self.held:
            lower, upper = for_all(self.lower, X1, -jnp.inf), for_all(self.upper, X1, jnp.inf)
            X1, X2 = (jnp.where(turn > 0.0, X, jnp.clip(X, lower, upper)) for X in (X1, X2))
        share = 1.0 if self.order == 1 else 0.25  # as in the kernels of lines and cubics
        return jnp.square(self.amplitude) * (1.0 + share * likeness(X1, X2, turn)) ** self.order


Edges = tuple[Float[Array | np.ndarray, " d"], Float[Array | np.ndarray, " d"]]


def periodic_drift_kernel(turn: Float[Array | np.ndarray, " d"], edges: Edges) -> Kernel:
    """As the default prior on the line, with waves in place of a line and a cubic."""
    smooth = PeriodicMatern(constant(0.5), constant(np.full(len(turn), 1.5)), turn)
    first, third = Harmonics(constant(0.7), turn, *edges), Harmonics(constant(0.2), turn, *edges, 3, (1.5,))
    return first + third + smooth


def periodic_diffusion_kernel(turn: Float[Array | np.ndarray, " d"], edges: Edges) -> Kernel:
    """First waves and a smooth rest."""
    smooth = PeriodicMatern(constant(0.15), constant(np.full(len(turn), 1.5)), turn, (1.5, 0.7))
    return Harmonics(constant(0.15), turn, *edges, 1, (1.5,)) + smooth


def check_periodic(kernel: Kernel, role: str, period: np.ndarray) -> None:
    """Refuse a kernel of the user's that is not the same one turn later."""
    start = jnp.asarray(np.where(period > 0.0, 0.3 * period, 0.5))
    here = float(kernel.evaluate(start, start))
    for k in np.flatnonzero(period):
        there = float(kernel.evaluate(start, start + jnp.asarray(np.eye(len(period))[k] * period[k])))
        if abs(there - here) > 1e-6 * abs(here):
            raise ValueError(
                f"The kernel given as {role} is not periodic, and a state one turn later is the same state: leave it "
                "out for the default prior, or give tinygp.kernels.ExpSineSquared with the period as its scale."
            )
