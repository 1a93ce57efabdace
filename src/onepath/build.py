"""From settings and data to a graph: which priors, in which units."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float

from onepath.features import UnknownFunction
from onepath.graph import Graph, diffusion_entries
from onepath.kernels import check_kernel, default_diffusion_kernel, default_drift_kernel, stacked
from onepath.linalg import constant
from onepath.transition import LAWS
from onepath.transitions import Transitions, Units, chunks_of, column_means

Vector = npt.NDArray[np.float64]

DEFAULT_NOISE = 1e-3
"""λ in units of an increment's mean square, where the user gives none."""

AROUND = 51
"""Increments that say how large those in the middle of them may be."""

CLEARLY = 4.0
"""Standard errors from which a correlation is no accident."""

LEAST_PAIRS, MOST_PAIRS = 10, 50_000
"""Of neighbouring increments: to say anything about what they share, and to know it well."""

LEAST_SHARE = 0.01
"""Of an increment's mean square: what is left to the noise, however strong the drift."""


class Settings(NamedTuple):
    """What a user may choose about the graph. Kernels are in the data's units; None is the default prior."""

    drift: Any
    diffusion: Any
    noise: str
    link: str
    transition: str
    noise_variance: float | None


def diffusion_unit(transitions: Transitions, units: Units, noise: str, persistent: Vector) -> Vector:
    """√(mean y²/Δt), less what is persistent drift, of the row that each unknown entry of σ stands in."""
    squares = sum((np.square(chunk.y) / chunk.dt[:, None]).sum(axis=0) for chunk in chunks_of(transitions))
    square, dt = squares / len(transitions.dt), np.mean(transitions.dt)
    root = np.sqrt(np.maximum(square - dt * persistent, LEAST_SHARE * square) * units.time) / units.scale
    if noise == "isotropic":
        root = np.sqrt(np.mean(np.square(root), keepdims=True))
    rows, _ = diffusion_entries(noise, len(square))
    return root[rows]


def noise_structure(noise: str, transitions: Transitions) -> str:
    """What "auto" means for these data: "full" where increments of different dimensions are clearly correlated.

    Differences of neighbouring increments are looked at, which hold hardly any drift, in units of those around them,
    since noise may depend on the state.
    """
    d = transitions.x.shape[1]
    if noise != "auto" or d == 1:
        return "diagonal" if noise == "auto" else noise
    first, second = _neighbours(transitions)
    if len(first) < LEAST_PAIRS:
        return "diagonal"
    before, after = (transitions.y[at] / np.sqrt(transitions.dt[at])[:, None] for at in (first, second))
    differences = after - before
    window = np.ones(min(AROUND, len(first)))
    around = [np.convolve(column, window, mode="same") / len(window) for column in np.square(differences).T]
    differences = differences / np.sqrt(np.maximum(np.transpose(around), np.finfo(float).tiny))
    rows, columns = np.tril_indices(d, -1)
    products = differences[:, rows] * differences[:, columns]
    # neighbouring differences share an increment, so there are fewer independent ones than products
    error = np.sqrt(np.mean(np.square(products), axis=0) * 1.5 / len(products))
    return "full" if np.any(np.abs(np.mean(products, axis=0)) > CLEARLY * error) else "diagonal"


def persistence(transitions: Transitions) -> Vector:
    """What neighbouring increments share, E y_k y_{k+1} / Δt_k Δt_{k+1} less two standard errors and not below 0: (d,).

    Noise is new at every step, so this is the mean square of a drift that is strong and smooth along the path, as on a
    limit cycle. Where the drift only holds against the noise, as in a well, it is 0.
    """
    first, second = _neighbours(transitions)
    before, after = (transitions.y[at] / transitions.dt[at][:, None] for at in (first, second))
    products = before * after
    if len(products) < LEAST_PAIRS:
        return np.zeros(products.shape[1])
    return np.maximum(column_means(products) - 2 * np.std(products, axis=0) / np.sqrt(len(products)), 0.0)


