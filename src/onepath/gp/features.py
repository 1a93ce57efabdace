"""A Gaussian process in weight space: g(x) = φ(x)·w with w ~ N(0, I), φ(x) = k(x, Z) L⁻ᵀ and L Lᵀ = k(Z, Z).

With Z = all points this is the process itself. With Z chosen by pivoted Cholesky it is the same process up to a stated
residual variance. A sum of kernels is a concatenation of features, so each term of a sum has points of its own, and a
kernel of finite rank needs only as many as its rank.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float
from tinygp.kernels import Kernel

from onepath.gp.jets import Jet, jet_of, packed
from onepath.gp.kernels import output, terms
from onepath.numerics.compiled import compiled
from onepath.numerics.linalg import cholesky, constant, forward_solve, pivots
from onepath.numerics.modules import Module, changed

Reads = tuple[int, ...] | None

USUAL = 64
"""Points that the largest basis of a function has room for, at least."""


class Basis(Module):
    """The points Z of one term; unused ones are padding, whose features are zero."""

    points: Float[Array | np.ndarray, "p d"]
    used: Bool[Array | np.ndarray, " p"]


class Unknown(Module):
    """Independent Gaussian processes, one an output: g_o(u) = amplitude_o φ_o(x)·w_o, where x = location + scale u.

    The kernel's parameters carry a leading axis of outputs. `location` and `scale` say in which units it is written.
    `reads` says which coordinates of u are its inputs, r of d; None is all of them. Derivatives are those along the
    first ones, the `state`; None is all of them.
    """

    kernel: Kernel
    amplitude: Float[Array | np.ndarray, " outputs"]
    location: Float[Array | np.ndarray, " r"]
    scale: Float[Array | np.ndarray, " r"]
    bases: tuple[Basis, ...] = ()
    reads: Reads = eqx.field(static=True, default=None)
    state: int | None = eqx.field(static=True, default=None)

    @property
    def outputs(self) -> int:
        return self.amplitude.shape[0]

    def inputs(self, u: Float[Array, "*n dq"]) -> Float[Array, "*n r"]:
        """What it reads of u, in the units that its kernel is written in."""
        return self.location + self.scale * read_of(u, self.reads)

    def _each_output(self, evaluate: Callable[[Kernel], Array]) -> Float[Array, "outputs ..."]:
        """What `evaluate` gives for each output's kernel."""
        return jnp.stack([evaluate(output(self.kernel, o)) for o in range(self.outputs)])

    def features(self, u: Float[Array, "n dq"], order: int = 0) -> Float[Array, "n outputs k p"]:
        """φ(u), the amplitude included, and its derivatives in u up to this order (0 or 2), packed as in a jet."""

        def one_output(kernel: Kernel) -> Float[Array, "n k p"]:
            pairs = zip(terms(kernel), self.bases, strict=True)
            places = (self.location, self.scale, u)
            parts = [_term_features(*pair, places, order, (self.reads, self.state)) for pair in pairs]
            return jnp.concatenate(parts, axis=2)

        return jnp.moveaxis(self.amplitude[:, None, None, None] * self._each_output(one_output), 0, 1)

    def nudged(self, nudge: float) -> "Unknown":
        """With all points of its features moved a little, in standard deviations."""
        move = nudge * np.asarray(self.scale)
        moved = [changed(basis, points=constant(np.asarray(basis.points) + move)) for basis in self.bases]
        return changed(self, bases=tuple(moved))

    def similarities(self, u: Float[Array, "n dq"], order: int = 0) -> list[tuple[Array, Array]]:
        """What φ is made of, for each term: k(Z, Z) (outputs, p, p), and k(x, Z) (outputs, n, k, p)."""
        found = []
        for t, basis in enumerate(self.bases):
            places = (basis.points, self.location, self.scale, u)
            kernels = [terms(output(self.kernel, o))[t] for o in range(self.outputs)]
            which = (self.reads, self.state)
            grams, crosses = zip(*(_similarities(each, places, order, which) for each in kernels), strict=True)
            found.append((jnp.stack(grams), jnp.stack(crosses)))
        return found

    def prior_variance(self, u: Float[Array, "n dq"]) -> Float[Array, "n outputs"]:
        """k(x, x), the amplitude included."""
        x = self.inputs(u)
        return (jnp.square(self.amplitude)[:, None] * self._each_output(lambda kernel: kernel(x))).T

    def prior_covariance(self, u: Float[Array, "n dq"], v: Float[Array, "m dq"]) -> Float[Array, "outputs n m"]:
        """k(x, x'), the amplitude included."""
        x, other = self.inputs(u), self.inputs(v)
        return jnp.square(self.amplitude)[:, None, None] * self._each_output(lambda kernel: kernel(x, other))


