"""The search of many series at once: BFGS, in which each turn is one evaluation, and Newton's last steps.

A criterion is judged between `tried` and `moved`, or `settled_at` and `settled`: it takes long to compile, and all of a
search shares one program of it.
"""

from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from onepath.gp.parameters import AMPLITUDE, LEVEL, NOISE, Parameter
from onepath.inference.batch.evidence import Judged, negative_log, no_wider
from onepath.inference.completion.loop import CONVERGED, RUNNING
from onepath.inference.learning.constant import ABSENT
from onepath.inference.learning.prior import ParameterPrior
from onepath.numerics.arrays import Flags, Floats, Integers

WORTH, FLAT = 1e-8, 1e-4
"""The least relative gain of a step, and the largest slope, from which on a search goes on."""

FARTHEST = 2.0
"""That a logarithm moves in one step."""

SHORTEST = 1e-6
"""Share of a step below which none is tried."""

STEP = 1e-4
"""Of the differences of slopes."""

Tree = TypeVar("Tree")


class Descent(NamedTuple):
    """Where a search stands, which way it goes from there, and how it goes."""

    theta: Float[Array, " k"]
    judged: Judged
    inverse: Float[Array, "k k"]  # of the curvature, as far as it is known
    direction: Float[Array, " k"]
    length: Array
    fresh: Array  # whether nothing is known of the curvature yet
    evaluations: Array
    code: Array


def begun(theta: Array, judged: Judged) -> Descent:
    """From where a criterion was judged, down its slope."""
    direction = -judged.slope / jnp.maximum(jnp.linalg.norm(judged.slope), 1.0)
    code = jnp.where(jnp.isfinite(judged.value), RUNNING, CONVERGED)
    one, true = jnp.ones(()), jnp.asarray(True)
    return Descent(theta, judged, jnp.eye(len(theta)), direction, one, true, jnp.asarray(1), code)


def tried(state: Descent, bounds: Floats) -> Array:
    """θ that is judged next."""
    return jnp.clip(state.theta + state.length * state.direction, *bounds.T)


def moved(state: Descent, theta: Array, judged: Judged, bounds: Floats) -> Descent:
    """There, where the value has fallen enough; else a shorter step in the same direction."""
    (low, high), before, step = bounds.T, state.judged, theta - state.theta
    promised = before.slope @ step
    sound = jnp.isfinite(judged.value) & jnp.all(jnp.isfinite(judged.slope))
    better = sound & (judged.value <= before.value + 1e-4 * promised)
    inverse = _updated(state, step, judged.slope - before.slope)
    held = ((theta <= low) & (judged.slope > 0)) | ((theta >= high) & (judged.slope < 0))
    slope = jnp.where(held, 0.0, judged.slope)
    direction = jnp.where(held, 0.0, -inverse @ slope)
    downhill = direction @ slope < 0
    direction = jnp.where(downhill, direction, -slope)
    direction = direction * jnp.minimum(1.0, FARTHEST / jnp.maximum(jnp.max(jnp.abs(direction)), 1e-300))
    size = jnp.maximum(jnp.maximum(jnp.abs(before.value), jnp.abs(judged.value)), 1.0)
    ended = (before.value - judged.value <= WORTH * size) | (jnp.max(jnp.abs(slope)) <= FLAT)
    bend = judged.value - before.value - promised  # a parabola through both, which has its least at
    share = jnp.where(sound & (bend > 0), -promised / (2 * bend), 0.3)
    shorter = state.length * jnp.clip(share, 0.1, 0.5)
    taken = Descent(
        theta,
        judged,
        inverse,
        direction,
        jnp.ones(()),
        jnp.asarray(False),
        state.evaluations + 1,
        jnp.where(ended, CONVERGED, RUNNING),
    )
    code = jnp.where(shorter < SHORTEST, CONVERGED, RUNNING)
    left = state._replace(length=shorter, evaluations=state.evaluations + 1, code=code)
    goes_on = state.code == RUNNING
    turned = _either(better, taken, left)
    return _either(goes_on, turned, state)