def _neighbours(transitions: Transitions) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Indices of transitions and of those that begin where they end: not over gaps, and not into another record.

    Of long records, some that are spread evenly: they say enough.
    """
    x, y, _ = transitions
    some = np.linspace(0, len(x) - 2, min(len(x) - 1, MOST_PAIRS)).astype(np.int64)
    end, start = x[some] + y[some], x[some + 1]
    first = some[np.all(np.abs(end - start) <= 1e-9 * np.max(np.abs(start), axis=0, initial=0.0), axis=1)]
    return first, first + 1


def build_graph(settings: Settings, transitions: Transitions, units: Units) -> Graph:
    """The graph of these settings, in standardised units, without points for its features yet."""
    d = transitions.x.shape[1]
    persistent = persistence(transitions)
    unit = diffusion_unit(transitions, units, settings.noise, persistent)
    rows, columns = diffusion_entries(settings.noise, d)
    level = None if settings.link == "identity" else constant(np.ones(len(set(rows[rows == columns]))))
    noise_unit = np.einsum("nd,nd->d", transitions.y, transitions.y) / len(transitions.y) / np.square(units.scale)
    noise = DEFAULT_NOISE
    if settings.noise_variance is not None:
        noise, noise_unit = settings.noise_variance, 1.0 / np.square(units.scale)
    return Graph(
        drift=_drift(settings, transitions, unit, persistent, units),
        diffusion=_diffusion(settings, unit, units),
        unit=constant(unit),
        level=level,
        noise=constant(noise),
        noise_unit=constant(noise_unit),
        link=settings.link,
        structure=settings.noise,
        law=LAWS[settings.transition],
    )


def _drift(
    settings: Settings, transitions: Transitions, unit: Vector, persistent: Vector, units: Units
) -> UnknownFunction:
    """By default as large as an Ornstein–Uhlenbeck process's own drift, σ²/(2 sd(x)), and what is persistent."""
    d = transitions.x.shape[1]
    if settings.drift is None:
        edges = (np.asarray([edge(column) for column in transitions.x.T]) for edge in (np.min, np.max))
        kernel = default_drift_kernel(*(constant((edge - units.location) / units.scale) for edge in edges))
        rate = constant(np.sqrt(np.square(np.square(unit[:d]) / 2) + persistent * np.square(units.time / units.scale)))
        return UnknownFunction(stacked(kernel, d), rate, constant(np.zeros(d)), constant(np.ones(d)))
    check_kernel(settings.drift, "drift", d)
    amplitude = constant(units.time / units.scale)
    return UnknownFunction(stacked(settings.drift, d), amplitude, constant(units.location), constant(units.scale))


def _diffusion(settings: Settings, unit: Vector, units: Units) -> UnknownFunction:
    """A given kernel is that of σ in the data's units; under the exp link, that of ln σ."""
    d, entries = len(units.scale), len(unit)
    if settings.diffusion is None:
        kernel = stacked(default_diffusion_kernel(d), entries)
        return UnknownFunction(kernel, constant(np.ones(entries)), constant(np.zeros(d)), constant(np.ones(d)))
    check_kernel(settings.diffusion, "diffusion", d)
    rows, columns = diffusion_entries(settings.noise, d)
    amplitude = 1.0 / in_data_units(unit, rows, units)
    if settings.link == "exp":
        amplitude = np.where(rows == columns, 1.0, amplitude)
    kernel = stacked(settings.diffusion, entries)
    return UnknownFunction(kernel, constant(amplitude), constant(units.location), constant(units.scale))


def in_data_units(entries: Vector, rows: np.ndarray, units: Units) -> Vector:
    """Entries of σ, standing in these rows, in the data's units."""
    return entries * units.scale[rows] / np.sqrt(units.time)


def smoothing_of(smoothing: float, transitions: Transitions, noise: str, units: Units) -> Float[Array, " entries"]:
    """γ, given in squared units of σ, in each entry's own."""
    rows, _ = diffusion_entries(noise, transitions.x.shape[1])
    unit = diffusion_unit(transitions, units, noise, persistence(transitions))
    return constant(smoothing / np.square(in_data_units(unit, rows, units)))
