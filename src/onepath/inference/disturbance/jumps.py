"""Jumps: an increment is N(m, V) or, with a probability that grows with its duration, N(m + μ, V + J).

Sizes may be of two kinds, such as up and down, each with a rate, a mean and a covariance of its own.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtri_exp

from onepath.data.transitions import Transitions
from onepath.inference.disturbance.disturbance import (
    NINETY,
    Banded,
    Disturbance,
    Drawn,
    Future,
    Steps,
    around,
    errors_of,
    log_normal,
    reweighted,
)
from onepath.inference.disturbance.local import local_steps
from onepath.numerics.arrays import Flags, Floats
from onepath.numerics.linalg import lower_roots, square_root

ROUNDS, SETTLED = 100, 1e-7
"""Of expectation and maximisation, at most, and the gain in likelihood, a step, that is worth no more of them."""

FEW = 20.0
"""Jumps up to which a second kind needs no more than to make them likelier."""

OUTSIDE = 3.5
"""Robust standard deviations beyond which an increment counts as a jump at first."""

MOST = 0.3
"""Share of steps that may jump: what is more frequent is no jump."""


@dataclass(frozen=True, eq=False)
class Jumps(Disturbance):
    """k kinds of jumps; none if none were found, and then `most` is what their rate may be."""

    rates: Floats  # (k,), per unit of time
    means: Floats  # (k, d), μ
    covariances: Floats  # (k, d, d), J
    bands: dict[str, Banded] = field(default_factory=dict)  # of "rate", "mean" and "size", by dimension

    name = "jumps"
    symbol = "dW + jumps"
    drawing = (("jumpₙ", "Y"),)
    price = 7.0

    @property
    def found(self) -> bool:
        return len(self.rates) > 0

    @property
    def kinds(self) -> int:
        return len(self.rates)

    # the law

    def log_shares(self, dt: Floats) -> Floats:
        """ln of how probable it is that a step of this duration has no jump, or one of each kind: (n, 1 + k)."""
        total = self.rates.sum()
        with np.errstate(divide="ignore"):
            each = np.log(-np.expm1(-total * dt))[:, None] + np.log(self.rates / max(total, np.finfo(float).tiny))
        return np.concatenate([-total * dt[:, None], each], axis=1)

    def parts(self, steps: Steps) -> list[tuple[Floats, Floats]]:
        """What is left of increments, and its covariance, without a jump and with one of each kind."""
        with_jump = [
            (steps.rest - mean, steps.covariance + size)
            for mean, size in zip(self.means, self.covariances, strict=True)
        ]
        return [(steps.rest, steps.covariance), *with_jump]

    def joint(self, steps: Steps) -> Floats:
        """ln of share times density, (n, 1 + k)."""
        densities = np.stack([log_normal(*part) for part in self.parts(steps)], axis=1)
        return self.log_shares(steps.dt) + densities

    def log_density(self, steps: Steps) -> Floats:
        return np.asarray(logsumexp(self.joint(steps), axis=1))

    def responsibilities(self, steps: Steps) -> Floats:
        """How probable it is that a step had no jump, or one of each kind, (n, 1 + k)."""
        joint = self.joint(steps)
        return np.exp(joint - logsumexp(joint, axis=1)[:, None])

    def probability(self, steps: Steps) -> Floats:
        """That a step jumped, (n,)."""
        return 1.0 - self.responsibilities(steps)[:, 0]

    def normal(self, steps: Steps) -> Floats:
        """Coordinate by coordinate, Φ⁻¹ of the mixture's distribution given the coordinates before."""
        logs = self.log_shares(steps.dt)
        z = np.empty_like(steps.rest)
        lowers = [lower_roots(covariance) for _, covariance in self.parts(steps)]
        whites = np.stack(
            [
                np.linalg.solve(lower, rest[:, :, None])[:, :, 0]
                for lower, (rest, _) in zip(lowers, self.parts(steps), strict=True)
            ],
            axis=1,
        )
        for i in range(steps.dimension):
            at = whites[:, :, i]
            logs = logs - logsumexp(logs, axis=1)[:, None]
            below, above = (logsumexp(logs + log_ndtr(sign * at), axis=1) for sign in (1.0, -1.0))
            z[:, i] = np.where(below < above, ndtri_exp(np.minimum(below, 0.0)), -ndtri_exp(np.minimum(above, 0.0)))
            size = np.stack([lower[:, i, i] for lower in lowers], axis=1)
            logs = logs - 0.5 * np.square(at) - np.log(size)
        return z

    def as_gaussian(self, transitions: Transitions, steps: Steps) -> Transitions:
        return reweighted(transitions, 1.0 - self.probability(steps)) if self.found else transitions

    # learning

    def learned(self, steps: Steps) -> "Jumps":
        """Expectation and maximisation; a jump's own size is hidden in the noise of its step."""
        current, before = self, -np.inf
        for _ in range(ROUNDS):
            joint = current.joint(steps)
            density = logsumexp(joint, axis=1)
            now = float(steps.weight @ density)
            if now - before < SETTLED * steps.weight.sum():
                break
            current, before = current._maximised(steps, np.exp(joint - density[:, None])[:, 1:]), now
        return current

    def _maximised(self, steps: Steps, chances: Floats) -> "Jumps":
        """From responsibilities (n, k). Given that it jumps, a jump is N(μ + K r, J - K J), K = J (V + J)⁻¹."""
        means, covariances = np.empty_like(self.means), np.empty_like(self.covariances)
        counted = chances * steps.weight[:, None]
        for k, (mean, size) in enumerate(zip(self.means, self.covariances, strict=True)):
            gain = size @ np.linalg.inv(steps.covariance + size)
            jump = mean + np.einsum("nij,nj->ni", gain, steps.rest - mean)
            total = max(float(counted[:, k].sum()), np.finfo(float).tiny)
            means[k] = counted[:, k] @ jump / total
            apart = jump - means[k]
            left = size - gain @ size
            covariances[k] = np.einsum("n,nij->ij", counted[:, k], left + apart[:, :, None] * apart[:, None, :]) / total
        covariances = (covariances + np.swapaxes(covariances, 1, 2)) / 2
        shares = counted.sum(axis=0) / max(float(counted.sum()), np.finfo(float).tiny)
        return replace(self, rates=_rate(counted.sum(axis=1), steps) * shares, means=means, covariances=covariances)

    def described(self, steps: Steps) -> "Jumps":
        """With 90 % bands of the rate, and of the mean and the root mean square of sizes along each dimension.

        That of the rate is the likelihood's, by its curvature; its relative error ε is that of 1/ε² counted jumps, and
        so many say how well the moments of sizes are known, each seen with the noise of its step.
        """
        if not self.found:
            # so many jumps would be missed altogether once in twenty times
            most = -np.log(0.05) / float(steps.weight @ steps.dt)
            return replace(self, bands={"rate": Banded(0.0, 0.0, most)})
        total, d = float(self.rates.sum()), steps.dimension

        def likelihood(change: Floats) -> float:
            """At a rate, and at sizes, that are so much larger, in logarithms."""
            grown = np.exp(change[1:])
            sizes = self.covariances * grown[:, None] * grown
            other = replace(self, rates=self.rates * np.exp(change[0]), means=self.means * grown, covariances=sizes)
            return float(steps.weight @ other.log_density(steps))

        error = float(errors_of(likelihood, 1 + d)[0])
        bands = {"rate": around(total, error)}
        # what is seen of a jump has the noise of its step in it
        chance = steps.weight * self.probability(steps)
        noise = np.tensordot(chance / chance.sum(), steps.covariance, axes=1)
        seen = replace(self, covariances=self.covariances + noise)
        square, fourth = np.diagonal(seen.second_moment), seen._fourth_moment
        spread = np.sqrt(np.maximum(square - np.square(self.mean), 0.0))
        size = np.sqrt(np.diagonal(self.second_moment))
        for i in range(d):
            reach = NINETY * error * spread[i]
            bands[f"mean {i}"] = Banded(float(self.mean[i]), float(self.mean[i] - reach), float(self.mean[i] + reach))
            relative = 0.5 * error * np.sqrt(max(fourth[i] - square[i] ** 2, 0.0)) / size[i] ** 2
            bands[f"size {i}"] = around(float(size[i]), float(relative))
        return replace(self, bands=bands)

    @property
    def mean(self) -> Floats:
        """Of all kinds together, (d,)."""
        return self.rates @ self.means / self.rates.sum()

    @property
    def second_moment(self) -> Floats:
        """E[jump jumpᵀ] of all kinds together, (d, d)."""
        each = self.covariances + self.means[:, :, None] * self.means[:, None, :]
        return np.tensordot(self.rates / self.rates.sum(), each, axes=1)

    def nothing(self) -> "Jumps":
        return none_found(self.means.shape[1])

    @property
    def _fourth_moment(self) -> Floats:
        """E[jump⁴] along each dimension, (d,)."""
        variance, square = np.diagonal(self.covariances, axis1=1, axis2=2), np.square(self.means)
        each = np.square(square) + 6.0 * square * variance + 3.0 * np.square(variance)
        return np.asarray(self.rates @ each / self.rates.sum())

    # simulation

    def drawn(self, rng: np.random.Generator, future: Future) -> Drawn:
        shape = future.paths, future.steps
        if not self.found:
            return Drawn(np.ones(shape))
        total, jumps = self.rates.sum(), np.zeros((*shape, self.means.shape[1]))
        rows, columns = np.nonzero(rng.random(shape) < -np.expm1(-total * future.dt))
        kinds = rng.choice(self.kinds, size=len(rows), p=self.rates / total)
        roots = np.stack([square_root(size) for size in self.covariances])
        normals = rng.standard_normal((len(rows), self.means.shape[1]))
        jumps[rows, columns] = self.means[kinds] + np.einsum("nij,nj->ni", roots[kinds], normals)
        return Drawn(np.ones(shape), jumps)


