"""Equations beside the Gaussian process: evidence of both, function by function.

What cells say about one function, all others held where completion left them, is quadratic around there: slopes s and
rows R of the expected curvature, which for a drift under Euler's law is exact. In it a process's weights and an
equation's coefficients are both linear, so their evidences compare whatever the law or the structure of the noise. Of
a variance, which is positive and of which cells say far more, equations are scored in full instead.

The process's evidence is integrated over its parameters by Laplace, as that of constant noise is.
"""

from typing import Any, NamedTuple

import numpy as np

from onepath.data.cells import Cells
from onepath.gp.parameters import NOISE, Parameter, parameters_of
from onepath.gp.terms import Terms
from onepath.graph.graph import Graph
from onepath.inference.equations.gaussians import Steps, steps_at
from onepath.inference.equations.regression import Fitted, Squares, linear, nearly, variances
from onepath.inference.equations.subsets import Simplicity, kept, searched
from onepath.inference.learning.learned import LearnedTheta
from onepath.inference.posterior.clustering import Clustering
from onepath.inference.posterior.mixture import Completed
from onepath.numerics.arrays import Flags, Floats, Integers

DEGREES, MOST_TERMS = {1: 5, 2: 3, 3: 3}, 45
"""Of a drift's monomials, by dimension; above three as high as leaves no more of them than this, and 3 at most."""

SQUARED_DEGREE = 2
"""Of those of a squared diffusion."""

EXPECTED = 2
"""Terms of an equation, beforehand."""

SCORED = 64
"""Squared diffusions that are scored in full: those that are best as far as a quadratic tells."""

MOST, LEAST = 8, 1e-4
"""Hypotheses of a function that are kept, and the least probable of them, as a share of the best."""


LOST = 1e-7
"""Of λ: less of a variance than this is lost to rounding beside it."""


class Prior(NamedTuple):
    """What is known of equations beforehand.

    A coefficient times its term's root mean square over the data is N(0, (reach · s)²): s is the drift of an
    Ornstein–Uhlenbeck process of the same spread, σ²/(2 sd), and what is persistent; or the mean square of the noise.
    An equation has one reach, each of these as probable. Each term has the same odds, at most `odds` and so small that
    two of all are expected; equations of higher degree are rarer. One drift in two is an equation, and one noise that
    varies in so many.
    """

    drift_reaches: tuple[float, ...] = (1.0, 4.0, 16.0, 64.0)
    diffusion_reaches: tuple[float, ...] = (1.0, 4.0, 16.0)
    odds: float = 0.5  # of a term
    per_degree: float = 0.5  # less for each degree of the largest one
    drift: float = 0.5  # that there is an equation
    diffusion: float = 0.1
    constant: float = 0.3  # that this is one of them, where it is no member of the process

    def among(self, degrees: Integers) -> Simplicity:
        """Of subsets of terms of these degrees."""
        return Simplicity(degrees, min(self.odds, EXPECTED / max(len(degrees) - EXPECTED, 1)), self.per_degree)


PRIOR = Prior()


class Told(NamedTuple):
    """What increments that are not normal say, of what they would if they were.

    Shares of the information about drift and diffusion, how cells say it together where the noise's level changes, and
    how probable constant noise then is, where that is known better than from normal increments.
    """

    drift: float = 1.0
    diffusion: float = 1.0
    clustering: Clustering | None = None
    constant_noise: float | None = None

    @property
    def is_whole(self) -> bool:
        """Whether cells say of the diffusion what normal increments do."""
        return self.clustering is None and self.diffusion == 1.0


WHOLE = Told()
"""Increments are normal."""


class Hypotheses(NamedTuple):
    """Equations of one function: which terms, ln p(data | subset) p(subset), and the process's own, to compare."""

    subsets: Flags
    fitted: Fitted
    values: Floats
    process: float

    @property
    def mass(self) -> Floats:
        """How probable each is; the rest is the process."""
        top = max(float(self.values.max(initial=-np.inf)), self.process)
        each = np.exp(self.values - top)
        return np.asarray(each / (each.sum() + np.exp(self.process - top)))


