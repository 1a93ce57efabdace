"""A Gaussian process in weight space: g(x) = φ(x)·w with w ~ N(0, I), φ(x) = k(x, Z) L⁻ᵀ and L Lᵀ = k(Z, Z).

With Z = all points this is the process itself. With Z chosen by pivoted Cholesky it is the same process up to a stated
residual variance. A sum of kernels is a concatenation of features, so each term of a sum has points of its own, and a
kernel of finite rank needs only as many as its rank.
"""

from collections.abc import Callable
from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from tinygp.kernels import Kernel

from onepath.kernels import output, terms
from onepath.linalg import cholesky, forward_solve, pivots


class Basis(eqx.Module):
    """The points Z of one term; unused ones are padding, whose features are zero."""

    points: Float[Array, "p d"]
    used: Bool[Array, " p"]


class UnknownFunction(eqx.Module):
    """Independent Gaussian processes, one an output: g_o(u) = amplitude_o φ_o(x)·w_o, where x = location + scale u.

    The kernel's parameters carry a leading axis of outputs. `location` and `scale` say in which units it is written.
    """

    kernel: Kernel
    amplitude: Float[Array, " outputs"]
    location: Float[Array, " d"]
    scale: Float[Array, " d"]
    bases: tuple[Basis, ...] = ()

    @property
    def outputs(self) -> int:
        return self.amplitude.shape[0]

    def _each_output(self, evaluate: Callable[[Kernel], Array]) -> Float[Array, "outputs ..."]:
        """What `evaluate` gives for each output's kernel."""
        return jnp.stack([evaluate(output(self.kernel, o)) for o in range(self.outputs)])

    def features(self, u: Float[Array, "n d"]) -> Float[Array, "n outputs p"]:
        """φ(u), the amplitude included."""
        x = self.location + self.scale * u

        def one_output(kernel: Kernel) -> Float[Array, "n p"]:
            pairs = zip(terms(kernel), self.bases, strict=True)
            return jnp.concatenate([_term_features(term, basis, x) for term, basis in pairs], axis=1)

        return jnp.moveaxis(self.amplitude[:, None, None] * self._each_output(one_output), 0, 1)

    def prior_variance(self, u: Float[Array, "n d"]) -> Float[Array, "n outputs"]:
        """k(x, x), the amplitude included."""
        x = self.location + self.scale * u
        return (jnp.square(self.amplitude)[:, None] * self._each_output(lambda kernel: kernel(x))).T

    def prior_covariance(self, u: Float[Array, "n d"]) -> Float[Array, "outputs n n"]:
        """k(x, x'), the amplitude included."""
        x = self.location + self.scale * u
        return jnp.square(self.amplitude)[:, None, None] * self._each_output(lambda kernel: kernel(x, x))


def _term_features(term: Kernel, basis: Basis, x: Float[Array, "n d"]) -> Float[Array, "n p"]:
    used = basis.used[:, None]
    gram = jnp.where(used & used.T, term(basis.points, basis.points), 0.0)
    mean_variance = jnp.trace(gram) / jnp.sum(basis.used)
    lower = cholesky(gram + jnp.diag(jnp.where(basis.used, 0.0, mean_variance)))
    return jnp.where(used, forward_solve(lower, term(basis.points, x)), 0.0).T


def with_bases(
    function: UnknownFunction,
    u: Float[Array, "n d"],
    usable: Bool[Array, " n"],
    tolerance: float,
    most: int,
    least: float = 0.0,
) -> UnknownFunction:
    """Choose points Z among `u` for every term of the kernel.

    A tolerance of 0 takes all of them. Otherwise the largest residual variance of a term is at most `tolerance` times
    the function's median prior variance, or times `least` if that is more, unless there are `most` points first.
    """
    x = function.location + function.scale * u
    parts = terms(function.kernel)
    variances = [float(_typical_variance(replace(function, kernel=part), u, usable)) for part in parts]
    reference = max(sum(variances), least)
    bases = []
    for term, variance in zip(parts, variances, strict=True):
        if tolerance == 0.0:
            chosen, rank = np.flatnonzero(usable), int(np.sum(usable))
        else:
            relative = jnp.asarray(tolerance * reference / variance if variance > 0.0 else tolerance)
            order, needed = _pivots(term, function.outputs, x, usable, relative, min(most, x.shape[0]))
            chosen, rank = np.asarray(order), max(int(needed), 1)
        room = _room(rank)
        bases.append(Basis(x[np.resize(chosen[:rank], room)], jnp.arange(room) < rank))
    return replace(function, bases=tuple(bases))


@eqx.filter_jit
def _typical_variance(function: UnknownFunction, u: Float[Array, "n d"], usable: Bool[Array, " n"]) -> Float[Array, ""]:
    """Median over points of the prior variance, the largest over outputs."""
    variance = jnp.where(usable[:, None], function.prior_variance(u), jnp.nan)
    return jnp.max(jnp.nanmedian(variance, axis=0))


def _room(rank: int) -> int:
    """Ranks are padded to few sizes, so that the next series finds its code compiled: 4, 12, 32, 64, 128 ..."""
    return next(size for size in (4, 12, 32, 64, *(2**k for k in range(7, 32))) if size >= rank)


@eqx.filter_jit
def _pivots(
    term: Kernel, outputs: int, x: Float[Array, "n d"], usable: Bool[Array, " n"], tolerance: Array, most: int
) -> tuple[Int[Array, " most"], Int[Array, ""]]:
    """Pivots for the average of all outputs' kernels, each scaled to unit variance: they serve every output."""
    matrices = [output(term, o)(x, x) for o in range(outputs)]
    scaled = [matrix / jnp.max(jnp.where(usable, jnp.diagonal(matrix), 0.0)) for matrix in matrices]
    return pivots(jnp.mean(jnp.stack(scaled), axis=0), usable, tolerance, most)
