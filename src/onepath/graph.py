"""The computational graph: unknown functions, links and a transition law turn a state into a Gaussian increment."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from tinygp.kernels import Kernel

from onepath.drawing import Arrow, Node, draw_graph
from onepath.features import UnknownFunction
from onepath.jets import Jet, unpacked
from onepath.linalg import contract
from onepath.transition import Law


class Link(NamedTuple):
    """How an unconstrained function becomes a diffusion, and back."""

    forward: Callable[[Array], Array]
    inverse: Callable[[Array], Array]


@jax.custom_jvp
def softplus(value: Array) -> Array:
    """ln(1 + e^x)."""
    return jax.nn.softplus(value)


@softplus.defjvp
def _softplus_slope(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """The logistic function, said so that derivatives of it stay short."""
    return softplus(*primals), jax.lax.logistic(primals[0]) * tangents[0]


LINKS = {
    "softplus": Link(softplus, lambda value: value + jnp.log(-jnp.expm1(-value))),
    "exp": Link(jnp.exp, jnp.log),
    "identity": Link(lambda value: value, lambda value: value),
}

NOISES = ("diagonal", "isotropic", "full")


def diffusion_entries(noise: str, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the diffusion matrix that are unknown functions; positive (diagonal) entries first."""
    diagonal = np.arange(1 if noise == "isotropic" else dimension)
    rows, columns = np.tril_indices(dimension, -1) if noise == "full" else (diagonal[:0], diagonal[:0])
    return np.concatenate([diagonal, rows]), np.concatenate([diagonal, columns])


class Parameters(eqx.Module):
    """θ: everything that is learned from the data besides the functions."""

    drift: Kernel
    diffusion: Kernel
    level: Float[Array, " positive"] | None
    noise: Float[Array, ""]


