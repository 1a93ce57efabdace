"""Readings of a hidden state, which is filtered in turns with the fit."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from onepath.data.trajectory import Trajectory
from onepath.data.transitions import Transitions
from onepath.graph.laws import LINEARISED
from onepath.inference.hidden.bands import with_information
from onepath.inference.hidden.filter import filtered
from onepath.inference.hidden.first import first_path, quiet_path
from onepath.inference.hidden.known import MUCH, Known, forgotten, known
from onepath.inference.hidden.learning import Lost, Path, Search, followed, search, with_exposure
from onepath.inference.hidden.reading import Observed, Reading, Readings, readings_of
from onepath.inference.hidden.steps import Law, Steps, steps_from
from onepath.inference.observation import FitTo, Observation
from onepath.inference.result import Fit
from onepath.numerics.arrays import Floats, Integers, evenly
from onepath.numerics.modules import changed

TURNS = 30
"""Of the filter with the fit, at most, between learning kernels first and last."""

SETTLED = 0.5
"""What one more turn must add to the innovations' log-likelihood."""

WHOLE, FARTHEST = 0.9, 2.5
"""A power from which one fit goes nearly all the way, and the largest by which one that does not is corrected."""

TOLD = 1 / 3
"""A power from which drifts may be equations; noise may be one from `WHOLE` on.

Equations are judged as if increments were exact, and bands of those that win by too little evidence are too narrow.
"""

FAINT = 0.05
"""A power from which nearly all was taken for noise of readings, and turns are tried from none of it too."""

PLACES = 256
"""At which the mean of σ² is known as well as a factor on it."""

UNCERTAIN = 10.0
"""A state this many times less certain than usual, in variances, is none to learn from."""


