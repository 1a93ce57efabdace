"""The search of many series at once: BFGS, in which each turn is one evaluation, and Newton's last steps."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from onepath.gp.parameters import AMPLITUDE, LEVEL, NOISE, Parameter
from onepath.inference.batch.evidence import Judge, Judged, Problem, negative_log, no_wider
from onepath.inference.completion.loop import CONVERGED, RUNNING
from onepath.inference.learning.constant import ABSENT
from onepath.numerics.arrays import Floats

WORTH, FLAT = 1e-8, 1e-4
"""The least relative gain of a step, and the largest slope, from which on a search goes on."""

FARTHEST = 2.0
"""That a logarithm moves in one step."""

SHORTEST = 1e-6
"""Share of a step below which none is tried."""

Criterion = Callable[[Array, Judged], Judged]
"""θ, and what was judged near it, to a judgement."""


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


def begun(judge: Judge, problem: Problem, theta: Array) -> Descent:
    """From the prior's mean."""
    return _from(judge, judge(problem, theta), theta)


def begun_near(judge: Judge, problem: Problem, before: Descent) -> Descent:
    """From where a search with other points for the features has ended."""
    found = _from(judge, judge(problem, before.theta, before.judged.place), before.theta)
    return found._replace(evaluations=before.evaluations + 1)


def _from(judge: Judge, judged: Judged, theta: Array) -> Descent:
    size = len(theta)
    direction = -judged.slope / jnp.maximum(jnp.linalg.norm(judged.slope), 1.0)
    code = jnp.where(jnp.isfinite(judged.value), RUNNING, CONVERGED)
    one, true = jnp.ones(()), jnp.asarray(True)
    return Descent(theta, judged, jnp.eye(size), direction, one, true, jnp.asarray(1), code)


def descended(judge: Judge, problem: Problem, state: Descent, turns: int) -> Descent:
    """So many evaluations more, or fewer where the search has ended."""
    low, high = judge.prior.bounds.T

    def running(pair: tuple[Array, Descent]) -> Array:
        return (pair[0] < turns) & (pair[1].code == RUNNING)

    def turned(pair: tuple[Array, Descent]) -> tuple[Array, Descent]:
        count, state = pair
        theta = jnp.clip(state.theta + state.length * state.direction, low, high)
        judged = judge(problem, theta, state.judged.place)
        return count + 1, _moved(state, theta, judged, low, high)

    return jax.lax.while_loop(running, turned, (jnp.asarray(0), state))[1]


def _moved(state: Descent, theta: Array, judged: Judged, low: Floats, high: Floats) -> Descent:
    """There, where the value has fallen enough; else a shorter step in the same direction."""
    before, step = state.judged, theta - state.theta
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
    return jax.tree.map(lambda new, old: jnp.where(better, new, old), taken, left)


def _updated(state: Descent, step: Array, change: Array) -> Array:
    """BFGS, left out where the slope does not grow along the step."""
    along = step @ change
    inverse = jnp.where(state.fresh, along / (change @ change) * jnp.eye(len(step)), state.inverse)
    moved = inverse @ change
    outer = step[:, None] * moved
    new = inverse + (1.0 + change @ moved / along) * step[:, None] * step / along - (outer + outer.T) / along
    sound = (along > 1e-10 * jnp.linalg.norm(step) * jnp.linalg.norm(change)) & jnp.all(jnp.isfinite(new))
    return jnp.where(sound, new, state.inverse)


class Settled(NamedTuple):
    """The best θ, what was judged there, and the curvature near it."""

    theta: Float[Array, " k"]
    judged: Judged
    curvature: Float[Array, "k k"]


STEP = 1e-4
"""Of the differences of slopes."""


def settled(criterion: Criterion, theta: Array, judged: Judged, bounds: Floats) -> Settled:
    """Newton steps with a finite-difference Hessian of the slope, held fixed, as long as they lower the criterion."""
    moves = STEP * jnp.eye(len(theta))
    rows = jax.lax.map(lambda move: (criterion(theta + move, judged).slope - judged.slope) / STEP, moves)
    curvature = 0.5 * (rows + rows.T)
    values, vectors = jnp.linalg.eigh(curvature)
    inverse = (vectors / jnp.maximum(jnp.abs(values), 1e-3)) @ vectors.T

    def stepped(state: tuple[Array, Judged, Array, Array]) -> tuple[Array, Judged, Array, Array]:
        best, judged, count, _ = state
        step = jnp.clip(inverse @ judged.slope, -0.5, 0.5)
        trial = jnp.clip(best - step, bounds[:, 0], bounds[:, 1])
        there = criterion(trial, judged)
        better = there.value <= judged.value + 1e-10 * jnp.abs(judged.value)  # and not NaN
        moved = jnp.max(jnp.abs(trial - best))
        best, judged = jax.tree.map(lambda new, old: jnp.where(better, new, old), (trial, there), (best, judged))
        return best, judged, count + 1, better & (moved >= 1e-7)

    start = (theta, judged, jnp.asarray(0), jnp.asarray(True))
    best, judged, _, _ = jax.lax.while_loop(lambda state: state[3] & (state[2] < 6), stepped, start)
    return Settled(best, judged, curvature)


class Same(NamedTuple):
    """The hypothesis of constant noise: its best θ, and ln of how wide it is."""

    theta: Float[Array, " k"]
    log_width: Array


def same_noise(judge: Judge, problem: Problem, found: Settled, parameters: tuple[Parameter, ...]) -> Same:
    """As `learning/constant.py` says it."""
    prior = judge.prior
    roles = np.array([each.role for each in parameters])
    absent = np.array([each.function == "diffusion" for each in parameters])
    free = np.isin(roles, [LEVEL, NOISE])
    whole = jnp.where((roles == AMPLITUDE) & absent, np.log(ABSENT), found.theta)

    def with_free(theta: Array) -> Array:
        return whole.at[np.flatnonzero(free)].set(theta)

    def restricted(theta: Array, near: Judged) -> Judged:
        judged = judge(problem, with_free(theta), near.place)
        return judged._replace(slope=judged.slope[np.flatnonzero(free)])

    start = jnp.where(roles == LEVEL, prior.mean, found.theta)[np.flatnonzero(free)]
    best = settled(restricted, start, restricted(start, found.judged), prior.bounds[free])
    theta = with_free(best.theta)
    kept = np.flatnonzero(~(free | absent))
    values = jnp.concatenate(
        [jnp.linalg.eigvalsh(found.curvature[np.ix_(kept, kept)]), jnp.linalg.eigvalsh(best.curvature)]
    )
    penalty, _ = negative_log(prior, jnp.where(absent, prior.mean, theta))
    width = -0.5 * jnp.sum(jnp.log(no_wider(prior, values))) + np.sum(np.log(prior.spread[absent]))
    return Same(theta, width - penalty)