class Known(Module):
    """A function that is given: factor · function(x), where x = location + scale u are the inputs that it reads."""

    function: Callable[[Array], Array] = eqx.field(static=True)
    factor: Float[Array | np.ndarray, " outputs"]
    location: Float[Array | np.ndarray, " r"]
    scale: Float[Array | np.ndarray, " r"]
    reads: Reads = eqx.field(static=True, default=None)
    state: int | None = eqx.field(static=True, default=None)

    @property
    def outputs(self) -> int:
        return self.factor.shape[0]

    def value(self, u: Float[Array, " dq"]) -> Float[Array, " outputs"]:
        return jnp.multiply(self.factor, self.function(self.location + self.scale * read_of(u, self.reads)))

    def jet(self, u: Float[Array, " dq"], order: int) -> Jet:
        """Its value at u, and with order 2 its derivatives too."""
        return jet_of(self.value, u, self.state) if order else Jet(self.value(u))


Function = Known | Unknown


def read_of(u: Any, reads: Reads) -> Any:
    """What is read of u (..., d): (..., r)."""
    return u if reads is None else u[..., np.array(reads)]


Which = tuple[Reads, int | None]
"""What is read of u, and along how many of its coordinates derivatives are taken."""

Places = tuple[Any, ...]
"""Points Z, location and scale of a function's inputs, and where it is evaluated."""


def _term_features(term: Kernel, basis: Basis, where: Places, order: int, which: Which) -> Float[Array, "n k p"]:
    """k(x, Z) L⁻ᵀ with L Lᵀ = k(Z, Z), and the same of k's derivatives in u."""
    used = basis.used[:, None]
    gram, cross = _similarities(term, (basis.points, *where), order, which)
    gram = jnp.where(used & used.T, gram, 0.0)
    mean_variance = jnp.trace(gram) / jnp.sum(basis.used)
    lower = cholesky(gram + jnp.diag(jnp.where(basis.used, 0.0, mean_variance)))
    n, k, p = cross.shape
    solved = forward_solve(lower, jnp.where(used, cross.reshape(n * k, p).T, 0.0))
    return solved.T.reshape(n, k, p)


def _evaluate(term: Kernel, places: Places, order: int, which: Which) -> tuple[Array, Array]:
    """k(Z, Z) as (p, p), and k(x, Z) with its derivatives in u as (n, k, p)."""
    points, location, scale, u = places
    reads, state = which

    def similarities(u: Float[Array, " dq"]) -> Float[Array, " p"]:
        return term(points, (location + scale * read_of(u, reads))[None])[:, 0]

    jets = jax.vmap(lambda u: packed(jet_of(similarities, u, state)) if order else similarities(u)[None])
    return term(points, points), jets(u)


@eqx.filter_custom_vjp
def _similarities(term: Kernel, places: Places, order: int, which: Which) -> tuple[Array, Array]:
    """The same with a slope of its own: a kernel has few parameters, so forward differentiation is the quick way."""
    return _evaluate(term, places, order, which)


@_similarities.def_fwd
def _similarities_forward(
    perturbed: Any, term: Kernel, places: Places, order: int, which: Which
) -> tuple[tuple[Array, Array], None]:
    del perturbed
    return _evaluate(term, places, order, which), None