@dataclass(frozen=True)
class Hidden(Observation):
    """States are filtered from readings with what is known of their law, and learned from in turn."""

    name: ClassVar[str] = "hidden"
    takes_parts: ClassVar[bool] = True
    reading: Reading

    def dimension(self, trajectory: Trajectory) -> int:
        return self.reading.order * trajectory.dimension

    def transitions(self, trajectory: Trajectory, fit: Fit | None) -> Transitions:
        """Filtered under a fit; under a random walk where there is none yet."""
        readings = readings_of(trajectory, self.reading)
        path = first_path(readings)
        return filtered_transitions(readings, path if fit is None else followed(readings, fit, path, path.scales))

    def learn(self, trajectory: Trajectory, fit_to: FitTo) -> Fit:
        """Kernels are learned first and last, functions in every turn."""
        readings = readings_of(trajectory, self.reading)
        path = first_path(readings)
        starts = [fit_to(filtered_transitions(readings, path), None)]
        if self.reading.order == 1 and self.reading.exposure is None:
            starts = self._ordered(readings, starts[0], path, fit_to)
        fit, path, found = self._turned(readings, starts[0], path, fit_to)
        if len(starts) > 1 and (_power(found, readings) < FAINT or forgotten(path) > MUCH):
            plain = fit_to(unfiltered_transitions(readings), None)
            again = self._turned(readings, plain, quiet_path(readings), fit_to)
            fit, path, found = max((fit, path, found), again, key=lambda end: float(end[2].judged.value))
        fit = fit_to(filtered_transitions(readings, path, self._steps(readings, fit, path)), None)
        fit = with_told_equations(fit, _power(found, readings) if forgotten(path) <= MUCH else 0.0)
        path, found = _searched(readings, self._law(fit), path)
        ends = known(readings, found, path)
        observed = _observed(readings, found, path, ends)
        path = followed(readings, self._law(fit), path, np.append(observed.scales, 0.0))
        completed, states = self._law(fit).completed, fit.transitions
        places = fit.units.places(states.points[evenly(len(states), PLACES)])
        completed = completed._replace(
            posterior=with_information(completed.posterior, places, np.sqrt(observed.share), ends.level),
            evidence=completed.evidence + density_ratio(readings, path),
        )
        return fit._replace(completed=completed, transitions=filtered_transitions(readings, path), observed=observed)

    def _law(self, fit: Fit) -> Fit:
        """As steps are filtered: velocities move positions within a step, which Euler's law does not know."""
        if self.reading.order == 1:
            return fit
        posterior = fit.completed.posterior
        moved = changed(posterior, graph=posterior.graph.with_law(LINEARISED))
        return fit._replace(completed=fit.completed._replace(posterior=moved))

    def _ordered(self, readings: Readings, fit: Fit, path: Path, fit_to: FitTo) -> list[Fit]:
        """This fit and one to the readings themselves, first the one that foretells them better.

        A random walk takes what is forgotten within a step for noise of readings, and turns do not lead away from that.
        """
        fits = [fit, fit_to(unfiltered_transitions(readings), fit)]
        values = [_searched(readings, each, path)[1].judged.value for each in fits]
        return fits[::-1] if values[1] > values[0] else fits

    def _turned(self, readings: Readings, fit: Fit, path: Path, fit_to: FitTo) -> tuple[Fit, Path, Search]:
        """Turns from this fit on, until the innovations' likelihood gains nothing more."""
        path, found = _searched(readings, self._law(fit), path)
        best = -np.inf
        for _ in range(TURNS):
            if found.judged.value < best + SETTLED:
                break
            best = found.judged.value
            following = self._next(readings, fit, path, found, fit_to)
            try:
                path, found = _searched(readings, self._law(following), path)
            except Lost:  # the turn before stands
                break
            fit = following
        return fit, path, found

    def _next(self, readings: Readings, fit: Fit, path: Path, found: Search, fit_to: FitTo) -> Fit:
        """The next fit: to filtered increments, and once more, to increments that go all the way.

        Where readings are noisy, the variance V of an innovation holds little of Q: it is off by the power s of what Q
        is off by, and so is the first fit. s² is the information on a factor on Q, by that of exact readings.
        """
        steps = self._steps(readings, fit, path)
        near = fit_to(filtered_transitions(readings, path, steps), with_factor(fit, path.scales[0]))
        power = _power(found, readings)
        if power > WHOLE:
            return near
        before, after = (
            np.diagonal(each.covariance[:, path.moved, path.moved], axis1=1, axis2=2)
            for each in (steps, self._steps(readings, near, path))
        )
        ratio = after / (np.exp(path.scales[0]) * before)
        stretch = ratio ** (0.5 * min(1.0 / power - 1.0, FARTHEST))
        return fit_to(filtered_transitions(readings, path, steps, stretch), near)

    def _steps(self, readings: Readings, fit: Fit, path: Path) -> Steps:
        """Steps from filtered states by the fit's own law; what that leaves unexplained is what the filter does."""
        state = path.found.state[:, : path.size]
        return steps_from(fit, np.concatenate([state[:1], state[:-1]]), readings.dt, readings.driven)


def with_factor(fit: Fit, scale: float) -> Fit:
    """The same with σ² times e^scale, whose level is a parameter and so does not move between searches for those."""
    graph = fit.completed.posterior.graph
    moved = changed(graph, unit=np.exp(0.5 * scale) * np.asarray(graph.unit))
    return fit._replace(completed=fit.completed._replace(posterior=changed(fit.completed.posterior, graph=moved)))


def with_told_equations(fit: Fit, power: float) -> Fit:
    """Without those of which innovations tell too little."""
    posterior = fit.completed.posterior
    formulas = posterior.formulas
    if formulas is None or power > WHOLE:
        return fit
    of_drift = np.arange(len(formulas.mass)) < formulas.drifts
    left = changed(formulas, mass=np.where(of_drift[:, None], formulas.mass, 0.0)) if power > TOLD else None
    return fit._replace(completed=fit.completed._replace(posterior=changed(posterior, formulas=left)))


def _power(found: Search, readings: Readings) -> float:
    return float(np.sqrt(found.judged.sizes / (0.5 * readings.total)))


def _searched(readings: Readings, law: Law, path: Path) -> tuple[Path, Search]:
    path = followed(readings, law, path, np.concatenate([[0.0], path.scales[1:-1], [0.0]]))
    if readings.reading.exposure == "learn":
        path = with_exposure(readings, law, path)
    found = search(path.rows, path.setting, path.scales, readings)
    return path._replace(scales=found.scales, found=filtered(found.scales, path.rows, path.setting)), found


