"""What is known after completion: weights ~ N(ŵ, Fisher⁻¹) for each of several θ, and the prior elsewhere."""

from collections.abc import Iterator, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from onepath.gp.parameters import Mask
from onepath.graph.graph import Graph, graph_at
from onepath.inference.completion import Block, Objective, Place
from onepath.inference.completion.features import Features, FeatureSource
from onepath.inference.posterior.formulas import Formulas
from onepath.numerics.arrays import Floats, Integers
from onepath.numerics.blocks import Blocks
from onepath.numerics.compiled import Bound, Fixed, compiled
from onepath.numerics.linalg import constant, lower_root, lower_roots, lower_solved, square_root, upper_solved
from onepath.numerics.modules import Module, changed


class Member(Module):
    """Laplace's approximation for one θ. `lower` is the Cholesky factor of the Fisher matrix."""

    theta: Float[Array | np.ndarray, "*s k"]
    weights: Float[Array | np.ndarray, "*s functions p"]
    lower: Float[Array | np.ndarray, "*s w w"]


def member_of(objective: Objective, place: Place, theta: Floats, blocks: Sequence[Block] | None = None) -> Member:
    """With zero weights, and the prior's, for features that are padding; the Fisher matrix's factors may be known."""
    layout = objective.features.source.layout
    weights = layout.padded(place.weights)
    lower = np.eye(weights.size)
    for functions, _, factor in objective.fisher_at(place) if blocks is None else blocks:
        which = layout.within(functions)
        lower[np.ix_(which, which)] = factor
    return Member(theta, weights, lower)


