"""Simulate a learned equation forward: many paths at once, with or without what is not known about its functions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from onepath.after.states import last_state, reading_covariance
from onepath.data.inputs import coded, listed, outside, read_at, read_known, with_clockwork
from onepath.inference.disturbance.disturbance import Future
from onepath.inference.posterior.formulas import Followed
from onepath.inference.posterior.increments import drawn_law, mean_law
from onepath.inference.posterior.posterior import Posterior
from onepath.model import Model, Seed
from onepath.numerics.arrays import Flags, Floats, Integers
from onepath.numerics.caution import caution
from onepath.numerics.checks import check_whole
from onepath.numerics.compiled import compiled
from onepath.numerics.extras import needs
from onepath.numerics.linalg import small_cholesky, square_root, upper_solved
from onepath.numerics.memory import check_memory
from onepath.numerics.notebook import InNotebooks
from onepath.numerics.precision import in_double

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Moves = Callable[[Array], tuple[Array, Array]]
"""Points (n, d) to means and covariances of the next increment."""

Box = tuple[Any, Any, Any]  # centre (d,), reach (d,) how far from it a path may go, and walls (2, d) that reflect it

EXPLODED = 100.0
"""A path this many times the data's range away from it is stopped."""

PER_VALUE = 60.0
"""Bytes of memory for each value of each path, at the most crowded moment."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of a forecast, unless others are asked for."""

PATHS, STEPS = (64, 512), 64
"""Sizes of the blocks that are computed at once: few, so that compiled code serves every number of paths and steps."""


@dataclass(frozen=True, eq=False)
class Paths(InNotebooks):
    """Simulated paths. A path that exploded is NaN after the step that took it too far."""

    t: Floats  #: (steps + 1,), times
    x: Floats  #: (paths, steps + 1, d), states
    outside: Floats  #: (paths,), share of its steps that a path spends outside the data's range
    exploded: Flags  #: (paths,), whether a path went far beyond the data, and was stopped there
    names: tuple[str, ...] = ("x",)  #: one for each coordinate
    dates: np.ndarray | None = None  #: (steps + 1,), dates of the times, where the data have dates

    def quantiles(self, levels: Sequence[float] | Floats) -> Floats:
        """Quantiles over paths at each time; a stopped path counts with its last value.

        Parameters
        ----------
        levels : sequence of floats between 0 and 1
            Which quantiles.

        Returns
        -------
        array (levels, steps + 1, d)
            In the data's units.
        """
        wanted = np.atleast_1d(np.asarray(levels, float))
        if not np.all((wanted >= 0.0) & (wanted <= 1.0)):
            raise ValueError(f"levels={levels!r} cannot be used: quantiles have levels between 0 and 1.")
        return np.quantile(_held(self.x), wanted, axis=0)

    def frame(self) -> "pd.DataFrame":
        """Every path as a pandas table.

        Returns
        -------
        DataFrame
            A column for each name of the data, by path and by date, or time where there are no dates.

        Examples
        --------
        >>> import pandas as pd
        >>> from onepath import SDE
        >>> from onepath.compare.processes import PROCESSES
        >>> path = PROCESSES["ou_slow"].simulate(500, random_state=0)[0, :, 0]
        >>> days = pd.date_range("2001-01-01", periods=501, freq="D")
        >>> sde = SDE().fit(pd.Series(path, days, name="level"), unit="day")
        >>> ahead = sde.forecast(steps=2, paths=3, random_state=0).frame()
        >>> ahead.index.names, list(ahead.columns), len(ahead)
        (FrozenList(['path', 'date']), ['level'], 9)
        """
        import pandas as pd

        paths, times, d = self.x.shape
        rows = pd.MultiIndex.from_product([range(paths), self._times()], names=["path", self._times().name])
        return pd.DataFrame(self.x.reshape(paths * times, d), rows, list(self.names))

    def quantiles_frame(self, levels: Sequence[float] | Floats = QUANTILES) -> "pd.DataFrame":
        """Quantiles over paths as a pandas table.

        Parameters
        ----------
        levels : sequence of floats between 0 and 1
            Which quantiles.

        Returns
        -------
        DataFrame
            A column such as `rate_0.05` for each name and level, by date, or time where there are no dates.
        """
        import pandas as pd

        columns = [f"{name}_{level:g}" for name in self.names for level in np.atleast_1d(levels)]
        values = np.moveaxis(self.quantiles(levels), 0, -1)  # (steps + 1, d, levels)
        return pd.DataFrame(values.reshape(len(self.t), -1), self._times(), columns)

    def xarray(self) -> "xr.Dataset":
        """Every path as an xarray Dataset.

        Returns
        -------
        Dataset
            A variable for each name of the data, along `path` and `date`, or `t` where there are no dates.
        """
        package = needs("xarray", "for labelled arrays", "xarray")
        dates = self.dates is not None
        times = ("date", self.dates) if dates else ("t", self.t)
        variables = {name: (("path", times[0]), self.x[:, :, i]) for i, name in enumerate(self.names)}
        said = {"outside": ("path", self.outside), "exploded": ("path", self.exploded)}
        found: xr.Dataset = package.Dataset(variables, dict([times]) | {"path": np.arange(len(self.x))} | said)
        return found

    def _times(self) -> "pd.Index":
        import pandas as pd

        return pd.Index(self.t, name="t") if self.dates is None else pd.DatetimeIndex(self.dates, name="date")


