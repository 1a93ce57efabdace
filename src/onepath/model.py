"""Model: what a fit is. Everything after a fit takes one."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import jax
import numpy as np

from onepath.data.inputs import CLASS, Variables, coded
from onepath.data.seasons import same_clockwork
from onepath.data.statistics import mean_square
from onepath.data.trajectory import Trajectory, read_trajectory
from onepath.data.transitions import Transitions, Units, transitions_of
from onepath.gp.parameters import Parameter, learnable, pack, parameters_of
from onepath.graph.graph import Graph
from onepath.graph.laws import Law
from onepath.inference.adequacy import Stiffness
from onepath.inference.disturbance.disturbance import Disturbance, Steps, since_of, steps_of
from onepath.inference.hidden.reading import Observed
from onepath.inference.learning.optimisers import Optimum
from onepath.inference.posterior import evaluate
from onepath.inference.posterior.increments import increments
from onepath.inference.posterior.posterior import Posterior
from onepath.inference.result import Fit
from onepath.inference.tried import Mending
from onepath.numerics.arrays import Floats, evenly
from onepath.numerics.checks import check_probability, check_whole
from onepath.numerics.linalg import lower_roots
from onepath.numerics.notebook import InNotebooks
from onepath.numerics.precision import in_double

P = ParamSpec("P")
R = TypeVar("R")

SPREAD_DRAWS = 400
"""Draws of correlated noise for its spread."""

BAND_DRAWS = 1000
"""Draws of drift and diffusion for their bands, where parameters act on both."""

SMALL_SHARE = 0.03
"""Of an increment's mean square: as much of λ is left out of what is shown as noise."""

MANY = 1 << 17
"""Transitions of which some say where the data are."""

FEW, LAST = 4096, "the last mixture"
"""Points at which the members' moments are kept, and under which name, for the next question."""

QUADRATURE = 12
"""Nodes of the average over a diffusion's posterior."""

Seed = int | np.random.Generator | None


class Methods(NamedTuple):
    """By which methods a model was found, as users name them."""

    solver: str  #: how the graph was completed
    learn: str | None  #: how kernels were learned; None as given
    observation: str = "exact"  #: how readings became transitions


class Curve(NamedTuple):
    """A function at points: posterior mean, and the ends of its band."""

    mean: Floats  #: of the posterior
    lower: Floats  #: where the band begins
    upper: Floats  #: where the band ends


class Estimate(NamedTuple):
    """A number that was learned: posterior mean, and the ends of its band."""

    value: float  #: posterior mean
    lower: float  #: where the band begins
    upper: float  #: where the band ends


class Curves(NamedTuple):
    """Drift (n, d) and diffusion (n, d, d) at points (n, d)."""

    points: Floats  #: (n, d)
    drift: Curve  #: (n, d) each
    diffusion: Curve  #: (n, d, d) each


