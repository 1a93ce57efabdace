"""The computational graph: known and unknown functions, links and a law turn a state into a Gaussian increment."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from tinygp.kernels import Kernel

from onepath.data.cells import Cells
from onepath.gp.features import Function, Known, Unknown, pad_together, with_bases
from onepath.gp.jets import Jet, in_parts, unpacked
from onepath.gp.parameters import LEVEL, NOISE, Mask, parameter, unpack
from onepath.graph.drawing import Arrow, Node, draw_graph
from onepath.graph.laws import EULER, Law
from onepath.graph.laws.law import Gaussian
from onepath.graph.layout import Layout
from onepath.graph.links import LINKS
from onepath.graph.physics import Physics, product, total
from onepath.numerics.linalg import contract
from onepath.numerics.modules import Module, changed

NOISES = ("diagonal", "isotropic", "full")

LEAST_VARIANCE = 0.01
"""Of a diffusion before its link, where 1 is its own size: what is smaller needs no finer features than this does."""

CONSTANT = 1e-6
"""Tolerance of the features of a constant, which one point gives."""

BESIDE = {"Y": (1, 2), "∘σ": (0.5, 2)}
"""Column and row of what is drawn beside, by what it joins."""

NUDGE = 1e-6
"""How far the features' points are moved away from cells, in standard deviations, where derivatives are used: autodiff
finds none at distance zero in kernels that are written in terms of distance."""


def diffusion_entries(noise: str, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the diffusion matrix that are functions; positive (diagonal) entries first."""
    diagonal = np.arange(1 if noise == "isotropic" else dimension)
    rows, columns = np.tril_indices(dimension, -1) if noise == "full" else (diagonal[:0], diagonal[:0])
    return np.concatenate([diagonal, rows]), np.concatenate([diagonal, columns])


class Parameters(Module):
    """θ: everything that is learned from the data besides the functions."""

    drift: tuple[Kernel, ...]
    diffusion: tuple[Kernel, ...]
    level: Float[Array | np.ndarray, " positive"] | None = parameter(LEVEL, spread=1.0)
    noise: Float[Array | np.ndarray, ""] = parameter(NOISE, spread=1.5)


class Group(NamedTuple):
    """Unknown functions that the expected curvature couples with each other, and the rows of it that touch them.

    Rows are those of the mean, one a coordinate, and of the covariance, one for each entry of its lower triangle.
    """

    functions: list[int]
    rows: list[int]


class Start(NamedTuple):
    """Where completion starts if not at the prior's mean: mean squares that some functions should have at each cell."""

    functions: slice
    squares: Float[np.ndarray, "c m"]
    inverse: Any  # of the link: from a size to the function behind it


