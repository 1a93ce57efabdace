"""The extended Kalman filter along a path, its likelihood with slopes, and the smoother that goes back.

    s⁻ = ŝ + m(ŝ),  P⁻ = A P Aᵀ + Q,  ν = z - H s⁻,  V = H P⁻ Hᵀ + R,  K = P⁻ Hᵀ V⁻¹,  ŝ = s⁻ + K ν,  P = (I - K H) P⁻

The law is taken at points along the path that are near to the states, and is linear around them: what is left is a
linear filter, for any law and any number of dimensions. Asked again at the filtered states, it is the extended one.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from onepath.numerics.arrays import Floats
from onepath.numerics.compiled import compiled
from onepath.numerics.linalg import contract, log_determinant, small_cholesky, small_forward_solve

LENGTHS = (256, 4096)
"""Rows that are filtered at once: few sizes, so that compiled code serves every length."""


LOG_TWO_PI = float(np.log(2 * np.pi))


class Rows(NamedTuple):
    """For each row: the step that leads to it, which is linear around a state, and what was read there.

    A row that begins has no step: its state is `prior`'s. Steps are those of s, of which readings see the coordinates
    `seen` (a choice of rows of the identity), each with the noise R = given + diag(learned · units).
    """

    near: Any  # (n, D), the state around which the step is linear
    mean: Any  # (n, D), of the increment from there
    flow: Any  # (n, D, D), the derivative of where the step leads
    covariance: Any  # (n, D, D), Q
    begins: Any  # (n,)
    z: Any  # (n, d), 0 where missing
    read: Any  # (n, d), 1 where there is a reading, 0 elsewhere
    given: Any  # (n, d, d)
    units: Any  # (n, d)


class Setting(NamedTuple):
    """What is the same in all rows: which coordinates are read, and what is known of a state before any reading."""

    seen: Any  # (d, D)
    mean: Any  # (D,)
    covariance: Any  # (D, D)


class Filtered(NamedTuple):
    """States before and after each reading, innovations, their covariances, and gains."""

    before: Any  # (n, D)
    before_covariance: Any  # (n, D, D)
    state: Any  # (n, D)
    covariance: Any  # (n, D, D)
    innovation: Any  # (n, d), 0 where missing
    variance: Any  # (n, d, d), V; of what is missing 1
    gain: Any  # (n, D, d)


class Judged(NamedTuple):
    """The innovations' log-likelihood, its slope in ln of a factor on Q and of learned variances, and its curvature."""

    value: Any
    slope: Any  # (p,)
    fisher: Any  # (p, p), expected
    sizes: Any  # of the expected curvature in the factor on Q, what innovations' sizes say, and not their order


def _next(scales: Array, state: tuple[Array, Array], row: Rows, setting: Setting) -> Filtered:
    """One row. `scales` are ln of a factor on Q, of the learned variances of readings and, if there, on the drift."""
    s, covariance = state
    start, variances = row.begins > 0, scales[1 : 1 + len(row.units)]
    mean, turned = row.mean, row.flow - jnp.eye(len(s))
    if len(scales) > 1 + len(row.units):
        mean, turned = jnp.exp(scales[-1]) * mean, jnp.exp(scales[-1]) * turned
    moved = s + mean + contract(turned, s - row.near)
    flow = turned + jnp.eye(len(s))
    spread = contract(contract(flow, covariance), flow.T) + jnp.exp(scales[0]) * row.covariance
    before = jnp.where(start, setting.mean, moved)
    spread = jnp.where(start, setting.covariance, spread)
    seen = setting.seen * row.read[:, None]
    noise = row.given + jnp.diag(jnp.exp(variances) * row.units)
    noise = noise * row.read[:, None] * row.read + jnp.diag(1.0 - row.read)
    innovation = row.read * (row.z - contract(setting.seen, before))
    cross = contract(spread, seen.T)
    variance = contract(seen, cross) + noise
    lower = small_cholesky(variance)
    half = small_forward_solve(lower, cross.T)
    gain = jnp.stack([_backward(lower, half[:, i]) for i in range(len(s))])
    after = before + contract(gain, innovation)
    # Joseph's form stays positive
    kept = jnp.eye(len(s)) - contract(gain, seen)
    left = contract(contract(kept, spread), kept.T) + contract(contract(gain, noise), gain.T)
    left = 0.5 * (left + left.T)
    return Filtered(before, spread, after, left, innovation, variance, gain)


def _backward(lower: Float[Array, "d d"], right: Float[Array, " d"]) -> Float[Array, " d"]:
    """L⁻ᵀ b."""
    rows: list[Array] = []
    for i in reversed(range(len(right))):
        rest = sum((lower[k, i] * rows[len(right) - 1 - k] for k in range(i + 1, len(right))), jnp.zeros(()))
        rows.append((right[i] - rest) / lower[i, i])
    return jnp.stack(rows[::-1])


@compiled
def _filter_rows(scales: Array, state: tuple[Array, Array], rows: Rows, setting: Setting) -> Filtered:
    def step(state: tuple[Array, Array], row: Rows) -> tuple[tuple[Array, Array], Filtered]:
        found = _next(scales, state, row, setting)
        return (found.state, found.covariance), found

    return jax.lax.scan(step, state, rows)[1]