def drift_hypotheses(seen: "Seen", f: int, terms: Terms, prior: Prior) -> Hypotheses:
    """Of coordinate f of the drift."""
    read, cells = seen.read(f, terms), seen.cells
    design, degrees = terms.jets(cells.x, seen.graph.order)[:, :, read], terms.degrees[read]
    size = root_mean_square(design[:, 0], cells.weight)
    rows, slopes, latent = seen.rows[:, :, f], seen.slopes[:, f], seen.latent[:, f]
    acted = np.matmul(rows, design / size)  # (c, r, terms)
    information = seen.told.drift * np.tensordot(acted, acted, axes=((0, 1), (0, 1)))
    target = np.matmul(rows, latent[:, :, None])[:, :, 0]  # R q̂
    right = seen.told.drift * np.tensordot(acted, target, axes=((0, 1), (0, 1))) - np.tensordot(
        design / size, slopes, axes=((0, 1), (0, 1))
    )
    precisions = [np.full(len(degrees), (reach * seen.amplitudes[f]) ** -2.0) for reach in prior.drift_reaches]
    simplicity = prior.among(degrees)

    def judge(subsets: Flags) -> Floats:
        return averaged([linear(subsets, information, right, precision).evidence for precision in precisions])

    subsets, values = searched(judge, simplicity)
    best = kept(values, MOST, LEAST)
    fitted = best_of([linear(subsets[best], information, right, precision) for precision in precisions])
    equation = np.log(prior.drift) - simplicity.log_total
    process = seen.linear_evidence(f) + np.log1p(-prior.drift)
    return Hypotheses(*among(read, subsets[best], in_terms(fitted, size)), values[best] + equation, process)


def diffusion_hypotheses(seen: "Seen", entry: int, terms: Terms, prior: Prior, constant: float | None) -> Hypotheses:
    """Of one entry of a diagonal σ, or of the one that all coordinates share.

    Constant noise may be among the process's members, with this probability. If it is that of all the noise there is,
    it is no other hypothesis.
    """
    alone = constant is not None and len(seen.graph.unit) == 1
    low = (terms.degrees <= SQUARED_DEGREE) & seen.read(seen.graph.drifts + entry, terms)
    if not seen.told.is_whole:
        return _around(seen, entry, low, terms, prior, constant)
    design, degrees = terms.jets(seen.cells.x)[:, 0, low], terms.degrees[low]
    size = root_mean_square(design, seen.cells.weight)
    simplicity = prior.among(degrees)
    near, squares, tiled = seen.squares(entry)
    whole = np.tile(design / size, (tiled, 1))
    precisions = [np.full(len(degrees), reach**-2.0) for reach in prior.diffusion_reaches]
    first, roughly = searched(
        lambda some: averaged([nearly(some, whole, squares, near, precision) for precision in precisions]), simplicity
    )
    subsets = first[kept(roughly, SCORED, 0.0)]
    fits = [variances(subsets, whole, squares, near, precision) for precision in precisions]
    values = averaged([each.evidence for each in fits]) + simplicity.of(subsets)
    values = _beforehand(values, np.any(subsets[:, degrees > 0], axis=1), simplicity, prior, alone)
    best = kept(values, MOST, LEAST)
    chosen = best_of([Fitted(*(part[best] for part in each)) for each in fits])
    subsets, fitted = among(low, subsets[best], in_terms(chosen, size))
    process = seen.variance_evidence(seen.graph.drifts + entry, float(squares.loss(near)))
    return Hypotheses(subsets, fitted, values[best], _of_process(process, constant, seen, prior))


def _beforehand(values: Floats, varies: Flags, simplicity: Simplicity, prior: Prior, alone: bool) -> Floats:
    """With how probable squared noises are; constant ones, which may be no hypothesis of their own, more so."""
    values = values + np.log(prior.diffusion) - simplicity.log_total
    if alone:
        values[~varies] = -np.inf
    else:
        values[~varies] += np.log(prior.constant / prior.diffusion) + simplicity.log_total - np.log(simplicity.odds)
    return values


def _of_process(evidence: float, constant: float | None, seen: "Seen", prior: Prior) -> float:
    """With how probable it is that a noise is no equation, constant noise among its members or not."""
    if constant is not None:
        evidence -= np.log1p(-min(constant, 1.0 - 1e-12)) / len(seen.graph.unit)
    return float(evidence + np.log1p(-prior.diffusion))


