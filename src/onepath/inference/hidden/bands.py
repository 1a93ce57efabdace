"""What readings with noise leave open about the diffusion."""

import jax.numpy as jnp
import numpy as np

from onepath.graph.graph import Graph
from onepath.inference.completion.features import Features
from onepath.inference.posterior.posterior import Member, Posterior
from onepath.numerics.arrays import Floats
from onepath.numerics.linalg import lower_solved
from onepath.numerics.modules import changed

LEAST = 1e-6
"""By which a precision is divided at most."""

NEARBY = 1e-4
"""How far apart two values of an unknown function are that say how σ follows it."""


def with_information(posterior: Posterior, u: Floats, power: float, level: float) -> Posterior:
    """Bands as wide as innovations leave them, from those of as many exact readings; the means stay.

    An innovation's variance follows Q by a power s < 1. Functions learned from increments made of innovations are known
    as s times those looked for, their prior too: all that is not known of them is 1/s as much. Of the mean of σ² over
    points u (n, d), the variance of its logarithm is `level`: P + (1/level - 1/aᵀP⁻¹a) a aᵀ, with the precision P of
    the weights and the logarithm's slope a in them, changes that alone, and all else as it depends on it.
    """
    graph, layout, lower = posterior.graph, posterior.graph.layout, np.array(posterior.members.lower)
    slopes = [_slope(graph, np.asarray(member.weights), features) for member, features in posterior.sources(u)]
    entries = range(graph.drifts, graph.drifts + len(graph.unit))
    for group in graph.groups():
        which = layout.within(group.functions)
        root = np.repeat(
            [power if f in entries else 1.0 for f in group.functions], [len(layout.columns[f]) for f in group.functions]
        )
        if np.all(root == 1.0) and not set(entries) & set(group.functions):
            continue
        for each, slope in zip(lower, slopes, strict=True):
            own = root[:, None] * each[np.ix_(which, which)]
            own = np.linalg.cholesky(own @ own.T)
            each[np.ix_(which, which)] = own @ _with_variance(lower_solved(own, slope[which]), level)
    members = Member(posterior.members.theta, posterior.members.weights, lower)
    return changed(posterior, members=members)


def _with_variance(slope: Floats, level: float) -> Floats:
    """The factor of a precision with this variance along a slope, and 1 across it."""
    before, one = float(slope @ slope), np.eye(len(slope))
    if before == 0.0:
        return one
    share = max(before / level, LEAST)
    return np.asarray(np.linalg.cholesky(one + (share - 1.0) / before * slope[:, None] * slope))


def _slope(graph: Graph, weights: Floats, features: Features) -> Floats:
    """Of the mean over points, and over σ's diagonal, of σ² and its logarithm, in all weights."""
    first, count = graph.drifts, graph.positive
    latent = features.latent(graph.layout.compact(weights))[:, first : first + len(graph.unit), 0]
    low, value, high = (np.asarray(graph.entries(jnp.asarray(latent + move))) for move in (-NEARBY, 0.0, NEARBY))
    slope = value * (high - low) / NEARBY / np.sum(np.square(value), axis=0) / count
    found = np.zeros((graph.functions, features.phi.shape[3]))
    for i in range(count):
        found[first + i] = slope[:, i] @ features.phi[first + i, :, 0]
    return np.ravel(graph.layout.padded(found))