class Graph(eqx.Module):
    """X → (f, σ) → Y = f Δt + σ √Δt ξ + ε, with f and σ unknown (paper, eq. 4), for one transition law.

    An entry of σ is unit · link(offset + g(x)), g ~ GP(0, k); off-diagonal entries have no link. `level` is the link of
    the offset: an entry's value where g = 0, in units of `unit`. The identity link has none. ε has variance
    noise · noise_unit in each dimension.
    """

    drift: UnknownFunction
    diffusion: UnknownFunction
    unit: Float[Array, " entries"]
    level: Float[Array, " positive"] | None
    noise: Float[Array, ""]
    noise_unit: Float[Array, " d"]
    link: str = eqx.field(static=True)
    structure: str = eqx.field(static=True)
    law: Law = eqx.field(static=True)

    @property
    def dimension(self) -> int:
        return self.drift.outputs

    @property
    def parameters(self) -> Parameters:
        return Parameters(self.drift.kernel, self.diffusion.kernel, self.level, self.noise)

    def with_parameters(self, parameters: Parameters) -> "Graph":
        return replace(
            self,
            drift=replace(self.drift, kernel=parameters.drift),
            diffusion=replace(self.diffusion, kernel=parameters.diffusion),
            level=parameters.level,
            noise=parameters.noise,
        )

    def features(self, u: Float[Array, "n d"], order: int = 0) -> Float[Array, "n functions k p"]:
        """Features of all unknown functions and their derivatives, drift first, padded to as many weights for each."""
        parts = [self.drift.features(u, order), self.diffusion.features(u, order)]
        most = max(part.shape[-1] for part in parts)
        padded = [jnp.pad(part, ((0, 0),) * 3 + ((0, most - part.shape[-1]),)) for part in parts]
        return jnp.concatenate(padded, axis=1)

    def prior_variance(self, u: Float[Array, "n d"]) -> Float[Array, "n functions"]:
        return jnp.concatenate([self.drift.prior_variance(u), self.diffusion.prior_variance(u)], axis=1)

    def prior_covariance(self, u: Float[Array, "n d"]) -> Float[Array, "functions n n"]:
        return jnp.concatenate([self.drift.prior_covariance(u), self.diffusion.prior_covariance(u)], axis=0)

    @property
    def offset(self) -> Float[Array, " functions"]:
        """Prior means of the unknown functions: 0 but for the entries of σ that go through a link."""
        functions = self.dimension + self.unit.shape[0]
        if self.level is None:
            return jnp.zeros(functions)
        linked = (self.dimension, functions - self.dimension - self.positive)
        return jnp.pad(LINKS[self.link].inverse(self.level), linked)

    @property
    def positive(self) -> int:
        """How many entries of σ, the first ones, go through the link."""
        return 1 if self.structure == "isotropic" else self.dimension

    def entries(self, latent: Float[Array, "*batch entries"]) -> Float[Array, "*batch entries"]:
        """The unknown entries of σ from their unconstrained functions; increasing in each of them."""
        linked = LINKS[self.link].forward(latent[..., : self.positive])
        return self.unit * jnp.concatenate([linked, latent[..., self.positive :]], axis=-1)

    def matrix(self, entries: Float[Array, "*batch entries"]) -> Float[Array, "*batch d d"]:
        """σ: diagonal, isotropic or lower triangular."""
        rows, columns = diffusion_entries(self.structure, self.dimension)
        places = np.zeros((len(rows), self.dimension, self.dimension))
        places[np.arange(len(rows)), rows, columns] = 1.0
        if self.structure == "isotropic":
            places[0] = np.eye(self.dimension)
        return contract(entries, jnp.asarray(places))

    def latent(
        self, phi: Float[Array, "n functions k p"], weights: Float[Array, "functions p"]
    ) -> Float[Array, "n functions k"]:
        """The unknown functions and their derivatives before the link, from their features and weights."""
        value = np.eye(1, phi.shape[2])
        return jnp.einsum("nfkp,fp->nfk", phi, weights) + self.offset[:, None] * value

    def gaussian(
        self, latent: Float[Array, "functions k"], dt: Float[Array, ""]
    ) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
        """Mean and covariance of the increment, given all unknown functions and their derivatives at one point."""
        d = self.dimension
        mean, covariance = self.law.gaussian(unpacked(latent[:d].T, d), self._diffusion(unpacked(latent[d:].T, d)), dt)
        return mean, covariance + self.noise * jnp.diag(self.noise_unit)

    def _diffusion(self, latent: Jet) -> Jet:
        """σ and its derivatives: each entry is an increasing function of its own latent, so the chain rule is short."""
        if latent.slope is None:
            return Jet(self.matrix(self.entries(latent.value)))
        ones = jnp.ones_like(latent.value)

        def slope(latent: Array) -> Array:
            return jax.jvp(self.entries, (latent,), (ones,))[1]

        first, second = jax.jvp(slope, (latent.value,), (ones,))
        slopes, bends = latent.derivatives
        bend = first * bends + second * slopes[:, None] * slopes[None]
        return Jet(self.matrix(self.entries(latent.value)), self.matrix(first * slopes), self.matrix(bend))

    def draw(self) -> str:
        """The graph as an SVG document, laid out as in the paper (its section 2)."""
        diffusion = "σ" if self.link == "identity" else f"σ, by {self.link}"
        nodes = {
            "ξ": Node(0, 0, "ξₙ", random=True),
            "σξ": Node(0, 1, "σ̄ₙ √Δtₙ ξₙ"),
            "∘σ": Node(1, 0),
            "σ": Node(1, 1, "σ̄ₙ"),
            "Δt": Node(2, 0, "Δtₙ"),
            "X": Node(2, 1, "Xₙ"),
            "Y": Node(2, 2, "Yₙ"),
            "∘f": Node(3, 0),
            "f": Node(3, 1, "f̄ₙ"),
            "ε": Node(3, 2, "εₙ", random=True),
            "fΔt": Node(4, 1, "f̄ₙ Δtₙ"),
        }
        unknown = [Arrow("X", "f", "f"), Arrow("X", "σ", diffusion)]
        products = [("Δt", "∘f"), ("f", "∘f"), ("∘f", "fΔt"), ("Δt", "∘σ"), ("σ", "∘σ"), ("ξ", "∘σ"), ("∘σ", "σξ")]
        sums = [("σξ", "Y"), ("fΔt", "Y"), ("ε", "Y")]
        return draw_graph(nodes, unknown + [Arrow(*ends) for ends in products + sums])

    def _repr_svg_(self) -> str:
        return self.draw()
