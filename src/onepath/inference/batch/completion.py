"""Completion of many series at once: what `completion/` does with one, in a program without Python's decisions.

Everything here is of one series, and knows φ (functions, c, k, p), k being the latents' derivatives. Weights of padding
are 0: their features are.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from onepath.data.cells import Cells
from onepath.gp.features import Basis, Unknown
from onepath.gp.parameters import Mask
from onepath.graph.graph import Graph, graph_at
from onepath.inference.completion import objective
from onepath.inference.completion.fisher import PAUSE, ROUNDING, SQUARED
from onepath.inference.completion.loop import CONVERGED, LOST, RUNNING, STUCK
from onepath.numerics.roots import inverse_root, solved, whitened

HALVINGS = 40
"""Of a step, at most."""


class Acting(NamedTuple):
    """All that θ acts through: features, offsets and λ."""

    phi: Float[Array, "f c k p"]
    offset: Float[Array, " f"]
    noise: Float[Array, ""]


class Task(NamedTuple):
    """What is minimised: how weights become latents, and what cells say about these."""

    acting: Acting
    graph: Graph
    table: Float[Array, "c columns"]


class Place(NamedTuple):
    """Where a completion stands: its latents, and the cells' slopes and expected curvatures there."""

    weights: Float[Array, "f p"]
    latent: Float[Array, "c f k"]
    loss: Float[Array, ""]
    slopes: Float[Array, "c f k"]
    curvature: Float[Array, "c q q"]  # q = f k


class Solver(NamedTuple):
    """As `FisherScoring`."""

    tolerance: float = 1e-13
    close: float = 1.0
    most_steps: int = 60
    trusts: bool = False


ON_THE_WAY, LOOSE = Solver(most_steps=25), Solver(tolerance=0.1, close=0.0, most_steps=10, trusts=True)
"""For each θ of a search; and for those around the best one."""


class Completion(NamedTuple):
    """The place it ended at, how; and L⁻¹ of the last curvature that was used."""

    place: Place
    code: Array
    exact: Array
    steps: Array
    inverse: Float[Array, "w w"]


def table_of(cells: Cells) -> Float[Array, "c columns"]:
    """One row a cell, all its numbers side by side."""
    return jnp.concatenate([jnp.reshape(part, (len(cells.weight), -1)) for part in cells], axis=1)


def acting(theta: Float[Array, " k"], graph: Graph, mask: Mask, u: Float[Array, "n d"], order: int) -> Acting:
    """At points u (n, d), with derivatives up to this order."""
    at = graph_at(graph, mask, theta)
    parts = [_features(each, u, order) for each in at.unknown]
    most = max(part.shape[2] for part in parts)
    phi = jnp.stack([jnp.pad(part, ((0, 0), (0, 0), (0, most - part.shape[2]))) for part in parts])
    return Acting(phi, at.offset, jnp.asarray(at.noise))


def _features(function: Unknown, u: Array, order: int) -> Float[Array, "n k p"]:
    pairs = zip(function.similarities(u, order), function.bases, strict=True)
    columns = [_term(gram[0], cross[0], basis) for (gram, cross), basis in pairs]
    return function.amplitude[0] * jnp.concatenate(columns, axis=2)


def _term(gram: Float[Array, "p p"], cross: Float[Array, "n k p"], basis: Basis) -> Float[Array, "n k p"]:
    """φ = k(x, Z) L⁻ᵀ; zero for points that are padding."""
    used = jnp.asarray(basis.used)
    gram = jnp.where(used[:, None] & used, gram, 0.0)
    usual = jnp.trace(gram) / jnp.sum(used)
    n, k, p = cross.shape
    white = whitened(gram + jnp.diag(jnp.where(used, 0.0, usual)), jnp.where(used, cross, 0.0).reshape(n * k, p))
    return white.reshape(n, k, p)


def task_of(theta: Array, graph: Graph, mask: Mask, cells: Cells) -> Task:
    return Task(acting(theta, graph, mask, cells.x, graph.order), graph.bare, table_of(cells))


