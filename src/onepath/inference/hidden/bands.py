"""What readings with noise leave open about the diffusion."""

from dataclasses import replace

import numpy as np

from onepath.inference.posterior.posterior import Member, Posterior
from onepath.numerics.arrays import Floats


def with_information(posterior: Posterior, share: float) -> Posterior:
    """As if the data said only this share of what they seem to say of the diffusion: wider bands, the same means.

    Filtered increments look like exact ones, and those are not known as well as they seem.
    """
    if share >= 1.0:
        return posterior
    graph, members = posterior.graph, posterior.members
    layout, weights = graph.layout, np.asarray(members.weights)
    lower = np.array(members.lower)
    for group in graph.groups():
        which = np.ix_(layout.within(group.functions), layout.within(group.functions))
        roots = [1.0 if f < graph.drifts else np.sqrt(share) for f in group.functions]
        root = np.repeat(roots, [len(layout.columns[f]) for f in group.functions])
        if np.all(root == 1.0):
            continue
        for each in lower:
            each[which] = _with_share(each[which], root)
    return replace(posterior, members=Member(members.theta, weights, lower))


def _with_share(lower: Floats, root: Floats) -> Floats:
    """The factor of 1 + D (F - 1) D, where F is that of a whole likelihood."""
    one = np.eye(len(root))
    return np.asarray(np.linalg.cholesky(one + root[:, None] * (lower @ lower.T - one) * root))