def _either(which: Array, one: Tree, other: Tree) -> Tree:
    return jax.tree.map(lambda a, b: jnp.where(which, a, b), one, other)


def _updated(state: Descent, step: Array, change: Array) -> Array:
    """BFGS, left out where the slope does not grow along the step."""
    along = step @ change
    inverse = jnp.where(state.fresh, along / (change @ change) * jnp.eye(len(step)), state.inverse)
    moved = inverse @ change
    outer = step[:, None] * moved
    new = inverse + (1.0 + change @ moved / along) * step[:, None] * step / along - (outer + outer.T) / along
    sound = (along > 1e-10 * jnp.linalg.norm(step) * jnp.linalg.norm(change)) & jnp.all(jnp.isfinite(new))
    return jnp.where(sound, new, state.inverse)


class Settling(NamedTuple):
    """Newton's last steps: where they stand, the curvature near there, its inverse, and whether they go on."""

    theta: Float[Array, " k"]
    judged: Judged
    curvature: Float[Array, "k k"]
    inverse: Float[Array, "k k"]
    goes_on: Array


def settling(theta: Array, judged: Judged, slopes: Float[Array, "k k"]) -> Settling:
    """From slopes a `STEP` away along each parameter: a Hessian that is held fixed."""
    rows = (slopes - judged.slope) / STEP
    curvature = 0.5 * (rows + rows.T)
    values, vectors = jnp.linalg.eigh(curvature)
    inverse = (vectors / jnp.maximum(jnp.abs(values), 1e-3)) @ vectors.T
    return Settling(theta, judged, curvature, inverse, jnp.asarray(True))


def settled_at(state: Settling, bounds: Floats) -> Array:
    """θ that is judged next."""
    return jnp.clip(state.theta - jnp.clip(state.inverse @ state.judged.slope, -0.5, 0.5), *bounds.T)


def settled(state: Settling, theta: Array, judged: Judged) -> Settling:
    """There, unless that is higher."""
    before = state.judged
    better = state.goes_on & (judged.value <= before.value + 1e-10 * jnp.abs(before.value))  # and not NaN
    goes_on = better & (jnp.max(jnp.abs(theta - state.theta)) >= 1e-7)
    return _either(better, state._replace(theta=theta, judged=judged), state)._replace(goes_on=goes_on)


class Roles(NamedTuple):
    """What parameters are to the hypothesis of constant noise: absent, or left free."""

    absent: Flags
    amplitudes: Flags  # of what is absent
    free: Integers

    @classmethod
    def of(cls, parameters: tuple[Parameter, ...]) -> "Roles":
        roles = np.array([each.role for each in parameters])
        absent = np.array([each.function == "diffusion" for each in parameters])
        return cls(absent, absent & (roles == AMPLITUDE), np.flatnonzero(np.isin(roles, [LEVEL, NOISE])))


def same_noise(theta: Array, prior: ParameterPrior, roles: Roles) -> Array:
    """θ from which the hypothesis of constant noise is searched: amplitudes of what is absent next to nothing."""
    theta = jnp.where(roles.amplitudes, np.log(ABSENT), theta)
    return theta.at[roles.free[0]].set(prior.mean[roles.free[0]])


class Same(NamedTuple):
    """The hypothesis of constant noise: its best θ, and ln of how wide it is; see `learning/constant.py`."""

    theta: Float[Array, " k"]
    log_width: Array


def same_of(best: Settling, found: Settling, prior: ParameterPrior, roles: Roles) -> Same:
    """From the free parameters at their best, beside the optimum without the hypothesis."""
    kept = np.setdiff1d(np.flatnonzero(~roles.absent), roles.free)
    parts = (found.curvature[np.ix_(kept, kept)], best.curvature)
    values = jnp.concatenate([jnp.linalg.eigvalsh(part) for part in parts])
    theta = same_noise(found.theta, prior, roles).at[roles.free].set(best.theta)
    penalty, _ = negative_log(prior, jnp.where(roles.absent, prior.mean, theta))
    width = -0.5 * jnp.sum(jnp.log(no_wider(prior, values))) + np.sum(np.log(prior.spread[roles.absent]))
    return Same(theta, width - penalty)