class Posterior(Module):
    """A mixture over θ: `members` carry a leading axis, `mass` is how probable each is.

    One member alone holds θ fixed at its best value; several also account for what is not known about θ. In one of them
    the noise may be constant. Estimates and predictions use that, bands do not: a simple law that the data cannot
    refute is a good guess, and may be wrong. `band_mass` is without it; None if there is no such member.

    All these are members of the process. Beside it, functions may follow `formulas`.
    """

    graph: Graph
    members: Member
    mass: Float[Array | np.ndarray, " members"]
    mask: Mask = eqx.field(static=True)
    band_mass: Float[Array | np.ndarray, " members"] | None = None
    formulas: Formulas | None = None

    @property
    def for_bands(self) -> Float[np.ndarray, " members"]:
        """How much each member counts in what is said about drift and diffusion with certainty: bands and draws."""
        return np.asarray(self.mass if self.band_mass is None else self.band_mass)

    @property
    def constant_noise(self) -> float | None:
        """How probable it is that the noise is the same everywhere; None where that was not asked."""
        if self.band_mass is None:
            return None
        of_process = float(self.mass[-1])
        return of_process if self.formulas is None else float(self.formulas.constant_noise(of_process))

    def graph_of(self, member: Member) -> Graph:
        """The graph with the parameters of one member."""
        return self.graph if member.theta.size == 0 else graph_at(self.graph, self.mask, member.theta)

    def with_constant_noise(self, probability: float) -> "Posterior":
        """As probable as something else says, where that was asked."""
        if self.band_mass is None:
            return self
        varying = (1.0 - probability) * np.asarray(self.band_mass)[:-1]
        return changed(self, mass=constant([*varying, probability]))

    @property
    def most_probable(self) -> "Posterior":
        """The process's most probable member alone."""
        s = int(np.argmax(np.asarray(self.mass)))
        alone = jax.tree.map(lambda leaf: np.asarray(leaf)[s : s + 1], self.members)
        return changed(self, members=alone, mass=constant([1.0]), band_mass=None, formulas=None)

    def sources(self, u: Floats, order: int = 0) -> Iterator[tuple[Member, Features]]:
        """Each member, with its features at points (n, d)."""
        source = FeatureSource(self.graph, self.mask, u, order)
        for s in range(len(self.mass)):
            member = jax.tree.map(lambda leaf, s=s: np.asarray(leaf)[s], self.members)
            yield member, source.at(member.theta)

    def member_moments(self, u: Floats, order: int = 0) -> tuple[Floats, Floats]:
        """Mean (s, n, f, k) of all unknown functions and their derivatives, and covariance (s, n, f, f), by member."""
        groups, functions = [group.functions for group in self.graph.groups()], self.graph.functions
        moments = [_moments(groups, functions, *pair) for pair in self.sources(u, order)]
        means, covariances = (np.stack(part) for part in zip(*moments, strict=True))
        return means, covariances

    def moments(self, u: Floats, order: int = 0) -> tuple[Floats, Floats]:
        """The same for all members together, with equations: (n, f, k) and (n, f, f)."""
        mean, covariance = self.combined(*self.member_moments(u, order))
        return (mean, covariance) if self.formulas is None else self.formulas.beside(u, order, mean, covariance)

    def combined(self, means: Floats, covariances: Floats) -> tuple[Floats, Floats]:
        """Mean and covariance of the process, from those of its members."""
        mass = np.asarray(self.mass)
        mean = np.tensordot(mass, means, axes=1)
        apart = (means - mean)[..., 0]
        return mean, np.tensordot(mass, covariances, axes=1) + np.einsum("s,snf,sng->nfg", mass, apart, apart)

    def representers(self) -> Floats:
        """α with φ(x)·w = k(x, Z)·α, for each member, (s, functions, width): means need no factors."""
        found = np.zeros(np.shape(self.members.weights))
        for s, (member, features) in enumerate(self.sources(np.zeros((1, self.graph.width)))):
            for f, (own, ranks) in enumerate(zip(features.layout.columns, features.ranks, strict=True)):
                ends = np.cumsum([0, *ranks])
                for lower, begin, end in zip(features.factors[f], ends, ends[1:], strict=False):
                    weights = features.source.amplitudes[f] * np.asarray(member.weights)[f, own[begin:end]]
                    found[s, f, own[begin:end]] = upper_solved(lower, weights)
        return found

    def draws(self, u: Floats, chosen: Integers, normals: Floats, untouched_normals: Floats) -> Floats:
        """The process's functions at all points (n, d) jointly, a draw for each chosen member: (draws, n, f).

        From standard normal numbers (draws, w) for the weights and (draws, f, n) for what data leave untouched.
        """
        n, functions = len(u), self.graph.functions
        drawn = np.empty((len(chosen), n, functions))
        prior_of = PriorCovariance(self.graph, self.mask, u)
        for s, (member, features) in enumerate(self.sources(u)):
            here = np.flatnonzero(chosen == s)
            if len(here) == 0:
                continue
            phi, prior = features.phi[:, :, 0], prior_of(np.asarray(member.theta))
            shifts = upper_solved(np.asarray(member.lower), normals[here].T).T.reshape(len(here), functions, -1)
            for f, own in enumerate(features.layout.columns):
                half = square_root(prior[f] - phi[f] @ phi[f].T)
                weights = (member.weights[f] + shifts[:, f])[:, own]
                drawn[here, :, f] = weights @ phi[f, :, : len(own)].T + untouched_normals[here, f] @ half
            drawn[here] += features.offset
        return drawn

    def predictive(self, u: Floats, dt: Floats, normals: Floats) -> tuple[Floats, Floats]:
        """Mean (n, d) and covariance (n, d, d) of an increment, uncertainty of drift and diffusion included.

        E[V] + Cov[m], averaged over the unknown functions' values, and not V at their mean: where little is known,
        that is far too small. Their derivatives, which matter little beside, are at their mean.
        """
        mean, covariance = self.moments(u, self.graph.order)
        found = averaged(mean, lower_roots(covariance), u, dt, normals, self.graph.bare)
        return np.asarray(found[0]), np.asarray(found[1])


