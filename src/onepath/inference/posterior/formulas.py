"""Equations as members of a posterior: each function may be a sum of terms with coefficients, in place of the process.

Which of its equations a function is, if any, is independent of the other functions. A drift's latent is the sum itself;
an entry of σ is known by its square, in squared units of it, and its latent is what the link makes of the root.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from onepath.gp.terms import Terms
from onepath.graph.links import LINKS
from onepath.numerics.arrays import Floats, Integers
from onepath.numerics.modules import Module

FADE = 0.25
"""Standard deviations beyond the data over which what is not probable enough there is left for the process."""

TINY = 1e-24
"""The least variance, in standardised units."""

FOLLOWED = 0.9
"""How probable equations of a function must be together to be followed beyond the data, and in bands."""


class Followed(NamedTuple):
    """Functions drawn from a posterior: weights of the process (n, f, p), and an equation's where `share` is 1."""

    weights: Any
    coefficients: Any  # (n, f, terms)
    share: Any  # (n, f)


class Formulas(Module):
    """For each of f functions up to e equations: how probable each is, its coefficients, and their covariance's root.

    `least` is what σ² is taken for where an equation says less. `lower` and `upper` are the edges of the data.
    """

    terms: Terms
    mass: Float[Array | np.ndarray, "f e"]
    mean: Float[Array | np.ndarray, "f e terms"]
    root: Float[Array | np.ndarray, "f e terms terms"]
    least: Float[Array | np.ndarray, ""]
    lower: Float[Array | np.ndarray, " dq"]
    upper: Float[Array | np.ndarray, " dq"]
    link: str = eqx.field(static=True)
    drifts: int = eqx.field(static=True)
    entries: int | None = eqx.field(static=True, default=None)  # of σ; None: all functions after the drift's

    @property
    def noises(self) -> int:
        """How many of the functions are entries of σ."""
        return len(self.mass) - self.drifts if self.entries is None else self.entries

    def probability(self, xp: Any = np) -> Any:
        """That each function is one of its equations (f,)."""
        return xp.sum(xp.asarray(self.mass), axis=1)

    def band_mass(self, xp: Any = np) -> Any:
        """How much each counts in bands and draws: nothing where the process may well be right."""
        return xp.where(self.probability(xp)[:, None] >= FOLLOWED, xp.asarray(self.mass), 0.0)

    def inside(self, u: Any, xp: Any = jnp) -> Any:
        """1 at points (n, d) within the data, and soon 0 beyond them."""
        beyond = xp.maximum(self.lower - u, 0.0) + xp.maximum(u - self.upper, 0.0)
        return xp.exp(-0.5 * xp.sum(xp.square(beyond), axis=1) / FADE**2)

    def share(self, u: Any, xp: Any = jnp) -> Any:
        """How much of an equation that was drawn counts at points (n, d): (n, f), 1 within the data.

        Beyond them equations are followed if they are probable; what is known of others is known within the data only.
        """
        trusted = xp.asarray(self.probability(xp) >= FOLLOWED)
        return xp.where(trusted[None], 1.0, self.inside(u, xp)[:, None])

    def shares(self, u: Any, xp: Any = jnp) -> Any:
        """How much each equation counts in estimates at points (n, d): (n, f, e).

        Beyond the data the most probable one alone is followed: powers that hardly matter within them would lead away.
        """
        mass, inside = xp.asarray(self.mass), self.inside(u, xp)[:, None, None]
        trusted = self.probability(xp) >= FOLLOWED
        places = xp.arange(mass.shape[1])[None]
        first = xp.where((places == xp.argmax(mass, axis=1)[:, None]) & trusted[:, None], 1.0, 0.0)
        return inside * mass + (1.0 - inside) * first

    def latents(self, sums: Any, xp: Any = jnp) -> Any:
        """Latents with their derivatives (n, f, ..., k) from those of sums of terms, of as many functions."""
        d = self.drifts
        return xp.concatenate([sums[:, :d], self._linked(sums[:, d:], xp)], axis=1)

    def _linked(self, squared: Any, xp: Any) -> Any:
        """Jets of link⁻¹(√a) from jets of a."""
        value = xp.maximum(squared[..., :1], self.least)
        spread = xp.sqrt(value)
        latent, first, second = LINKS[self.link].inverse_jet(spread, xp)
        k, d = squared.shape[-1], self.terms.dimension
        if k == 1:
            return latent
        held = squared[..., :1] <= self.least
        # of a, by s = √a: s' = 1 / 2s, s'' = -1 / 4s³
        slope, bend = first / (2 * spread), second / (4 * value) - first / (4 * spread * value)
        rows, columns = np.triu_indices(d)
        slopes, bends = squared[..., 1 : 1 + d], squared[..., 1 + d :]
        bent = bend * slopes[..., rows] * slopes[..., columns] + slope * bends
        rest = xp.concatenate([slope * slopes, bent], axis=-1)
        return xp.concatenate([latent, xp.where(held, 0.0, rest)], axis=-1)

    def drawn(self, u: Array, order: int, followed: Followed, process: Float[Array, "n f k"]) -> Float[Array, "n f k"]:
        """Latents where some functions of each row follow an equation, and others the process."""
        design = self.terms.traced(u, order)
        equation = self.latents(jnp.einsum("nkt,nft->nfk", design, followed.coefficients))
        share = (followed.share * self.share(u))[:, :, None]
        return jnp.where(share > 0, share * equation + (1.0 - share) * process, process)

    def averaged(self, u: Array, order: int, process: Float[Array, "n f k"]) -> Float[Array, "n f k"]:
        """Mean latents, the process's given."""
        design = self.terms.traced(u, order)
        each = self.latents(jnp.einsum("nkt,fet->nfek", design, jnp.asarray(self.mean)))
        shares = self.shares(u)
        mean = jnp.einsum("nfe,nfek->nfk", shares, jnp.where(jnp.asarray(self.mass)[None, :, :, None] > 0, each, 0.0))
        return (1.0 - jnp.sum(shares, axis=2))[:, :, None] * process + mean

    def moments(self, u: Any, order: int = 0, xp: Any = np) -> tuple[Any, Any]:
        """Means (e, n, f, k) and variances (e, n, f) of latents under each equation."""
        design = self.terms.jets(u, order) if xp is np else self.terms.traced(u, order)
        means = xp.einsum("nkt,fet->nfek", design, self.mean)
        deviations = xp.sqrt(xp.sum(xp.square(xp.einsum("nt,fetw->nfew", design[:, 0], self.root)), axis=-1))
        value = means[..., 0]
        # half of the way between one deviation below and above: slopes say nothing where σ² is nearly nothing
        ends = [xp.asarray(self.latents((value + sign * deviations)[..., None], xp))[..., 0] for sign in (-1.0, 1.0)]
        variances = xp.maximum(xp.square(0.5 * (ends[1] - ends[0])), TINY)
        latents = xp.asarray(self.latents(means, xp))
        return xp.moveaxis(latents, 2, 0), xp.moveaxis(variances, 2, 0)

    def beside(self, u: Any, order: int, mean: Any, covariance: Any, xp: Any = np) -> tuple[Any, Any]:
        """Mean (n, f, k) and covariance (n, f, f) of latents, those of the process given."""
        means, variances = self.moments(u, order, xp)
        own = xp.swapaxes(xp.asarray(self.shares(u, xp)), 1, 2)  # (n, e, f)
        left = 1.0 - own.sum(axis=1)
        whole = left[:, :, None] * mean + xp.einsum("nef,enfk->nfk", own, means)
        spread = xp.einsum("nef,enf->nf", own, variances + xp.square(means - whole)[..., 0])
        diagonal = left * (xp.diagonal(covariance, axis1=1, axis2=2) + xp.square(mean - whole)[..., 0]) + spread
        rest = left[:, :, None] * covariance * left[:, None, :]
        return whole, xp.where(np.eye(mean.shape[1], dtype=bool), diagonal[:, :, None], rest)

    def constant_noise(self, of_process: Any, xp: Any = np) -> Any:
        """How probable it is that all of the noise is the same everywhere, from how probable that is of the process."""
        varies = xp.any((xp.asarray(self.mean) != 0.0) & (self.terms.degrees > 0), axis=2)  # (f, e)
        mass = xp.asarray(self.mass)
        same = xp.sum(xp.where(varies, 0.0, mass), axis=1) + (1.0 - mass.sum(axis=1)) * of_process
        return xp.prod(same[self.drifts : self.drifts + self.noises])

    def weights(self, u: Any, process: Any, bands: bool, xp: Any = np) -> Any:
        """How much members of the process, whose masses are given (s,), and equations count: (n, s + e, f)."""
        own = self.share(u, xp)[:, None] * self.band_mass(xp).T if bands else xp.swapaxes(self.shares(u, xp), 1, 2)
        left = 1.0 - own.sum(axis=1, keepdims=True)
        return xp.concatenate([left * xp.asarray(process)[None, :, None], own], axis=1)

    def chosen(self, count: int, mass: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Coefficients (count, f, terms), and 1 where a function follows them or 0 where it follows the process.

        `mass` (f, e) is how often each is drawn.
        """
        functions, equations, terms = self.mean.shape
        picked, normals = rng.random((count, functions)), rng.standard_normal((count, functions, terms))
        edges = np.cumsum(mass, axis=1)
        which: Integers = np.sum(picked[:, :, None] >= edges[None], axis=2)
        share = (which < equations).astype(float)
        which, f = np.minimum(which, equations - 1), np.arange(functions)
        mean, root = np.asarray(self.mean)[f, which], np.asarray(self.root)[f, which]
        return mean + np.einsum("nftw,nfw->nft", root, normals), share
