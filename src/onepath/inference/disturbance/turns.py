"""A fit in turns with a disturbance: what it says of each step, drift and diffusion from what is left, and again."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from onepath.data.transitions import Transitions
from onepath.inference.disturbance.disturbance import LOG_2PI, Disturbance, Steps, steps_of
from onepath.inference.posterior.mixture import Completed
from onepath.inference.posterior.posterior import informed
from onepath.inference.result import Fit
from onepath.numerics.arrays import Floats

Guess = Callable[[Transitions, Steps], tuple[Disturbance, Transitions]]
"""From transitions, and what a fit without a disturbance leaves: a first one, and what to learn from at first."""

ROUNDS = 2
"""Searches for the parameters of kernels: after the first guess, and after drift and diffusion are free of it."""

MOST_TURNS, SETTLED = 20, 1e-4
"""Between two searches, and the change of log-density, a step, from which on no more are needed."""


def _steps(fit: Fit, transitions: Transitions, since: Floats) -> Steps:
    """What is left of increments under a fit."""
    return steps_of(transitions, since, *fit.increments(transitions.points, transitions.dt))


def in_turns(
    plain: Fit,
    transitions: Transitions,
    since: Floats,
    guess: Guess,
    searched: Callable[[Transitions], Fit],
    completed: Callable[[Fit, Transitions], Fit],
    averaged: Callable[[Fit, Transitions, Disturbance], Fit],
) -> Fit:
    """The plain fit where the data do not speak for the disturbance, else one of what it leaves.

    `searched` is a fit of transitions, `completed` one at the parameters of another, `averaged` one at all those that
    the posterior of the other averages over, with equations beside.
    """
    under_plain = _steps(plain, transitions, since)
    disturbance, seen = guess(transitions, under_plain)
    if not disturbance.found:
        return plain._replace(disturbance=disturbance.described(under_plain))
    found = plain
    for _ in range(ROUNDS):
        found = searched(seen)
        found, disturbance = _settled(found, transitions, since, disturbance, completed)
        seen = disturbance.as_gaussian(transitions, _steps(found, transitions, since))
    found = averaged(found, seen, disturbance)
    steps = _steps(found, transitions, since)
    told = _told(found, transitions, disturbance.described(steps), steps)
    # a plain fit may take for structure what it does not know of: its evidence has paid for that, its likelihood not
    if not disturbance.given and told.completed.evidence - plain.completed.evidence < disturbance.price:
        return plain._replace(disturbance=disturbance.nothing().described(under_plain))
    return told


def _settled(
    found: Fit,
    transitions: Transitions,
    since: Floats,
    disturbance: Disturbance,
    completed: Callable[[Fit, Transitions], Fit],
) -> tuple[Fit, Disturbance]:
    """Turns at the same parameters of kernels, until they change nothing."""
    before = -np.inf
    for _ in range(MOST_TURNS):
        steps = _steps(found, transitions, since)
        disturbance = disturbance.learned(steps)
        now = float(steps.weight @ disturbance.log_density(steps)) / steps.weight.sum()
        if abs(now - before) < SETTLED:
            break
        found, before = completed(found, disturbance.as_gaussian(transitions, steps)), now
    return found, disturbance


def _told(found: Fit, transitions: Transitions, disturbance: Disturbance, steps: Steps) -> Fit:
    """With what the disturbance says in place of the Gaussian: transitions as observed, loss, evidence, certainty."""
    posterior, completion, evidence = found.completed
    d = transitions.x.shape[1]
    constant = transitions.total * (0.5 * d * LOG_2PI + float(np.sum(np.log(found.units.scale))))
    misfit = -float(steps.weight @ disturbance.log_density(steps)) - constant
    more = misfit - completion.place.misfit
    posterior = informed(posterior, *disturbance.shares)
    if disturbance.constant_noise is not None:
        posterior = posterior.with_constant_noise(disturbance.constant_noise)
    told = Completed(posterior, replace(completion, loss=completion.loss + more), evidence - more)
    return found._replace(transitions=transitions, completed=told, disturbance=disturbance)