def informed(posterior: Posterior, drift: float, diffusion: float) -> Posterior:
    """As if data told such shares of what they seem to about drift and diffusion: I + S (F - I) S, S their roots."""
    if drift == diffusion == 1.0:
        return posterior
    lowers, (_, functions, p) = np.asarray(posterior.members.lower), posterior.members.weights.shape
    share = np.where(np.arange(functions) < posterior.graph.drifts, drift, diffusion)
    root, one = np.repeat(np.sqrt(share), p), np.eye(functions * p)
    lower = [lower_root(one + root[:, None] * (each @ each.T - one) * root) for each in lowers]
    return changed(posterior, members=changed(posterior.members, lower=np.stack(lower)))


@compiled
def averaged(
    mean: Float[Array, "n f k"],
    lower: Float[Array, "n f f"],
    u: Float[Array, "n dq"],
    dt: Float[Array, " n"],
    normals: Float[Array, "draws f"],
    graph: Graph,
) -> tuple[Float[Array, "n d"], Float[Array, "n d d"]]:
    """Mean and covariance of increments, averaged over latents N(mean, lower lowerᵀ)."""

    def one(mean: Array, lower: Array, u: Array, dt: Array) -> tuple[Array, Array]:
        latents = jnp.broadcast_to(mean, (len(normals), *mean.shape)).at[:, :, 0].add(normals @ lower.T)
        means, covariances = jax.vmap(graph.gaussian, in_axes=(0, None, None))(latents, u, dt)
        centre = jnp.mean(means, axis=0)
        return centre, jnp.mean(covariances, axis=0) + (means - centre).T @ (means - centre) / means.shape[0]

    return jax.vmap(one)(mean, lower, u, dt)


class PriorCovariance:
    """k(x, x') of each unknown function at the same points for any θ, pair by pair of their blocks."""

    def __init__(self, graph: Graph, mask: Mask, u: Floats) -> None:
        self.blocks = Blocks.of(*np.shape(u))
        self.between = Bound(_prior_covariances, Fixed(graph, mask))
        self.functions, self.parts = graph.functions, self.blocks.cut(u)

    def __call__(self, theta: Floats) -> Floats:
        """(functions, n, n)."""
        size, room = self.blocks.size, self.blocks.room
        whole = np.empty((self.functions, room, room))
        for j, right in enumerate(self.parts):
            for i, left in enumerate(self.parts[: j + 1]):
                rows, columns = slice(i * size, (i + 1) * size), slice(j * size, (j + 1) * size)
                whole[:, rows, columns] = found = self.between(theta, left, right)
                whole[:, columns, rows] = np.swapaxes(found, 1, 2)
        return whole[:, : self.blocks.count, : self.blocks.count]


@compiled
def _prior_covariances(
    theta: Float[Array, " k"], u: Float[Array, "n dq"], v: Float[Array, "m dq"], graph: Graph, mask: Mask
) -> Float[Array, "f n m"]:
    return graph_at(graph, mask, theta).prior_covariance(u, v)


def _moments(
    groups: Sequence[Sequence[int]], functions: int, member: Member, features: Features
) -> tuple[Floats, Floats]:
    """Mean and covariance given θ.

    What the features leave out of the prior, k(x, x) - φφᵀ, is untouched by the data: away from them the variance
    returns to the prior's (paper, eq. 8).
    """
    phi, n, layout, factor = features.phi[:, :, 0], features.phi.shape[1], features.layout, np.asarray(member.lower)
    covariance = np.zeros((n, functions, functions))
    for group in groups:
        which, ends = layout.within(group), np.cumsum([0, *(len(layout.columns[f]) for f in group)])
        right = np.zeros((len(which), len(group), n))
        for i, f in enumerate(group):
            right[ends[i] : ends[i + 1], i] = phi[f, :, : ends[i + 1] - ends[i]].T
        half = lower_solved(factor[np.ix_(which, which)], right.reshape(len(which), -1)).reshape(right.shape)
        for i, f in enumerate(group):
            for j, g in enumerate(group):
                covariance[:, f, g] = np.einsum("wn,wn->n", half[:, i], half[:, j])
    untouched = np.maximum(features.prior_variance - np.sum(np.square(phi), axis=2).T, 0.0)
    covariance += untouched[:, :, None] * np.eye(functions)
    return features.latent(layout.compact(np.asarray(member.weights))), covariance
