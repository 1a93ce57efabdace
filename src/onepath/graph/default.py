"""From options and data to a graph: which priors, in which units."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from tinygp.kernels import Kernel

from onepath.data.inputs import listed, owners
from onepath.data.statistics import dimensions_correlate, mean_duration, mean_square, mean_square_rate, persistence
from onepath.data.transitions import Transitions, Units
from onepath.gp.features import Function, Unknown
from onepath.gp.kernels import (
    Driven,
    check_kernel,
    default_diffusion_kernel,
    default_drift_kernel,
    outputs_of,
    stacked,
)
from onepath.gp.periodic import Edges, check_periodic, periodic_diffusion_kernel, periodic_drift_kernel
from onepath.graph.graph import Graph, diffusion_entries
from onepath.graph.laws import EULER
from onepath.graph.physics import Known, physics_of
from onepath.graph.velocity import Rates, known_rate, of_second_order
from onepath.numerics.arrays import Floats, Integers
from onepath.numerics.linalg import constant

DEFAULT_NOISE = 1e-3
"""λ in units of an increment's mean square, where the user gives none."""

USUAL_REACH = 1.5
"""How far an input must move to matter, in standard deviations, before the data are asked."""

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
    drift_reads: Sequence[str] | None = None  # names of inputs; None is all of them
    diffusion_reads: Sequence[str] | None = None


class Read(NamedTuple):
    """Which inputs a function reads: columns of points after the state's, and which input each belongs to."""

    columns: np.ndarray
    owners: tuple[int, ...]
    whole: bool  # whether that is all of them

    def of(self, state: Floats, inputs: Floats | None) -> Floats:
        """What is known of coordinates, with the same of the columns that are read after it."""
        return state if inputs is None else np.r_[state, inputs[self.columns]]

    def places(self, dimension: int) -> tuple[int, ...] | None:
        """The coordinates of points that are read; None for all."""
        return None if self.whole else (*range(dimension), *(dimension + self.columns).tolist())


def read_by(role: str, names: Sequence[str] | None, transitions: Transitions) -> Read:
    """What drift or diffusion reads, by the names of inputs."""
    variables, of = transitions.variables, np.asarray(owners(transitions.variables), int)
    if names is None:
        return Read(np.arange(len(of)), tuple(of.tolist()), True)
    known = [one.name for one in variables]
    if isinstance(names, str) or any(name not in known for name in names):
        has = f"it has {listed(variables)}" if variables else "it has none: pass inputs= to fit"
        raise ValueError(
            f"{role}_reads={names!r} cannot be used: give a sequence of names of this model's inputs; {has}."
        )
    chosen = [known.index(name) for name in known if name in names]
    columns = np.flatnonzero(np.isin(of, chosen))
    return Read(columns, tuple(chosen.index(one) for one in of[columns].tolist()), len(chosen) == len(known))


def noise_structure(noise: str, transitions: Transitions) -> str:
    """What "auto" means for these data: "full" where increments of different dimensions are clearly correlated."""
    if noise != "auto":
        return noise
    return "full" if dimensions_correlate(transitions) else "diagonal"