def _around(seen: "Seen", entry: int, low: Flags, terms: Terms, prior: Prior, constant: float | None) -> Hypotheses:
    """Of a squared noise of which cells say less than normal increments do: as far as a quadratic tells.

    Around the values a that completion has found, its slopes are the likelihood's, and its curvature is what is left
    of the information.
    """
    f, told, weight = seen.graph.drifts + entry, seen.told, seen.cells.weight
    design, degrees = terms.jets(seen.cells.x)[:, 0, low], terms.degrees[low]
    size, simplicity = root_mean_square(design, weight), prior.among(degrees)
    near, squares, tiled = seen.squares(entry)
    slope, root = squares.around(near)
    whole = np.tile(design / size, (tiled, 1))
    rows = np.reshape(root[:, None] * np.column_stack([whole, near]), (tiled, len(weight), -1))
    left = told.diffusion * np.tensordot(rows, rows, axes=((0, 1), (0, 1)))
    if told.clustering is not None:
        left = told.clustering.information(np.swapaxes(rows, 0, 1))
    information, right = left[:-1, :-1], left[:-1, -1] - whole.T @ slope
    # against no noise at all, as a regression's evidence is, and from there to the values that were found
    none = slope @ near - 0.5 * float(left[-1, -1])
    precisions = [np.full(len(degrees), reach**-2.0) for reach in prior.diffusion_reaches]

    def judge(subsets: Flags) -> Floats:
        return averaged([linear(subsets, information, right, precision).evidence for precision in precisions]) + none

    subsets, values = searched(judge, simplicity)
    alone = constant is not None and len(seen.graph.unit) == 1
    values = _beforehand(values, np.any(subsets[:, degrees > 0], axis=1), simplicity, prior, alone)
    first = kept(values, SCORED, 0.0)
    fitted = best_of([linear(subsets[first], information, right, precision) for precision in precisions])
    positive = np.all(fitted.coefficients @ whole.T > 0.0, axis=1)
    values = np.where(positive, values[first], -np.inf)
    best = kept(values, MOST, LEAST)
    chosen = Fitted(*(part[best] for part in fitted))
    process = _of_process(seen.variance_evidence(f, 0.0), constant, seen, prior)
    return Hypotheses(*among(low, subsets[first][best], in_terms(chosen, size)), values[best], process)