def simulate(
    model: Model,
    x0: Any,
    steps: int,
    dt: float | None,
    paths: int,
    random_state: Seed,
    uncertain: bool,
    onwards: bool = False,
    inputs: Any = None,
) -> Paths:
    """Paths from x0, a point for all of them or one for each; see `SDE.simulate`.

    With `onwards`, noise whose level changes with time begins with the level that it had at the end of the data.
    """
    dt, starts = _checked(model, x0, steps, dt, paths)
    driven = driven_ahead(model, inputs, steps, dt)
    x, exploded = _simulated(model, starts, steps, dt / model.units.time, random_state, uncertain, onwards, driven)
    t = dt * np.arange(steps + 1, dtype=float)
    if exploded.any():
        caution(
            f"{exploded.sum()} of {paths} paths went farther than {EXPLODED:g} times the data's range from the data "
            "and were stopped there; they are NaN afterwards, and marked in `exploded`. The learned drift does not "
            "hold them where there are no data: use fewer steps, or a shorter dt"
        )
    dates = model.trajectory.dates(model.trajectory.t[_last(model)] + t)
    return Paths(t, x, _share_outside(model, x), exploded, model.names, dates)


def forecast(
    model: Model,
    steps: int,
    dt: float | None,
    paths: int,
    random_state: Seed,
    uncertain: bool,
    readings: bool = False,
    inputs: Any = None,
) -> Paths:
    """Paths from the last observation, at the times that follow it; see `SDE.forecast`."""
    trajectory, last, rng = model.trajectory, _last(model), np.random.default_rng(random_state)
    check_whole("paths", paths, 1)
    start = last_point(model) if model.observed is None else _last_states(model, paths, rng)
    future = simulate(model, start, steps, dt, paths, rng, uncertain, onwards=True, inputs=inputs)
    future = replace(future, t=trajectory.t[last] + future.t)
    return _as_readings(model, future, rng) if readings else future


def last_point(model: Model) -> Floats:
    """The state (d,) at the last row; of a hidden one, its mean."""
    return model.trajectory.x[_last(model)] if model.observed is None else last_state(model)[0]


def _last_states(model: Model, paths: int, rng: np.random.Generator) -> Floats:
    """States at the last row (paths, D), drawn from what readings say of it."""
    mean, covariance = last_state(model)
    drawn = mean + rng.standard_normal((paths, len(mean))) @ square_root(covariance)
    return drawn if model.bounds is None else np.clip(drawn, *model.bounds.T)