@_similarities.def_bwd
def _similarities_backward(
    residuals: None, slopes: Any, perturbed: Any, term: Kernel, places: Places, order: int, which: Which
) -> Kernel:
    del residuals
    parameters, rest = eqx.partition(term, perturbed)
    vector, unravel = ravel_pytree(parameters)
    jacobians = jax.jacfwd(lambda vector: _evaluate(eqx.combine(unravel(vector), rest), places, order, which))(vector)
    pairs = zip(jacobians, slopes, strict=True)
    sums = [jnp.sum(j * s[..., None], axis=tuple(range(s.ndim))) for j, s in pairs if s is not None]
    return unravel(reduce(jnp.add, sums))


def with_bases(
    function: Unknown,
    u: Float[Array | np.ndarray, "n dq"],
    usable: Bool[Array | np.ndarray, " n"],
    tolerance: float,
    most: int,
    least: float = 0.0,
    nudge: float = 0.0,
) -> Unknown:
    """Choose points Z among `u`, moved by `nudge`, for every term of the kernel.

    A tolerance of 0 takes all of them. Otherwise the largest residual variance of a term is at most `tolerance` times
    the function's median prior variance, or times `least` if that is more, unless there are `most` points first.
    """
    location, scale = np.asarray(function.location), np.asarray(function.scale)
    u, usable = np.asarray(u), np.asarray(usable)
    places = location + scale * (np.asarray(read_of(u, function.reads)) + nudge)
    if tolerance == 0.0:
        every = np.flatnonzero(usable)
        chosen = [every] * len(terms(function.kernel))
    else:
        chosen = _chosen(function, u, usable, tolerance, least, min(most, len(u)))
    return changed(function, bases=tuple(_basis(places[order], padded_size(len(order))) for order in chosen))


def _basis(points: np.ndarray, size: int) -> Basis:
    rank = len(points)
    return Basis(constant(points[np.resize(np.arange(rank), size)]), np.arange(size) < rank)


def pad_together(functions: Sequence[Unknown]) -> list[Unknown]:
    """The same functions, the largest basis of each padded to the size of the largest of all, and to `USUAL` at least.

    They are evaluated together, and what is padding costs little, but the next series finds its code compiled.
    """
    largest = max(USUAL, *(len(basis.used) for function in functions for basis in function.bases))
    padded = []
    for function in functions:
        sizes = [len(basis.used) for basis in function.bases]
        widest = max(range(len(sizes)), key=lambda k: (sizes[k], k))
        bases = list(function.bases)
        bases[widest] = _basis(np.asarray(bases[widest].points)[np.asarray(bases[widest].used)], largest)
        padded.append(changed(function, bases=tuple(bases)))
    return padded


@compiled
def _grams(function: Unknown, u: Float[Array, "n dq"]) -> list[Float[Array, "outputs n n"]]:
    """k(x, x') of every term, without the amplitude."""
    x, outputs = function.inputs(u), [terms(output(function.kernel, o)) for o in range(function.outputs)]
    return [jnp.stack([term(x, x) for term in each]) for each in zip(*outputs, strict=True)]


def _chosen(
    function: Unknown, u: np.ndarray, usable: np.ndarray, tolerance: float, least: float, most: int
) -> list[np.ndarray]:
    """Pivots of every term, the tolerance being relative to the whole function's variance, or to `least`.

    They are those of the average of all outputs' kernels, each scaled to unit variance: they serve every output.
    """
    grams = [np.asarray(gram) for gram in _grams(changed(function, bases=()), u)]
    diagonals = [np.diagonal(gram, axis1=1, axis2=2)[:, usable] for gram in grams]
    squares = np.square(np.asarray(function.amplitude))
    variances = [float(np.max(squares * np.median(each, axis=1))) for each in diagonals]
    reference, found = max(sum(variances), least), []
    for gram, diagonal, variance in zip(grams, diagonals, variances, strict=True):
        relative = tolerance * reference / variance if variance > 0.0 else tolerance
        scaled = np.mean(gram / diagonal.max(axis=1)[:, None, None], axis=0)
        found.append(pivots(scaled, usable, relative, most))
    return found


def padded_size(rank: int) -> int:
    """Ranks are padded to few sizes, so that the next series finds its code compiled: 4, 12, 64, 128, 256 ..."""
    return next(size for size in (4, 12, *(2**k for k in range(6, 32))) if size >= rank)