def along(phi: Float[Array, "f c k p"], weights: Float[Array, "f p"]) -> Float[Array, "c f k"]:
    """φ w."""
    f, c, k, p = phi.shape
    flat = jnp.matmul(phi.reshape(f, c * k, p), weights[:, :, None])
    return jnp.moveaxis(flat.reshape(f, c, k), 0, 1)


def in_weights(phi: Float[Array, "f c k p"], slopes: Float[Array, "c f k"]) -> Float[Array, "f p"]:
    """Σ φᵀ of slopes in the latents."""
    f, c, k, p = phi.shape
    rows = jnp.moveaxis(slopes, 1, 0).reshape(f, 1, c * k)
    return jnp.matmul(rows, phi.reshape(f, c * k, p))[:, 0]


def latent_of(task: Task, weights: Float[Array, "f p"]) -> Float[Array, "c f k"]:
    return along(task.acting.phi, weights).at[:, :, 0].add(task.acting.offset)


def beside_one(phi: Float[Array, "f c k p"], curvature: Float[Array, "c q q"]) -> Float[Array, "w w"]:
    """I + Σ φᵀ C φ from cells' curvatures in their latents."""
    f, c, k, p = phi.shape
    blocks = curvature.reshape(c, f, k, f, k)
    flat = phi.reshape(f, c * k, p)

    def block(i: int, j: int) -> Array:
        acted = sum(blocks[:, i, :, j, m][:, :, None] * phi[j][:, None, m] for m in range(k))
        return flat[i].T @ jnp.reshape(acted, (c * k, p))

    own = [block(i, i) for i in range(f)]
    beside = block(0, 1)
    whole = jnp.block([[own[0], beside], [beside.T, own[1]]])
    return whole + jnp.eye(f * p)


def apart(graph: Graph) -> bool:
    """Whether expected curvatures couple no function with another."""
    return len(graph.groups()) == graph.functions


def fisher_inverse(phi: Float[Array, "f c k p"], curvature: Float[Array, "c q q"], graph: Graph) -> Float[Array, "w w"]:
    """L⁻¹ with L Lᵀ = I + Σ φᵀ C φ, function by function where none is coupled with another."""
    if not apart(graph):
        return inverse_root(beside_one(phi, curvature))
    f, c, k, p = phi.shape
    own = jnp.diagonal(curvature.reshape(c, f, k, f, k)[:, :, 0, :, 0], axis1=1, axis2=2)  # derivatives couple
    acted = jnp.moveaxis(own, 1, 0)[:, :, None] * phi[:, :, 0]
    first, second = jax.vmap(inverse_root)(jnp.matmul(jnp.swapaxes(phi[:, :, 0], 1, 2), acted) + jnp.eye(p))
    zero = jnp.zeros((p, p))
    return jnp.block([[first, zero], [zero, second]])


def loss_at(task: Task, weights: Float[Array, "f p"]) -> Float[Array, ""]:
    """J."""
    losses, *_ = objective.slopes_of_cells(latent_of(task, weights), task.table, task.acting.noise, task.graph)
    return jnp.sum(losses) + 0.5 * jnp.sum(jnp.square(weights))


def place_at(task: Task, weights: Float[Array, "f p"]) -> Place:
    latent = latent_of(task, weights)
    losses, slopes, rows = objective.slopes_of_cells(latent, task.table, task.acting.noise, task.graph)
    flat = rows.reshape(*rows.shape[:2], -1)
    expected = sum(flat[:, r, :, None] * flat[:, r, None, :] for r in range(flat.shape[1]))
    loss = jnp.sum(losses) + 0.5 * jnp.sum(jnp.square(weights))
    return Place(weights, latent, loss, slopes, jnp.asarray(expected))


def curvatures_at(task: Task, latent: Float[Array, "c f k"]) -> tuple[Array, Array]:
    """Slopes (c, q + 1) and Hessians (c, q + 1, q + 1) of cells' losses in the latents and λ."""
    slopes, hessians = objective.curvatures_of_cells(latent, task.table, task.acting.noise, task.graph)
    return slopes, hessians


