"""A first guess of jumps: increments that are far beyond those that start nearby."""

from dataclasses import replace

import numpy as np

from onepath.data.transitions import Transitions
from onepath.inference.disturbance.disturbance import Steps
from onepath.inference.disturbance.jumps import Jumps, none_found, rate_of
from onepath.inference.disturbance.local import local_steps
from onepath.numerics.arrays import Flags

FEW = 20.0
"""Jumps up to which a second kind needs no more than to make them likelier."""

OUTSIDE = 3.5
"""Robust standard deviations beyond which an increment counts as a jump at first."""

CLEARLY = 5.0
"""ln of how much likelier sizes in standard deviations of the noise must be than sizes in the data's units."""


def first_jumps(transitions: Transitions, plain: Steps) -> tuple[Jumps, Transitions]:
    """Without the fit, which jumps have spoiled; and all that has not jumped."""
    local = local_steps(transitions, plain.since)
    found = guessed_jumps(local)
    return found, found.as_gaussian(transitions, local)


def guessed_jumps(local: Steps) -> Jumps:
    """With sizes in the data's units or, where that is clearly likelier, in standard deviations of the noise."""
    own = _first(local, none_found(local.dimension))
    scaled = _first(local, replace(own.nothing(), step=float(np.median(local.dt))))
    gain = float(local.weight @ (scaled.log_density(local) - own.log_density(local))) if scaled.found else 0.0
    return scaled if gain > CLEARLY else own


def _first(local: Steps, none: Jumps) -> Jumps:
    """Before anything is fitted: increments against the median size of those that start nearby, of one or two kinds.

    Two kinds must be worth half the logarithm of how many jumps there are, beyond a few, for each parameter more. Of
    few jumps neither is certain, and a single kind about zero would have many that nobody sees.
    """
    local, _ = none.measured(local)
    white = local.rest / np.sqrt(np.diagonal(local.covariance, axis1=1, axis2=2))
    far = np.abs(white).max(axis=1) > OUTSIDE
    d = local.dimension
    if local.weight @ far < 1.0:
        return none
    one = _of_groups(local, [far], none).learned(local)
    _, axes = np.linalg.eigh(one.second_moment)
    side = local.rest @ axes[:, -1] > 0
    groups = [far & side, far & ~side]
    if min(local.weight @ group for group in groups) < 1.0:
        return one
    two = _of_groups(local, groups, none).learned(local)
    count = float(local.weight @ two.probability(local))
    price = 0.5 * np.log(max(count / FEW, 1.0)) * (1 + d + d * (d + 1) / 2)
    gain = float(local.weight @ (two.log_density(local) - one.log_density(local)))
    return two if gain > price else one


def _of_groups(steps: Steps, groups: list[Flags], none: Jumps) -> Jumps:
    """A kind for each group of steps, with its mean and mean square."""
    d = steps.dimension
    counts = [np.where(group, steps.weight, 0.0) for group in groups]
    means = np.stack([count @ steps.rest / count.sum() for count in counts])
    apart = [steps.rest - mean for mean in means]
    covariances = np.stack([(a.T * count) @ a / count.sum() for count, a in zip(counts, apart, strict=True)])
    least = np.mean(np.diagonal(steps.covariance, axis1=1, axis2=2), axis=0)
    rates = np.asarray([rate_of(count, steps) for count in counts])
    covariances = covariances + np.diag(least) * np.eye(d)
    return replace(none, rates=rates, means=means, covariances=covariances)