class Graph(Module):
    """X → (f, σ) → Y = f Δt + σ √Δt ξ + ε (paper, eq. 4), for one transition law.

    The coordinates of f and the entries of σ are functions, known or unknown, in the order of the tuples here. An
    unknown entry of σ is unit · link(offset + g(x)), g ~ GP(0, k); off-diagonal entries have no link. `level` is the
    link of the offset: an entry's value where g = 0, in units of `unit`. The identity link has none. ε has variance
    noise · noise_unit in each dimension.

    Points u are states and, after them, as many columns of `inputs`, along which nothing is differentiated.

    What is known of drift and diffusion, up to parameters, is `physics`: added to the drift, and in place of `unit`.

    Latents are the values of all unknown functions at a point, the first `drifts` of them the drift's, each with as
    many derivatives as the law asks for; the last ones are the physics' parameters. Completion and learning ask for
    features, groups, a start and Gaussians, and never for a link, a structure or a law by its name.
    """

    drift: tuple[Function, ...]
    diffusion: tuple[Function, ...]
    unit: Float[Array | np.ndarray, " entries"]
    level: Float[Array | np.ndarray, " positive"] | None
    noise: Float[Array | np.ndarray, ""]
    noise_unit: Float[Array | np.ndarray, " d"]
    link: str = eqx.field(static=True)
    structure: str = eqx.field(static=True)
    law: Law = eqx.field(static=True)
    compared: tuple[int, ...] | None = eqx.field(static=True, default=None)
    """Coordinates in which increments are compared with data; None is all, others are known to follow from these."""
    inputs: int = eqx.field(static=True, default=0)
    physics: Physics | None = None

    # what it consists of

    @property
    def dimension(self) -> int:
        return sum(function.outputs for function in self.drift) or len(self.noise_unit)

    @property
    def width(self) -> int:
        """Of points: coordinates of the state, and columns of inputs."""
        return self.dimension + self.inputs

    @property
    def extent(self) -> int:
        """As finely as in so many dimensions functions must be looked at: with inputs, in one more; from three on 3."""
        return min(self.dimension + min(self.inputs, 1), 3)

    @property
    def unknown(self) -> list[Unknown]:
        """The unknown functions, those of the drift first, and parameters last."""
        return [*_unknown(self.drift), *_unknown(self.diffusion), *self._constants]

    @property
    def _constants(self) -> list[Unknown]:
        """Parameters of what is known, as functions."""
        return [] if self.physics is None or self.physics.constants is None else [self.physics.constants]

    @property
    def constants(self) -> int:
        """How many parameters what is known has."""
        return sum(each.outputs for each in self._constants)

    @property
    def drifts(self) -> int:
        """How many latents, the first ones, are coordinates of the drift; the others are entries of σ."""
        return sum(function.outputs for function in _unknown(self.drift))

    @property
    def knows_drift(self) -> bool:
        """Whether something is known of the drift, to which what is unknown, if anything, is added."""
        return self.physics is not None and self.physics.drift is not None

    @property
    def knows_diffusion(self) -> bool:
        """Whether something is known of the diffusion, of which what is unknown, if anything, is a factor."""
        return self.physics is not None and self.physics.diffusion is not None

    @property
    def unknown_coordinates(self) -> np.ndarray:
        """The coordinates whose drift is unknown, in the order of the latents."""
        return np.flatnonzero(_is_unknown(self.drift))

    @property
    def functions(self) -> int:
        """How many latents there are."""
        return self.drifts + len(self.unit) + self.constants

    @property
    def positive(self) -> int:
        """How many unknown entries of σ, the first ones, go through the link."""
        if not self.diffusion:
            return 0
        rows, columns = diffusion_entries(self.structure, self.dimension)
        return int(np.sum((rows == columns)[_is_unknown(self.diffusion)]))

    @property
    def order(self) -> int:
        """Derivatives that latents carry: those that the law uses."""
        return self.law.order

    @property
    def hessian_is_dear(self) -> bool:
        """Whether a cell's loss has so many arguments that its Hessian is slow to compute and to compile."""
        return self.order > 0 and self.dimension > 1

    # parameters

    @property
    def parameters(self) -> Parameters:
        drift, diffusion = (
            tuple(function.kernel for function in _unknown(part)) for part in (self.drift, self.diffusion)
        )
        return Parameters(drift, diffusion, self.level, self.noise)

    def with_parameters(self, parameters: Parameters) -> "Graph":
        drift = _with_kernels(self.drift, parameters.drift)
        diffusion = _with_kernels(self.diffusion, parameters.diffusion)
        level: Any = parameters.level
        noise: Any = parameters.noise
        return changed(self, drift=drift, diffusion=diffusion, level=level, noise=noise)

    def with_law(self, law: Law) -> "Graph":
        """The same functions under another law; points of their features move aside where derivatives are asked for."""
        moved = changed(self, law=law)
        if self.order or not law.order:
            return moved
        return moved._with_unknown([each.nudged(NUDGE) for each in self.unknown])

    # features

    def with_bases(self, cells: Cells, tolerance: float, most: int) -> "Graph":
        """Choose points for the features of every unknown function among the starts of cells."""
        u, usable, nudge = np.asarray(cells.x), np.asarray(cells.used), NUDGE if self.order else 0.0
        least = 0.0 if self.level is None else LEAST_VARIANCE
        chosen = [with_bases(each, u, usable, tolerance, most, nudge=nudge) for each in _unknown(self.drift)]
        chosen += [with_bases(each, u, usable, tolerance, most, least, nudge) for each in _unknown(self.diffusion)]
        chosen += [with_bases(each, u, usable, tolerance or CONSTANT, most) for each in self._constants]
        return self._with_unknown(pad_together(chosen))

    def _with_unknown(self, functions: Sequence[Unknown]) -> "Graph":
        left = iter(functions)
        drift, diffusion = (
            tuple(next(left) if isinstance(each, Unknown) else each for each in part)
            for part in (self.drift, self.diffusion)
        )
        physics = self.physics
        if physics is not None and physics.constants is not None:
            physics = changed(physics, constants=next(left))
        return changed(self, drift=drift, diffusion=diffusion, physics=physics)

    @property
    def bare(self) -> "Graph":
        """Without points for its features: all that turns latents into Gaussians."""
        return self._with_unknown([changed(each, bases=()) for each in self.unknown])

    @property
    def lawless(self) -> "Graph":
        """All that features depend on: no law, and no function that is known."""
        physics = None if self.physics is None else changed(self.physics, drift=None, diffusion=None)
        return changed(self, law=EULER, physics=physics)

    @property
    def layout(self) -> Layout:
        """Where features that are no padding stand."""
        used = [np.concatenate([np.asarray(basis.used) for basis in each.bases]) for each in self.unknown]
        columns = [np.flatnonzero(own) for own, of in zip(used, self.unknown, strict=True) for _ in range(of.outputs)]
        return Layout(columns, max(map(len, used)))

    @property
    def rank(self) -> int:
        """How many points the features have, all functions together."""
        return sum(int(np.sum(np.asarray(basis.used))) for function in self.unknown for basis in function.bases)

    def features(self, u: Float[Array, "n dq"], order: int = 0) -> Float[Array, "n functions k p"]:
        """Features of all unknown functions and their derivatives, drift first, padded to as many weights for each."""
        parts = [function.features(u, order) for function in self.unknown]
        most = max(part.shape[-1] for part in parts)
        padded = [jnp.pad(part, ((0, 0),) * 3 + ((0, most - part.shape[-1]),)) for part in parts]
        return jnp.concatenate(padded, axis=1)

    def represented(
        self, u: Float[Array, "n dq"], alpha: Float[Array, "functions p"], order: int = 0
    ) -> Float[Array, "n functions k"]:
        """Latents offset + k(u, Z)·α of all unknown functions, with their derivatives."""
        rows, f = [], 0
        for function in self.unknown:
            crosses = jnp.concatenate([cross for _, cross in function.similarities(u, order)], axis=3)
            for o in range(function.outputs):
                rows.append(crosses[o] @ alpha[f, : crosses.shape[3]])
                f += 1
        latent = jnp.stack(rows, axis=1)
        return latent.at[:, :, 0].add(self.offset)

    def prior_variance(self, u: Float[Array, "n dq"]) -> Float[Array, "n functions"]:
        return jnp.concatenate([function.prior_variance(u) for function in self.unknown], axis=1)

    def prior_covariance(self, u: Float[Array, "n dq"], v: Float[Array, "m dq"]) -> Float[Array, "functions n m"]:
        return jnp.concatenate([function.prior_covariance(u, v) for function in self.unknown], axis=0)

    @property
    def offset(self) -> Float[Array, " functions"]:
        """Prior means of the unknown functions: 0 but for the entries of σ that go through a link."""
        if self.level is None:
            return jnp.zeros(self.functions)
        linked = (self.drifts, self.functions - self.drifts - self.positive)
        return jnp.pad(LINKS[self.link].inverse(jnp.asarray(self.level)), linked)

    # from latents to a Gaussian

    def gaussian(self, latent: Float[Array, "functions k"], u: Float[Array, " dq"], dt: Float[Array, ""]) -> Gaussian:
        """Mean and covariance of the increment from u, given all unknown functions and their derivatives there."""
        mean, covariance = self.law.gaussian(self._drift_jet(latent, u), self._diffusion_jet(latent, u), dt)
        return mean, covariance + self.noise * jnp.diag(self.noise_unit)

    def compared_with(
        self, latent: Float[Array, "functions k"], u: Float[Array, " dq"], dt: Float[Array, ""]
    ) -> tuple[Float[Array, " c"], Float[Array, "c c"]]:
        """The same in the coordinates that are compared with data."""
        mean, covariance = self.gaussian(latent, u, dt)
        if self.compared is None:
            return mean, covariance
        which = np.asarray(self.compared)
        return mean[which], covariance[which[:, None], which]

    def compared_data(
        self, y: Float[Array, " d"], scatter: Float[Array, "d d"]
    ) -> tuple[Float[Array, " c"], Float[Array, "c c"]]:
        """An increment and its scatter in these coordinates."""
        if self.compared is None:
            return y, scatter
        which = np.asarray(self.compared)
        return y[which], scatter[which[:, None], which]

    def values(
        self, latent: Float[Array, " functions"], u: Float[Array, " dq"]
    ) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
        """Drift and diffusion at a point, without derivatives."""
        plain = latent[:, None]
        return self._drift_jet(plain, u).value, self._diffusion_jet(plain, u).value

    def drift_slopes(self, latent: Float[Array, "functions k"], u: Float[Array, " dq"]) -> Float[Array, "d d"]:
        """∂_k f_i as (i, k)."""
        return self._drift_jet(latent, u).derivatives[0].T

    def deviations(
        self,
        latent: Float[Array, " functions"],
        covariance: Float[Array, "functions functions"],
        u: Float[Array, " dq"],
    ) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
        """Standard deviations of f and of the logarithms of σ's diagonal, to first order; infinite where known."""

        def both(latent: Array) -> tuple[Array, Array]:
            drift, diffusion = self.values(latent, u)
            return drift, jnp.log(jnp.abs(jnp.diagonal(diffusion)))

        variances = [jnp.sum((slope @ covariance) * slope, axis=1) for slope in jax.jacfwd(both)(latent)]
        first, second = (jnp.sqrt(jnp.where(each > 0.0, each, jnp.inf)) for each in variances)
        return first, second

    def _drift_jet(self, latent: Float[Array, "functions k"], u: Float[Array, " dq"]) -> Jet:
        unknown = unpacked(latent[: self.drifts].T, self.dimension)
        if self.physics is None or self.physics.drift is None:
            return _filled(self.drift, unknown, u)
        known = self.physics.drift_jet(self._parameters_in(latent), u, self.dimension)
        return total(known, _filled(self.drift, unknown, u)) if self.drift else known

    def _parameters_in(self, latent: Float[Array, "functions k"]) -> Float[Array, "constants k"]:
        return latent[self.functions - self.constants :]

    def _diffusion_jet(self, latent: Float[Array, "functions k"], u: Float[Array, " dq"]) -> Jet:
        """σ and its derivatives: each entry is an increasing function of its own latent, so the chain rule is short."""
        jet = unpacked(latent[self.drifts : self.drifts + len(self.unit)].T, self.dimension)
        known = None
        if self.physics is not None and self.physics.diffusion is not None:
            known = self.physics.diffusion_jet(self._parameters_in(latent), u, self.dimension)
            known = in_parts(known, lambda part: part[..., :1]) if self.structure == "isotropic" else known
            if not self.diffusion:
                return in_parts(known, self.matrix)
        if jet.slope is None:
            entries = Jet(self.entries(jet.value))
        else:
            ones = jnp.ones_like(jet.value)

            def slope(latent: Array) -> Array:
                return jax.jvp(self.entries, (latent,), (ones,))[1]

            first, second = jax.jvp(slope, (jet.value,), (ones,))
            slopes, bends = jet.derivatives
            bend = first * bends + second * slopes[:, None] * slopes[None]
            entries = Jet(self.entries(jet.value), first * slopes, bend)
        entries = entries if known is None else product(known, entries)
        return in_parts(_filled(self.diffusion, entries, u), self.matrix)

    def entries(self, latent: Float[Array, "*batch entries"]) -> Float[Array, "*batch entries"]:
        """The unknown entries of σ from their unconstrained functions; increasing in each of them."""
        linked = LINKS[self.link].forward(latent[..., : self.positive])
        return jnp.multiply(self.unit, jnp.concatenate([linked, latent[..., self.positive :]], axis=-1))

    def matrix(self, entries: Float[Array, "*batch entries"]) -> Float[Array, "*batch d d"]:
        """σ: diagonal, isotropic or lower triangular."""
        return contract(entries, jnp.asarray(self._places))

    @property
    def _places(self) -> np.ndarray:
        """Where each entry of σ stands: (entries, d, d)."""
        rows, columns = diffusion_entries(self.structure, self.dimension)
        places = np.zeros((len(rows), self.dimension, self.dimension))
        places[np.arange(len(rows)), rows, columns] = 1.0
        if self.structure == "isotropic":
            places[0] = np.eye(self.dimension)
        return places

    # what completion asks

    def groups(self) -> list[Group]:
        """All functions together; or, where the law does not couple them, drifts and diffusions apart, and without
        correlated noise dimension by dimension."""
        coordinates = np.arange(self.dimension) if self.compared is None else np.asarray(self.compared)
        d, everything = len(coordinates), list(range(self.functions))
        first, second = np.tril_indices(d)
        means, covariances = list(range(d)), list(range(d, d + len(first)))
        drifts, diffusions = everything[: self.drifts], everything[self.drifts :]
        if self.law.couples or self.constants:
            return [Group(everything, means + covariances)]
        whole = self._places[:, coordinates][:, :, coordinates]
        places = whole[_is_unknown(self.diffusion)] if self.diffusion else whole[:0]
        if np.any(whole * (1 - np.eye(d))):
            return [Group(part, rows) for part, rows in ((drifts, means), (diffusions, covariances)) if part]
        variances = np.asarray(covariances)[first == second]
        at_mean = np.searchsorted(coordinates, self.unknown_coordinates)
        return [
            *(Group([f], [i]) for f, i in zip(drifts, at_mean.tolist(), strict=True)),
            *(Group([f], variances[np.diagonal(at) > 0].tolist()) for f, at in zip(diffusions, places, strict=True)),
        ]

    def start(self, cells: Cells) -> Start | None:
        """None for the prior's mean; under a link whose prior mean is no diffusion at all, the quadratic variation.

        That is y²/Δt at each cell, in units of σ's own entries.
        """
        if self.level is not None or self.positive == 0:
            return None
        weight, _, y, scatter, dt = map(np.asarray, cells)
        squares = np.square(y) + np.diagonal(scatter, axis1=1, axis2=2) / np.maximum(weight, 1e-300)[:, None]
        variation = squares / dt[:, None]
        if self.structure == "isotropic":
            variation = np.mean(variation, axis=1, keepdims=True)
        else:
            rows, columns = diffusion_entries(self.structure, self.dimension)
            diagonal = _is_unknown(self.diffusion)[rows == columns]
            variation = variation if diagonal.all() else variation[:, np.flatnonzero(diagonal)]
        variation = variation / np.square(np.asarray(self.unit)[: self.positive])
        return Start(slice(self.drifts, self.drifts + self.positive), variation, LINKS[self.link].inverse)

    # a picture

    def draw(self, reading: str | None = None, more: Sequence[tuple[str, str]] = ()) -> str:
        """The graph as an SVG document, laid out as in the paper (its section 2); what is known altogether is black.

        With `reading`, also what is read of a hidden state, by that name, with its noise. `more` are random variables
        beside, each with what it joins: "Y", the increment, or "∘σ", the noise.
        """
        diffusion = "σ" if self.link == "identity" else f"σ, by {self.link}"
        names = {"f": "f" if self.drift else "", "σ": diffusion if self.diffusion else ""}
        if self.physics is not None and self.physics.drift is not None and self.drift:
            names["f"] = "known + f"
        if self.physics is not None and self.physics.diffusion is not None and self.diffusion:
            names["σ"] = f"known · {diffusion}"
        nodes = {
            "ξ": Node(0, 0, "ξₙ", random=True),
            "σξ": Node(0, 1, "σ̄ₙ √Δtₙ ξₙ"),
            "∘σ": Node(1, 0),
            "σ": Node(1, 1, "σ̄ₙ"),
            "Δt": Node(2, 0, "Δtₙ"),
            "X": Node(2, 1, "Xₙ, uₙ" if self.inputs else "Xₙ"),
            "Y": Node(2, 2, "Yₙ"),
            "∘f": Node(3, 0),
            "f": Node(3, 1, "f̄ₙ"),
            "ε": Node(3, 2, "εₙ", random=True),
            "fΔt": Node(4, 1, "f̄ₙ Δtₙ"),
        }
        unknown = [Arrow("X", target, name) for target, name in names.items()]
        products = [("Δt", "∘f"), ("f", "∘f"), ("∘f", "fΔt"), ("Δt", "∘σ"), ("σ", "∘σ"), ("ξ", "∘σ"), ("∘σ", "σξ")]
        sums = [("σξ", "Y"), ("fΔt", "Y"), ("ε", "Y"), *more]
        if reading is not None:
            nodes |= {"Z": Node(1, 2, reading), "e": Node(0, 2, "eₙ", random=True)}
            sums += [("X", "Z"), ("e", "Z")]
        nodes |= {label: Node(*BESIDE[target], label, random=True) for label, target in more}
        return draw_graph(nodes, unknown + [Arrow(*ends) for ends in products + sums])

    def _repr_svg_(self) -> str:
        return self.draw()


