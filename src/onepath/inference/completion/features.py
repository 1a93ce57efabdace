"""Features of all unknown functions at the same points, for any θ, and the way back from slopes in them to one in θ.

JAX evaluates kernels; whitening, φ = k(x, Z) L⁻ᵀ with L Lᵀ = k(Z, Z), is LAPACK's, on the points that are used: what is
padding for compiled code costs nothing here.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float

from onepath.gp.parameters import Mask, pack
from onepath.graph.graph import Graph, graph_at
from onepath.numerics.arrays import Floats
from onepath.numerics.blocks import Blocks
from onepath.numerics.compiled import Bound, Fixed, compiled
from onepath.numerics.linalg import lower_root, lower_solved, upper_solved

Similar = list[list[tuple[Floats, Floats]]]
"""For each unknown, for each term of its kernel: k(Z, Z) (outputs, p, p) and k(x, Z) (outputs, n, k, p)."""


def _ingredients(
    theta: Float[Array, " k"], graph: Graph, mask: Mask, u: Float[Array, "n dq"], order: int
) -> tuple[Any, Array, Any]:
    """What θ acts through: similarities of every term of every unknown, offsets and λ."""
    at = graph_at(graph, mask, theta)
    return [function.similarities(u, order) for function in at.unknown], at.offset, at.noise


@compiled
def _evaluated(
    theta: Float[Array, " k"], u: Float[Array, "n dq"], graph: Graph, mask: Mask, order: int
) -> tuple[Any, Array, Array, Array]:
    """All that θ acts through, and k(x, x)."""
    return *_ingredients(theta, graph, mask, u, order), graph_at(graph, mask, theta).prior_variance(u)


@compiled
def _pulled(
    theta: Float[Array, " k"], slopes: Any, u: Float[Array, "n dq"], graph: Graph, mask: Mask, order: int
) -> Float[Array, " k"]:
    """The slope in θ, from slopes in all that θ acts through."""
    return jax.vjp(lambda theta: _ingredients(theta, graph, mask, u, order), theta)[1](slopes)[0]


@compiled
def _by_offset(
    theta: Float[Array, " k"], in_offset: Float[Array, " f"], graph: Graph, mask: Mask
) -> Float[Array, " k"]:
    """The part of the slope in θ that comes by the offsets."""
    return jax.vjp(lambda theta: graph_at(graph, mask, theta).offset, theta)[1](in_offset)[0]


@cache
def _lower_half(size: int) -> Floats:
    """What takes the lower triangle of a matrix, and half of its diagonal."""
    return np.tril(np.ones((size, size))) - 0.5 * np.eye(size)


class Features:
    """φ (functions, n, k, p) at one θ, offsets and λ; p is the largest `sizes`, how many each function has."""

    def __init__(self, source: "FeatureSource", theta: Floats) -> None:
        self.source, self.theta = source, theta
        self.similar, self.offset, self.noise, self.prior_variance = source.evaluated(theta)
        self.sizes, self.layout, n = source.sizes, source.layout, source.count
        k = self.similar[0][0][1].shape[2]
        self.phi = np.zeros((len(self.sizes), n, k, max(self.sizes)))
        self.factors: list[list[Floats]] = []
        for f, (unknown, o, ranks) in enumerate(source.outputs):
            begin, factors = 0, []
            for (gram, cross), rank in zip(self.similar[unknown], ranks, strict=True):
                lower = lower_root(gram[o, :rank, :rank])
                white = lower_solved(lower, cross[o, :, :, :rank].reshape(n * k, rank).T)
                self.phi[f, :, :, begin : begin + rank] = source.amplitudes[f] * white.T.reshape(n, k, rank)
                factors.append(lower)
                begin += rank
            self.factors.append(factors)

    @classmethod
    def of(cls, graph: Graph, u: Floats, order: int | None = None) -> "Features":
        """Those of a graph with its own parameters."""
        return FeatureSource(graph, (False,) * len(jax.tree.leaves(graph.parameters)), u, order).at(np.zeros(0))

    @property
    def ranks(self) -> list[Sequence[int]]:
        """How many points each term of each function has."""
        return [each.ranks for each in self.source.outputs]

    def latent(self, weights: Floats) -> Floats:
        """The unknown functions and their derivatives before the link, (n, functions, k)."""
        functions, n, k, p = self.phi.shape
        values = np.matmul(self.phi.reshape(functions, n * k, p), weights[:, :, None]).reshape(functions, n, k)
        values[:, :, 0] += self.offset[:, None]
        return np.ascontiguousarray(values.swapaxes(0, 1))

    def pulled(self, in_phi: Floats, in_offset: Floats, in_noise: float) -> Floats:
        """The slope in θ from slopes in φ (functions, n, k, p), in the offsets and in λ.

        With φ = X L⁻ᵀ and L Lᵀ = G, the slope in X is S = φ̄ L⁻¹, and that in G is -L⁻ᵀ Φ(φ̄ᵀφ) L⁻¹, made symmetric,
        where Φ takes the lower triangle and half of the diagonal.
        """
        n, k = self.phi.shape[1:3]
        room = (self.source.blocks.room, k)
        bars = [
            [(np.zeros(gram.shape), np.zeros((len(cross), *room, cross.shape[3]))) for gram, cross in each]
            for each in self.similar
        ]
        for f, (unknown, o, ranks) in enumerate(self.source.outputs):
            begin = 0
            for (gram, cross), lower, rank in zip(bars[unknown], self.factors[f], ranks, strict=True):
                slope = self.source.amplitudes[f] * in_phi[f, :, :, begin : begin + rank].reshape(n * k, rank)
                own = self.phi[f, :, :, begin : begin + rank].reshape(n * k, rank) / self.source.amplitudes[f]
                cross[o, :n, :, :rank] = upper_solved(lower, slope.T).T.reshape(n, k, rank)
                inner = (slope.T @ own) * _lower_half(rank)
                outer = upper_solved(lower, upper_solved(lower, inner).T)
                gram[o, :rank, :rank] = -0.5 * (outer + outer.T)
                begin += rank
        return self.source.pulled(self.theta, bars, in_offset, np.asarray(in_noise))

    def by_offset(self, in_offset: Floats) -> Floats:
        """The part of the slope in θ that comes by the offsets."""
        return np.asarray(_by_offset(self.theta, in_offset, self.source.graph.bare.lawless, self.source.mask))


class Output(NamedTuple):
    """One function: which unknown it belongs to, which output of it, and how many points each term has."""

    unknown: int
    output: int
    ranks: Sequence[int]


class FeatureSource:
    """Features of a graph at the same points for any θ; points of its bases stay as they are."""

    def __init__(self, graph: Graph, mask: Mask, u: Floats, order: int | None = None) -> None:
        self.graph, self.mask, self.count = graph, mask, len(u)
        self.blocks = Blocks.of(*np.shape(u))
        self._u = self.blocks.cut(u)
        order = graph.order if order is None else order
        fixed = Fixed(graph.lawless, mask, order)  # features know no law, and the code of one serves every other
        self._evaluated, self._pulled = Bound(_evaluated, fixed), Bound(_pulled, fixed)
        ranks = [[int(np.sum(np.asarray(basis.used))) for basis in each.bases] for each in graph.unknown]
        self.outputs = [Output(i, o, ranks[i]) for i, each in enumerate(graph.unknown) for o in range(each.outputs)]
        self.sizes, self.layout = [sum(each.ranks) for each in self.outputs], graph.layout
        self.amplitudes = np.concatenate([np.asarray(each.amplitude) for each in graph.unknown])

    @property
    def theta(self) -> Floats:
        """The graph's own."""
        return np.asarray(pack(self.graph.parameters, self.mask))

    def at(self, theta: Floats) -> Features:
        return Features(self, np.asarray(theta, float))

    def evaluated(self, theta: Floats) -> tuple[Similar, Floats, Floats, Floats]:
        similar, offset, noise, prior_variance = zip(*(self._evaluated(theta, u) for u in self._u), strict=True)
        joined = [[self._joined(term) for term in zip(*of, strict=True)] for of in zip(*similar, strict=True)]
        return joined, offset[0], noise[0], self.blocks.joined(prior_variance)

    def _joined(self, term: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        """Of one term in all blocks: k(Z, Z), which is the same in all of them, and k(x, Z)."""
        return term[0][0], self.blocks.joined([cross for _, cross in term], axis=1)

    def pulled(self, theta: Floats, bars: Similar, in_offset: Floats, in_noise: Floats) -> Floats:
        """The slope in θ from slopes in k(Z, Z) and k(x, Z) of every term, made up rows too, in offsets and in λ."""
        size, total = self.blocks.size, np.zeros(len(theta))
        for i, u in enumerate(self._u):
            rows = slice(i * size, (i + 1) * size)
            cut = [[(gram, cross[:, rows]) for gram, cross in each] for each in bars]
            total += self._pulled(theta, (cut, in_offset, in_noise), u)
            if i == 0:  # what is not in blocks counts once
                bars = [[(np.zeros_like(gram), cross) for gram, cross in each] for each in bars]
                in_offset, in_noise = np.zeros_like(in_offset), np.zeros_like(in_noise)
        return total
