"""From options and data to a graph: which priors, in which units."""

from typing import Any, NamedTuple

import numpy as np

from onepath.data.statistics import dimensions_correlate, mean_duration, mean_square, mean_square_rate, persistence
from onepath.data.transitions import Transitions, Units
from onepath.gp.features import Unknown
from onepath.gp.kernels import check_kernel, default_diffusion_kernel, default_drift_kernel, stacked
from onepath.gp.periodic import Edges, check_periodic, periodic_diffusion_kernel, periodic_drift_kernel
from onepath.graph.graph import Graph, diffusion_entries
from onepath.graph.laws import EULER
from onepath.graph.velocity import of_second_order
from onepath.numerics.arrays import Floats, Integers
from onepath.numerics.linalg import constant

DEFAULT_NOISE = 1e-3
"""λ in units of an increment's mean square, where the user gives none."""

LEAST_SHARE = 0.01
"""Of an increment's mean square: what is left to the noise, however strong the drift."""


class GraphOptions(NamedTuple):
    """What a user may choose about the graph. Kernels are in the data's units; None is the default prior."""

    drift: Any = None
    diffusion: Any = None
    noise: str = "auto"
    link: str = "softplus"
    noise_variance: float | None = None
    order: int = 1


def noise_structure(noise: str, transitions: Transitions) -> str:
    """What "auto" means for these data: "full" where increments of different dimensions are clearly correlated."""
    if noise != "auto":
        return noise
    return "full" if dimensions_correlate(transitions) else "diagonal"


def build_graph(options: GraphOptions, transitions: Transitions, units: Units) -> Graph:
    """The graph of these options under Euler's law, in standardised units, without points for its features yet."""
    d = transitions.x.shape[1]
    own = np.arange(d)[d // 2 :] if options.order == 2 else np.arange(d)  # coordinates that move by unknown functions
    structure = "diagonal" if options.order == 2 else noise_structure(options.noise, transitions)
    persistent = persistence(transitions)
    unit = diffusion_unit(transitions, units, structure, persistent)
    unit, persistent = (unit[own], persistent[own]) if options.order == 2 else (unit, persistent)
    rows, columns = diffusion_entries(structure, len(own))
    level = None if options.link == "identity" else constant(np.ones(len(set(rows[rows == columns]))))
    noise, noise_unit = DEFAULT_NOISE, mean_square(transitions) / np.square(units.scale)
    if options.noise_variance is not None:
        noise, noise_unit = options.noise_variance, 1.0 / np.square(units.scale)
    graph = Graph(
        drift=(_drift(options, transitions, unit, persistent, units, own),),
        diffusion=(_diffusion(options, transitions, unit, structure, units, own),),
        unit=constant(unit),
        level=level,
        noise=constant(noise),
        noise_unit=constant(noise_unit),
        link=options.link,
        structure=structure,
        law=EULER,
    )
    return of_second_order(graph, units) if options.order == 2 else graph


def diffusion_unit(transitions: Transitions, units: Units, structure: str, persistent: Floats) -> Floats:
    """√(mean y²/Δt), less what is persistent drift, of the row that each unknown entry of σ stands in."""
    square = mean_square_rate(transitions)
    of_noise = np.maximum(square - mean_duration(transitions) * persistent, LEAST_SHARE * square)
    root = np.sqrt(of_noise * units.time) / units.scale
    if structure == "isotropic":
        root = np.sqrt(np.mean(np.square(root), keepdims=True))
    rows, _ = diffusion_entries(structure, len(square))
    return root[rows]


def _drift(
    options: GraphOptions, transitions: Transitions, unit: Floats, persistent: Floats, units: Units, own: Integers
) -> Unknown:
    """By default as large as an Ornstein–Uhlenbeck process's own drift, σ²/(2 sd(x)), and what is persistent."""
    d, outputs = transitions.x.shape[1], len(own)
    amplitude = units.time / units.scale[own]
    if options.drift is None:
        edges, turn = _edges(transitions, units), _turn(transitions, units)
        kernel = default_drift_kernel(*edges) if turn is None else periodic_drift_kernel(turn, edges)
        rate = constant(np.sqrt(np.square(np.square(unit[:outputs]) / 2) + persistent * np.square(amplitude)))
        return Unknown(stacked(kernel, outputs), rate, constant(np.zeros(d)), constant(np.ones(d)))
    check_kernel(options.drift, "drift", d)
    if transitions.period is not None:
        check_periodic(options.drift, "drift", transitions.period)
    kernel = stacked(options.drift, outputs)
    return Unknown(kernel, constant(amplitude), constant(units.location), constant(units.scale))


def _edges(transitions: Transitions, units: Units) -> Edges:
    """Lowest and highest values of each coordinate, standardised."""
    edges = (np.asarray([edge(column) for column in transitions.x.T]) for edge in (np.min, np.max))
    lower, upper = (constant((edge - units.location) / units.scale) for edge in edges)
    return lower, upper


def _turn(transitions: Transitions, units: Units) -> Floats | None:
    """2π over the period of each angle, standardised; 0 for what is none, None where nothing is."""
    if transitions.period is None:
        return None
    angle = transitions.period > 0
    return constant(np.where(angle, 2 * np.pi * units.scale / np.where(angle, transitions.period, 1.0), 0.0))


def _diffusion(
    options: GraphOptions, transitions: Transitions, unit: Floats, structure: str, units: Units, own: Integers
) -> Unknown:
    """A given kernel is that of σ in the data's units; under the exp link, that of ln σ."""
    d, entries = len(units.scale), len(unit)
    if options.diffusion is None:
        edges, turn = _edges(transitions, units), _turn(transitions, units)
        usual = default_diffusion_kernel(d) if turn is None else periodic_diffusion_kernel(turn, edges)
        return Unknown(stacked(usual, entries), constant(np.ones(entries)), constant(np.zeros(d)), constant(np.ones(d)))
    check_kernel(options.diffusion, "diffusion", d)
    if transitions.period is not None:
        check_periodic(options.diffusion, "diffusion", transitions.period)
    rows, columns = diffusion_entries(structure, len(own))
    amplitude = 1.0 / in_data_units(unit, own[rows], units)
    if options.link == "exp":
        amplitude = np.where(rows == columns, 1.0, amplitude)
    kernel = stacked(options.diffusion, entries)
    return Unknown(kernel, constant(amplitude), constant(units.location), constant(units.scale))


def in_data_units(entries: Floats, rows: np.ndarray, units: Units) -> Floats:
    """Entries of σ, standing in these rows, in the data's units."""
    return entries * units.scale[rows] / np.sqrt(units.time)


def smoothing_of(smoothing: float, graph: Graph, units: Units) -> Floats:
    """γ, given in squared units of σ, in each entry's own."""
    rows, _ = diffusion_entries(graph.structure, graph.dimension)
    return constant(smoothing / np.square(in_data_units(np.asarray(graph.unit), rows, units)))