@compiled
def _judge_rows(scales: Array, carried: Any, rows: Rows, setting: Setting) -> Any:
    """Sums over rows of the log-likelihood and its derivatives, which are carried along with the states'."""
    directions = jnp.eye(len(scales))

    def step(carried: Any, row: Rows) -> tuple[Any, None]:
        state, slopes, sums = carried

        def along(direction: Array, slope: Any) -> Any:
            return jax.jvp(
                lambda scales, state: _next(scales, state, row, setting), (scales, state), (direction, slope)
            )

        found, moved = jax.vmap(along, out_axes=(None, 0))(directions, slopes)
        lower = small_cholesky(found.variance)
        nu = small_forward_solve(lower, found.innovation)
        nu_slopes = jnp.stack([small_forward_solve(lower, each) for each in moved.innovation])
        halves = [small_forward_solve(lower, each) for each in moved.variance]
        turned = jnp.stack([small_forward_solve(lower, each.T) for each in halves])
        # of what is missing, the innovation is 0 and its variance 1
        value = -0.5 * (log_determinant(lower) + jnp.sum(jnp.square(nu)) + jnp.sum(row.read) * LOG_TWO_PI)
        traces = jnp.trace(turned, axis1=1, axis2=2)
        squares = jnp.sum(nu[None, :, None] * turned * nu, axis=(1, 2))
        slope = 0.5 * (squares - traces) - jnp.sum(nu * nu_slopes, axis=1)
        of_sizes = 0.5 * jnp.sum(turned[:, None] * turned, axis=(2, 3))
        fisher = of_sizes + jnp.sum(nu_slopes[:, None] * nu_slopes, axis=2)
        sums = jax.tree.map(jnp.add, sums, Judged(value, slope, fisher, of_sizes[0, 0]))
        return ((found.state, found.covariance), (moved.state, moved.covariance), sums), None

    return jax.lax.scan(step, carried, rows)[0]


def filtered(scales: Floats, rows: Rows, setting: Setting) -> Filtered:
    """The filter along all rows, with these logarithms of a factor on Q and of learned variances."""
    state, parts = (setting.mean, setting.covariance), []
    for chunk, count in _chunks(rows):
        found = _filter_rows(scales, state, chunk, setting)
        part = Filtered(*(np.asarray(each)[:count] for each in found))
        state = part.state[-1], part.covariance[-1]
        parts.append(part)
    return Filtered(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def judged(scales: Floats, rows: Rows, setting: Setting) -> Judged:
    """The innovations' likelihood along all rows."""
    p, size = len(scales), len(setting.mean)
    none = Judged(np.zeros(()), np.zeros(p), np.zeros((p, p)), np.zeros(()))
    slopes = np.zeros((p, size)), np.zeros((p, size, size))
    carried: Any = (setting.mean, setting.covariance), slopes, none
    for chunk, _ in _chunks(rows):
        carried = _judge_rows(scales, carried, chunk, setting)
    return Judged(*(np.asarray(each) for each in carried[2]))


def _chunks(rows: Rows) -> Iterator[tuple[Rows, int]]:
    """Rows in parts of few sizes; what pads the last one begins anew and reads nothing."""
    n = len(rows.z)
    size = LENGTHS[0] if n <= LENGTHS[0] else LENGTHS[1]
    for begin in range(0, n, size):
        part = Rows(*(each[begin : begin + size] for each in rows))
        count = len(part.z)
        if count < size:
            part = Rows(*(np.concatenate([each, np.repeat(each[:1], size - count, axis=0)]) for each in part))
            part = part._replace(read=_with_end(part.read, count, 0.0), begins=_with_end(part.begins, count, 1.0))
        yield part, count


def _with_end(values: Floats, count: int, fill: float) -> Floats:
    values = np.array(values)
    values[count:] = fill
    return values


def smoothed(found: Filtered, rows: Rows) -> tuple[Floats, Floats]:
    """States given all readings, those after them too (Rauch, Tung and Striebel): means (n, D), covariances."""
    n, size = found.state.shape
    mean, covariance = np.empty((n, size)), np.empty((n, size, size))
    last = found.state[-1], found.covariance[-1]
    # from the end on: what follows a row is the row before it
    flow = np.concatenate([rows.flow[1:], rows.flow[:1]])
    before = np.concatenate([found.before[1:], found.before[:1]])
    spread = np.concatenate([found.before_covariance[1:], found.before_covariance[:1]])
    ends = np.concatenate([rows.begins[1:], [1.0]])
    backwards = [each[::-1] for each in (found.state, found.covariance, flow, before, spread, ends)]
    length = LENGTHS[0] if n <= LENGTHS[0] else LENGTHS[1]
    for begin in range(0, n, length):
        part = [each[begin : begin + length] for each in backwards]
        count = len(part[0])
        if count < length:
            part = [np.concatenate([each, np.repeat(each[:1], length - count, axis=0)]) for each in part]
        means, covariances = (np.asarray(each)[:count] for each in _smooth_rows(last, *part))
        last = means[-1], covariances[-1]
        mean[n - begin - count : n - begin], covariance[n - begin - count : n - begin] = means[::-1], covariances[::-1]
    return mean, covariance


@compiled
def _smooth_rows(
    last: tuple[Array, Array], state: Array, covariance: Array, flow: Array, before: Array, spread: Array, ends: Array
) -> tuple[Array, Array]:
    """Rows from the end on, each with the step that follows it."""

    def step(later: tuple[Array, Array], row: Any) -> tuple[Any, Any]:
        state, covariance, flow, before, spread, ends = row
        size = jnp.sqrt(jnp.diagonal(spread))
        lower = small_cholesky(spread / (size[:, None] * size))
        cross = contract(flow, covariance) / size[:, None]
        half = small_forward_solve(lower, cross)
        gain = jnp.stack([_backward(lower, half[:, i]) for i in range(len(state))]) / size
        mean = state + contract(gain, later[0] - before)
        left = covariance + contract(contract(gain, later[1] - spread), gain.T)
        left = 0.5 * (left + left.T)
        now = jnp.where(ends > 0, state, mean), jnp.where(ends > 0, covariance, left)
        return now, now

    return jax.lax.scan(step, last, (state, covariance, flow, before, spread, ends))[1]
