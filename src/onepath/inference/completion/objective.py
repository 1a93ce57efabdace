"""The MAP loss J(w) = -log-likelihood + ½|w|² of a graph, with its gradient, Fisher matrix and Hessian.

A weight acts on the likelihood only through q = offset + φ w, the unknown functions at a cell and as many of their
derivatives as the transition law asks for. So derivatives are taken in q, a few numbers a cell, by JAX, and carried to
the weights by the features, with NumPy: sums over cells are products of matrices.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from onepath.data.cells import Cells, of_table, table_of
from onepath.graph.graph import Graph, Group
from onepath.inference.completion.features import Features
from onepath.numerics.arrays import Floats
from onepath.numerics.blocks import Blocks
from onepath.numerics.compiled import Bound, Fixed, compiled
from onepath.numerics.linalg import contract, log_determinant, lower_root, small_cholesky, small_forward_solve, solved
from onepath.numerics.modules import changed


def cell_loss(graph: Graph, latent: Float[Array, "functions k"], cell: Cells) -> Float[Array, ""]:
    """½ [ n ln det V + tr(V⁻¹S) + n (ȳ-m)ᵀV⁻¹(ȳ-m) ]; for one transition a cell, the paper's eq. 5."""
    mean, covariance = graph.compared_with(latent, cell.x, cell.dt)
    y, scatter = graph.compared_data(cell.y, cell.scatter)
    lower = small_cholesky(covariance)
    residual = small_forward_solve(lower, y - mean)
    scatter = small_forward_solve(lower, small_forward_solve(lower, scatter).T)
    fit = cell.weight * (log_determinant(lower) + jnp.sum(jnp.square(residual)))
    return 0.5 * (fit + jnp.trace(scatter))


def cell_rows(graph: Graph, latent: Float[Array, "functions k"], cell: Cells) -> Float[Array, "r functions k"]:
    """Rows R whose RᵀR = n [ JmᵀV⁻¹Jm + ½ tr(V⁻¹JV V⁻¹JV) ] is the expected curvature of a cell's loss."""
    _, covariance = graph.compared_with(latent, cell.x, cell.dt)
    # with derivatives, a law has many more arguments than results
    slopes = jax.jacrev if graph.hessian_is_dear else jax.jacfwd
    mean_slope, covariance_slope = slopes(graph.compared_with)(latent, cell.x, cell.dt)
    lower, size = small_cholesky(covariance), latent.size
    of_mean = small_forward_solve(lower, mean_slope.reshape(-1, size))
    half = small_forward_solve(lower, covariance_slope.reshape(*covariance.shape, size))
    of_covariance = small_forward_solve(lower, jnp.swapaxes(half, 0, 1))
    # it is symmetric: what is beside the diagonal counts twice
    pairs = zip(*np.tril_indices(len(covariance)), strict=True)
    lower_half = jnp.stack([of_covariance[i, j] * (np.sqrt(0.5) if i == j else 1.0) for i, j in pairs])
    return jnp.sqrt(cell.weight) * jnp.concatenate([of_mean, lower_half]).reshape(-1, *latent.shape)


@compiled
def slopes_of_cells(
    latent: Float[Array, "c f k"], table: Float[Array, "c columns"], noise: Float[Array, ""], graph: Graph
) -> tuple[Float[Array, " c"], Float[Array, "c f k"], Float[Array, "c r f k"]]:
    """Losses of cells, their slopes in the latents, and the rows of their expected curvature."""
    graph, cells = changed(graph, noise=noise), of_table(table, graph.dimension)
    losses, slopes = jax.vmap(jax.value_and_grad(cell_loss, 1), (None, 0, 0))(graph, latent, cells)
    return losses, slopes, jax.vmap(cell_rows, (None, 0, 0))(graph, latent, cells)


@compiled
def curvatures_of_cells(
    latent: Float[Array, "c f k"], table: Float[Array, "c columns"], noise: Float[Array, ""], graph: Graph
) -> tuple[Float[Array, "c q"], Float[Array, "c q q"]]:
    """Slopes and Hessians of cells' losses in q: the latents and, as its last entry, λ."""
    shape, cells = latent.shape[1:], of_table(table, graph.dimension)

    def loss(q: Array, cell: Cells) -> Array:
        return cell_loss(changed(graph, noise=q[-1]), q[:-1].reshape(shape), cell)

    q = jnp.concatenate([latent.reshape(len(latent), -1), jnp.full((len(latent), 1), noise)], axis=1)
    return jax.vmap(jax.grad(loss))(q, cells), jax.vmap(jax.hessian(loss))(q, cells)


