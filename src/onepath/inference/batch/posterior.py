"""The posterior of many series at once: completion at θ̂ and around it, masses, and what follows at points."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import expit, ndtr, ndtri
from jaxtyping import Array, Float

from onepath.data.cells import Cells
from onepath.gp.features import Unknown
from onepath.gp.parameters import LEVEL, Mask, Parameter
from onepath.graph.graph import NUDGE, Graph, graph_at
from onepath.graph.laws import EULER, Law
from onepath.inference.adequacy import MOST_PLACES, stiffness_at
from onepath.inference.batch.bases import with_bases
from onepath.inference.batch.cells import coarser
from onepath.inference.batch.completion import (
    LOOSE,
    Place,
    Solver,
    acting,
    along,
    complete,
    fisher_inverse,
    near,
    task_of,
)
from onepath.inference.batch.doubts import log_chance_of_waves, scores_of
from onepath.inference.batch.evidence import Judge, negative_log, no_wider
from onepath.inference.batch.search import Same
from onepath.inference.learning.constant import SCORINGS
from onepath.inference.learning.learned import standard_points
from onepath.inference.posterior.evaluate import HALVINGS
from onepath.inference.posterior.formulas import Formulas
from onepath.inference.posterior.mixture import MEMBERS
from onepath.inference.posterior.posterior import averaged
from onepath.numerics.modules import changed
from onepath.numerics.roots import half_log_determinant


class First(NamedTuple):
    """Completed at the best θ by Euler's law: a graph with points for its features, and what is said of it."""

    graph: Graph
    place: Place
    code: Array
    enough: Array  # whether there was room for all points
    waves: Array  # ln of how probable waves in what is left over are by chance
    change: Array  # |f'| Δt
    shift: Array  # what the linearised law would change, in posterior standard deviations


class Members(NamedTuple):
    """Laplace's approximation at each of several θ, the last one that of constant noise."""

    theta: Float[Array, "s k"]
    weights: Float[Array, "s f p"]
    inverse: Float[Array, "s w w"]  # L⁻¹, L the root of Fisher's matrix


class Posterior(NamedTuple):
    """Members and how probable they are; `band_mass` without constant noise."""

    members: Members
    mass: Float[Array, " s"]
    band_mass: Float[Array, " s"]
    evidence: Array
    converged: Array


def first_of(judge: Judge, graph: Graph, cells: Cells, theta: Array, tolerance: float, room: int) -> First:
    """On all cells, with features to the tolerance of an answer."""
    chosen = with_bases(graph_at(graph, judge.mask, theta), cells, tolerance, room)
    task = task_of(theta, chosen.graph, judge.mask, cells)
    done = complete(task, jnp.zeros_like(task.acting.phi[:, 0, 0]), Solver(), 0)
    waves = log_chance_of_waves(scores_of(done.place), cells)
    inverse = fisher_inverse(task.acting.phi, done.place.curvature, task.graph)
    count = jnp.sum(cells.used)
    some = (jnp.arange(MOST_PLACES) * ((count - 1) / (MOST_PLACES - 1)) + 1e-9).astype(int)
    places = Cells(*(part[some] for part in cells))
    member = (theta, done.place.weights, inverse)
    latent, covariance = moments(member, chosen.graph, judge.mask, places.x + NUDGE, 2)
    change, shift = stiffness_at(latent, covariance, places, chosen.graph.bare.with_law(EULER))
    return First(chosen.graph, done.place, done.code, chosen.enough, waves, change, shift)


def by_law(law: Law, judge: Judge, first: First, cells: Cells, theta: Array) -> First:
    """The same completed by another law; points of features move aside, where derivatives are asked for."""
    graph = changed(first.graph, law=law)
    if law.order:
        drift, diffusion = map(_nudged, graph.unknown)
        graph = changed(graph, drift=(drift,), diffusion=(diffusion,))
    done = complete(task_of(theta, graph, judge.mask, cells), first.place.weights, Solver(), 0)
    return first._replace(graph=graph, place=done.place, code=done.code)


def _nudged(function: Unknown) -> Unknown:
    """With all points of its features moved a little."""
    moved = [changed(each, points=each.points + NUDGE * function.scale) for each in function.bases]
    return changed(function, bases=tuple(moved))


def relevelled(
    judge: Judge, first: First, cells: Cells, same: Same, parameters: tuple[Parameter, ...], most: int
) -> Same:
    """Constant noise at the level that the graph's law finds for it, on cells as in the search."""
    coarse, graph, mask = coarser(cells, most), first.graph, judge.mask
    level = np.flatnonzero([each.role == LEVEL for each in parameters])
    information = 2.0 * jnp.sum(coarse.weight)
    weights = first.place.weights

    def scored(turn: Array, state: tuple[Array, Place]) -> tuple[Array, Place]:
        theta, place = state
        task = task_of(theta, graph, mask, coarse)
        start = jnp.where(turn == 0, weights, near(task, place))
        place = complete(task, start, LOOSE, 0).place
        offset, pull = jax.vjp(lambda theta: graph_at(graph, mask, theta).offset, theta)
        (slope,) = pull(jnp.sum(place.slopes[:, :, 0], axis=0).astype(offset.dtype))
        return theta.at[level].add(-slope[level] / information), place

    c, (f, k) = len(coarse.weight), first.place.slopes.shape[1:]
    blank = jnp.zeros((c, f, k))
    begin = Place(weights, blank, jnp.zeros(()), blank, jnp.zeros((c, f * k, f * k)))
    return same._replace(theta=jax.lax.fori_loop(0, SCORINGS, scored, (same.theta, begin))[0])