def _as_readings(model: Model, paths: Paths, rng: np.random.Generator) -> Paths:
    """What would be read of paths: positions, with the noise of readings."""
    root, d = square_root(reading_covariance(model)), model.trajectory.dimension
    x = paths.x[:, :, :d] + rng.standard_normal((*paths.x.shape[:2], d)) @ root
    return replace(paths, x=x, names=model.trajectory.names)


def driven_ahead(model: Model, inputs: Any, steps: int, dt: float) -> Floats | None:
    """Columns of inputs, standardised, at each step from the last observation on: (steps, k); None if there are none.

    Those that are not said stay what they were last; season and trend go on.
    """
    variables, observed = model.variables, model.trajectory
    if not variables or observed.inputs is None:
        if inputs is not None:
            raise ValueError("inputs were given, and this model reads none: leave them out.")
        return None
    known, last = outside(variables), _last(model)
    if inputs is None:
        values = np.broadcast_to(_latest(observed.inputs.values), (steps, len(known)))
    elif not known:
        raise ValueError(f"inputs were given, and {listed(variables)} follow from the time: leave them out.")
    elif np.ndim(inputs) == 0 or (np.ndim(inputs) == 1 and len(known) == len(inputs) != steps):
        values = read_at(known, inputs, _latest(observed.inputs.values), steps)
    else:
        values = read_known(known, inputs, steps)
    if np.any(np.isnan(values)):
        raise ValueError("inputs are missing for some steps ahead: give a value for each.")
    middle = observed.t[last] + dt * (np.arange(steps) + 0.5)
    return model.units.driven(coded(variables, with_clockwork(variables, values, middle)))


def _latest(values: Floats) -> Floats:
    """The last value of each input that is not missing."""
    return np.asarray([column[~np.isnan(column)][-1] for column in values.T])


def _last(model: Model) -> int:
    """The last row in which something was observed; for a model of the readings themselves, everything."""
    missing = np.isnan(model.trajectory.x)
    return int(np.flatnonzero(~(missing.any(axis=1) if model.observed is None else missing.all(axis=1)))[-1])