def none_found(dimension: int) -> Jumps:
    return Jumps(np.zeros(0), np.zeros((0, dimension)), np.zeros((0, dimension, dimension)))


def _rate(counted: Floats, steps: Steps) -> float:
    """λ that makes Σ c ln(1 - e^{-λΔt}) - (w - c) λΔt largest, by bisection: what is most likely for so many jumps."""
    dt, rest = steps.dt, steps.weight - counted
    mean = float(steps.weight @ dt / steps.weight.sum())
    low, high = 1e-12 / mean, -np.log1p(-MOST) / mean
    if np.ptp(dt) <= 1e-9 * mean:
        share = min(counted.sum() / steps.weight.sum(), MOST)
        return float(-np.log1p(-share) / mean)
    for _ in range(60):
        middle = np.sqrt(low * high)
        if counted @ (dt / np.expm1(middle * dt)) > rest @ dt:
            low = middle
        else:
            high = middle
    return float(low)


def first_jumps(transitions: Transitions, plain: Steps) -> tuple[Jumps, Transitions]:
    """Without the fit, which jumps have spoiled; and all that has not jumped."""
    local = local_steps(transitions, plain.since)
    found = _first(local)
    return found, found.as_gaussian(transitions, local)


def _first(local: Steps) -> Jumps:
    """Before anything is fitted: increments against the median size of those that start nearby, of one or two kinds.

    Two kinds must be worth half the logarithm of how many jumps there are, beyond a few, for each parameter more. Of
    few jumps neither is certain, and a single kind about zero would have many that nobody sees.
    """
    white = local.rest / np.sqrt(np.diagonal(local.covariance, axis1=1, axis2=2))
    far = np.abs(white).max(axis=1) > OUTSIDE
    d = local.dimension
    if local.weight @ far < 1.0:
        return none_found(d)
    one = _of_groups(local, [far]).learned(local)
    _, axes = np.linalg.eigh(one.second_moment)
    side = local.rest @ axes[:, -1] > 0
    groups = [far & side, far & ~side]
    if min(local.weight @ group for group in groups) < 1.0:
        return one
    two = _of_groups(local, groups).learned(local)
    count = float(local.weight @ two.probability(local))
    price = 0.5 * np.log(max(count / FEW, 1.0)) * (1 + d + d * (d + 1) / 2)
    gain = float(local.weight @ (two.log_density(local) - one.log_density(local)))
    return two if gain > price else one


def _of_groups(steps: Steps, groups: list[Flags]) -> Jumps:
    """A kind for each group of steps, with its mean and mean square."""
    d = steps.dimension
    counts = [np.where(group, steps.weight, 0.0) for group in groups]
    means = np.stack([count @ steps.rest / count.sum() for count in counts])
    apart = [steps.rest - mean for mean in means]
    covariances = np.stack([(a.T * count) @ a / count.sum() for count, a in zip(counts, apart, strict=True)])
    least = np.mean(np.diagonal(steps.covariance, axis1=1, axis2=2), axis=0)
    rates = np.asarray([_rate(count, steps) for count in counts])
    return Jumps(rates, means, covariances + np.diag(least) * np.eye(d))