def posterior_of(judge: Judge, first: First, cells: Cells, best: tuple[Array, Array], same: Same) -> Posterior:
    """Completed near the first place, at θ around the best one, of this curvature, and how probable each is."""
    prior, place, (theta, curvature) = judge.prior, first.place, best
    values, vectors = jnp.linalg.eigh(curvature)
    values = no_wider(prior, values)
    root, z = (vectors / jnp.sqrt(values)) @ vectors.T, standard_points(len(prior.mean), MEMBERS[1])
    densities = 0.5 * np.sum(np.square(z), axis=1) - 0.5 * jnp.sum(jnp.log(values))
    around = jnp.clip(theta + z @ root, *prior.bounds.T)
    thetas = jnp.concatenate([around, same.theta[None]])

    def member(theta: Array) -> tuple[Array, Array, Array]:
        task = task_of(theta, first.graph, judge.mask, cells)
        done = complete(task, near(task, place), LOOSE, 0)
        return done.place.weights, done.inverse, done.place.loss + half_log_determinant(done.inverse)

    weights, inverse, losses = jax.lax.map(member, thetas)
    penalties = jax.vmap(lambda theta: negative_log(prior, theta)[0])(around)
    mass, log_mean = importance(losses[:-1] + penalties, densities)
    probability = jnp.nan_to_num(expit(same.log_width - losses[-1] - log_mean))
    task = task_of(theta, first.graph, judge.mask, cells)
    at_best = fisher_inverse(task.acting.phi, place.curvature, task.graph)
    evidence = -(place.loss + half_log_determinant(at_best))
    whole, bands = jnp.append((1.0 - probability) * mass, probability), jnp.append(mass, 0.0)
    sound = jnp.all(jnp.isfinite(losses)) & jnp.isfinite(evidence)
    return Posterior(Members(thetas, weights, inverse), whole, bands, evidence, sound)


def importance(values: Array, densities: Array) -> tuple[Array, Array]:
    """Importance weights, none larger than √n times their mean, and ln of that mean; see `posterior/mixture.py`."""
    logarithms = jnp.where(jnp.isfinite(values), densities - values, -jnp.inf)
    largest = jnp.max(logarithms)
    weights = jnp.exp(logarithms - largest)
    mean = jnp.mean(weights)
    weights = jnp.minimum(weights, mean * np.sqrt(len(weights)))
    return weights / jnp.sum(weights), largest + jnp.log(mean)


def moments(
    member: tuple[Array, Array, Array], graph: Graph, mask: Mask, u: Float[Array, "n d"], order: int
) -> tuple[Float[Array, "n f k"], Float[Array, "n f f"]]:
    """Mean and covariance of the latents at points, given θ."""
    theta, weights, inverse = member
    act = acting(theta, graph, mask, u, order)
    phi = act.phi[:, :, 0]
    f, _, p = phi.shape
    mean = along(act.phi, weights).at[:, :, 0].add(act.offset)
    half = [phi[i] @ inverse[:, i * p : (i + 1) * p].T for i in range(f)]
    covariance = jnp.stack([jnp.stack([jnp.sum(a * b, axis=1) for b in half], axis=1) for a in half], axis=1)
    variance = graph_at(graph, mask, theta).prior_variance(u)
    untouched = jnp.maximum(variance - jnp.sum(jnp.square(phi), axis=2).T, 0.0)
    return mean, covariance + untouched[:, :, None] * jnp.eye(f)


class Values(NamedTuple):
    """Mean and ends of the band of a function at points."""

    mean: Any
    lower: Any
    upper: Any


class Seen(NamedTuple):
    """What each member says of the latents at points: means with derivatives, and covariances."""

    means: Float[Array, "s n f k"]
    covariances: Float[Array, "s n f f"]

    def at(self, rows: slice) -> "Seen":
        return Seen(self.means[:, rows], self.covariances[:, rows])


def seen_at(posterior: Posterior, graph: Graph, mask: Mask, u: Float[Array, "n d"]) -> Seen:
    """By members, one after another: together they would not fit into the memory."""

    def one(member: tuple[Array, ...]) -> tuple[Array, Array]:
        return moments((member[0], member[1], member[2]), graph, mask, u, graph.order)

    return Seen(*jax.lax.map(one, tuple(posterior.members)))