@compiled
def _slopes_and_curvatures(
    latent: Float[Array, "c f k"], table: Float[Array, "c columns"], noise: Float[Array, ""], graph: Graph
) -> tuple[Float[Array, "..."], ...]:
    """Both in one program: where derivatives are few, a call takes longer than what it computes."""
    return *slopes_of_cells(latent, table, noise, graph), *curvatures_of_cells(latent, table, noise, graph)


@compiled
def traces_of_cells(
    latent: Float[Array, "c f k"],
    covariance: Float[Array, "c l l"],
    table: Float[Array, "c columns"],
    noise: Float[Array, ""],
    graph: Graph,
) -> tuple[Float[Array, "c q"]]:
    """Slopes in q of ½⟨P, C⟩, P a given covariance of a cell's latents and C = RᵀR."""
    shape, cells = latent.shape[1:], of_table(table, graph.dimension)

    def half_trace(q: Array, cell: Cells, covariance: Array) -> Array:
        rows = cell_rows(changed(graph, noise=q[-1]), q[:-1].reshape(shape), cell)
        flat = rows.reshape(len(rows), -1)
        return 0.5 * jnp.sum(flat * contract(flat, covariance))

    q = jnp.concatenate([latent.reshape(len(latent), -1), jnp.full((len(latent), 1), noise)], axis=1)
    return (jax.vmap(jax.grad(half_trace))(q, cells, covariance),)


class Cellwise:
    """What cells say about latents (c, functions, k) and λ: the programs of one graph on the same cells.

    They do not depend on features, and so not on how many there are.
    """

    def __init__(self, graph: Graph, cells: Cells) -> None:
        self.graph, self.cells, self.groups = graph.bare, cells, graph.groups()
        self.blocks = Blocks.of(*np.shape(cells.x))
        self._cells = self.blocks.cut(table_of(cells))
        fixed = Fixed(self.graph)
        self.together = self.graph.order == 0
        self._slopes = Bound(_slopes_and_curvatures if self.together else slopes_of_cells, fixed)
        self._curvatures, self._traces = (Bound(program, fixed) for program in (curvatures_of_cells, traces_of_cells))

    def _by_blocks(self, program: Bound, noise: Floats, *rows: Floats) -> list[Floats]:
        cut = zip(*map(self.blocks.cut, rows), self._cells, strict=True)
        found = [program(*block, noise) for block in cut]
        return [self.blocks.joined(parts) for parts in zip(*found, strict=True)]

    def slopes(self, latent: Floats, noise: Floats) -> list[Floats]:
        """Losses (c), their slopes in the latents (c, functions, k), and the rows of their curvature.

        And slopes and Hessians as `curvatures` gives them, where both come together.
        """
        return self._by_blocks(self._slopes, noise, latent)

    def curvatures(self, latent: Floats, noise: Floats) -> list[Floats]:
        """Slopes (c, q) and Hessians (c, q, q) of losses in the latents and λ."""
        return self.slopes(latent, noise)[3:] if self.together else self._by_blocks(self._curvatures, noise, latent)

    def traces(self, latent: Floats, noise: Floats, covariance: Floats) -> Floats:
        """Slopes (c, q) of ½⟨P, C⟩ with P given."""
        return self._by_blocks(self._traces, noise, latent, covariance)[0]


class Place(NamedTuple):
    """Weights, the latents there, J, and the cells' slopes and rows; and their curvatures, if these are known."""

    weights: Floats
    latent: Floats
    loss: float
    slopes: Floats
    rows: Floats
    curvatures: Sequence[Floats] = ()

    @property
    def misfit(self) -> float:
        """-log-likelihood, without its constant."""
        return self.loss - float(0.5 * np.sum(np.square(self.weights)))

    @property
    def scores(self) -> Floats:
        """-∂ℓ/∂q of each cell in units of its standard deviation, (c, functions): white noise if nothing is left."""
        squares = np.sum(np.square(self.rows[..., 0]), axis=1)
        return np.asarray(-self.slopes[..., 0] / np.sqrt(np.maximum(squares, np.finfo(float).tiny)))


class Block(NamedTuple):
    """The Cholesky factor of the curvature of some functions' weights, which are coupled with no others."""

    functions: list[int]
    weights: np.ndarray  # which, of all weights raveled
    lower: Floats