def walk(
    law: Moves,
    count: Int[Array, ""],
    start: Float[Array, "n d"],
    normals: Float[Array, "steps n d"],
    box: Box,
    jumps: Float[Array, "steps n d"] | None = None,
    inputs: Float[Array, "steps k"] | None = None,
) -> Float[Array, "steps n d"]:
    """X ← X + m + L ξ, where m and L Lᵀ are the law's mean and covariance at X: positions after each of `count` steps.

    And a jump, where there are some. After a step that took a path out of the box, it is NaN. Rows beyond `count` mean
    nothing. Inputs are the same for all paths.
    """
    centre, reach, (low, high) = box

    def far(u: Array) -> Array:
        return jnp.any(~(jnp.abs(u - centre) <= reach), axis=1)

    def step(k: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        u, gone, positions = state
        driven = u
        if inputs is not None:
            driven = jnp.concatenate([u, jnp.broadcast_to(inputs[k], (len(u), inputs.shape[1]))], axis=1)
        mean, covariance = law(driven)
        moved = u + mean + jnp.einsum("nij,nj->ni", jax.vmap(small_cholesky)(covariance), normals[k])
        moved = moved if jumps is None else moved + jumps[k]
        moved = jnp.where(moved < low, 2.0 * low - moved, moved)
        moved = jnp.clip(jnp.where(moved > high, 2.0 * high - moved, moved), low, high)
        moved = jnp.where(gone[:, None], u, moved)
        return moved, gone | far(moved), positions.at[k].set(jnp.where(gone[:, None], jnp.nan, moved))

    start = jnp.asarray(start)
    return jax.lax.fori_loop(0, count, step, (start, far(start), jnp.zeros_like(normals)))[2]


@compiled
def _walk_drawn(posterior: Posterior, s: Any, weights: Any, dt: Any, *path: Any) -> Array:
    """With the functions of one member and weights (n, f, p) for each path, or equations that it follows."""
    law = drawn_law(posterior, jnp.asarray(s), weights, noise_grows=True)
    return walk(lambda u: law(u, jnp.full(u.shape[0], dt)), *path)


@compiled
def _walk_mean(posterior: Posterior, dt: Any, *path: Any) -> Array:
    """With the posterior mean of the functions."""
    law = mean_law(posterior, noise_grows=True)
    return walk(lambda u: law(u, jnp.full(u.shape[0], dt)), *path)


def _drawn_weights(posterior: Posterior, s: int, normals: Floats) -> Floats:
    """Weights (n, f, p) ~ N(ŵ, Fisher⁻¹) of one member."""
    weights, lower = (np.asarray(part[s]) for part in (posterior.members.weights, posterior.members.lower))
    return weights + upper_solved(lower, normals.T).T.reshape(-1, *weights.shape)


@in_double
def _simulated(
    model: Model,
    starts: Floats,
    steps: int,
    dt: float,
    random_state: Seed,
    uncertain: bool,
    onwards: bool,
    inputs: Floats | None,
) -> tuple[Floats, Flags]:
    """Paths in the data's units, computed in standardised ones, member by member and block by block."""
    rng, posterior, units = np.random.default_rng(random_state), model.posterior, model.units
    paths, d = starts.shape
    members, functions, p = posterior.members.weights.shape
    normals = rng.standard_normal((paths, steps, d))
    chosen = rng.choice(members, size=paths, p=np.asarray(posterior.mass)) if uncertain else np.zeros(paths, int)
    followed, formulas = None, posterior.formulas
    if uncertain and formulas is not None:
        followed = formulas.chosen(paths, np.asarray(formulas.mass), rng)
    jumps = None
    if model.disturbance is not None:
        drawn = model.disturbance.drawn(rng, Future(paths, steps, dt * units.time, onwards))
        normals = normals * drawn.stretch[:, :, None] + (0.0 if drawn.shift is None else drawn.shift)
        jumps = None if drawn.jumps is None else drawn.jumps / units.scale
    low, high = _range(model)
    walls = np.tile([[-np.inf], [np.inf]], d) if model.bounds is None else units.points(model.bounds.T)
    reach = (EXPLODED + 0.5) * (high - low) / units.scale
    reach = reach if model.period is None else np.where(model.period > 0, np.inf, reach)
    box = ((low + high) / 2 - units.location) / units.scale, reach, walls
    u, exploded = np.empty((paths, steps + 1, d)), np.zeros(paths, bool)
    u[:, 0] = units.points(starts)
    for s in np.unique(chosen):
        for rows in _blocks(np.flatnonzero(chosen == s), PATHS[-1]):
            size = next(size for size in PATHS if size >= len(rows))
            padded = np.resize(rows, size)
            weights: Any = None
            if uncertain:
                noise = np.zeros((size, functions * p))
                noise[: len(rows)] = rng.standard_normal((len(rows), functions * p))
                weights = _drawn_weights(posterior, s, noise)
                if followed is not None:
                    weights = Followed(weights, *(part[padded] for part in followed))
            random = normals[padded], None if jumps is None else jumps[padded]
            block, gone = _walk_far(posterior, s, weights, dt, u[padded, 0], random, box, inputs)
            u[rows, 1:], exploded[rows] = block[: len(rows)], gone[: len(rows)]
    x = units.location + units.scale * u
    x = x if model.bounds is None else np.clip(x, *model.bounds.T)
    x[:, 0] = starts
    return x, exploded


def _walk_far(
    posterior: Posterior,
    s: int,
    weights: Any,
    dt: float,
    start: Floats,
    random: tuple[Floats, Floats | None],
    box: Box,
    inputs: Floats | None,
) -> tuple[Floats, Flags]:
    """Any number of steps, in blocks of one length, and which paths went too far; from normal numbers and jumps."""
    positions = []
    for columns in _blocks(np.arange(random[0].shape[1]), STEPS):
        noise, *jumps = (_block(part, columns) for part in random if part is not None)
        path: tuple[Any, ...] = (np.asarray(len(columns)), start, noise, box, *jumps)
        if inputs is not None:
            driven = np.resize(inputs[columns], (STEPS, inputs.shape[1]))
            path = (*path, *(() if jumps else (None,)), driven)
        walked = _walk_mean(posterior, dt, *path) if weights is None else _walk_drawn(posterior, s, weights, dt, *path)
        positions.append(np.asarray(walked)[: len(columns)])
        start = positions[-1][-1]
    x = np.swapaxes(np.concatenate(positions), 0, 1)
    return x, np.any(~(np.abs(x - box[0]) <= box[1]), axis=(1, 2))


def _block(values: Floats, columns: Integers) -> Floats:
    """Some steps of (paths, steps, d) first, and zeros up to the length of a block."""
    block = np.zeros((STEPS, values.shape[0], values.shape[2]))
    block[: len(columns)] = np.swapaxes(values[:, columns], 0, 1)
    return block


def _blocks(rows: Integers, size: int) -> list[Integers]:
    return np.split(rows, np.arange(size, len(rows), size))


def _range(model: Model) -> tuple[Floats, Floats]:
    """Lowest and highest value of each coordinate among the data."""
    x, y = model.transitions.x, model.transitions.y
    return np.minimum(x, x + y).min(axis=0), np.maximum(x, x + y).max(axis=0)


def _share_outside(model: Model, x: Floats) -> Floats:
    low, high = _range(model)
    if model.period is not None:  # an angle is never outside
        low, high = np.where(model.period > 0, -np.inf, low), np.where(model.period > 0, np.inf, high)
    return np.mean(~np.all((x[:, 1:] >= low) & (x[:, 1:] <= high), axis=2), axis=1)


def _held(x: Floats) -> Floats:
    """Paths with NaN replaced by the value before."""
    stopped = np.isnan(x).any(axis=2)
    last = np.maximum.accumulate(np.where(stopped, 0, np.arange(x.shape[1])), axis=1)
    return np.take_along_axis(x, last[:, :, None], axis=1)


def _checked(model: Model, x0: Any, steps: int, dt: float | None, paths: int) -> tuple[float, Floats]:
    """The step and a start for each path, or a message that says why not."""
    check_whole("steps", steps, 1)
    check_whole("paths", paths, 1)
    if dt is not None and not (isinstance(dt, int | float | np.number) and 0 < dt < np.inf):
        raise ValueError(f"dt={dt!r} cannot be used: time moves forward by finite steps; give dt > 0.")
    d = model.dimension
    starts = np.asarray(x0, float)
    if d == 1 and starts.ndim < 2 and starts.size in (1, paths):
        starts = starts.reshape(-1, 1)
    if starts.shape not in ((d,), (1, d), (paths, d)):
        each = f"({paths}, {d})"
        raise ValueError(f"x0 has shape {np.shape(x0)}: give one start of shape ({d},), or one for each path, {each}.")
    values = float(paths) * (steps + 1) * d
    few = "ask for fewer steps or paths"
    check_memory(f"{paths} paths of {steps} steps in {d} dimensions", PER_VALUE * values, few)
    if model.bounds is not None and not np.all((starts >= model.bounds[:, 0]) & (starts <= model.bounds[:, 1])):
        raise ValueError("x0 is outside of the model's bounds, which no path can leave: start within them.")
    if not np.all(np.isfinite(starts)):
        raise ValueError("x0 must be finite; some of it is NaN or infinite.")
    return float(model.units.time if dt is None else dt), np.array(np.broadcast_to(starts, (paths, d)))
