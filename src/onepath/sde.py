"""SDE: the estimator that people use."""

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import numpy as np
import numpy.typing as npt

from onepath.build import Settings, build_graph, noise_structure, smoothing_of
from onepath.completion import SOLVERS
from onepath.consequences import Consequences, consequences
from onepath.estimator import Estimator
from onepath.evaluation import draws as drawn
from onepath.evaluation import in_chunks, marginals, matrices, mixture_quantile, predictive
from onepath.fitting import Fit, Method, fit_graph
from onepath.forecast import Paths, forecast, simulate
from onepath.graph import Graph
from onepath.kernels import learnable, pack, parameter_names
from onepath.learning.learn import Learning
from onepath.progress import Progress
from onepath.runtime import engine
from onepath.settings import check_settings, is_papers_way
from onepath.stiffness import Stiffness, fit_adequately
from onepath.summary import summarise
from onepath.trajectory import Trajectory, read_trajectory
from onepath.transitions import Transitions, Units, transitions_of, units_of

if TYPE_CHECKING:
    from onepath.diagnose import Diagnosis

Array = npt.NDArray[np.float64]

CELLS = {1: (256, 256), 2: (256, 1024), 3: (256, 2048)}
"""Cells that transitions are merged into, at least and at most, by dimension; above three dimensions as in three."""

QUADRATURE = 12
"""Nodes of the average over a diffusion's posterior."""


