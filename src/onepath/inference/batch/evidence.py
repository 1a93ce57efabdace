"""Evidence of many series at once, with its slope: `learning/evidence.py` in a program."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from onepath.data.cells import Cells
from onepath.gp.parameters import Mask
from onepath.graph.graph import Graph
from onepath.inference.batch.completion import (
    ON_THE_WAY,
    Acting,
    Place,
    Task,
    acting,
    along,
    beside_one,
    complete,
    curvatures_at,
    fisher_inverse,
    in_weights,
    near,
    table_of,
)
from onepath.inference.completion.objective import traces_of_cells
from onepath.inference.learning.prior import NORMAL, ParameterPrior
from onepath.numerics.roots import half_log_determinant, inverse_root, solved


class Judged(NamedTuple):
    """A criterion's value and slope in θ, and where its completion ended."""

    value: Array
    slope: Float[Array, " k"]
    place: Place


class Problem(NamedTuple):
    """What is searched, of one series: a graph with points for its features, and cells."""

    graph: Graph
    cells: Cells


class Judge(NamedTuple):
    """Negative log posterior probability of θ; which leaves of a graph are learned, and what is known beforehand."""

    mask: Mask
    prior: ParameterPrior

    def __call__(self, problem: Problem, theta: Array, start: Place) -> Judged:
        """Completed near where another θ has led."""
        graph, cells = problem
        ingredients, pull = jax.vjp(lambda theta: acting(theta, graph, self.mask, cells.x, graph.order), theta)
        task = Task(ingredients, graph.bare, table_of(cells))
        led = jnp.any(start.curvature != 0.0)  # not from nowhere
        place = complete(task, near(task, start), ON_THE_WAY, jnp.where(led, 1, 0)).place
        value, slopes = _judged(task, place)
        penalty, of_penalty = negative_log(self.prior, theta)
        return Judged(value + penalty, pull(slopes)[0] + of_penalty, place)


def _judged(task: Task, place: Place) -> tuple[Array, Acting]:
    """J(ŵ) + ½ ln det F, and its slopes in all that θ acts through; for the formulas see `learning/evidence.py`."""
    phi, noise = task.acting.phi, task.acting.noise
    f, c, k, p = phi.shape
    slope, hessian = curvatures_at(task, place.latent)
    inverse = fisher_inverse(phi, place.curvature, task.graph)
    of_hessian = inverse_root(beside_one(phi, hessian[:, :-1, :-1]))
    value = place.loss + half_log_determinant(inverse)
    spread = (inverse.T @ inverse).reshape(f, p, f * p)  # F⁻¹
    half = jnp.stack([(phi[i].reshape(c * k, p) @ spread[i]).reshape(c, k, f, p) for i in range(f)], axis=1)
    covariance = jnp.stack(
        [jnp.sum(half[:, :, :, g, None] * phi[g][:, None, None], axis=4) for g in range(f)], axis=3
    )  # φF⁻¹φᵀ: (c, f, k, f, k)
    crossed = place.curvature.reshape(c, f, k, f, k)
    in_phi = jnp.stack(
        [
            sum(crossed[:, g, :, i, m][:, :, None] * half[:, i, m, g][:, None] for i in range(f) for m in range(k))
            for g in range(f)
        ]
    )  # CφF⁻¹: (f, c, k, p)
    (t,) = traces_of_cells(place.latent, covariance.reshape(c, f * k, f * k), task.table, noise, task.graph)
    of_hessian = jnp.where(jnp.all(jnp.isfinite(of_hessian)), of_hessian, inverse)
    right = in_weights(phi, t[:, :-1].reshape(c, f, k))
    v = solved(of_hessian, right.ravel()).reshape(f, p)
    a = slope + t - jnp.sum(hessian[:, :, :-1] * along(phi, v).reshape(c, 1, f * k), axis=2)

    def by_function(q: Array) -> Array:
        return jnp.moveaxis(q[:, :-1].reshape(c, f, k), 1, 0)

    in_phi = in_phi - by_function(slope)[..., None] * v[:, None, None]
    latents = by_function(a)
    in_phi = in_phi + latents[..., None] * place.weights[:, None, None]
    return value, Acting(in_phi, jnp.sum(latents[:, :, 0], axis=1), jnp.sum(a[:, -1]))


def nowhere(problem: Problem) -> Place:
    """What a completion starts from where no other θ has led: the prior's mean."""
    cells, graph = len(problem.cells.weight), problem.graph
    f, k = graph.functions, 1
    shape = jnp.zeros((cells, f, k))
    latent = shape.at[:, :, 0].add(graph.offset)
    widths = [sum(len(basis.used) for basis in each.bases) for each in graph.unknown]
    return Place(jnp.zeros((f, max(widths))), latent, jnp.zeros(()), shape, jnp.zeros((cells, f * k, f * k)))


def negative_log(prior: ParameterPrior, theta: Array) -> tuple[Array, Array]:
    """½ Σ z², linear where |z| > 2, and its slope."""
    z = (theta - prior.mean) / prior.spread
    inner = jnp.clip(z, -NORMAL, NORMAL)
    return inner @ (z - 0.5 * inner), inner / prior.spread


def no_wider(prior: ParameterPrior, curvatures: Array) -> Array:
    """Eigenvalues of a curvature, none of which says less than the widest prior does."""
    return jnp.maximum(curvatures, 1.0 / np.max(prior.spread) ** 2)
