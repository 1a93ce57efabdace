"""Jumps: an increment is N(m, V) or, with a probability that grows with its duration, N(m + μ, V + J).

Sizes may be of two kinds, such as up and down, each with a rate, a mean and a covariance of its own; in the data's
units, or in standard deviations of the noise where they happen.
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
    whitened,
)
from onepath.numerics.arrays import Floats
from onepath.numerics.linalg import lower_roots, square_root

ROUNDS, SETTLED = 100, 1e-7
"""Of expectation and maximisation, at most, and the gain in likelihood, a step, that is worth no more of them."""

CLEAR, NARROWEST = 3.0, 0.5
"""Standard deviations of the noise by which jumps, a standard deviation of theirs nearer than on average, are larger
than it, and the least that such a deviation is made: what is no larger than noise is no jump."""

MOST = 0.3
"""Share of steps that may jump: what is more frequent is no jump."""


@dataclass(frozen=True, eq=False)
class Jumps(Disturbance):
    """k kinds of jumps; none if none were found, and then `most` is what their rate may be."""

    rates: Floats  # (k,), per unit of time
    means: Floats  # (k, d), μ
    covariances: Floats  # (k, d, d), J
    step: float | None = None  # sizes are in standard deviations of noise over so long; None: in the data's units
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

    def measured(self, steps: Steps) -> tuple[Steps, Floats | float]:
        """Steps in the units of sizes, and ln of how much denser increments (n,) lie in the data's own."""
        if self.step is None:
            return steps, 0.0
        white, volume = whitened(steps.rest, steps.covariance)
        share = steps.dt / self.step
        covariance = share[:, None, None] * np.eye(steps.dimension)
        own = steps._replace(rest=white * np.sqrt(share)[:, None], covariance=covariance)
        return own, 0.5 * steps.dimension * np.log(share) - volume

    def parts(self, steps: Steps) -> list[tuple[Floats, Floats]]:
        """What is left of measured increments, and its covariance, without a jump and with one of each kind."""
        with_jump = [
            (steps.rest - mean, steps.covariance + size)
            for mean, size in zip(self.means, self.covariances, strict=True)
        ]
        return [(steps.rest, steps.covariance), *with_jump]

    def joint(self, steps: Steps) -> Floats:
        """ln of share times density of measured increments, (n, 1 + k)."""
        densities = np.stack([log_normal(*part) for part in self.parts(steps)], axis=1)
        return self.log_shares(steps.dt) + densities

    def log_density(self, steps: Steps) -> Floats:
        own, denser = self.measured(steps)
        return np.asarray(logsumexp(self.joint(own), axis=1) + denser)

    def responsibilities(self, steps: Steps) -> Floats:
        """How probable it is that a step had no jump, or one of each kind, (n, 1 + k)."""
        joint = self.joint(self.measured(steps)[0])
        return np.exp(joint - logsumexp(joint, axis=1)[:, None])

    def probability(self, steps: Steps) -> Floats:
        """That a step jumped, (n,)."""
        return 1.0 - self.responsibilities(steps)[:, 0]

    def normal(self, steps: Steps) -> Floats:
        """Coordinate by coordinate, Φ⁻¹ of the mixture's distribution given the coordinates before."""
        steps, _ = self.measured(steps)
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
        steps, _ = self.measured(steps)
        current, before = self, -np.inf
        for _ in range(ROUNDS):
            joint = current.joint(steps)
            density = logsumexp(joint, axis=1)
            now = float(steps.weight @ density)
            if abs(now - before) < SETTLED * steps.weight.sum():
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
            noise = np.tensordot(counted[:, k] / total, steps.covariance, axes=1)
            means[k], covariances[k] = beyond(noise, means[k], (covariances[k] + covariances[k].T) / 2)
        shares = counted.sum(axis=0) / max(float(counted.sum()), np.finfo(float).tiny)
        return replace(self, rates=rate_of(counted.sum(axis=1), steps) * shares, means=means, covariances=covariances)

    def described(self, steps: Steps) -> "Jumps":
        """With 90 % bands of the rate, and of the mean and the root mean square of sizes along each dimension.

        That of the rate is the likelihood's, by its curvature; its relative error ε is that of 1/ε² counted jumps, and
        so many say how well the moments of sizes are known, each seen with the noise of its step.
        """
        if not self.found:
            # so many jumps would be missed altogether once in twenty times
            most = -np.log(0.05) / float(steps.weight @ steps.dt)
            return replace(self, bands={"rate": Banded(0.0, 0.0, most)})
        total, d, (steps, _) = float(self.rates.sum()), steps.dimension, self.measured(steps)

        def likelihood(change: Floats) -> float:
            """At a rate, and at sizes, that are so much larger, in logarithms."""
            grown = np.exp(change[1:])
            sizes = self.covariances * grown[:, None] * grown
            other = replace(self, rates=self.rates * np.exp(change[0]), means=self.means * grown, covariances=sizes)
            return float(steps.weight @ logsumexp(other.joint(steps), axis=1))

        error = float(errors_of(likelihood, 1 + d)[0])
        bands = {"rate": around(total, error)}
        # what is seen of a jump has the noise of its step in it
        joint = self.joint(steps)
        chance = steps.weight * -np.expm1(joint[:, 0] - logsumexp(joint, axis=1))
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
        if self.step is None:
            return Drawn(np.ones(shape), jumps)
        return Drawn(np.ones(shape), shift=jumps * np.sqrt(self.step / future.dt))


def beyond(noise: Floats, mean: Floats, size: Floats) -> tuple[Floats, Floats]:
    """The mean μ and the covariance J of jumps, changed so that they are clear of noise N(0, V): |m| - s ≥ `CLEAR`.

    m is the mean and s the standard deviation along it, where the noise is one.
    """
    lower = lower_roots(noise[None])[0]
    m, c = np.linalg.solve(lower, mean), np.linalg.solve(lower, np.linalg.solve(lower, size).T)
    far = float(np.linalg.norm(m))
    along = m / far if far > 0 else np.linalg.eigh(c)[1][:, -1]
    spread = float(np.sqrt(max(along @ c @ along, 0.0)))
    if far - spread >= CLEAR:
        return mean, size
    left = min(max(far - CLEAR, NARROWEST), spread)
    shrunk = lower @ (np.eye(len(m)) - (1.0 - left / spread if spread > 0 else 0.0) * np.outer(along, along))
    return lower @ (max(far, CLEAR + left) * along), shrunk @ c @ shrunk.T


def none_found(dimension: int) -> Jumps:
    return Jumps(np.zeros(0), np.zeros((0, dimension)), np.zeros((0, dimension, dimension)))


def rate_of(counted: Floats, steps: Steps) -> float:
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