class Seen:
    """What a completed graph says about each of its functions, the others held still."""

    def __init__(self, found: Completed, learned: LearnedTheta, cells: Cells, told: Told = WHOLE) -> None:
        self.graph: Graph = found.posterior.graph
        self.told = told
        self.cells, self.learned = cells, learned
        place = found.completion.place
        self.rows, self.slopes, self.latent = place.rows, place.slopes, place.latent
        self.weights, self.layout = place.weights, self.graph.layout
        self.parameters = parameters_of(self.graph.parameters, found.posterior.mask)
        self.amplitudes = np.concatenate([np.asarray(each.amplitude) for each in self.graph.unknown])
        assert found.completion.blocks is not None
        self.blocks = found.completion.blocks
        self.steps: Steps = steps_at(self.graph, self.latent, cells)

    def read(self, f: int, terms: Terms) -> Flags:
        """Terms of what one function reads, in their order."""
        reads = [each.reads for each in self.graph.unknown for _ in range(each.outputs)][f]
        if reads is None:
            return np.ones(terms.count, bool)
        powers = np.delete(np.asarray(terms.exponents), reads, axis=1)
        return np.r_[~powers.any(axis=1), np.ones(len(terms.own), bool)]

    def curvature(self, f: int) -> tuple[Floats, Floats]:
        """Fisher's matrix I + φᵀCφ of one function's weights, and these."""
        p = self.weights.shape[1]
        block = next(each for each in self.blocks if f in each.functions)
        own = np.flatnonzero(block.weights // p == f)
        lower, weights = block.lower[own], self.weights.ravel()[block.weights[own]]
        share = self.told.drift if f < self.graph.drifts else self.told.diffusion
        if share == 1.0:
            return lower @ lower.T, weights
        return share * (lower @ lower.T) + (1.0 - share) * np.eye(len(own)), weights

    def linear_evidence(self, f: int) -> float:
        """Of a drift's process: ½ bᵀ(I + A)⁻¹b - ½ ln det(I + A) at the best parameters, then around these."""
        curvature, weights = self.curvature(f)
        return float(0.5 * weights @ curvature @ weights - 0.5 * np.linalg.slogdet(curvature)[1]) + self.log_width(f)

    def variance_evidence(self, f: int, loss: float) -> float:
        """Of a diffusion's process, from its own loss."""
        curvature, weights = self.curvature(f)
        return float(-loss - 0.5 * weights @ weights - 0.5 * np.linalg.slogdet(curvature)[1]) + self.log_width(f)

    def log_width(self, f: int) -> float:
        """ln ∫ p(data, θ) dθ / p(data | θ̂) over the parameters of one function, by Laplace."""
        drifts, prior, optimum = self.graph.drifts, self.learned.prior, self.learned.optimum
        own = np.asarray([belongs_to(each, f, drifts) for each in self.parameters])
        if not own.any():
            return 0.0
        values = np.linalg.eigvalsh(np.asarray(optimum.curvature)[np.ix_(own, own)])
        penalty, _ = prior.negative_log(np.where(own, optimum.theta, prior.mean))
        return float(-0.5 * np.sum(np.log(prior.no_wider(values))) - penalty - np.sum(np.log(prior.spread[own])))

    def squares(self, entry: int) -> tuple[Floats, Squares, int]:
        """Values about right, and squared residuals, of one entry: of all coordinates, where they share it."""
        shared = self.graph.structure == "isotropic"
        which = list(range(self.graph.dimension)) if shared else [entry]
        steps, cells = self.steps, self.cells
        near = np.square(steps.sigma[:, entry])
        parts = []
        for i in which:
            rest = np.full(len(cells.weight), steps.noise[i])
            # a difference that rounding has taken says nothing of the law: Euler's gain is the step
            told = near * cells.dt > LOST * rest
            gain = np.where(told, (steps.variance[:, i] - rest) / np.where(told, near, 1.0), cells.dt)
            residual = cells.y[:, i] - steps.mean[:, i]
            total = cells.scatter[:, i, i] + cells.weight * np.square(residual)
            parts.append((cells.weight, total, gain, rest))
        return (
            np.tile(near, len(which)),
            Squares(*(np.concatenate(part) for part in zip(*parts, strict=True))),
            len(which),
        )


def belongs_to(parameter: Parameter, f: int, drifts: int) -> bool:
    """Whether a parameter is one of function f, of which the drift's are the first."""
    if parameter.role == NOISE:
        return False
    if f < drifts:
        return parameter.function == "drift" and parameter.place[0] == f
    return parameter.function in ("diffusion", "level") and parameter.place[0] == f - drifts


def averaged(evidences: list[Floats]) -> Floats:
    """Under one of several priors, each as probable."""
    return np.asarray(np.logaddexp.reduce(evidences, axis=0) - np.log(len(evidences)))


def best_of(fits: list[Fitted]) -> Fitted:
    """Of each subset the fit under the most probable of several priors."""
    which = np.argmax([each.evidence for each in fits], axis=0)
    rows = np.arange(len(which))
    return Fitted(*(np.stack(part)[which, rows] for part in zip(*fits, strict=True)))


def among(which: Flags, subsets: Flags, fitted: Fitted) -> tuple[Flags, Fitted]:
    """Of all terms, from those of some."""
    count, own = len(subsets), np.flatnonzero(which)
    wide, coefficients = np.zeros((count, len(which)), bool), np.zeros((count, len(which)))
    wide[:, own], coefficients[:, own] = subsets, fitted.coefficients
    lower = np.broadcast_to(np.eye(len(which)), (count, len(which), len(which))).copy()
    lower[:, own[:, None], own] = fitted.lower
    return wide, Fitted(fitted.evidence, coefficients, lower)


def in_terms(fitted: Fitted, size: Floats) -> Fitted:
    """Coefficients of terms themselves, from those of terms over their root mean squares."""
    return fitted._replace(coefficients=fitted.coefficients / size, lower=fitted.lower * size[:, None])


def root_mean_square(design: Any, weight: Any, xp: Any = np) -> Any:
    """Of each term over the data."""
    return xp.sqrt(xp.maximum(weight @ xp.square(design) / weight.sum(), 1e-300))