def unfiltered_transitions(readings: Readings) -> Transitions:
    """From reading to reading, where both are whole."""
    to, whole = np.flatnonzero(readings.begins == 0), readings.whole
    weight = (whole[to] & whole[to - 1]).astype(float)
    start, y = readings.z[to - 1], readings.z[to] - readings.z[to - 1]
    return _transitions(readings, to, start, y, weight)


def _transitions(readings: Readings, to: Integers, start: Floats, y: Floats, weight: Floats) -> Transitions:
    """Those that lead to these rows, with the inputs that drive them."""
    inputs = None if readings.driven is None else readings.driven[to]
    weights = None if weight.all() else weight
    return Transitions(start, y, readings.dt[to], weights, row=to - 1, inputs=inputs, variables=readings.variables)


def filtered_transitions(
    readings: Readings, path: Path, steps: Steps | None = None, stretch: Floats | None = None
) -> Transitions:
    """From filtered states on, each with the increment m + Q^½ V^-½ ν, where m and Q are the path's or those of steps.

    In a steady filter that is m + K ν, what the state is moved by: white, with the variance that the diffusion gives.
    Roots are turned so that they come nearest to that.
    """
    rows, found, size, moved = path.rows, path.found, path.size, path.moved
    to = np.flatnonzero(readings.begins == 0)
    start, spread = found.state[to - 1, :size], found.covariance[to - 1, :size, :size]
    if steps is None:
        turned = rows.flow[to, :size, :size] - np.eye(size)
        mean = rows.mean[to, :size] + np.einsum("nij,nj->ni", turned, start - rows.near[to, :size])
        mean = np.exp(path.scales[-1]) * mean
        covariance = np.exp(path.scales[0]) * rows.covariance[to, :size, :size]
    else:
        mean, covariance = np.exp(path.scales[-1]) * steps.mean[to], np.exp(path.scales[0]) * steps.covariance[to]
    y = np.array(mean)
    gain = found.gain[to, moved]
    beyond = _as_increments(covariance[:, moved, moved], found.variance[to], gain, found.innovation[to])
    y[:, moved] += beyond if stretch is None else stretch[to] * beyond
    usual = np.median(np.diagonal(spread + covariance, axis1=1, axis2=2), axis=0)
    certain = np.all(np.diagonal(spread, axis1=1, axis2=2) < UNCERTAIN * usual, axis=1)
    weight = (certain & readings.whole[to]).astype(float)
    return _transitions(readings, to, start, y, weight)


def _as_increments(covariance: Floats, variance: Floats, gain: Floats, innovation: Floats) -> Floats:
    """Q^½ V^-½ ν, the roots L_Q O L_V⁻¹ with the orthogonal O that is nearest to L_Q⁻¹ K L_V."""
    if covariance.shape[1] == 1:
        return np.asarray(np.sqrt(covariance[:, 0] / variance[:, 0]) * innovation)
    lower, read = np.linalg.cholesky(covariance), np.linalg.cholesky(variance)
    left, _, right = np.linalg.svd(np.linalg.solve(lower, gain @ read), full_matrices=False)
    white = np.linalg.solve(read, innovation[:, :, None])
    return np.asarray((lower @ (left @ right) @ white)[:, :, 0])


def density_ratio(readings: Readings, path: Path) -> float:
    """ln of the density of readings over that of the increments that they became: Σ ½ ln det Q - ½ ln det V."""
    to = np.flatnonzero((readings.begins == 0) & readings.whole)
    moved = np.exp(path.scales[0]) * path.rows.covariance[to, path.moved, path.moved]
    parts = (moved, path.found.variance[to])
    logs = [np.linalg.slogdet(part)[1] for part in parts]
    return 0.5 * float(np.sum(logs[0] - logs[1]))


def _observed(readings: Readings, found: Search, path: Path, ends: Known) -> Observed:
    learned, variance = readings.learned, np.exp(found.scales[1:-1])
    noise, low, high = (np.where(learned, np.sqrt(each), 0.0) for each in (variance, ends.low, ends.high))
    share = float(np.clip(found.judged.sizes / (0.5 * readings.total), 1e-6, 1.0))
    return Observed(readings.reading, noise, low, high, learned, found.judged.value, share, path.exposure)