@dataclass(frozen=True, eq=False)
class Objective:
    """What is minimised to complete a graph on given cells. Weights are (functions, p), and zero where φ is."""

    cellwise: Cellwise
    features: Features

    @property
    def graph(self) -> Graph:
        return self.cellwise.graph

    @property
    def cells(self) -> Cells:
        return self.cellwise.cells

    @property
    def phi(self) -> Floats:
        """(c, functions, k, p)."""
        return self.features.phi.swapaxes(0, 1)

    @property
    def no_weights(self) -> Floats:
        """All weights zero: the prior's mean."""
        return np.zeros((len(self.features.phi), self.features.phi.shape[3]))

    def latent(self, weights: Floats) -> Floats:
        """q: all unknown functions at all cells, (c, functions, k)."""
        return self.features.latent(np.asarray(weights))

    def at(self, weights: Floats) -> Place:
        latent = self.latent(weights)
        losses, slopes, rows, *more = self.cellwise.slopes(latent, self.features.noise)
        flat = weights.ravel()
        return Place(weights, latent, float(losses.sum() + 0.5 * (flat @ flat)), slopes, rows, more)

    def curvatures_at(self, place: Place) -> Sequence[Floats]:
        """Slopes (c, q) and Hessians (c, q, q) of cells' losses in the latents and λ."""
        return place.curvatures or self.cellwise.curvatures(place.latent, self.features.noise)

    def loss(self, weights: Floats) -> float:
        """J."""
        return self.at(np.asarray(weights)).loss

    def gradient(self, weights: Floats) -> Floats:
        return self.gradient_at(self.at(np.asarray(weights)))

    def gradient_at(self, place: Place) -> Floats:
        return self.in_weights(place.slopes) + place.weights

    def in_weights(self, slopes: Floats) -> Floats:
        """Σ φᵀ of slopes (c, functions, k) in the latents: (functions, p)."""
        return np.stack([slopes[:, f].ravel() @ flat for f, flat in enumerate(self._flat)])

    @cached_property
    def _flat(self) -> list[Floats]:
        """φ of each function, (c k, p)."""
        return [phi.reshape(-1, phi.shape[2]) for phi in self.features.phi]

    def fisher_at(
        self, place: Place, groups: Sequence[Group] | None = None, told: Callable[[Floats], Floats] | None = None
    ) -> Iterator[Block]:
        """Factors of I + Σ φᵀ RᵀR φ, the Hessian's expectation, which is always positive definite.

        `told` says how much of Rφ's part about variances there is, where cells are not independent.
        """
        p, sizes = self.features.phi.shape[3], self.features.sizes
        for group in self.cellwise.groups if groups is None else groups:
            acted = self._acted(place, group)
            curvature = acted.T @ acted if told is None else self._told(acted, group, told)
            which = np.concatenate([f * p + np.arange(sizes[f]) for f in group.functions])
            yield Block(group.functions, which, _beside_one(curvature))

    def _told(self, acted: Floats, group: Group, told: Callable[[Floats], Floats]) -> Floats:
        """What cells say, where `told` knows what they say of variances: (c, r, w) → (w, w)."""
        rows = acted.reshape(len(self.cells.weight), -1, acted.shape[1])
        of_variance = np.asarray(group.rows) >= self.graph.dimension
        rest = rows[:, ~of_variance].reshape(-1, acted.shape[1])
        return np.asarray(rest.T @ rest + told(rows[:, of_variance]))

    def _acted(self, place: Place, group: Group) -> Floats:
        """R φ of a group of functions: (c r, w)."""
        parts = []
        for f in group.functions:
            own, features = place.rows[:, group.rows, f], self.features.phi[f, :, :, : self.features.sizes[f]]
            acted = own * features if own.shape[1:] == (1, 1) else np.matmul(own, features)
            parts.append(acted.reshape(-1, features.shape[2]))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def near(self, place: Place) -> Floats:
        """Weights that are best if J is as curved, in the latents, as at a place that was found with another θ.

        That is (I + φᵀCφ)⁻¹ φᵀ(C q̂ - ∇ℓ): functions change little with θ, where weights may change much.
        """
        values = place.latent - self.features.offset[:, None] * np.eye(1, place.latent.shape[2])
        right, weights = -self.in_weights(place.slopes), self.no_weights
        for group in self.cellwise.groups:
            acted, own = self._acted(place, group), [right[f, : self.features.sizes[f]] for f in group.functions]
            seen = sum(np.einsum("crk,ck->cr", place.rows[:, group.rows, f], values[:, f]) for f in group.functions)
            found = solved(_beside_one(acted.T @ acted), np.concatenate(own) + np.ravel(seen) @ acted)
            for f, part in zip(group.functions, np.split(found, np.cumsum([len(each) for each in own])), strict=False):
                weights[f, : len(part)] = part
        return weights

    def fisher(self, weights: Floats) -> Floats:
        """The Fisher matrix of J in all weights, (w, w)."""
        whole = np.eye(self.no_weights.size)
        for _, places, lower in self.fisher_at(self.at(np.asarray(weights))):
            whole[np.ix_(places, places)] = lower @ lower.T
        return whole

    def hessian_of(self, in_q: Floats) -> Floats:
        """I + Σ φᵀ H φ from the cells' Hessians (c, q, q) in latents and λ: (w, w)."""
        functions, c, k, p = self.features.phi.shape
        curvature = in_q[:, :-1, :-1].reshape(c, functions, k, functions, k)
        some = np.any(in_q.reshape(c, -1), axis=0, keepdims=True).reshape(in_q.shape[1:])
        coupled = some[:-1, :-1].reshape(functions, k, functions, k)
        whole = np.eye(functions * p)
        for f, g in np.argwhere(coupled.any(axis=(1, 3))).tolist():
            if f > g:
                continue
            block, features = curvature[:, f, :, g], self.features.phi[g]
            acted = block * features if block.shape[1] == 1 else np.matmul(block, features)
            product = self._flat[f].T @ acted.reshape(-1, p)
            whole[f * p : (f + 1) * p, g * p : (g + 1) * p] += product
            if f != g:
                whole[g * p : (g + 1) * p, f * p : (f + 1) * p] = product.T
        return whole

    def hessian_at(self, place: Place) -> Floats:
        return self.hessian_of(self.curvatures_at(place)[1])

    def hessian(self, weights: Floats) -> Floats:
        """The Hessian of J, I + Σ φᵀ H φ."""
        return self.hessian_at(self.at(np.asarray(weights)))

    def along(self, weights: Floats) -> Floats:
        """φ w, the latents without their offsets, (c, functions, k)."""
        return self.latent(weights) - self.features.offset[:, None] * np.eye(1, self.features.phi.shape[2])

    def in_theta(self, in_q: Floats, weights: Floats, in_phi: Floats | float = 0.0) -> Floats:
        """θ's slope from slopes (c, q) in latents and λ at fixed weights, and `in_phi` more in the features."""
        latents = self.by_function(in_q)
        whole = latents[..., None] * np.asarray(weights)[:, None, None] + in_phi
        return self.features.pulled(whole, latents[:, :, 0].sum(axis=1), float(in_q[:, -1].sum()))

    def in_level(self, slopes: Floats) -> Floats:
        """θ's slope from slopes (c, functions, k) in the latents, as far as it comes by the offsets."""
        return self.features.by_offset(slopes[:, :, 0].sum(axis=0))

    def by_function(self, q: Floats) -> Floats:
        """What of (c, q) belongs to latents, as (functions, c, k)."""
        functions, c, k, _ = self.features.phi.shape
        return q[:, :-1].reshape(c, functions, k).swapaxes(0, 1)

    def with_best_drift(self, weights: Floats) -> Floats:
        """f*(σ), the best drift for these diffusion weights (paper, eq. 6): one step, Euler's J is quadratic in f."""
        weights, d = np.array(weights), self.graph.drifts
        drifts = [Group([f for f in functions if f < d], rows) for functions, rows in self.cellwise.groups]
        place = self.at(weights)
        gradient = self.gradient_at(place).ravel()
        for _, places, lower in self.fisher_at(place, [group for group in drifts if group.functions]):
            weights.ravel()[places] -= solved(lower, gradient[places])
        return weights


def _beside_one(curvature: Floats) -> Floats:
    """The lower root of I + curvature, which is changed."""
    curvature.reshape(-1)[:: len(curvature) + 1] += 1.0
    return lower_root(curvature)


def objective_of(graph: Graph, cells: Cells) -> Objective:
    """The objective of a graph with its own parameters."""
    return Objective(Cellwise(graph, cells), Features.of(graph, cells.x))