def near(task: Task, place: Place) -> Float[Array, "f p"]:
    """Weights that are best if J is as curved, in the latents, as at a place found with another θ."""
    phi, offset = task.acting.phi, task.acting.offset
    f, c, k, p = phi.shape
    values = place.latent.at[:, :, 0].add(-offset)
    seen = jnp.sum(place.curvature * values.reshape(c, 1, f * k), axis=2).reshape(c, f, k)
    right = in_weights(phi, seen - place.slopes)
    inverse = fisher_inverse(phi, place.curvature, task.graph)
    return solved(inverse, right.ravel()).reshape(f, p)


def complete(task: Task, start: Float[Array, "f p"], solver: Solver, exact: Array | int) -> Completion:
    """w ← w - C⁻¹∇J with a backtracking line search: `FisherScoring` from weights, or `exact` from near ones."""

    def running(state: Completion) -> Array:
        return (state.code == RUNNING) & (state.steps < solver.most_steps)

    def advanced(state: Completion) -> Completion:
        place, phi = state.place, task.acting.phi
        gradient, curvature = in_weights(phi, place.slopes) + place.weights, place.curvature
        if solver.close > 0.0:
            hessians = curvatures_at(task, place.latent)[1][:, :-1, :-1]
            inverse = inverse_root(beside_one(phi, jnp.where(state.exact > 0, hessians, curvature)))
        else:
            inverse = fisher_inverse(phi, curvature, task.graph)
        direction = -solved(inverse, gradient.ravel()).reshape(gradient.shape)
        sound = jnp.all(jnp.isfinite(direction))
        direction = jnp.where(sound, direction, 0.0)
        slope = jnp.sum(gradient * direction)
        promised = -0.5 * slope
        trusted = solver.trusts & (promised < solver.tolerance)
        # in a batch the loop goes on until all are done: one that is done would search below rounding each time
        weights, found = _searched(task, place, direction, slope, running(state) & ~trusted)
        weights = jnp.where(found, weights, place.weights)
        enough = jnp.where(state.exact > 0, max(solver.tolerance, SQUARED), solver.tolerance)
        done = trusted | (promised < enough) | (~found & (promised < ROUNDING * jnp.abs(place.loss)))
        code = jnp.where(done, CONVERGED, jnp.where(found, RUNNING, STUCK))
        after = jnp.where(state.exact < 0, state.exact + 1, jnp.where(promised < solver.close, 1, state.exact))
        new = place_at(task, weights)
        if solver.trusts:
            new = jax.tree.map(partial(jnp.where, trusted), _ahead(task, place, direction, promised), new)
        code = jnp.where(sound, code, jnp.where(state.exact > 0, RUNNING, LOST))
        after = jnp.where(sound, after, -PAUSE)
        code = jnp.where(jnp.isfinite(new.loss), code, LOST)
        return Completion(new, code, after, state.steps + 1, inverse)

    place, size = place_at(task, start), start.size
    code = jnp.where(jnp.isfinite(place.loss), RUNNING, LOST)
    begun = Completion(place, code, jnp.asarray(exact), jnp.asarray(0), jnp.eye(size))
    return jax.lax.while_loop(running, advanced, begun)


def _ahead(task: Task, place: Place, direction: Array, promised: Array) -> Place:
    """Where a step leads, without a look at it."""
    weights = place.weights + direction
    return place._replace(weights=weights, latent=latent_of(task, weights), loss=place.loss - promised)


def _searched(task: Task, place: Place, direction: Array, slope: Array, wanted: Array) -> tuple[Array, Array]:
    """Halve a step until J falls by 1e-4 of what the slope promises, up to rounding; and whether it fell at all.

    Where none is wanted the first step will do.
    """
    slack = 1e-13 * jnp.abs(place.loss)

    def tried(length: Array) -> Array:
        return loss_at(task, place.weights + length * direction)

    def short(state: tuple[Array, Array, Array]) -> Array:
        length, loss, count = state
        falls = loss <= place.loss + 1e-4 * length * slope + slack
        return wanted & ~falls & (count < HALVINGS)

    def halved(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        length, _, count = state
        return length / 2, tried(length / 2), count + 1

    one = jnp.ones(())
    length, loss, _ = jax.lax.while_loop(short, halved, (one, tried(one), jnp.asarray(0)))
    return place.weights + length * direction, loss <= place.loss + slack