def graph_at(graph: Graph, mask: Mask, theta: Float[Array | np.ndarray, " k"]) -> Graph:
    """The same graph with other parameters."""
    return graph.with_parameters(unpack(graph.parameters, mask, theta))


def _unknown(functions: Sequence[Function]) -> list[Unknown]:
    return [function for function in functions if isinstance(function, Unknown)]


def _is_unknown(functions: Sequence[Function]) -> np.ndarray:
    """Which outputs of these functions, one after another, are unknown."""
    each = [np.full(function.outputs, isinstance(function, Unknown)) for function in functions]
    return np.concatenate(each) if each else np.zeros(0, bool)


def _with_kernels(functions: Sequence[Function], kernels: Sequence[Kernel]) -> tuple[Function, ...]:
    left = iter(kernels)
    return tuple(changed(each, kernel=next(left)) if isinstance(each, Unknown) else each for each in functions)


def _filled(functions: Sequence[Function], unknown: Jet, u: Float[Array, " dq"]) -> Jet:
    """The jet of all outputs: those that are known computed, the others taken from `unknown` in their order."""
    if all(isinstance(each, Unknown) for each in functions):
        return unknown
    parts, begin = [], 0
    for function in functions:
        if isinstance(function, Known):
            parts.append(function.jet(u, 0 if unknown.slope is None else 2))
        else:
            end = begin + function.outputs
            parts.append(in_parts(unknown, partial(_between, begin, end)))
            begin = end
    return jax.tree.map(lambda *outputs: jnp.concatenate(outputs, axis=-1), *parts)


def _between(begin: int, end: int, part: Float[Array, "... outputs"]) -> Float[Array, "... some"]:
    return part[..., begin:end]
