"""Equations beside the process, for many series at once: `equations/hypotheses.py` in a program, in one dimension.

There terms are so few that all of their subsets are looked at.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from onepath.data.cells import Cells
from onepath.gp.parameters import Parameter
from onepath.gp.terms import Terms, monomials
from onepath.inference.batch.completion import task_of
from onepath.inference.batch.evidence import Judge, negative_log, no_wider
from onepath.inference.batch.posterior import First
from onepath.inference.batch.stack import Units
from onepath.inference.equations.beside import LEAST_SQUARE
from onepath.inference.equations.hypotheses import (
    DEGREES,
    LEAST,
    LOST,
    MOST,
    PRIOR,
    SQUARED_DEGREE,
    belongs_to,
    root_mean_square,
)
from onepath.inference.equations.regression import ENOUGH, HALVINGS, JITTER, STEPS, Squares
from onepath.inference.equations.subsets import all_subsets
from onepath.inference.posterior.formulas import Formulas
from onepath.numerics.arrays import Flags, Floats
from onepath.numerics.roots import half_log_determinant, inverse_root


class Fitted(NamedTuple):
    """Of each subset under each prior: log evidence (s, r), coefficients (s, r, t), and L⁻¹ of A + P."""

    evidence: Array
    coefficients: Array
    inverse: Array


class Hypotheses(NamedTuple):
    """Of one function: how probable its equations are, their coefficients, and roots of their covariances."""

    mass: Float[Array, " e"]
    mean: Float[Array, "e t"]
    root: Float[Array, "e t t"]


class Beside(NamedTuple):
    """Equations of a series, None where none were asked for; what makes numbers of the data's of their coefficients,
    for the drift and for the squared noise; and how probable constant noise is as a member of the process, and σ²."""

    formulas: Formulas | None
    drift: Any
    noise: Any
    share: Any
    square: Any


class Asked(NamedTuple):
    """A completed series, and how its search has ended."""

    first: First
    cells: Cells
    theta: Array
    curvature: Array
    phi: Float[Array, "f c k p"]  # features at cells, of this θ

    @classmethod
    def of(cls, judge: Judge, first: First, cells: Cells, best: tuple[Array, Array]) -> "Asked":
        return cls(first, cells, *best, task_of(best[0], first.graph, judge.mask, cells).acting.phi)

    def of_function(self, f: int) -> Float[Array, "c k k"]:
        """The cells' expected curvatures in one function's latents."""
        c, functions, k = self.first.place.latent.shape
        return self.first.place.curvature.reshape(c, functions, k, functions, k)[:, f, :, f]

    def fisher(self, f: int) -> Float[Array, "p p"]:
        """Fisher's matrix I + φᵀCφ of one function's weights."""
        phi, p = self.phi[f], self.phi.shape[-1]
        acted = jnp.sum(self.of_function(f)[:, :, :, None] * phi[:, None], axis=2)
        return phi.reshape(-1, p).T @ acted.reshape(-1, p) + jnp.eye(p)


def formulas_of(
    judge: Judge, parameters: tuple[Parameter, ...], asked: Asked, units: Units, constant: Array
) -> Formulas:
    """Hypotheses of drift and diffusion; constant noise is that probable as a member of the process."""
    graph, cells = asked.first.graph, asked.cells
    origin, scale = (units.location / units.scale)[None], units.scale[None]
    terms = Terms(origin, scale, monomials(1, DEGREES[1]))
    own = np.asarray([[belongs_to(each, f, graph.drifts) for each in parameters] for f in range(2)])
    drift = _drift(judge, asked, terms, own[0])
    diffusion = _diffusion(judge, asked, terms, own[1], constant)
    lower, upper = (
        jnp.min(jnp.where(cells.used[:, None], cells.x, jnp.inf), axis=0),
        jnp.max(jnp.where(cells.used[:, None], cells.x, -jnp.inf), axis=0),
    )
    mass, mean, root = (jnp.stack(pair) for pair in zip(drift, diffusion, strict=True))
    return Formulas(terms, mass, mean, root, jnp.asarray(LEAST_SQUARE), lower, upper, graph.link, graph.drifts, 1)


def _drift(judge: Judge, asked: Asked, terms: Terms, own: Flags) -> Hypotheses:
    """See `drift_hypotheses`."""
    graph, place, cells = asked.first.graph, asked.first.place, asked.cells
    design = terms.traced(cells.x, graph.order)
    size = root_mean_square(design[:, 0], cells.weight, jnp)
    scaled = design / size
    seen = jnp.sum(asked.of_function(0)[:, :, :, None] * scaled[:, None], axis=2)  # C D
    information = jnp.tensordot(scaled, seen, axes=((0, 1), (0, 1)))
    right = jnp.tensordot(seen, place.latent[:, 0], axes=((0, 1), (0, 1)))
    right = right - jnp.tensordot(scaled, place.slopes[:, 0], axes=((0, 1), (0, 1)))
    subsets, simplicity = all_subsets(terms.count), PRIOR.among(terms.degrees)
    reaches = jnp.asarray(PRIOR.drift_reaches) * graph.unknown[0].amplitude[0]
    precision = jnp.broadcast_to(reaches[:, None] ** -2.0, (len(reaches), terms.count))
    fitted = _linear(subsets, information, right, precision)
    values = _averaged(fitted.evidence) + simplicity.of(subsets) + np.log(PRIOR.drift) - simplicity.log_total
    weights, fisher = place.weights[0], asked.fisher(0)
    process = 0.5 * weights @ fisher @ weights - half_log_determinant(inverse_root(fisher))
    process = process + _log_width(judge, asked, own) + np.log1p(-PRIOR.drift)
    return _kept(subsets, fitted, values, process, size)


def _diffusion(judge: Judge, asked: Asked, terms: Terms, own: Flags, constant: Array) -> Hypotheses:
    """See `diffusion_hypotheses`; constant noise is a member of the process, and no hypothesis here."""
    graph, place, cells = asked.first.graph, asked.first.place, asked.cells
    degrees = terms.degrees[terms.degrees <= SQUARED_DEGREE]
    design = terms.traced(cells.x)[:, 0, : len(degrees)]
    size = root_mean_square(design, cells.weight, jnp)
    mean, covariance = jax.vmap(graph.bare.gaussian)(place.latent, cells.x, cells.dt)
    near = jnp.square(graph.entries(place.latent[:, 1:, 0])[:, 0] / graph.unit[0])
    rest = graph.noise * graph.noise_unit[0]
    told = near * cells.dt > LOST * rest
    gain = jnp.where(told, (covariance[:, 0, 0] - rest) / jnp.where(told, near, 1.0), cells.dt)
    total = cells.scatter[:, 0, 0] + cells.weight * jnp.square(cells.y[:, 0] - mean[:, 0])
    squares = Squares(cells.weight, total, gain, jnp.broadcast_to(rest, gain.shape))
    subsets = all_subsets(len(degrees))
    subsets = subsets[np.any(subsets & (degrees > 0), axis=1)]
    reaches = np.asarray(PRIOR.diffusion_reaches)
    precision = jnp.asarray(np.repeat(reaches[:, None] ** -2.0, len(degrees), axis=1))
    fitted = _variances(subsets, design / size, squares, near, precision)
    simplicity = PRIOR.among(degrees)
    values = _averaged(fitted.evidence) + simplicity.of(subsets) + np.log(PRIOR.diffusion) - simplicity.log_total
    weights, fisher = place.weights[1], asked.fisher(1)
    process = -squares.loss(near, jnp) - 0.5 * weights @ weights - half_log_determinant(inverse_root(fisher))
    process = process + _log_width(judge, asked, own) + np.log1p(-PRIOR.diffusion)
    process = process - jnp.log1p(-jnp.minimum(constant, 1.0 - 1e-12))
    found = _kept(subsets, fitted, values, process, size)
    spare = terms.count - len(degrees)
    return Hypotheses(
        jnp.pad(found.mass, (0, MOST - len(found.mass))),
        jnp.pad(found.mean, ((0, MOST - len(found.mean)), (0, spare))),
        jnp.pad(found.root, ((0, MOST - len(found.root)), (0, spare), (0, spare))),
    )


def _log_width(judge: Judge, asked: Asked, own: Flags) -> Array:
    """See `Seen.log_width`."""
    prior, which = judge.prior, np.flatnonzero(own)
    values = jnp.linalg.eigvalsh(asked.curvature[np.ix_(which, which)])
    penalty, _ = negative_log(prior, jnp.where(own, asked.theta, prior.mean))
    return -0.5 * jnp.sum(jnp.log(no_wider(prior, values))) - penalty - np.sum(np.log(prior.spread[own]))


def _kept(subsets: Flags, fitted: Fitted, values: Array, process: Array, size: Array) -> Hypotheses:
    """The best, each under the most probable of its priors, in the terms themselves."""
    values = jnp.where(jnp.isfinite(values), values, -jnp.inf)
    best, which = jax.lax.top_k(values, min(MOST, len(subsets)))
    best = jnp.where(best >= best[0] + np.log(LEAST), best, -jnp.inf)
    top = jnp.maximum(best[0], process)
    each = jnp.exp(best - top)
    mass = each / (jnp.sum(each) + jnp.exp(process - top))
    prior = jnp.argmax(fitted.evidence[which], axis=1)
    coefficients, inverse = fitted.coefficients[which, prior], fitted.inverse[which, prior]
    pairs = jnp.asarray(subsets[:, :, None] & subsets[:, None, :])[which]
    # of L⁻¹ of terms over their sizes, where all of a subset's own are
    root = jnp.where(pairs, jnp.swapaxes(inverse, 1, 2) / size[:, None], 0.0)
    some = (mass > 0.0)[:, None]
    return Hypotheses(mass, jnp.where(some, coefficients / size, 0.0), jnp.where(some[:, None], root, 0.0))


def _averaged(evidence: Array) -> Array:
    """Under one of several priors, each as probable."""
    return jax.scipy.special.logsumexp(evidence, axis=1) - np.log(evidence.shape[1])


def _roots(matrices: Array) -> Array:
    """L⁻¹ of small matrices (..., t, t), scaled to a diagonal of 1 on the way, column by column for all of them."""
    scale = jnp.sqrt(jnp.diagonal(matrices, axis1=-2, axis2=-1))
    size = matrices.shape[-1]
    rest = matrices / (scale[..., :, None] * scale[..., None, :]) + JITTER * jnp.eye(size)
    inverse = jnp.broadcast_to(jnp.eye(size), rest.shape)
    for j in range(size):
        pivot = jnp.sqrt(rest[..., j, j])[..., None]
        row, column = inverse[..., j, :] / pivot, jnp.where(np.arange(size) > j, rest[..., :, j] / pivot, 0.0)
        rest = rest - column[..., :, None] * column[..., None, :]
        inverse = (inverse - column[..., :, None] * row[..., None, :]).at[..., j, :].set(row)
    return inverse / scale[..., None, :]


def _solved(inverse: Array, right: Array) -> Array:
    """(L Lᵀ)⁻¹ b for each."""
    half = jnp.sum(inverse * right[..., None, :], axis=-1)
    return jnp.sum(inverse * half[..., :, None], axis=-2)


def _within(subsets: Flags, information: Array, precision: Any) -> Array:
    """A + P of each subset under each prior, with 1 on the diagonal for terms that it does not have: (s, r, t, t)."""
    pairs, one = subsets[:, None, :, None] & subsets[:, None, None, :], np.eye(subsets.shape[1])
    return jnp.where(pairs, information + precision[:, :, None] * one, one)


def _half_log_ratio(subsets: Flags, inverse: Array, precision: Any) -> Array:
    """½ ln det(1 + P⁻¹A)."""
    diagonal = -jnp.log(jnp.diagonal(inverse, axis1=-2, axis2=-1)) - 0.5 * jnp.log(precision)
    return jnp.sum(jnp.where(subsets[:, None], diagonal, 0.0), axis=-1)


def _linear(subsets: Flags, information: Array, right: Array, precision: Array) -> Fitted:
    """Regression on each subset (s, t) under each prior (r, t)."""
    inverse = _roots(_within(subsets, information, precision))
    own = jnp.where(subsets[:, None], right, 0.0)
    coefficients = _solved(inverse, own)
    evidence = 0.5 * jnp.sum(own * coefficients, axis=-1) - _half_log_ratio(subsets, inverse, precision)
    return Fitted(evidence, coefficients, inverse)


class _Scoring(NamedTuple):
    coefficients: Array  # (s, r, t)
    value: Array  # (s, r)
    running: Array
    steps: Array


def _variances(subsets: Flags, design: Array, squares: Squares, near: Array, precision: Array) -> Fitted:
    """See `regression.variances`: all subsets under all priors are scored side by side."""
    outer = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)

    def scored(coefficients: Array) -> tuple[Array, Array]:
        """L⁻¹ of the expected curvature at some coefficients, and where a full step of scoring leads."""
        variance = squares.gain * (coefficients @ design.T) + squares.rest
        slope = 0.5 * squares.gain / jnp.square(variance)
        information = (squares.weight * squares.gain * slope) @ outer
        information = information.reshape(*coefficients.shape, coefficients.shape[-1])
        inverse = _roots(_within(subsets, information, precision))
        right = (slope * (squares.total - squares.weight * squares.rest)) @ design
        return inverse, _solved(inverse, jnp.where(subsets[:, None], right, 0.0))

    def worth(coefficients: Array) -> Array:
        loss = squares.loss(coefficients @ design.T, jnp)
        return loss + 0.5 * jnp.sum(jnp.square(coefficients) * precision, axis=-1)

    def goes_on(state: _Scoring) -> Array:
        return jnp.any(state.running) & (state.steps < STEPS)

    def advanced(state: _Scoring) -> _Scoring:
        step = scored(state.coefficients)[1] - state.coefficients

        def halved(turn: Array, found: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            coefficients, value, moved = found
            trial = state.coefficients + 0.5**turn * step
            reached = worth(trial)
            better = state.running & ~moved & (reached <= state.value)
            coefficients = jnp.where(better[..., None], trial, coefficients)
            return coefficients, jnp.where(better, reached, value), moved | better

        begin = (state.coefficients, state.value, ~state.running)
        coefficients, value, moved = jax.lax.fori_loop(0, HALVINGS, halved, begin)
        running = state.running & moved & (state.value - value > ENOUGH)
        return _Scoring(coefficients, value, running, state.steps + 1)

    start = 0.5 * squares.weight * jnp.square(squares.gain / (squares.gain * near + squares.rest))
    information, right = (design * start[:, None]).T @ design, design.T @ (start * near)
    least = jnp.broadcast_to(1e-9 * jnp.diagonal(information), precision.shape)
    coefficients = _linear(subsets, information, right, least).coefficients
    value = worth(coefficients)
    alive = jnp.isfinite(value)
    coefficients = jnp.where(alive[..., None], coefficients, 0.0)
    done = jax.lax.while_loop(goes_on, advanced, _Scoring(coefficients, value, alive, jnp.asarray(0)))
    inverse, _ = scored(jnp.where(alive[..., None], done.coefficients, _level(subsets, near)))
    evidence = jnp.where(alive, -done.value, -jnp.inf) - _half_log_ratio(subsets, inverse, precision)
    return Fitted(evidence, done.coefficients, inverse)


def _level(subsets: Flags, near: Array) -> Any:
    """Harmless coefficients, for subsets that are positive nowhere: a constant."""
    first: Floats = np.zeros(subsets.shape[1])
    first[0] = 1.0
    return jnp.mean(near) * first