class Mixture(NamedTuple):
    """As `evaluate.Mixture`: of each latent at each point, what it may be and how much each counts, all (n, m, f)."""

    means: Array
    variances: Array
    mass: Array
    band_mass: Array


def mixture_of(posterior: Posterior, seen: Seen, u: Float[Array, "n d"], formulas: Formulas | None) -> Mixture:
    """Members of the process and, beside them, equations."""
    means = jnp.moveaxis(seen.means[..., 0], 0, 1)
    variances = jnp.moveaxis(jnp.diagonal(seen.covariances, axis1=2, axis2=3), 0, 1)
    if formulas is None:
        each = (jnp.broadcast_to(mass[:, None], means.shape) for mass in (posterior.mass, posterior.band_mass))
        return Mixture(means, variances, *each)
    more, spread = formulas.moments(u, 0, jnp)
    means = jnp.concatenate([means, jnp.moveaxis(more[..., 0], 0, 1)], axis=1)
    variances = jnp.concatenate([variances, jnp.moveaxis(spread, 0, 1)], axis=1)
    pairs = ((posterior.mass, False), (posterior.band_mass, True))
    return Mixture(means, variances, *(formulas.weights(u, of_process, bands, jnp) for of_process, bands in pairs))


def values_at(mixture: Mixture, graph: Graph, level: float, quadrature: int) -> tuple[Values, Values]:
    """Drift and diffusion at points, standardised; see `Model.drift`, `Model.diffusion` and `evaluate.Mixture`."""
    means, variances, mass, band_mass = mixture
    mean = jnp.sum(mass * means, axis=1)
    deviation = jnp.sqrt(jnp.sum(mass * (variances + jnp.square(means - mean[:, None])), axis=1))
    lower, upper = (quantile(band_mass, means, jnp.sqrt(variances), 0.5 + sign * level / 2) for sign in (-1, 1))
    nodes, weights = np.polynomial.hermite_e.hermegauss(quadrature)
    drifts = graph.drifts
    entries = sum(
        weight * graph.entries(mean[:, drifts:] + node * deviation[:, drifts:])
        for node, weight in zip(nodes, weights / weights.sum(), strict=True)
    )
    ends = [graph.entries(each[:, drifts:]) for each in (lower, upper)]
    return (
        Values(*(each[:, 0] for each in (mean, lower, upper))),
        Values(*(each[:, 0] for each in (jnp.asarray(entries), *ends))),
    )


def quantile(mass: Array, means: Array, deviations: Array, probability: float) -> Array:
    """Where Σ mass Φ((q - mean) / sd) is this probability, by bisection: (n, m, f) → (n, f)."""
    ends = means + ndtri(probability) * deviations
    low = jnp.min(jnp.where(mass > 0, ends, jnp.inf), axis=1)
    high = jnp.max(jnp.where(mass > 0, ends, -jnp.inf), axis=1)

    def halved(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = state
        middle = (low + high) / 2
        below = jnp.sum(mass * ndtr((middle[:, None] - means) / deviations), axis=1) < probability
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    low, high = jax.lax.fori_loop(0, HALVINGS, halved, (low, high))
    return (low + high) / 2


class OfSteps(NamedTuple):
    """Of transitions: log densities, and residuals of the most probable member, in standard deviations."""

    densities: Float[Array, " n"]
    white: Float[Array, " n"]


def of_steps(
    posterior: Posterior,
    graph: Graph,
    seen: Seen,
    steps: tuple[Array, Array, Array],
    normals: Array,
    formulas: Formulas | None,
) -> OfSteps:
    """Of `steps` from points over durations; see `Model.densities` and `inference.fit.widened`."""
    u, y, dt = steps
    means, covariances = seen
    mass = posterior.mass
    mean = jnp.tensordot(mass, means, axes=1)
    apart = (means - mean)[..., 0]
    covariance = jnp.tensordot(mass, covariances, axes=1) + jnp.einsum("s,snf,sng->nfg", mass, apart, apart)
    if formulas is not None:
        mean, covariance = formulas.beside(u, graph.order, mean, covariance, jnp)
    first = jnp.sqrt(covariance[:, 0, 0])
    cross = covariance[:, 0, 1] / first
    last = jnp.sqrt(jnp.maximum(covariance[:, 1, 1] - jnp.square(cross), 1e-12 * covariance[:, 1, 1]))
    lower = jnp.stack([jnp.stack([first, jnp.zeros_like(first)], 1), jnp.stack([cross, last], 1)], 1)
    of_step, variance = averaged(mean, lower, u, dt, normals, graph.bare)
    variance = variance[:, 0, 0]
    densities = -0.5 * (jnp.square(y - of_step[:, 0]) / variance + jnp.log(2 * jnp.pi * variance))
    alone = means[jnp.argmax(mass)]
    centre, spread = jax.vmap(graph.bare.gaussian)(alone, u, dt)
    return OfSteps(densities, (y - centre[:, 0]) / jnp.sqrt(spread[:, 0, 0]))
