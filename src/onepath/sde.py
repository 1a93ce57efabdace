"""SDE: the estimator that people use. Options in, a `Model` out."""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from onepath.after.consequences import Consequences, consequences
from onepath.after.disturbed import FoundJumps, FoundVolatility, jumps_of, tails_of, volatility_of
from onepath.after.equations import Equations, equations_of
from onepath.after.forecast import Paths, forecast, simulate
from onepath.after.learn import learn, learn_streamed
from onepath.after.states import Noise, States, noise_of, score_readings, states
from onepath.data.inputs import read_at
from onepath.data.reading import is_from_pandas
from onepath.data.trajectory import Trajectory, read_trajectory
from onepath.data.transitions import Transitions, Units
from onepath.estimator import Estimator
from onepath.graph.graph import Graph
from onepath.graph.laws import Law
from onepath.inference.adequacy import Stiffness
from onepath.inference.disturbance.disturbance import Banded
from onepath.inference.fit import cells_wanted
from onepath.inference.learning.optimisers import Optimum
from onepath.inference.observation import Observation
from onepath.inference.options import check_streamable, read_options
from onepath.inference.posterior.posterior import Posterior
from onepath.inference.progress import Listener, Progress, told_of
from onepath.io.chosen import Chosen
from onepath.io.stream import is_stream, read_stream
from onepath.model import Estimate, Model, read_readings, read_transitions
from onepath.numerics.arrays import Floats
from onepath.numerics.caution import caution

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from onepath.after.diagnose import Diagnosis
    from onepath.after.mend import Mended, Tell


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
        Number of cells that transitions are merged into; None is 256 in one dimension, up to 512 in two, 1024 above.
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
    equations : "auto", "off" or "only"
        Whether drift and squared noise may also be short equations, sums of few products of powers of coordinates and
        inputs, as probable as the data make them: averaged with the Gaussian process, left out, or alone. "auto" leaves
        them out too where they do not go together with what else is asked.
    terms : dictionary of functions by name, list of formulas, name of a library, or None
        What an equation may have besides powers: {"sin x": np.sin}, ["sin(x)"], or "trigonometric", "rational" or
        "saturating"; in the data's own units. Functions take one state, a number in one dimension, and give a number.
    since : a date, a time, or None
        Rows before it are left out: what to learn from where drift or noise have changed once and for all.
    progress : bool, or a function of a text
        Whether learning that takes longer than a second says how far it is, on the standard error stream; a function is
        called with what there is to say instead.
    random_state : int, numpy Generator or None
        Seed of what is drawn while fitting.

    Attributes
    ----------
    model_ : Model
        What the fit came to, as everything after it takes it.
    parameters_ : dict
        All kernel parameters, the link's level and λ, by name.
    drift_kernel_, diffusion_kernel_ : tinygp kernels
        As they were learned, each parameter with a leading axis of outputs.
    noise_ : array (d,)
        λ, the variance that the transition law leaves unexplained, in squared units of the data.
    evidence_ : float
        ln p(data | θ), by Laplace's approximation, in the data's units.
    loss_ : float
        J, the MAP loss in the data's units, half the paper's loss.
    transition_ : str
        The transition law that was used.
    stiffness_ : Stiffness or None
        With transition="auto", how much the drift changes during a step, and what the second law would change about
        the answer.
    outcome_ : str
        How completion ended, in words.
    learning_ : Optimum or None
        How learning ended; None where kernels were used as given.
    constant_noise_ : float or None
        Probability that the diffusion is the same everywhere; None where that was not asked: with given kernels or
        correlated noise, or without learning by evidence.
    equations_ : Equations or None
        The most probable equations of drift and squared noise, with coefficients, errors and probabilities, as text,
        LaTeX and Python; None where none were asked for or could be.
    jumps_ : FoundJumps or None
        With jumps=True, their rate, mean and size with bands, and how probable it is that each step jumped.
    volatility_ : FoundVolatility or None
        With volatility="learn", the spread and memory of the noise's level with bands, and its path.
    tails_ : Banded or None
        With tails, the degrees of freedom with their band, infinite if increments are as good as normal.
    graph_ : Graph
        The computational graph; it draws itself in a notebook.
    measurement_ : Noise or None
        Standard deviation of readings in each dimension, with the ends of its 90 % band; factors of the given errors
        where those were given and noise is learned; None where readings are the state itself.
    state_ : States
        The path that was hidden, filtered and smoothed, with what is left uncertain.
    known_ : dict
        Parameters of what is known, each an `Estimate` with the ends of its 90 % band.
    inputs_ : tuple of str
        Names of the inputs, in the order in which they are given and asked at.
    trajectory_ : Trajectory
        The data, as they were understood.
    transitions_ : Transitions
        The steps that were learned from.
    n_features_in_ : int
        Dimension of the state.
    seconds_ : float
        How long the fit took.

    Examples
    --------
    >>> from onepath import SDE
    >>> from onepath.compare.processes import PROCESSES
    >>> truth = PROCESSES["ou_slow"]  # dX = -X dt + 0.7 dW
    >>> path = truth.simulate(500, random_state=0)[0]
    >>> sde = SDE().fit(path, dt=truth.dt, unit="second")
    >>> sde.drift([-1.0, 0.0, 1.0]).shape
    (3,)
    >>> lower, upper = sde.diffusion_band(0.0)
    >>> bool(lower[0] < 0.7 < upper[0])
    True
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
        equations: str = "auto",
        terms: Any = None,
        since: Any = None,
        progress: bool | Listener = True,
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
        self.equations = equations
        self.terms = terms
        self.since = since
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
        x : array (n,) or (n, d), pandas Series or DataFrame, xarray DataArray or Dataset, or a list of such
            The trajectory, or several. Rows with NaN are missing. Of xarray's, `time` is the dimension of dates, that
            of this name, or the first. What is longer than memory comes as a stream: an iterator of tables or arrays,
            the path of a file or of a folder of Parquet files, a PyArrow or Dask data set. It is read once, in constant
            memory; `t` is then the name of the column that tells the time.
        t, dt : times of the rows, or the step between them
            Exactly one of them; pandas objects indexed by dates, and xarray's with times, need neither.
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

        Returns
        -------
        SDE
            Itself, fitted.
        """
        begun, watch = time.perf_counter(), Progress(self.progress)
        settings = self.get_params()
        if is_stream(x):
            if error is not None or inputs is not None or calendar == "business":
                raise ValueError("error=, inputs= and calendar='business' need all rows in memory, and x is a stream")
            chosen = Chosen(time=t, group=group, values=tuple(values), dt=dt, unit=unit)
            return self.fit_stream(x, chosen, gap=gap)
        if group is not None or values:
            raise ValueError("group and values name columns of a stream, and x is none: pass a list of trajectories")
        options = read_options(settings, watch, errors=error is not None)
        told = {"error": error, "partly": options.observation.takes_parts, "inputs": inputs}
        trajectory = read_trajectory(x, t=t, dt=dt, unit=unit, gap=gap, calendar=calendar, **told)
        with watch:
            model, said = learn(trajectory, settings, options, begun)
        self._take(model)
        for text in said:
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

        Parameters
        ----------
        source : iterator of tables or arrays, path of a file or a folder, PyArrow or Dask data set
            What is read, once.
        chosen : Chosen
            Which of its columns are time and state, and what they are counted in.
        gap : float
            Steps longer than this many usual ones are recording gaps.
        notes : list, optional
            Takes what there is to say of how the source was understood.
        resume : path, optional
            Where to keep how far reading is, so that an interrupted one goes on from there.

        Returns
        -------
        SDE
            Itself, fitted.
        """
        begun, watch = time.perf_counter(), Progress(self.progress)
        settings = self.get_params()
        options = read_options(settings, watch)
        check_streamable(options, settings)
        with watch:
            streamed = read_stream(
                source,
                chosen,
                gap,
                lambda dimension: cells_wanted(dimension, options),
                [] if notes is None else notes,
                lambda rows, total: watch.now_and_then(partial(told_of, rows, total)),
                None if resume is None else Path(resume),
            )
            model, said = learn_streamed(streamed, settings, options, begun)
        self._take(model)
        for text in said:
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
        """The estimator that has learned a model, with the settings that it was learned with.

        Parameters
        ----------
        model : Model
            What was learned.
        settings : dict
            Parameters of an SDE, by name.

        Returns
        -------
        SDE
            Fitted.
        """
        sde = cls().set_params(**settings)
        sde._take(model)
        return sde

    @property
    def _model(self) -> Model:
        self._check_fitted()
        return self.model_

    @property
    def equations_(self) -> Equations | None:
        """Equations that drift and squared noise may be, written when they are asked for."""
        return equations_of(self._model)

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
        """Posterior mean of the drift f.

        Parameters
        ----------
        x : array (n,) or (n, d), or a number
            States to ask at, in the data's units; (n,) or a number in one dimension only.
        inputs : dictionary, array or DataFrame, optional
            Inputs to ask at, one value of each or a row for each point, by name or in the order of `inputs_`; a
            season's is the time since its cycle began. Those left out are at their median or most common class, season
            and trend at the end of the data.

        Returns
        -------
        array (n,) or (n, d)
            Per unit of time; (n,) in one dimension.
        """
        return self._flat(self._model.drift(self._points(x, inputs)), 1)

    def diffusion(self, x: Any, inputs: Any = None) -> Floats:
        """Posterior mean of the diffusion σ.

        Parameters
        ----------
        x : array (n,) or (n, d), or a number
            States to ask at, in the data's units; (n,) or a number in one dimension only.
        inputs : dictionary, array or DataFrame, optional
            Inputs to ask at, one value of each or a row for each point, by name or in the order of `inputs_`; a
            season's is the time since its cycle began. Those left out are at their median or most common class, season
            and trend at the end of the data.

        Returns
        -------
        array (n,) or (n, d, d)
            Per root of the unit of time; (n,) in one dimension, lower triangular above.
        """
        return self._flat(self._model.diffusion(self._points(x, inputs)), 2)

    def drift_band(self, x: Any, level: float = 0.9, inputs: Any = None) -> tuple[Floats, Floats]:
        """Ends of the central interval that holds the drift with some probability, point by point.

        Parameters
        ----------
        x : array (n,) or (n, d), or a number
            States to ask at, in the data's units; (n,) or a number in one dimension only.
        level : float
            Probability that the band holds, point by point.
        inputs : dictionary, array or DataFrame, optional
            Inputs to ask at, one value of each or a row for each point, by name or in the order of `inputs_`; a
            season's is the time since its cycle began. Those left out are at their median or most common class, season
            and trend at the end of the data.

        Returns
        -------
        lower, upper : arrays (n,) or (n, d)
            In the units of `drift`.
        """
        lower, upper = self._model.drift_band(self._points(x, inputs), level)
        return self._flat(lower, 1), self._flat(upper, 1)

    def diffusion_band(self, x: Any, level: float = 0.9, inputs: Any = None) -> tuple[Floats, Floats]:
        """Ends of the central interval that holds each entry of the diffusion with some probability, point by point.

        Parameters
        ----------
        x : array (n,) or (n, d), or a number
            States to ask at, in the data's units; (n,) or a number in one dimension only.
        level : float
            Probability that the band holds, point by point.
        inputs : dictionary, array or DataFrame, optional
            Inputs to ask at, one value of each or a row for each point, by name or in the order of `inputs_`; a
            season's is the time since its cycle began. Those left out are at their median or most common class, season
            and trend at the end of the data.

        Returns
        -------
        lower, upper : arrays (n,) or (n, d, d)
            In the units of `diffusion`.
        """
        lower, upper = self._model.diffusion_band(self._points(x, inputs), level)
        return self._flat(lower, 2), self._flat(upper, 2)

    def curves(self, points: Any = None, level: float = 0.9, inputs: Any = None) -> "pd.DataFrame":
        """Drift and diffusion as a pandas table, with the ends of their bands, under the names of the data.

        Parameters
        ----------
        points : array (n,) or (n, d), pandas Series or DataFrame, int or None
            States to ask at; of pandas objects the table has the index. A whole number is that of points on a grid over
            the data along each coordinate, the others at their median, and None is 101: the column `along` says which.
        level : float
            Probability that the band holds, point by point.
        inputs : dictionary, array or DataFrame, optional
            Inputs to ask at, one value of each or a row for each point, by name or in the order of `inputs_`; a
            season's is the time since its cycle began. Those left out are at their median or most common class, season
            and trend at the end of the data.

        Returns
        -------
        DataFrame
            A row for each point: the state, `drift` and `diffusion`, above one dimension one for each coordinate such
            as `drift_x`, and their ends, such as `drift_lower` and `drift_upper`.
        """
        from onepath.show.tables import POINTS, curves_at, curves_over_data

        if points is None or isinstance(points, int):
            return curves_over_data(self._at(inputs), POINTS if points is None else points, level)
        found = curves_at(self._model, self._points(points, inputs), level)
        return found.set_axis(points.index) if is_from_pandas(points) else found

    def functions(
        self, x: Any, draws: int = 100, random_state: int | np.random.Generator | None = None, inputs: Any = None
    ) -> tuple[Floats, Floats]:
        """Draws of drift and diffusion from what is known of them, both of a draw together.

        Parameters
        ----------
        x : array (n,) or (n, d), or a number
            States to ask at, in the data's units; (n,) or a number in one dimension only.
        draws : int
            How many.
        random_state : int, numpy Generator or None
            Seed of the draws.
        inputs : dictionary, array or DataFrame, optional
            Inputs to ask at, one value of each or a row for each point, by name or in the order of `inputs_`; a
            season's is the time since its cycle began. Those left out are at their median or most common class, season
            and trend at the end of the data.

        Returns
        -------
        drift : array (draws, n) or (draws, n, d)
            Per unit of time.
        diffusion : array (draws, n) or (draws, n, d, d)
            Per root of the unit of time.
        """
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
        """Mean log predictive density of a transition of another trajectory; higher is better.

        Of readings of a hidden state, that of a row given those before it. A model that reads inputs needs those of the
        other trajectory too; season and trend go on by its dates or, without, its times.

        Parameters
        ----------
        x : array (n,) or (n, d), pandas or xarray object, or a list of such
            The other trajectory, or several.
        t, dt : times of the rows, or the step between them
            Exactly one of them; pandas objects indexed by dates, and xarray's with times, need neither.
        unit : str, optional
            The unit of time; that of the model if None.
        gap : float
            Steps longer than this many median steps are recording gaps, not transitions.
        calendar : "auto", "business", "all" or None
            Which days count where times are daily dates; None is as in the data that were learned from.
        error : array like x, or one for each row, optional
            Standard errors of single readings.
        inputs : array (n,) or (n, q), pandas or xarray object, dictionary of columns, or a list of such
            What drives the trajectory, with a row for each of x.

        Returns
        -------
        float
            In nats, for the data in their own units.
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
        """Paths of the learned equation, from where it is told to start.

        Parameters
        ----------
        x0 : number, array (d,) or (paths, d)
            One start, or one for each path.
        steps : int
            How many steps each path has.
        dt : float or None
            Length of a step, of which each is one step of the transition law; None is the data's median step.
        paths : int
            How many paths.
        random_state : int, numpy Generator or None
            Seed of the draws.
        uncertain : bool
            Whether each path has its own draw of drift and diffusion from the posterior; else all have the posterior
            mean.
        inputs : array (steps,) or (steps, q), pandas object or dictionary, optional
            Inputs at each step, or one value for all. Those that are not given stay what they were last in the data;
            season and trend go on.

        Returns
        -------
        Paths
            Times, states and, where the data have dates, those that follow the last of them.
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
        """Paths from the last observation on; their quantiles are a fan.

        Where the state is hidden, they start from what is known of it.

        Parameters
        ----------
        steps : int
            How many steps each path has.
        paths : int
            How many paths.
        dt : float or None
            Length of a step; None is the data's median step.
        random_state : int, numpy Generator or None
            Seed of the draws.
        uncertain : bool
            Whether each path has its own draw of drift and diffusion from the posterior; else all have the posterior
            mean.
        readings : bool
            Whether paths are of what would be read, noise of readings included, where the state is hidden.
        inputs : array (steps,) or (steps, q), pandas object or dictionary, optional
            Inputs at each step ahead, or one value for all. Those that are not given stay what they were last; season
            and trend go on.

        Returns
        -------
        Paths
            `.quantiles_frame()` is the fan as a pandas table, by date where the data have dates.
        """
        return forecast(self._model, steps, dt, paths, random_state, uncertain, readings, inputs)

    def consequences(
        self, level: float = 0.9, draws: int = 400, random_state: Any = 0, inputs: Any = None
    ) -> Consequences:
        """What follows from drift and diffusion, with bands.

        In one dimension the potential, the stationary density, where it has its modes and how long it takes from one to
        the other; above, the rates and periods of the drift's best linear approximation.

        Parameters
        ----------
        level : float
            Probability that bands hold.
        draws : int
            Drifts and diffusions that are drawn from the posterior for them.
        random_state : int, numpy Generator or None
            Seed of the draws.
        inputs : dictionary, array or DataFrame, optional
            One value of each input, at which the equation is held still. Those left out are at their median or most
            common class, season and trend at the end of the data.

        Returns
        -------
        Consequences
            Its text is a summary.
        """
        return consequences(self._at(inputs), level, draws, random_state)

    def diagnose(self) -> "Diagnosis":
        """Ask whether this is the right model for these data at this step.

        Returns
        -------
        Diagnosis
            One verdict, and an answer to each question.
        """
        from onepath.after.diagnose import diagnose

        return diagnose(self._model)

    def mend(
        self,
        *,
        cures: Sequence[dict[str, Any]] = (),
        preset: str | None = None,
        budget: float = 180.0,
        progress: "Tell | None" = None,
    ) -> "Mended[SDE]":
        """Try what the diagnosis suggests, compare it fairly, and propose the model that holds, or none.

        Candidates are fitted to all rows and diagnosed; and fitted to the first half, two thirds and five sixths of
        the rows, and judged by the log density of the rows that follow. The simplest within one standard error of the
        best is `proposed`, if its own diagnosis is not worse; else `proposed` is None. This estimator stays as it is.

        Parameters
        ----------
        cures : sequence of dictionaries
            Settings to try beside those that the diagnosis suggests, such as {"measurement": 0.1}.
        preset : str, optional
            Candidates of a field: "optical-trap", "animal-track", "interest-rate" or "climate-index".
        budget : float
            Seconds. What no time was left for says so in the table.
        progress : callable, optional
            Called with a `Stage`, which says what is done and about how long the rest takes.

        Returns
        -------
        Mended
            `proposed`, a fitted SDE or None, beside the `plain` one; their diagnoses, and the table of what was tried.
        """
        from onepath.after.mend import mend, shown_by

        with Progress(self.progress if progress is None else False) as line:
            tell = progress or (shown_by(line) if self.progress else None)
            asked: dict[str, Any] = {"cures": cures, "preset": preset, "budget": budget, "tell": tell}
            found = mend(self._model, self.get_params(), **asked)
        return found.each(lambda fitted: SDE.from_model(fitted.model, fitted.settings))

    def summary(self) -> str:
        """What was observed, what was learned, what follows, and whether the model fits.

        Returns
        -------
        str
            Some thirty lines, the verdict first.
        """
        from onepath.show.summary import summarise

        return summarise(self._model)

    def plot(self, what: str = "overview", *, truth: Any = None, figure: Any = None, inputs: Any = None) -> "Figure":
        """A matplotlib figure of the fit.

        Parameters
        ----------
        what : str
            "overview", or one of its parts: "trajectory", "drift", "diffusion", "forecast", "diagnosis"; in one
            dimension "potential" and "density", in two "field", "ellipses" and "maps"; with inputs "inputs".
        truth : object with methods `drift` and `diffusion`, optional
            Of points (n, d), to (n, d) and (n, d, d): drawn beside what was learned.
        figure : matplotlib figure, optional
            Where to draw; a new one of pyplot's if None.
        inputs : dictionary, array or DataFrame, optional
            One value of each input, at which the others of the figures are held.

        Returns
        -------
        Figure
            What was drawn into.
        """
        from onepath.show.plots import plot

        return plot(self._at(inputs), what, truth=truth, figure=figure)

    def _repr_html_(self) -> str | None:
        """For notebooks: the verdict, the equation, drift and diffusion; None, for the settings, before `fit`."""
        return self.model_._repr_html_() if self.__sklearn_is_fitted__() else None

    def draw(self) -> str:
        """The computational graph as an SVG document, with what is read of a hidden state, and with jumps and such.

        Returns
        -------
        str
            To be written to a file; `graph_` shows itself in a notebook.
        """
        from onepath.show.graph import drawn

        return drawn(self._model)

    def report(
        self, path: str | Path, *, force: bool = False, title: str | None = None, truth: Any = None, about: Any = None
    ) -> Path:
        """Write everything that was learned as one HTML page, which needs nothing else to be opened.

        Parameters
        ----------
        path : str or Path
            Where to.
        force : bool
            Whether a file that is there may be replaced.
        title : str, optional
            Of the page; by default it names the state.
        truth : object with methods `drift` and `diffusion`, optional
            Of points (n, d), to (n, d) and (n, d, d): drawn beside what was learned.
        about : onepath.show.about.About, optional
            Where the data are from.

        Returns
        -------
        Path
            Where it was written.
        """
        from onepath.show.report import write_report

        return write_report(self._model, path, force=force, title=title, truth=truth, about=about)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the fitted model to a file: arrays and JSON, nothing that runs.

        Parameters
        ----------
        path : str or Path
            Where to.
        force : bool
            Whether a file that is there may be replaced.

        Returns
        -------
        Path
            Where it was written; `onepath.load` reads it.
        """
        from onepath.io.model import save_model

        return save_model(self._model, self.get_params(), path, force=force)