def build_graph(options: GraphOptions, transitions: Transitions, units: Units) -> Graph:
    """The graph of these options under Euler's law, in standardised units, without points for its features yet."""
    d = transitions.x.shape[1]
    own = np.arange(d)[d // 2 :] if options.order == 2 else np.arange(d)  # coordinates that move by unknown functions
    structure = "diagonal" if options.order == 2 else _structure(options, transitions)
    persistent = persistence(transitions)
    unit = diffusion_unit(transitions, units, structure, persistent)
    unit, persistent = (unit[own], persistent[own]) if options.order == 2 else (unit, persistent)
    rows, columns = diffusion_entries(structure, len(own))
    physics = physics_of(options.drift, options.diffusion, transitions, units)
    drift, entries = _drifts(options, transitions, unit, persistent, units, own), unit
    if isinstance(options.diffusion, Known):
        entries = np.ones_like(unit) if options.diffusion.rest else unit[:0]
    level = None if options.link == "identity" else constant(np.ones(len(set(rows[rows == columns]))))
    level = level if len(entries) else None
    diffusion: tuple[Function, ...] = ()
    if len(entries):
        diffusion = (_diffusion(options, transitions, entries, structure, units, own),)
    if isinstance(options.drift, Known) and not options.drift.rest:
        drift = ()
        if not len(entries) and (physics is None or not physics.names):
            raise ValueError("Drift and diffusion are known altogether: there is nothing to learn.")
    noise, noise_unit = DEFAULT_NOISE, mean_square(transitions) / np.square(units.scale)
    if options.noise_variance is not None:
        noise, noise_unit = options.noise_variance, 1.0 / np.square(units.scale)
    graph = Graph(
        drift=drift,
        diffusion=diffusion,
        unit=constant(entries),
        level=level,
        noise=constant(noise),
        noise_unit=constant(noise_unit),
        link=options.link,
        structure=structure,
        law=EULER,
        inputs=0 if transitions.inputs is None else transitions.inputs.shape[1],
        physics=physics,
    )
    return of_second_order(graph, units) if options.order == 2 else graph


def _structure(options: GraphOptions, transitions: Transitions) -> str:
    """Of the noise; a diffusion that is known is diagonal."""
    if not isinstance(options.diffusion, Known):
        return noise_structure(options.noise, transitions)
    if options.noise == "full":
        raise ValueError(
            "A diffusion that is known says its diagonal, and noise='full' has more: use noise='diagonal'."
        )
    return "diagonal" if options.noise == "auto" else options.noise


def diffusion_unit(transitions: Transitions, units: Units, structure: str, persistent: Floats) -> Floats:
    """√(mean y²/Δt), less what is persistent drift, of the row that each unknown entry of σ stands in."""
    square = mean_square_rate(transitions)
    of_noise = np.maximum(square - mean_duration(transitions) * persistent, LEAST_SHARE * square)
    root = np.sqrt(of_noise * units.time) / units.scale
    if structure == "isotropic":
        root = np.sqrt(np.mean(np.square(root), keepdims=True))
    rows, _ = diffusion_entries(structure, len(square))
    return root[rows]


def _drifts(
    options: GraphOptions, transitions: Transitions, unit: Floats, persistent: Floats, units: Units, own: Integers
) -> tuple[Function, ...]:
    """One unknown function; or the coordinates in their order, those known that are the rate of another."""
    if not isinstance(options.drift, Rates):
        return (_drift(options, transitions, unit, persistent, units, own),)
    whole = _drift(options._replace(drift=None), transitions, unit, persistent, units, own)
    _, state = _of_state(transitions, read_by("drift", options.drift_reads, transitions))
    rates = options.drift.of
    parts: list[Function] = []
    for known, group in groupby(range(whole.outputs), lambda i: i in rates):
        some = list(group)
        if known:
            parts += [known_rate(i, rates[i], units, state) for i in some]
        else:
            amplitude = np.asarray(whole.amplitude)[some]
            parts.append(replace(whole, kernel=outputs_of(whole.kernel, some), amplitude=constant(amplitude)))
    return tuple(parts)


def _drift(
    options: GraphOptions, transitions: Transitions, unit: Floats, persistent: Floats, units: Units, own: Integers
) -> Unknown:
    """By default as large as an Ornstein–Uhlenbeck process's own drift, σ²/(2 sd(x)), and what is persistent."""
    read, amplitude = read_by("drift", options.drift_reads, transitions), units.time / units.scale[own]
    if options.drift is not None and not isinstance(options.drift, Known):
        return _given(options.drift, "drift", amplitude, transitions, read, units)
    edges, turn = _edges(transitions, units), _turn(transitions, units)
    kernel = default_drift_kernel(*edges) if turn is None else periodic_drift_kernel(turn, edges)
    rate = np.sqrt(np.square(np.square(unit[: len(own)]) / 2) + persistent * np.square(amplitude))
    return _usual(kernel, rate, transitions, read, units)


def _diffusion(
    options: GraphOptions, transitions: Transitions, unit: Floats, structure: str, units: Units, own: Integers
) -> Unknown:
    """A given kernel is that of σ in the data's units; under the exp link, that of ln σ."""
    d, read = len(units.scale), read_by("diffusion", options.diffusion_reads, transitions)
    if options.diffusion is None or isinstance(options.diffusion, Known):
        edges, turn = _edges(transitions, units), _turn(transitions, units)
        kernel = default_diffusion_kernel(d) if turn is None else periodic_diffusion_kernel(turn, edges)
        return _usual(kernel, np.ones(len(unit)), transitions, read, units)
    rows, columns = diffusion_entries(structure, len(own))
    amplitude = 1.0 / in_data_units(unit, own[rows], units)
    if options.link == "exp":
        amplitude = np.where(rows == columns, 1.0, amplitude)
    return _given(options.diffusion, "diffusion", amplitude, transitions, read, units)


def _usual(kernel: Kernel, amplitude: Floats, transitions: Transitions, read: Read, units: Units) -> Unknown:
    """With a default prior, in standardised units."""
    d, width = len(units.scale), len(units.scale) + len(read.columns)
    if len(read.columns):
        seen = units.standardised(transitions).points[:, d + read.columns]
        reach = constant(np.full(max(read.owners) + 1, USUAL_REACH))
        kernel = Driven(kernel, reach, constant(seen.min(axis=0)), constant(seen.max(axis=0)), read.owners)
    location, scale = constant(np.zeros(width)), constant(np.ones(width))
    reads, state = _of_state(transitions, read)
    return Unknown(stacked(kernel, len(amplitude)), constant(amplitude), location, scale, (), reads, state)


def _given(kernel: Any, role: str, amplitude: Floats, transitions: Transitions, read: Read, units: Units) -> Unknown:
    """With a kernel of the user's, which sees state and inputs in the data's own units."""
    location, scale = read.of(units.location, units.input_location), read.of(units.scale, units.input_scale)
    check_kernel(kernel, role, len(location))
    if transitions.period is not None:
        check_periodic(kernel, role, np.pad(transitions.period, (0, len(read.columns))))
    reads, state = _of_state(transitions, read)
    prior = stacked(kernel, len(amplitude))
    return Unknown(prior, constant(amplitude), constant(location), constant(scale), (), reads, state)


def _of_state(transitions: Transitions, read: Read) -> tuple[tuple[int, ...] | None, int | None]:
    """Which coordinates are read, and along how many of them derivatives are taken."""
    d = transitions.x.shape[1]
    return read.places(d), None if transitions.inputs is None else d


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


def in_data_units(entries: Floats, rows: np.ndarray, units: Units) -> Floats:
    """Entries of σ, standing in these rows, in the data's units."""
    return entries * units.scale[rows] / np.sqrt(units.time)


def smoothing_of(smoothing: float, graph: Graph, units: Units) -> Floats:
    """γ, given in squared units of σ, in each entry's own."""
    rows, _ = diffusion_entries(graph.structure, graph.dimension)
    return constant(smoothing / np.square(in_data_units(np.asarray(graph.unit), rows, units)))