@dataclass(frozen=True, eq=False)
class Model(InNotebooks):
    """A learned dX = f(X) dt + σ(X) dW: the data, the posterior, and how it was found.

    Immutable. Points are (n, d), drifts (n, d) and diffusions (n, d, d), in the data's units, for every d from 1 on.
    Where there are inputs, points may have their columns too, (n, d + k); of others, inputs are `held`.
    """

    trajectory: Trajectory  #: the data, as they were understood
    transitions: Transitions  #: the steps that were learned from
    units: Units  #: in which the posterior is kept
    posterior: Posterior  #: what is known of drift and diffusion, standardised
    loss: float  #: J, in the data's units
    evidence: float  #: ln p(data | θ), in the data's units
    outcome: str  #: how completion ended
    optimum: Optimum | None  #: how the search for θ ended
    stiffness: Stiffness | None  #: how coarse steps are, where the law was chosen by it
    methods: Methods  #: by which it was found
    seconds: float  #: that the fit took
    bounds: Floats | None = None  #: (d, 2), which the state cannot leave
    observed: Observed | None = None  #: how readings come from states, where they are not the states themselves
    disturbance: Disturbance | None = None  #: what increments are beside N(m, V)
    held: Floats | None = None  #: (q,), inputs where none are said; `usual_inputs` if None
    mending: Mending | None = None  #: what was tried before it was chosen
    answers: dict[str, Any] = field(default_factory=dict, init=False, repr=False)  # of `asked_once`

    @property
    def graph(self) -> Graph:
        """The computational graph."""
        return self.posterior.graph

    @property
    def law(self) -> Law:
        """Of a step."""
        return self.graph.law

    @property
    def equation(self) -> str:
        """What is learned, in symbols."""
        noise = "dW" if self.disturbance is None else self.disturbance.noise
        if self.graph.compared is not None:
            return f"dx = v dt, dv = f(x, v) dt + σ(x, v) {noise}"
        return f"dX = f(X) dt + σ(X) {noise}"

    @property
    def dimension(self) -> int:
        """Of the state; there may be fewer readings."""
        return len(self.units.scale)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the state's coordinates."""
        names = self.trajectory.names
        return names if self.observed is None else self.observed.reading.names(names)

    @property
    def moved(self) -> list[int]:
        """Coordinates that are moved by unknown functions; others follow from them, as positions from velocities."""
        return list(range(self.dimension) if self.graph.compared is None else self.graph.compared)

    def shown_along(self, index: int) -> int:
        """The coordinate whose drift and noise are shown along this one: itself, or the velocity of a position."""
        return self.moved[index % len(self.moved)]

    @property
    def variables(self) -> Variables:
        """The inputs."""
        return self.transitions.variables

    @cached_property
    def usual_inputs(self) -> Floats:
        """(q,): medians of numbers, the most common of classes, and the time of the last step."""
        inputs = self.trajectory.inputs
        if inputs is None:
            return np.zeros(0)
        steps = self.trajectory.step
        middle = []
        for one, column in zip(inputs.variables, inputs.values.T, strict=False):
            values = column[steps]
            middle.append(np.bincount(values.astype(int)).argmax() if one.kind == CLASS else np.median(values))
        last = inputs.at_steps(steps[-1:], self.trajectory.t)[0, len(middle) :]
        return np.r_[np.asarray(middle, float), last]

    @property
    def at_inputs(self) -> Floats:
        """(q,): what inputs are where none are said."""
        return self.usual_inputs if self.held is None else self.held

    @property
    def ranges(self) -> list[tuple[float, float]]:
        """Least and largest value of each input among the data; of a season, its whole cycle."""
        inputs = self.trajectory.inputs
        if inputs is None:
            return []
        u = inputs.at_steps(self.trajectory.step, self.trajectory.t)
        ends = zip(inputs.variables, u.min(axis=0).tolist(), u.max(axis=0).tolist(), strict=True)
        return [(0.0, one.period) if one.period else (low, high) for one, low, high in ends]

    def at(self, held: Floats) -> "Model":
        """The same model, asked at other inputs (q,) where none are said."""
        return replace(self, held=held)

    def joined(self, points: Floats, u: Floats) -> Floats:
        """Points (n, d + k) from states (n, d) and inputs (n, q)."""
        return np.concatenate([points, coded(self.variables, u)], axis=1)

    @property
    def period(self) -> Floats | None:
        """Of coordinates that are angles (d,), 0 for what is none; None where nothing is."""
        return self.trajectory.period

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What each parameter of the graph is, learned or not."""
        return self._parameters(learnable(self.graph.parameters))

    @property
    def learned(self) -> tuple[Parameter, ...]:
        """Those that were learned: entries of the θ that members of the posterior have."""
        return self._parameters(self.posterior.mask)

    def _parameters(self, mask: tuple[bool, ...]) -> tuple[Parameter, ...]:
        return parameters_of(self.graph.parameters, mask)

    @property
    @in_double
    def values(self) -> dict[str, float]:
        """Values of all parameters by name, standardised."""
        tree = self.graph.parameters
        theta = np.exp(np.asarray(pack(tree, learnable(tree))))
        return dict(zip([each.name for each in self.parameters], theta.tolist(), strict=True))

    @property
    def noise(self) -> Floats:
        """λ for each dimension, in squared units of the data."""
        graph = self.graph
        return np.asarray(graph.noise) * np.asarray(graph.noise_unit) * np.square(self.units.scale)

    @property
    def constant_noise(self) -> float | None:
        """Probability that the diffusion is the same everywhere; None where that was not asked."""
        return self.posterior.constant_noise

    @property
    def _turning(self) -> Trajectory:
        """The trajectory of angles, standardised: where a turn begins is read off it."""
        observed, units = self.trajectory, self.units
        period = None if self.period is None else self.period / units.scale
        return replace(observed, x=units.points(observed.x), t=observed.t / units.time, period=period)

    @cached_property
    def standard(self) -> "Model":
        """The same model in its own units: what is computed there is the same in all units, and does not overflow.

        Its trajectory is as it was observed, but for angles. Of a long record it has transitions spread evenly, and the
        outmost ones.
        """
        units, transitions = self.units, self.transitions
        own = Units(np.zeros_like(units.location), np.ones_like(units.scale), 1.0)
        if units.input_location is not None and units.input_scale is not None:
            own = own._replace(input_location=units.input_location, input_scale=units.input_scale)
        if len(transitions) > MANY:
            x = transitions.x
            outmost = [*x.argmin(axis=0), *x.argmax(axis=0)]
            transitions = transitions.rows(np.union1d(evenly(len(x), MANY), outmost))
        return replace(
            self,
            trajectory=self._turning if self.period is not None else self.trajectory,
            transitions=replace(units.standardised(transitions), inputs=transitions.inputs),
            units=own,
            bounds=None if self.bounds is None else units.points(self.bounds.T).T,
            held=self.at_inputs if self.variables else None,
        )

    # drift and diffusion

    def drift(self, points: Floats) -> Floats:
        """Posterior mean of the drift."""
        return self._out(self._moments(points)[0], points)[0]

    def diffusion(self, points: Floats) -> Floats:
        """Posterior mean of the diffusion, averaged over what is before the link."""
        mean, deviation = self._moments(points)
        deviation = deviation * (np.arange(deviation.shape[1]) < self.graph.functions - self.graph.constants)
        nodes, weights = np.polynomial.hermite_e.hermegauss(QUADRATURE)
        values = [self._out(mean + node * deviation, points)[1] for node in nodes]
        return np.tensordot(weights / weights.sum(), np.asarray(values), axes=1)

    def drift_band(self, points: Floats, level: float = 0.9) -> tuple[Floats, Floats]:
        """Ends of the central interval that holds the drift with this probability, point by point."""
        if self.graph.constants:
            return self._drawn_band(points, level, 0)
        lower, upper = self._quantiles(points, level)
        return self._out(lower, points)[0], self._out(upper, points)[0]

    def diffusion_band(self, points: Floats, level: float = 0.9) -> tuple[Floats, Floats]:
        """Ends of the interval of every entry of the diffusion: quantiles pushed through the link."""
        if self.graph.constants:
            return self._drawn_band(points, level, 1)
        lower, upper = self._quantiles(points, level)
        return self._out(lower, points)[1], self._out(upper, points)[1]

    def _drawn_band(self, points: Floats, level: float, which: int) -> tuple[Floats, Floats]:
        """Of drift or diffusion, from draws: parameters act on several functions at once."""
        check_probability("level", level)
        lower, upper = np.quantile(
            self.functions(points, BAND_DRAWS, 0)[which], (0.5 - level / 2, 0.5 + level / 2), axis=0
        )
        return lower, upper

    def known(self, level: float = 0.9) -> dict[str, Estimate]:
        """Parameters of what is known, by name, with their bands."""
        physics = self.graph.physics
        if physics is None or not physics.names:
            return {}
        point = np.median(self.transitions.x, axis=0)[None]
        ends = (part[0, -len(physics.names) :] for part in (self._moments(point)[0], *self._quantiles(point, level)))
        rows = np.asarray(physics.start) + np.asarray(list(ends))
        return {name: Estimate(*row) for name, row in zip(physics.names, rows.T.tolist(), strict=True)}

    def curves(self, points: Floats, level: float = 0.9) -> Curves:
        """Drift and diffusion with their bands."""
        drift = Curve(self.drift(points), *self.drift_band(points, level))
        return Curves(points, drift, Curve(self.diffusion(points), *self.diffusion_band(points, level)))

    def spread(self, points: Floats, level: float = 0.9) -> Curve:
        """Standard deviation of each dX_i, per root of time (n, d), and its band; see `spread_of`."""
        if self.graph.structure == "full":
            drawn = self.spread_of(self.functions(points, SPREAD_DRAWS, 0)[1])
            ends = (0.5 - level / 2, 0.5 + level / 2)
            return Curve(drawn.mean(axis=0), *np.quantile(drawn, ends, axis=0))
        return Curve(*map(self.spread_of, (self.diffusion(points), *self.diffusion_band(points, level))))

    def spread_of(self, diffusion: Floats) -> Floats:
        """Of each dX_i, per root of time, from σ (..., d, d): √((σσᵀ)_ii + λ_i/Δt), with λ where it is not small.

        That is σ_ii under diagonal noise. λ does not grow with the length of a step, but is in every one.
        """
        if self.graph.structure == "full":
            own = np.sqrt(np.sum(np.square(diffusion), axis=-1))
        else:
            own = np.diagonal(diffusion, axis1=-2, axis2=-1)
        return np.hypot(own, np.sqrt(self.constant_part)) if self.constant_part.any() else own

    @cached_property
    def constant_part(self) -> Floats:
        """See `steady_noise`."""
        return steady_noise(self.noise, self.transitions)

    @in_double
    def functions(self, points: Floats, draws: int, random_state: Seed = None) -> tuple[Floats, Floats]:
        """Drift (draws, n, d) and diffusion (draws, n, d, d), drawn together from the posterior."""
        check_whole("draws", draws, 1)
        u, n = self._standardised(points), len(points)
        latent = evaluate.draws(self.posterior, u, draws, np.random.default_rng(random_state))
        drift, diffusion = self._out(latent.reshape(draws * n, -1), np.tile(points, (draws, 1)))
        return drift.reshape(draws, n, *drift.shape[1:]), diffusion.reshape(draws, n, *diffusion.shape[1:])

    # increments

    @in_double
    def increments(self, x: Floats, dt: Floats | float) -> tuple[Floats, Floats]:
        """Means (n, d) and covariances (n, d, d) of increments from points x over dt, at the mean of the functions."""
        return increments(self.posterior, self.units, self._whole(x), dt)

    def score(self, transitions: Transitions, since: Floats | None = None) -> float:
        """Mean log predictive density of transitions, in the data's units; higher is better."""
        densities = self.densities(transitions, since)
        alike = transitions.alike and self.disturbance is None
        return float(np.mean(densities) if alike else np.average(densities, weights=transitions.weight))

    @in_double
    def densities(self, transitions: Transitions, since: Floats | None = None) -> Floats:
        """Log predictive density of each transition (n,), in the data's units.

        `since` (n,) is the time between the beginnings of a transition and the one before, for noise with a memory.
        """
        if transitions.x.shape[1] != self.dimension:
            raise ValueError(f"The model has {self.dimension} dimensions, the new data {transitions.x.shape[1]}.")
        new = self.units.standardised(transitions)
        mean, covariance = evaluate.predictive(self.posterior, new.points, new.dt)
        if self.disturbance is not None:
            scale = self.units.scale
            steps = steps_of(transitions, since, mean * scale, covariance * scale[:, None] * scale)
            return self.disturbance.log_density(steps)
        lower = lower_roots(covariance)
        residual = np.linalg.solve(lower, (new.y - mean)[:, :, None])
        volume = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1) + np.log(self.units.scale).sum()
        constant = 0.5 * self.dimension * np.log(2 * np.pi)
        return np.asarray(-0.5 * np.square(residual).sum(axis=(1, 2)) - volume - constant)

    @cached_property
    def steps(self) -> Steps:
        """What is left of the model's own increments, for its disturbance."""
        transitions = self.transitions
        return steps_of(transitions, since_of(self.trajectory), *self.increments(transitions.points, transitions.dt))

    # standardised, before the link

    def _whole(self, points: Floats) -> Floats:
        """Points (n, d + k), with the inputs that are held where they have none."""
        if not self.variables or points.shape[1] > self.dimension:
            return points
        return self.joined(points, np.broadcast_to(self.at_inputs, (len(points), len(self.variables))))

    def _standardised(self, points: Floats) -> Floats:
        if points.ndim != 2 or points.shape[1] not in (self.dimension, self.graph.width):
            raise ValueError(f"Points must be an array of shape (n, {self.dimension}); got {points.shape}.")
        return self.units.places(self._whole(points))

    @in_double
    def marginals(self, points: Floats) -> tuple[Floats, Floats]:
        """Means and variances (n, members, functions) of all latents; equations come after the process's members."""
        mixture = self._mixture(points)
        return mixture.means, mixture.variances

    @in_double
    def _mixture(self, points: Floats) -> evaluate.Mixture:
        """The last one is kept: drift, diffusion and their bands are asked for at the same points."""
        u = self._standardised(points)
        if len(u) > FEW:
            return evaluate.mixture(self.posterior, u)
        asked, (known, mixture) = u.tobytes(), self.answers.get(LAST, (None, None))
        if mixture is None or asked != known:
            mixture = evaluate.mixture(self.posterior, u)
            self.answers[LAST] = (asked, mixture)
        return mixture

    def _moments(self, points: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the latents over all members."""
        return self._mixture(points).moments()

    def _quantiles(self, points: Floats, level: float) -> tuple[Floats, Floats]:
        """Ends of the latents' central interval of this probability, over all members."""
        check_probability("level", level)
        mixture = self._mixture(points)
        return mixture.quantile(0.5 - level / 2), mixture.quantile(0.5 + level / 2)

    @in_double
    def _out(self, latent: Floats, points: Floats) -> tuple[Floats, Floats]:
        """Drift and diffusion of latents (n, functions) at points, in the data's units."""
        drift, diffusion = evaluate.values(self.posterior, latent, self._standardised(points))
        scale, time = self.units.scale, self.units.time
        return drift * scale / time, diffusion * scale[:, None] / np.sqrt(time)


def steady_noise(noise: Floats, transitions: Transitions) -> Floats:
    """λ/Δt for each dimension at the median step, where λ is more than a few per cent of what increments are."""
    share = noise / mean_square(transitions)
    return np.where(share > SMALL_SHARE, noise / float(np.median(transitions.dt)), 0.0)


def model_of(trajectory: Trajectory, fit: Fit, methods: Methods, seconds: float, bounds: Floats | None = None) -> Model:
    """What a fit to a trajectory came to."""
    total = fit.transitions.total if trajectory.whole is None else trajectory.whole.transitions
    completed, volume = fit.completed, total * float(np.sum(np.log(fit.units.scale)))
    return Model(
        trajectory=trajectory,
        transitions=fit.transitions,
        units=fit.units,
        # as NumPy arrays, which keep their precision when a model is pickled or copied outside of double precision
        posterior=jax.tree.map(np.asarray, completed.posterior),
        loss=float(completed.completion.loss) + volume,
        evidence=completed.evidence - volume,
        outcome=completed.completion.outcome,
        optimum=None if fit.learned is None else fit.learned.optimum,
        stiffness=fit.stiffness,
        methods=methods,
        seconds=seconds,
        bounds=bounds,
        observed=fit.observed,
        disturbance=fit.disturbance,
    )


def read_transitions(model: Model, x: Any, inputs: Any = None, **times: Any) -> tuple[Transitions, Floats]:
    """Transitions of another trajectory, in the model's unit of time and by its calendar, if no other is given.

    And the time between the beginnings of each and the one before.
    """
    times["unit"] = times.get("unit") or model.trajectory.unit
    times["calendar"] = times.get("calendar") or model.trajectory.clock
    read = read_trajectory(x, inputs=inputs, variables=model.variables, **times)
    trajectory = replace(same_clockwork(read, model.variables, model.trajectory.clock), period=model.period)
    return transitions_of(trajectory), since_of(trajectory)


def read_readings(model: Model, x: Any, inputs: Any = None, **given: Any) -> Trajectory:
    """Another trajectory of readings, likewise; rows may lack some of their values."""
    given["unit"] = given.get("unit") or model.trajectory.unit
    given["calendar"] = given.get("calendar") or model.trajectory.clock
    read = read_trajectory(x, inputs=inputs, variables=model.variables, **given, partly=True)
    found = same_clockwork(read, model.variables, model.trajectory.clock)
    if found.dimension != model.trajectory.dimension:
        raise ValueError(f"The model has readings of {model.trajectory.dimension} dimensions, not {found.dimension}.")
    return found


def asked_once(question: Callable[Concatenate[Model, P], R]) -> Callable[Concatenate[Model, P], R]:
    """A question to a model whose answer is kept with it, for each choice of plain numbers and words to ask it with."""

    @wraps(question)
    def answer(model: Model, *args: P.args, **kwargs: P.kwargs) -> R:
        given = (*args, *(part for pair in sorted(kwargs.items()) for part in pair))
        if not all(isinstance(part, str | int | float) for part in given):
            return question(model, *args, **kwargs)
        key = f"{question.__module__}.{question.__qualname__}{given}"
        if key not in model.answers:
            model.answers[key] = question(model, *args, **kwargs)
        return model.answers[key]

    return answer