class SDE(Estimator):
    """dX = f(X) dt + σ(X) dW, learned from one observed trajectory.

    Parameters
    ----------
    drift, diffusion : tinygp kernel or None
        Priors of f and of σ before its link, in the data's own units. None is the default prior, which takes its units
        from the data.
    noise : "auto", "diagonal", "isotropic" or "full"
        Which entries of σ are unknown; "full" is lower triangular with positive diagonal. "auto" is full where the
        increments of different dimensions are correlated, and diagonal elsewhere.
    link : "softplus", "exp" or "identity"
        What keeps σ positive. "identity" is the paper's choice, and leaves its sign open.
    transition : "auto", "euler" or "linearised"
        The law of an increment: the paper's, or local linearisation, which is right to second order in the step. "auto"
        fits with the first and, where that shifts an answer by more than a third of its standard error, once more with
        the second.
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
    progress : bool
        Whether learning that takes longer than a second says how far it is, on the standard error stream.
    random_state : int, numpy Generator or None
        Seed of what is drawn while fitting.

    Attributes
    ----------
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
    graph_ : the computational graph
    n_features_in_ : dimension of the state
    """

    def __init__(
        self,
        drift: Any = None,
        diffusion: Any = None,
        *,
        noise: str = "auto",
        link: str = "softplus",
        transition: str = "auto",
        solver: str = "fisher",
        learn: str | None = "evidence",
        fixed: Sequence[str] = (),
        splits: int | None = None,
        evaluations: int | None = None,
        noise_variance: float | None = None,
        smoothing: float = 0.0,
        tolerance: float = 1e-5,
        cells: int | None = None,
        progress: bool = True,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.drift_kernel = drift
        self.diffusion_kernel = diffusion
        self.noise = noise
        self.link = link
        self.transition = transition
        self.solver = solver
        self.learn = learn
        self.fixed = fixed
        self.splits = splits
        self.evaluations = evaluations
        self.noise_variance = noise_variance
        self.smoothing = smoothing
        self.tolerance = tolerance
        self.cells = cells
        self.progress = progress
        self.random_state = random_state

    # `drift` and `diffusion` name both a parameter and a method, so the parameters are kept under other names.
    _KEPT_AS: ClassVar[dict[str, str]] = {"drift": "drift_kernel", "diffusion": "diffusion_kernel"}

    @engine
    def fit(
        self, x: Any, *, t: Any = None, dt: float | None = None, unit: str | None = None, gap: float = 10.0
    ) -> Self:
        """Learn drift and diffusion.

        Parameters
        ----------
        x : array (n,) or (n, d), pandas Series or DataFrame, or a list of such
            The trajectory, or several. Rows with NaN are missing.
        t, dt : times of the rows, or the step between them
            Exactly one of them; pandas objects indexed by time need neither.
        unit : str, optional
            The time unit that rates are reported in; with dates, one of second, minute, hour, day, week, month, year.
        gap : float
            Steps longer than this many median steps are recording gaps, not transitions.
        """
        check_settings(self)
        begun = time.perf_counter()
        trajectory = read_trajectory(x, t=t, dt=dt, unit=unit, gap=gap)
        transitions = transitions_of(trajectory)
        structure = noise_structure(self.noise, transitions)
        units = units_of(transitions, common=structure == "isotropic")

        def build(law: str) -> Graph:
            return build_graph(self._settings()._replace(noise=structure, transition=law), transitions, units)

        with Progress(self.progress) as watch:
            method = self._method(transitions, structure, units, watch)
            self.stiffness_: Stiffness | None = None
            if self.transition == "auto" and not is_papers_way(self):
                fit, self.transition_, self.stiffness_ = fit_adequately(build, transitions, units, method)
            else:
                self.transition_ = "euler" if self.transition == "auto" else self.transition
                fit = fit_graph(build(self.transition_), transitions, units, method)
        self._keep(trajectory, transitions, units, fit)
        self.seconds_ = time.perf_counter() - begun
        if self.stiffness_ is not None and self.stiffness_.state_is_forgotten:
            warnings.warn(
                f"A step lasts {self.stiffness_.change:.2g} relaxation times (|f'| Δt): one observation says little "
                "about the next, so drift and diffusion are known by their ratio at best. Observe more often.",
                UserWarning,
                stacklevel=3,
            )
        return self

    def _method(self, transitions: Transitions, structure: str, units: Units, watch: Progress) -> Method:
        solver, learning = SOLVERS[self.solver], None
        if self.learn is not None:
            splits = self.splits or (1 if self.learn == "bayesopt" else 10)
            evaluations = self.evaluations or (75 if splits == 1 else 150)
            learning = Learning(self.learn, solver, splits, evaluations, self.random_state, watch)
        count, d = transitions.x.shape
        least, most = CELLS[min(d, 3)]
        # powers of two, so that the next series finds its code compiled
        cells = self.cells or min(max(least, 1 << (count - 1).bit_length()), most)
        smoothing = smoothing_of(self.smoothing, transitions, structure, units) if self.smoothing else None
        return Method(solver, learning, self.fixed, cells, self.tolerance, smoothing)

    def _settings(self) -> Settings:
        return Settings(
            self.drift_kernel, self.diffusion_kernel, self.noise, self.link, self.transition, self.noise_variance
        )

    _diagnosis: "Diagnosis | None" = None

    def _keep(self, trajectory: Trajectory, transitions: Transitions, units: Units, fit: Fit) -> None:
        self._diagnosis = None
        graph, volume = fit.posterior.graph, len(transitions.dt) * float(np.sum(np.log(units.scale)))
        which = learnable(graph.parameters)
        values = np.exp(np.asarray(pack(graph.parameters, which)))
        self.trajectory_ = trajectory
        self.transitions_ = transitions
        self.units_ = units
        # as NumPy arrays, which keep their precision when a model is pickled or copied outside of double precision
        self.posterior_ = jax.tree.map(np.asarray, fit.posterior)
        self.graph_ = self.posterior_.graph
        self.parameters_ = dict(zip(parameter_names(graph.parameters, which), values.tolist(), strict=True))
        self.drift_kernel_ = graph.drift.kernel
        self.diffusion_kernel_ = graph.diffusion.kernel
        self.noise_ = np.asarray(graph.noise) * np.asarray(graph.noise_unit) * np.square(units.scale)
        self.loss_ = float(fit.completion.loss) + volume
        self.evidence_ = fit.evidence - volume
        self.outcome_ = fit.completion.outcome
        self.learning_ = None if fit.learned is None else fit.learned.found
        self.n_features_in_ = trajectory.dimension

    @property
    def constant_noise_(self) -> float | None:
        posterior = self.posterior_
        return None if posterior.cautious_mass is None else float(posterior.mass[-1])

    def drift(self, x: Any) -> Array:
        """Posterior mean of the drift: (n,) in one dimension, (n, d) above."""
        return self._drift_out(self._moments(x)[0])

    def diffusion(self, x: Any) -> Array:
        """Posterior mean of the diffusion: (n,) in one dimension, lower triangular (n, d, d) above."""
        mean, deviation = self._moments(x)
        nodes, weights = np.polynomial.hermite_e.hermegauss(QUADRATURE)
        values = [self._diffusion_out(mean + node * deviation) for node in nodes]
        return np.tensordot(weights / weights.sum(), np.asarray(values), axes=1)

    def drift_band(self, x: Any, level: float = 0.9) -> tuple[Array, Array]:
        """Lower and upper end of the central interval that holds the drift with this probability, point by point."""
        lower, upper = self._quantiles(x, level)
        return self._drift_out(lower), self._drift_out(upper)

    def diffusion_band(self, x: Any, level: float = 0.9) -> tuple[Array, Array]:
        """The same for every entry of the diffusion: quantiles pushed through the link."""
        lower, upper = self._quantiles(x, level)
        return self._diffusion_out(lower), self._diffusion_out(upper)

    @engine
    def functions(
        self, x: Any, draws: int = 100, random_state: int | np.random.Generator | None = None
    ) -> tuple[Array, Array]:
        """Drift and diffusion drawn together from the posterior: a leading axis of draws before the usual shapes."""
        self._check_fitted()
        u, rng, posterior = self._standardised(x), np.random.default_rng(random_state), self.posterior_
        n, (members, functions, p) = len(u), posterior.members.weights.shape
        chosen = rng.choice(members, size=draws, p=posterior.for_bands)
        normals = rng.standard_normal((draws, functions * p))
        untouched = rng.standard_normal((draws, functions, n))
        latent = np.asarray(drawn(posterior, u, chosen, normals, untouched)).reshape(draws * n, functions)
        drift, diffusion = self._drift_out(latent), self._diffusion_out(latent)
        return drift.reshape(draws, n, *drift.shape[1:]), diffusion.reshape(draws, n, *diffusion.shape[1:])

    @engine
    def score(
        self, x: Any, *, t: Any = None, dt: float | None = None, unit: str | None = None, gap: float = 10.0
    ) -> float:
        """Mean log predictive density of a transition of another trajectory, in the data's units; higher is better."""
        self._check_fitted()
        trajectory = read_trajectory(x, t=t, dt=dt, unit=unit or self.trajectory_.unit, gap=gap)
        if trajectory.dimension != self.n_features_in_:
            raise ValueError(f"The model has {self.n_features_in_} dimensions, the new data {trajectory.dimension}.")
        transitions = self.units_.standardised(transitions_of(trajectory))
        mean, covariance = in_chunks(predictive, self.posterior_, transitions.x, transitions.dt)
        lower = np.linalg.cholesky(covariance)
        residual = np.linalg.solve(lower, (transitions.y - mean)[:, :, None])
        volume = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1) + np.log(self.units_.scale).sum()
        constant = 0.5 * self.n_features_in_ * np.log(2 * np.pi)
        return float(np.mean(-0.5 * np.square(residual).sum(axis=(1, 2)) - volume - constant))

    def simulate(
        self, x0: Any, steps: int, dt: Any = None, paths: int = 100, random_state: Any = None, uncertain: bool = True
    ) -> Paths:
        """Paths (paths, steps + 1, d) of the learned equation from x0, one start (d,) or one for each path (paths, d).

        One step of the transition law each `dt`, the data's median step if None. With `uncertain`, each path has its
        own draw of drift and diffusion from the posterior; without, all have the posterior mean.
        """
        self._check_fitted()
        return simulate(self, x0, steps, dt, paths, random_state, uncertain)

    def forecast(
        self, steps: int, paths: int = 1000, dt: Any = None, random_state: Any = None, uncertain: bool = True
    ) -> Paths:
        """The same from the last observation; `quantiles([0.05, 0.5, 0.95])` of the result is a fan."""
        self._check_fitted()
        return forecast(self, steps, paths, dt, random_state, uncertain)

    def consequences(self, level: float = 0.9, draws: int = 400, random_state: Any = 0) -> Consequences:
        """Potential, stationary density, fixed points and passage times (1-D), or modes (above), with bands."""
        self._check_fitted()
        return consequences(self, level, draws, random_state)

    def diagnose(self) -> "Diagnosis":
        """Is this the right model for these data at this step? One verdict, and an answer to each question."""
        from onepath.diagnose import diagnose

        self._check_fitted()
        if self._diagnosis is None:
            self._diagnosis = diagnose(self)
        return self._diagnosis

    def summary(self) -> str:
        """What was observed, what was learned, what follows, and whether the model fits."""
        self._check_fitted()
        return summarise(self)

    def plot(self, what: str = "overview", **options: Any) -> Any:
        """A matplotlib figure: "overview", or one of its parts by name; `onepath.plots.FIGURES` lists them."""
        from onepath.plots import plot

        self._check_fitted()
        return plot(self, what, **options)

    def report(self, path: str | Path, *, force: bool = False, **about: Any) -> Path:
        """Write everything that was learned as one HTML page, which needs nothing else to be opened."""
        from onepath.report import write_report

        self._check_fitted()
        return write_report(self, path, force=force, **about)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the fitted model: arrays and JSON, nothing that runs. An existing file is kept unless `force`."""
        from onepath.files import save_model

        self._check_fitted()
        return save_model(self, path, force=force)

    def _standardised(self, x: Any) -> Array:
        """Points (n, d) in standardised units."""
        d = self.n_features_in_
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
        return (points - self.units_.location) / self.units_.scale

    @engine
    def _marginals(self, x: Any) -> tuple[Array, Array]:
        """Means and variances (n, members, functions) of all unknown functions, standardised and before the link."""
        self._check_fitted()
        means, variances = in_chunks(marginals, self.posterior_, self._standardised(x))
        return means, variances

    def _moments(self, x: Any) -> tuple[Array, Array]:
        """Mean and standard deviation over all members."""
        (means, variances), mass = self._marginals(x), np.asarray(self.posterior_.mass)
        mean = np.einsum("s,nsf->nf", mass, means)
        return mean, np.sqrt(np.einsum("s,nsf->nf", mass, variances + np.square(means - mean[:, None])))

    def _quantiles(self, x: Any, level: float) -> tuple[Array, Array]:
        """Ends of the central interval of this probability, over all members."""
        if not 0.0 < level < 1.0:
            raise ValueError(f"level={level!r} cannot be used: it is a probability, between 0 and 1.")
        each, mass = self._marginals(x), self.posterior_.for_bands
        lower, upper = (
            mixture_quantile(mass, *each, probability) for probability in (0.5 - level / 2, 0.5 + level / 2)
        )
        return lower, upper

    def _drift_out(self, latent: Array) -> Array:
        out = latent[:, : self.n_features_in_] * self.units_.scale / self.units_.time
        return out[:, 0] if self.n_features_in_ == 1 else out

    @engine
    def _diffusion_out(self, latent: Array) -> Array:
        (matrix,) = in_chunks(matrices, self.posterior_, latent)
        out = matrix * self.units_.scale[:, None] / np.sqrt(self.units_.time)
        return out[:, 0, 0] if self.n_features_in_ == 1 else out
