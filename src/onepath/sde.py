"""SDE: the estimator that people use. Options in, a `Model` out."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from onepath.after.consequences import Consequences, consequences
from onepath.after.disturbed import FoundJumps, FoundVolatility, jumps_of, tails_of, volatility_of
from onepath.after.forecast import Paths, forecast, simulate
from onepath.after.states import Noise, States, noise_of, score_readings, states
from onepath.data.inputs import read_at
from onepath.data.seasons import with_clockwork
from onepath.data.trajectory import Trajectory, read_bounds, read_trajectory, with_period
from onepath.data.transitions import Transitions, Units
from onepath.estimator import Estimator
from onepath.graph.graph import Graph
from onepath.graph.laws import Law
from onepath.graph.velocity import rates_of
from onepath.inference.adequacy import Stiffness
from onepath.inference.disturbance.disturbance import Banded
from onepath.inference.fit import cautions, cells_wanted, fit, fit_streamed
from onepath.inference.learning.optimisers import Optimum
from onepath.inference.observation import Observation
from onepath.inference.options import check_streamable, read_options
from onepath.inference.posterior.posterior import Posterior
from onepath.inference.progress import Progress, told_of
from onepath.io.chosen import Chosen
from onepath.io.stream import is_stream, read_stream
from onepath.model import Estimate, Methods, Model, model_of, read_readings, read_transitions
from onepath.numerics.arrays import Floats
from onepath.numerics.caution import caution

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from onepath.after.diagnose import Diagnosis


class SDE(Estimator):
    """dX = f(X) dt + σ(X) dW, learned from one observed trajectory.

    Parameters
    ----------
    drift, diffusion : tinygp kernel, onepath.Known, or None
        Priors of f and of σ before its link, in the data's own units. None is the default prior, which takes its units
        from the data. What is known of them, up to parameters that are learned, is a `Known`. A dictionary of names
        says which coordinates are the rates of others: drift={"x": "v"} is dx = v dt.
    noise : "auto", "diagonal", "isotropic" or "full"
        Which entries of σ are unknown; "full" is lower triangular with positive diagonal. "auto" is full where the
        increments of different dimensions are correlated, and diagonal elsewhere.
    link : "softplus", "exp" or "identity"
        What keeps σ positive. "identity" is the paper's choice, and leaves its sign open.
    transition : "auto", "euler", "linearised" or a Law
        The law of an increment: the paper's, or local linearisation, which is right to second order in the step. "auto"
        fits with the first and, where that shifts an answer by more than a third of its standard error, once more with
        the second. A law of your own is a subclass of `onepath.graph.laws.Law`.
    observation : Observation or None
        How readings become transitions of the state; None takes readings for the state itself. One of your own is a
        subclass of `onepath.inference.observation.Observation`.
    measurement : "learn", a standard deviation, one for each dimension, a covariance, or None
        Noise of readings, which is not the state's: learned, or known. None is none but the errors that `fit` is given.
    order : 1 or 2
        2 for readings of positions whose velocities are hidden: dx = v dt, dv = f(x, v) dt + σ(x, v) dW.
    exposure : "learn", a share of a step, or None
        Readings that average over this share of the step before them, as a camera's do: 1 is all of it. None is none.
    solver : "fisher", "newton" or "gradient"
        How the graph is completed; the last two are the paper's.
    learn : "evidence", "crossval", "bayesopt" or None
        How the parameters of the kernels, the link and λ are learned: by their evidence, by the paper's randomised
        cross-validation under gradients, or by that under Bayesian optimisation as in the paper; None uses them as
        given.
    fixed : sequence of names
        Parameters that are not learned, by name or the beginning of it, such as "noise" or "drift.matern".
    splits, evaluations : int or None
        The paper's M and K: random halves that a cross-validation averages over, and evaluations that Bayesian
        optimisation makes. None is 10 halves; with "bayesopt", 1 half and 75 evaluations, or 150 with more halves.
    noise_variance : float or None
        λ, the variance of what the transition law leaves unexplained, in squared units of the data. None is a
        thousandth of an increment's mean square.
    smoothing : float
        γ, the paper's smoothing of the completed diffusion, in squared units of σ; 0 for none.
    tolerance : float
        Largest residual variance of the features, relative to the prior's; 0 for the exact Gaussian process on all
        cells.
    cells : int or None
        Number of cells that transitions are merged into; None is 256 in one dimension, up to 1024 in two, 2048 above.
    bounds : pair of floats, one pair for each dimension, or None
        Values that the state cannot leave, such as (0, 1) for a share or (0, inf); simulations and forecasts are
        reflected there.
    periodic : float, one for each dimension with None for others, or None
        Period of a state that is an angle, such as 360 for degrees: drift and diffusion are the same one turn later,
        and increments are taken the short way round. Simulations and forecasts go on from turn to turn.
    jumps : bool
        Whether increments may also be jumps, at a rate and of sizes that are learned; drift and diffusion are what is
        left, and simulations and forecasts jump too.
    volatility : "learn" or None
        Whether the level of the noise changes with time: a hidden slow process on ln σ, with a spread and a memory that
        are learned. σ(x) is then the noise where that process is at its mean, zero.
    tails : "learn", degrees of freedom, or None
        Whether increments are Student's, with so many degrees of freedom; σ is then their scale, and their standard
        deviation is σ √(ν / (ν - 2)). None is for normal increments.
    drift_reads, diffusion_reads : sequence of names, or None
        Inputs that each of them may depend on; None is all of them, () none.
    season : float, "auto", the name of a unit of time, or None
        Period of a season, in the data's unit of time: drift and diffusion depend on its phase. "auto" looks for one in
        what a fit without leaves over, and fits once more if there is one.
    trend : bool
        Whether drift and diffusion may change with time.
    progress : bool
        Whether learning that takes longer than a second says how far it is, on the standard error stream.
    random_state : int, numpy Generator or None
        Seed of what is drawn while fitting.

    Attributes
    ----------
    model_ : what the fit came to, as everything after it takes it
    parameters_ : dict of all kernel parameters, the link's level and λ, by name
    drift_kernel_, diffusion_kernel_ : the kernels, each parameter with a leading axis of outputs
    noise_ : λ for each dimension, in squared units of the data
    evidence_ : ln p(data | θ), by Laplace's approximation, in the data's units
    loss_ : J, the MAP loss in the data's units (half the paper's loss)
    transition_ : the transition law that was used
    stiffness_ : with transition="auto", how much the drift changes during a step, and what the second law would change
        about the answer; else None
    outcome_ : how completion ended, in words
    learning_ : how learning ended, or None
    constant_noise_ : probability that the diffusion is the same everywhere; None where that was not asked: with given
        kernels or correlated noise, or without learning by evidence
    jumps_ : with jumps=True, their rate, mean and size with bands, and how probable it is that each step jumped
    volatility_ : with volatility="learn", the level's spread and memory with bands, and its path
    tails_ : with tails, the degrees of freedom with their band, infinite if increments are as good as normal
    graph_ : the computational graph
    measurement_ : standard deviation of readings in each dimension, with the ends of its 90 % band; factors of the
        given errors where those were given and noise is learned; None where readings are the state itself
    state_ : the path that was hidden, filtered and smoothed, with what is left uncertain; `.frame()` is a table
    known_ : dict of the parameters of what is known, each with the ends of its 90 % band
    inputs_ : names of the inputs, in the order in which they are given and asked at
    n_features_in_ : dimension of the state
    """

    def __init__(
        self,
        drift: Any = None,
        diffusion: Any = None,
        *,
        noise: str = "auto",
        link: str = "softplus",
        transition: str | Law = "auto",
        observation: Observation | None = None,
        measurement: Any = None,
        order: int = 1,
        exposure: float | str | None = None,
        solver: str = "fisher",
        learn: str | None = "evidence",
        fixed: Sequence[str] = (),
        splits: int | None = None,
        evaluations: int | None = None,
        noise_variance: float | None = None,
        smoothing: float = 0.0,
        tolerance: float = 1e-5,
        cells: int | None = None,
        bounds: Any = None,
        periodic: Any = None,
        jumps: bool = False,
        volatility: str | None = None,
        tails: str | float | None = None,
        drift_reads: Sequence[str] | None = None,
        diffusion_reads: Sequence[str] | None = None,
        season: float | str | None = None,
        trend: bool = False,
        progress: bool = True,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.drift_kernel = drift
        self.diffusion_kernel = diffusion
        self.noise = noise
        self.link = link
        self.transition = transition
        self.observation = observation
        self.measurement = measurement
        self.order = order
        self.exposure = exposure
        self.solver = solver
        self.learn = learn
        self.fixed = fixed
        self.splits = splits
        self.evaluations = evaluations
        self.noise_variance = noise_variance
        self.smoothing = smoothing
        self.tolerance = tolerance
        self.cells = cells
        self.bounds = bounds
        self.periodic = periodic
        self.jumps = jumps
        self.volatility = volatility
        self.tails = tails
        self.drift_reads = drift_reads
        self.diffusion_reads = diffusion_reads
        self.season = season
        self.trend = trend
        self.progress = progress
        self.random_state = random_state

    # set by `fit`, all at once
    model_: Model
    trajectory_: Trajectory
    transitions_: Transitions
    units_: Units
    posterior_: Posterior
    graph_: Graph
    parameters_: dict[str, float]
    drift_kernel_: Any
    diffusion_kernel_: Any
    noise_: Floats
    loss_: float
    evidence_: float
    outcome_: str
    learning_: Optimum | None
    transition_: str
    stiffness_: Stiffness | None
    constant_noise_: float | None
    jumps_: FoundJumps | None
    volatility_: FoundVolatility | None
    tails_: Banded | None
    inputs_: tuple[str, ...]
    known_: dict[str, Estimate]
    n_features_in_: int
    seconds_: float

    # `drift` and `diffusion` name both a parameter and a method, so the parameters are kept under other names.
    _KEPT_AS: ClassVar[dict[str, str]] = {"drift": "drift_kernel", "diffusion": "diffusion_kernel"}

    def fit(
        self,
        x: Any,
        *,
        t: Any = None,
        dt: float | None = None,
        unit: str | None = None,
        gap: float = 10.0,
        calendar: str = "auto",
        error: Any = None,
        inputs: Any = None,
        values: Sequence[str] = (),
        group: str | None = None,
    ) -> Self:
        """Learn drift and diffusion.

        Parameters
        ----------
        x : array (n,) or (n, d), pandas Series or DataFrame, or a list of such
            The trajectory, or several. Rows with NaN are missing. What is longer than memory comes as a stream: an
            iterator of tables or arrays, the path of a file or of a folder of Parquet files, a PyArrow or Dask data
            set. It is read once, in constant memory; `t` is then the name of the column that tells the time.
        t, dt : times of the rows, or the step between them
            Exactly one of them; pandas objects indexed by time need neither.
        unit : str, optional
            The time unit that rates are reported in; with dates, one from nanosecond, microsecond, millisecond and
            second up to minute, hour, day, week, month and year.
        gap : float
            Steps longer than this many median steps are recording gaps, not transitions.
        calendar : "auto", "business" or "all"
            Which days count where times are daily dates. By business days, those without rows take no time: rates per
            day are per business day, and a year has about 261 of them, 252 without holidays. "auto" counts so where
            weekends are skipped and increments over them are about as large as over one day.
        error : array like x, or one for each row, optional
            Standard errors of single readings; with measurement="learn", up to a factor that is learned.
        inputs : array (n,) or (n, q), pandas Series or DataFrame, dictionary of columns, or a list of such
            What drives drift and diffusion besides the state, known at the start of each step: numbers, or a few
            classes as text or booleans, with a row for each of x. Steps that begin where one is missing are left out.
        values, group : names of columns, optional
            Of a stream of tables: the state, and what tells its trajectories apart.
        """
        begun, watch = time.perf_counter(), Progress(self.progress)
        options = read_options(self.get_params(), watch, errors=error is not None)
        if is_stream(x):
            if error is not None or inputs is not None or calendar == "business":
                raise ValueError("error=, inputs= and calendar='business' need all rows in memory, and x is a stream")
            chosen = Chosen(time=t, group=group, values=tuple(values), dt=dt, unit=unit)
            return self.fit_stream(x, chosen, gap=gap)
        if group is not None or values:
            raise ValueError("group and values name columns of a stream, and x is none: pass a list of trajectories")
        told = {"error": error, "partly": options.observation.takes_parts, "inputs": inputs}
        trajectory = read_trajectory(x, t=t, dt=dt, unit=unit, gap=gap, calendar=calendar, **told)
        bounds = read_bounds(self.bounds, trajectory)
        trajectory = with_period(trajectory, self.periodic, bounds)
        methods = Methods(self.solver, self.learn, options.observation.name)
        looking = self.season == "auto"
        trajectory = with_clockwork(trajectory, None if looking else self.season, self.trend)
        rates = rates_of(self.drift_kernel, trajectory.names)
        options = options._replace(graph=options.graph._replace(drift=rates))
        with watch:
            found = fit(trajectory, options)
            if looking:
                from onepath.after.diagnose.seasons import season_in

                period = season_in(model_of(trajectory, found, methods, 0.0, bounds))
                if period is not None:
                    trajectory = with_clockwork(trajectory, period, False)
                    found = fit(trajectory, options)
        self._take(model_of(trajectory, found, methods, time.perf_counter() - begun, bounds))
        for text in cautions(found):
            caution(text)
        return self

    def fit_stream(
        self,
        source: Any,
        chosen: Chosen,
        *,
        gap: float = 10.0,
        notes: list[str] | None = None,
        resume: str | Path | None = None,
    ) -> Self:
        """Learn from a stream: what `fit` does with one, for a source of which more has been said.

        With `resume`, how far reading is is kept in that file, so that an interrupted one goes on from there.
        """
        begun, watch = time.perf_counter(), Progress(self.progress)
        options = read_options(self.get_params(), watch)
        check_streamable(options, self.get_params())
        with watch:
            streamed = read_stream(
                source,
                chosen,
                gap,
                lambda dimension: cells_wanted(dimension, options),
                [] if notes is None else notes,
                lambda rows, total: watch.now_and_then(told_of(rows, total, watch.passed)),
                None if resume is None else Path(resume),
            )
            bounds = read_bounds(self.bounds, streamed.trajectory)
            rates = rates_of(self.drift_kernel, streamed.trajectory.names)
            found = fit_streamed(streamed, options._replace(graph=options.graph._replace(drift=rates)))
        methods = Methods(self.solver, self.learn, options.observation.name)
        self._take(model_of(streamed.trajectory, found, methods, time.perf_counter() - begun, bounds))
        for text in cautions(found):
            caution(text)
        return self

    def _take(self, model: Model) -> None:
        """Set everything that a fit has learned, all at once."""
        kernels = model.graph.parameters
        drift, diffusion = (next(iter(part), None) for part in (kernels.drift, kernels.diffusion))
        vars(self).update(
            model_=model,
            trajectory_=model.trajectory,
            transitions_=model.transitions,
            units_=model.units,
            posterior_=model.posterior,
            graph_=model.graph,
            parameters_=model.values,
            drift_kernel_=drift,
            diffusion_kernel_=diffusion,
            noise_=model.noise,
            loss_=model.loss,
            evidence_=model.evidence,
            outcome_=model.outcome,
            learning_=model.optimum,
            transition_=model.law.name,
            stiffness_=model.stiffness,
            constant_noise_=model.constant_noise,
            jumps_=jumps_of(model),
            volatility_=volatility_of(model),
            tails_=tails_of(model),
            inputs_=tuple(one.name for one in model.variables),
            known_=model.known(),
            n_features_in_=model.dimension,
            seconds_=model.seconds,
        )

    @classmethod
    def from_model(cls, model: Model, settings: dict[str, Any]) -> Self:
        """The estimator that has learned this model, with these settings."""
        sde = cls().set_params(**settings)
        sde._take(model)
        return sde

    @property
    def _model(self) -> Model:
        self._check_fitted()
        return self.model_

    def _points(self, x: Any, inputs: Any = None) -> Floats:
        """Points (n, d), from (n,) or a number too in one dimension; with the columns of inputs that are given."""
        d = self._model.dimension
        points = np.asarray(x, float)
        if points.ndim < 2 and d == 1:
            points = points.reshape(-1, 1)
        if points.ndim != 2 or points.shape[1] != d:
            wanted = "(n,) or (n, 1)" if d == 1 else f"(n, {d})"
            raise ValueError(f"Points must be an array of shape {wanted} for this model; got {np.shape(x)}.")
        if len(points) == 0:
            raise ValueError("No points were given; pass at least one.")
        if not np.all(np.isfinite(points)):
            raise ValueError("Points must be finite; some are NaN or infinite.")
        return points if inputs is None else self._model.joined(points, self._inputs(inputs, len(points)))

    def _inputs(self, inputs: Any, count: int) -> Floats:
        """Inputs (count, q) to ask at."""
        if not self._model.variables:
            raise ValueError("inputs were given, and this model reads none: leave them out.")
        return read_at(self._model.variables, inputs, self._model.usual_inputs, count)

    def _at(self, inputs: Any) -> Model:
        """The model, with inputs where they are given held at one value each."""
        return self._model if inputs is None else self._model.at(self._inputs(inputs, 1)[0])

    def _flat(self, values: Floats, axes: int) -> Floats:
        """Without the last axes, of size 1, in one dimension."""
        return values.reshape(values.shape[:-axes]) if self._model.dimension == 1 else values

    def drift(self, x: Any, inputs: Any = None) -> Floats:
        """Posterior mean of the drift: (n,) in one dimension, (n, d) above.

        `inputs` are those to ask at: one value of each, or a row for each point, in the order of `inputs_` or by name
        in a dictionary. A season's is the time since its cycle began, a trend's the time. Of those that are not given,
        numbers are at their median, classes at the most common one, season and trend at the end of the data.
        """
        return self._flat(self._model.drift(self._points(x, inputs)), 1)

    def diffusion(self, x: Any, inputs: Any = None) -> Floats:
        """Posterior mean of the diffusion: (n,) in one dimension, lower triangular (n, d, d) above."""
        return self._flat(self._model.diffusion(self._points(x, inputs)), 2)

    def drift_band(self, x: Any, level: float = 0.9, inputs: Any = None) -> tuple[Floats, Floats]:
        """Lower and upper end of the central interval that holds the drift with this probability, point by point."""
        lower, upper = self._model.drift_band(self._points(x, inputs), level)
        return self._flat(lower, 1), self._flat(upper, 1)

    def diffusion_band(self, x: Any, level: float = 0.9, inputs: Any = None) -> tuple[Floats, Floats]:
        """Lower and upper end of the central interval that holds each entry of the diffusion with this probability."""
        lower, upper = self._model.diffusion_band(self._points(x, inputs), level)
        return self._flat(lower, 2), self._flat(upper, 2)

    def curves(self, points: Any = None, level: float = 0.9, inputs: Any = None) -> "pd.DataFrame":
        """Drift and diffusion as a pandas table, with the ends of their bands, under the names of the data.

        At points as `drift` takes them; or on a grid over the data, of this many points (101 if None) along each
        coordinate, the others at their median: the column `along` says which.
        """
        from onepath.show.tables import POINTS, curves_at, curves_over_data

        if points is None or isinstance(points, int):
            return curves_over_data(self._at(inputs), POINTS if points is None else points, level)
        return curves_at(self._model, self._points(points, inputs), level)

    def functions(
        self, x: Any, draws: int = 100, random_state: int | np.random.Generator | None = None, inputs: Any = None
    ) -> tuple[Floats, Floats]:
        """Drift and diffusion drawn together from the posterior: a leading axis of draws before the usual shapes."""
        drift, diffusion = self._model.functions(self._points(x, inputs), draws, random_state)
        return self._flat(drift, 1), self._flat(diffusion, 2)

    def score(
        self,
        x: Any,
        *,
        t: Any = None,
        dt: float | None = None,
        unit: str | None = None,
        gap: float = 10.0,
        calendar: str | None = None,
        error: Any = None,
        inputs: Any = None,
    ) -> float:
        """Mean log predictive density of a transition of another trajectory, in the data's units; higher is better.

        Of readings of a hidden state, that of a row given those before it. Days of dates count as in the data that were
        learned from, unless `calendar` says otherwise. A model that reads inputs needs those of the other trajectory
        too; season and trend go on by its dates or, without, its times.
        """
        model = self._model
        times = {"t": t, "dt": dt, "unit": unit, "gap": gap, "calendar": calendar}
        if model.observed is None:
            return model.score(*read_transitions(model, x, inputs, **times))
        return score_readings(model, read_readings(model, x, inputs, error=error, **times))

    @property
    def measurement_(self) -> Noise | None:
        """Standard deviation of readings, with its band."""
        return None if self._model.observed is None else noise_of(self._model)

    @property
    def state_(self) -> States:
        """The path that was hidden."""
        return states(self._model)

    def simulate(
        self,
        x0: Any,
        steps: int,
        dt: float | None = None,
        paths: int = 100,
        random_state: int | np.random.Generator | None = None,
        uncertain: bool = True,
        inputs: Any = None,
    ) -> Paths:
        """Paths (paths, steps + 1, d) of the learned equation from x0, one start (d,) or one for each path (paths, d).

        One step of the transition law each `dt`, the data's median step if None. With `uncertain`, each path has its
        own draw of drift and diffusion from the posterior; without, all have the posterior mean. Where the data have
        dates, the paths have those that follow the last of them; `.frame()` is a pandas table.
        """
        return simulate(self._model, x0, steps, dt, paths, random_state, uncertain, inputs)

    def forecast(
        self,
        steps: int,
        paths: int = 1000,
        dt: float | None = None,
        random_state: int | np.random.Generator | None = None,
        uncertain: bool = True,
        readings: bool = False,
        inputs: Any = None,
    ) -> Paths:
        """Paths from the last observation on, as `simulate` makes them; their quantiles are a fan.

        Where the state is hidden, they start from what is known of it; with `readings`, they are what would be read.
        `.quantiles_frame()` is that as a pandas table, by date where the data have dates.
        """
        return forecast(self._model, steps, dt, paths, random_state, uncertain, readings, inputs)

    def consequences(
        self, level: float = 0.9, draws: int = 400, random_state: Any = 0, inputs: Any = None
    ) -> Consequences:
        """Potential, stationary density, fixed points and passage times (1-D), or modes (above), with bands.

        They are those of the equation with inputs held still: at `inputs`, or where `drift` asks.
        """
        return consequences(self._at(inputs), level, draws, random_state)

    def diagnose(self) -> "Diagnosis":
        """Is this the right model for these data at this step? One verdict, and an answer to each question."""
        from onepath.after.diagnose import diagnose

        return diagnose(self._model)

    def summary(self) -> str:
        """What was observed, what was learned, what follows, and whether the model fits."""
        from onepath.show.summary import summarise

        return summarise(self._model)

    def plot(self, what: str = "overview", *, truth: Any = None, figure: Any = None, inputs: Any = None) -> "Figure":
        """A matplotlib figure: "overview", or one of its parts by name, drawn into `figure` where one is given.

        `truth`, with methods `drift` and `diffusion` of points (n, d), is drawn beside what was learned; with `inputs`
        held at these values.
        """
        from onepath.show.plots import plot

        return plot(self._at(inputs), what, truth=truth, figure=figure)

    def draw(self) -> str:
        """The computational graph as an SVG document; with what is read of a hidden state, and with jumps and such."""
        from onepath.show.graph import drawn

        return drawn(self._model)

    def report(
        self, path: str | Path, *, force: bool = False, title: str | None = None, truth: Any = None, about: Any = None
    ) -> Path:
        """Write everything that was learned as one HTML page, which needs nothing else to be opened.

        `truth` is drawn beside what was learned; `about`, an `onepath.show.about.About`, tells where the data are from.
        """
        from onepath.show.report import write_report

        return write_report(self._model, path, force=force, title=title, truth=truth, about=about)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the fitted model: arrays and JSON, nothing that runs. An existing file is kept unless `force`."""
        from onepath.io.model import save_model

        return save_model(self._model, self.get_params(), path, force=force)
