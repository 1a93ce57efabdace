"""Many series of one dimension, from transitions to drift and diffusion with bands, as a few programs.

Each program knows one series and runs under `vmap` for a chunk of them. Between programs series are in the memory of
the host, so that those which are not done yet, or go on by another law, come together in chunks of their own.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy.special import ndtri

from onepath.data.cells import Cells
from onepath.data.transitions import Transitions
from onepath.data.transitions import units_of as units_of_one
from onepath.gp.parameters import Mask, Parameter, pack, parameters_of
from onepath.graph.default import GraphOptions, build_graph
from onepath.graph.graph import Graph, graph_at
from onepath.graph.laws import EULER, LINEARISED, Law
from onepath.inference.adequacy import ADEQUATE, FORGOTTEN
from onepath.inference.batch.bases import Chosen, with_bases
from onepath.inference.batch.cells import cells_of, coarser
from onepath.inference.batch.doubts import clustering
from onepath.inference.batch.evidence import Judge, Judged, Problem, nowhere
from onepath.inference.batch.posterior import (
    First,
    Values,
    by_law,
    first_of,
    of_steps,
    posterior_of,
    relevelled,
    seen_at,
    values_at,
)
from onepath.inference.batch.search import (
    STEP,
    Descent,
    Roles,
    Same,
    begun,
    moved,
    same_noise,
    same_of,
    settled,
    settled_at,
    settling,
    tried,
)
from onepath.inference.batch.stack import Stack, Units, graph_of, stacked, units_of
from onepath.inference.completion.loop import CONVERGED, RUNNING
from onepath.inference.disturbance.clustered import CLEARLY
from onepath.inference.learning.prior import ParameterPrior, parameter_prior
from onepath.inference.learning.restart import CHANCE
from onepath.inference.learning.search import MOST_EVALUATIONS, ROUNDS, TOLERANCE, USUAL, learned_mask
from onepath.inference.posterior.evaluate import PREDICTIVE_DRAWS
from onepath.numerics.arrays import Flags, Floats, Integers
from onepath.numerics.cache import jax_cache
from onepath.numerics.compiled import quick_options
from onepath.numerics.precision import in_double

CELLS = 256
"""That transitions are merged into."""

SEARCHED, ANSWERED = (26, 58), 58
"""Room for points of a smooth term while θ is learned, where it is not enough the next; and for the answer.

With six more for a drift's other terms, a function has 32 or 64 features.
"""

TURNS, NEWTONS = 6, 6
"""Evaluations after which series that are done leave their chunk; and Newton's last steps."""

FINEST = 1e-5
"""Tolerance of the features in the answer."""

CHUNK, TOGETHER = 2048, 16384
"""Series of one program, and series that wait for it in the memory of the host."""

LONGEST = 4096
"""Transitions of a series."""

LEVEL, QUADRATURE = 0.9, 12
"""Of bands; nodes of the average over a diffusion's posterior."""

ROOM, WAVES, FORGETS, LEFT, CLUSTERS = (
    "its functions need more points than a batch has room for",
    "what its fit leaves over has waves, and a second search may find a better one",
    "its steps are so long that the state is forgotten",
    "its completion did not converge in the batch",
    "the sizes of its residuals cluster in time",
)
"""Why a series is left to a fit of its own."""


class Answers(NamedTuple):
    """Of each series what was found, in the data's units; and why it is left to a fit of its own, where it is."""

    why: list[str]
    law: list[str]
    drift: Values  # (series, points)
    diffusion: Values
    score: Floats  # mean log density of its own transitions
    evidence: Floats
    constant_noise: Floats
    unexplained: Floats  # λ, in squared units of the data
    evaluations: Integers


class Sought(NamedTuple):
    """A search under way: points for the features and how many, and where it stands."""

    graph: Graph
    rank: Array
    enough: Array
    descent: Descent


class Best(NamedTuple):
    """What a search has found, and the hypothesis of constant noise beside it."""

    theta: Array
    value: Array
    curvature: Array
    same: Same
    evaluations: Array


class Engine:
    """The programs for one link, each of one series under `vmap`, and what is made of them for a chunk."""

    def __init__(self, link: str, platform: str) -> None:
        _each = partial(_program, quick_options() if platform == "cpu" else None)
        x = np.linspace(0.0, 1.0, 12)[:, None]
        some = Transitions(x[:-1], np.diff(x, axis=0), np.ones(11))
        self.template: Graph = build_graph(GraphOptions(link=link), some, units_of_one(some, common=False))
        mask: Mask = learned_mask(self.template, ())
        parameters: tuple[Parameter, ...] = parameters_of(self.template.parameters, mask)
        self.prior: ParameterPrior = parameter_prior(parameters, np.asarray(pack(self.template.parameters, mask)))
        self.own, self.roles, self.parameters = Judge(mask, self.prior), Roles.of(parameters), parameters
        self.normals = _normals(self.template.functions)
        free, bounds = self.roles.free, self.prior.bounds
        self.judge, self.nowhere, self.begun = map(_each, (self.own, nowhere, begun))
        self.prepare, self.complete = map(_each, (self._prepared, self._completed))
        self.based = {room: _each(partial(self._based, room)) for room in SEARCHED}
        self.tried, self.moved = _each(partial(tried, bounds=bounds)), _each(partial(moved, bounds=bounds))
        self.settling, self.settled = _each(settling), _each(settled)
        self.next, self.next_free = (_each(partial(settled_at, bounds=each)) for each in (bounds, bounds[free]))
        self.same_noise = _each(partial(same_noise, prior=self.prior, roles=self.roles))
        self.same_of = _each(partial(same_of, prior=self.prior, roles=self.roles))
        self.answer = {law.name: _each(partial(self._answered, law)) for law in (EULER, LINEARISED)}

    # of one series

    def _prepared(self, stack: Stack) -> tuple[Units, Graph, Cells, Cells]:
        units = units_of(stack)
        cells = cells_of(stack, units, CELLS)
        return units, graph_of(self.template, stack, units), cells, coarser(cells, USUAL.cells[1])

    def _based(self, room: int, graph: Graph, cells: Cells, theta: Array) -> Chosen:
        return with_bases(graph_at(graph, self.own.mask, theta), cells, TOLERANCE, room)

    def _completed(self, graph: Graph, cells: Cells, theta: Array) -> First:
        return first_of(self.own, graph, cells, theta, FINEST, ANSWERED)

    def _answered(
        self, law: Law, stack: Stack, units: Units, cells: Cells, first: First, best: Best, points: Array
    ) -> dict[str, Any]:
        own, same = self.own, best.same
        if law != EULER:
            first = by_law(law, own, first, cells, best.theta)
            same = relevelled(own, first, cells, same, self.parameters, USUAL.cells[1])
        posterior = posterior_of(own, first, cells, (best.theta, best.curvature), same)
        u, x = ((each - units.location) / units.scale for each in (points, stack.x))
        seen, count = seen_at(posterior, first.graph, own.mask, jnp.concatenate([u, x])[:, None]), len(u)
        drift, diffusion = values_at(posterior, first.graph, seen.at(slice(count)), LEVEL, QUADRATURE)
        y, dt, normals = stack.y / units.scale, stack.dt / units.time, jnp.asarray(self.normals)
        steps = of_steps(posterior, first.graph, seen.at(slice(count, None)), x[:, None], y, dt, normals)
        total = jnp.sum(stack.weight)
        rate, root = units.scale / units.time, units.scale / jnp.sqrt(units.time)
        return {
            "drift": Values(*(rate * part for part in drift)),
            "diffusion": Values(*(root * part for part in diffusion)),
            "score": jnp.sum(stack.weight * steps.densities) / total - jnp.log(units.scale),
            "evidence": posterior.evidence - total * jnp.log(units.scale),
            "constant_noise": posterior.mass[-1],
            "unexplained": first.graph.noise * first.graph.noise_unit[0] * jnp.square(units.scale),
            "clustering": clustering(steps.white, stack.weight, stack.since),
            "sound": posterior.converged & (first.code == CONVERGED),
        }

    # of a chunk

    def begin(self, room: int, graph: Graph, cells: Cells) -> Sought:
        """Judged at the prior's mean."""
        theta = jnp.tile(self.prior.mean, (len(cells.weight), 1))
        chosen = self.based[room](graph, cells, theta)
        problem = Problem(chosen.graph, cells)
        return Sought(
            chosen.graph,
            chosen.rank,
            chosen.enough,
            self.begun(theta, self.judge(problem, theta, self.nowhere(problem))),
        )

    def go_on(self, cells: Cells, sought: Sought) -> Sought:
        """Some turns of the search."""
        problem, state = Problem(sought.graph, cells), sought.descent
        for _ in range(TURNS):
            theta = self.tried(state)
            state = self.moved(state, theta, self.judge(problem, theta, state.judged.place))
        return sought._replace(descent=state)

    def again(self, cells: Cells, chosen: Chosen, before: Descent) -> Sought:
        """From where a search with other points for the features has ended."""
        judged = self.judge(Problem(chosen.graph, cells), before.theta, before.judged.place)
        found = self.begun(before.theta, judged)
        return Sought(chosen.graph, chosen.rank, chosen.enough, found._replace(evaluations=before.evaluations + 1))

    def settle(self, cells: Cells, sought: Sought) -> Best:
        """Newton's last steps, and the same for constant noise."""
        problem, at = Problem(sought.graph, cells), sought.descent
        moves = STEP * np.eye(len(self.prior.mean))
        slopes = [self.judge(problem, at.theta + move, at.judged.place).slope for move in moves]
        state = self.settling(at.theta, at.judged, jnp.stack(slopes, axis=1))
        for _ in range(NEWTONS):
            theta = self.next(state)
            state = self.settled(state, theta, self.judge(problem, theta, state.judged.place))
        whole, free = self.same_noise(state.theta), self.roles.free

        def restricted(theta: Array, near: Judged) -> Judged:
            judged = self.judge(problem, whole.at[:, free].set(theta), near.place)
            return judged._replace(slope=judged.slope[:, free])

        begin = whole[:, free]
        judged = restricted(begin, state.judged)
        slopes = [restricted(begin + move, judged).slope for move in STEP * np.eye(len(free))]
        alike = self.settling(begin, judged, jnp.stack(slopes, axis=1))
        for _ in range(NEWTONS):
            theta = self.next_free(alike)
            alike = self.settled(alike, theta, restricted(theta, alike.judged))
        return Best(state.theta, state.judged.value, state.curvature, self.same_of(alike, state), at.evaluations)


def _program(options: dict[str, Any] | None, program: Callable[..., Any]) -> Callable[..., Any]:
    """For a chunk of series at once."""
    return jax.jit(jax.vmap(program), compiler_options=options)


@cache
def engine_of(link: str, platform: str) -> Engine:
    return Engine(link, platform)


def _normals(functions: int) -> Floats:
    """Standard normal numbers of the average in a predictive density, as `evaluate.predictive` has them."""
    from scipy.stats import qmc

    return np.asarray(ndtri(qmc.Sobol(functions, scramble=True, rng=0).random(PREDICTIVE_DRAWS)))


@in_double
def fit_batch(
    series: Sequence[Transitions],
    since: Sequence[Floats],
    points: Floats,
    link: str = "softplus",
    device: Any = None,
    chunk: int = CHUNK,
) -> Answers:
    """Drift and diffusion of each series at its own points (series, points), on one of JAX's devices."""
    device = jax.devices()[0] if device is None else device
    engine, parts = engine_of(link, device.platform), []
    with jax.default_device(device), jax_cache():
        for begin in range(0, len(series), TOGETHER):
            some = slice(begin, begin + TOGETHER)
            parts.append(_fitted(engine, series[some], since[some], points[some], chunk))
    return parts[0] if len(parts) == 1 else _joined(parts)


def _joined(parts: list[Answers]) -> Answers:
    def one(*values: Any) -> Any:
        if isinstance(values[0], list):
            return [each for part in values for each in part]
        if isinstance(values[0], Values):
            return Values(*(np.concatenate(each) for each in zip(*values, strict=True)))
        return np.concatenate(values)

    return Answers(*(one(*values) for values in zip(*parts, strict=True)))


def _in_chunks(program: Callable[..., Any], chunk: int, *trees: Any) -> Any:
    """What a program gives for all rows of trees, chunk by chunk, the last one padded; as NumPy arrays."""
    leaves, structure = jax.tree.flatten(trees)
    count, found = len(leaves[0]), []
    for begin in range(0, count, chunk):
        rows = np.minimum(np.arange(begin, begin + chunk), count - 1)
        part = jax.device_put(jax.tree.unflatten(structure, [leaf[rows] for leaf in leaves]))
        found.append(jax.tree.map(np.asarray, program(*part)))
    joined = found[0] if len(found) == 1 else jax.tree.map(lambda *each: np.concatenate(each), *found)
    return jax.tree.map(lambda leaf: leaf[:count], joined)


def _rows(tree: Any, which: Integers) -> Any:
    return jax.tree.map(lambda leaf: leaf[which], tree)


def _into(tree: Any, which: Integers, part: Any) -> None:
    """Put rows where they belong."""
    for leaf, new in zip(jax.tree.leaves(tree), jax.tree.leaves(part), strict=True):
        leaf[which] = new


def _fitted(
    engine: Engine, series: Sequence[Transitions], since: Sequence[Floats], points: Floats, chunk: int
) -> Answers:
    count = len(series)
    length = 1 << (max(map(len, series)) - 1).bit_length()
    stack = stacked(series, since, max(length, 2 * CELLS))
    units, graph, cells, coarse = _in_chunks(engine.prepare, chunk, stack)
    best, enough = _learned(engine, graph, coarse, chunk)
    first: First = _in_chunks(engine.complete, chunk, graph, cells, best.theta)
    why = np.full(count, "", object)
    _doubt(why, ~(enough & first.enough), ROOM)
    _doubt(why, (first.code != CONVERGED) | ~np.isfinite(best.value), LEFT)
    _doubt(why, first.waves < np.log(CHANCE), WAVES)
    _doubt(why, ~(first.change < FORGOTTEN), FORGETS)
    law = np.where(first.shift <= ADEQUATE, EULER.name, LINEARISED.name).astype(object)
    nothing = np.full(points.shape, np.nan)
    answers = {name: np.full(count, np.nan) for name in ("score", "evidence", "constant_noise", "unexplained")}
    drift, diffusion = (Values(*(nothing.copy() for _ in range(3))) for _ in range(2))
    for name, program in engine.answer.items():
        which = np.flatnonzero((law == name) & (why == ""))
        if len(which) == 0:
            continue
        given = (*_rows((stack, units, cells, first, best), which), points[which])
        told = _in_chunks(program, chunk, *given)
        sound, clusters = np.zeros(count, bool), np.zeros(count, bool)
        sound[which], clusters[which] = told["sound"], told["clustering"] > CLEARLY
        among = np.isin(np.arange(count), which)
        _doubt(why, among & ~sound, LEFT)
        _doubt(why, among & clusters, CLUSTERS)
        _into((drift, diffusion), which, (told["drift"], told["diffusion"]))
        for key, values in answers.items():
            values[which] = told[key]
    return Answers(why.tolist(), law.tolist(), drift, diffusion, **answers, evaluations=np.asarray(best.evaluations))


def _doubt(why: Any, which: Any, reason: str) -> None:
    """The first reason stands."""
    why[np.asarray(which) & (why == "")] = reason


def _learned(engine: Engine, graph: Graph, cells: Cells, chunk: int) -> tuple[Best, Flags]:
    """What searches have found, and whether there was room for their points; with more room where there was not."""
    best, enough, which = None, np.zeros(len(cells.weight), bool), np.arange(len(cells.weight))
    for room in SEARCHED:
        own = _rows((graph, cells), which)
        sought = _searched(engine, room, own[0], own[1], chunk)
        found: Best = _in_chunks(engine.settle, chunk, own[1], sought)
        if best is None:
            best = _own(found)
        else:
            _into(best, which, found)
        enough[which] = sought.enough
        which = which[~np.asarray(sought.enough)]
        if len(which) == 0:
            break
    assert best is not None
    return best, enough


def _searched(engine: Engine, room: int, graph: Graph, cells: Cells, chunk: int) -> Sought:
    """Every search to its end, and again while what it has learned needs more points for the features."""
    sought: Sought = _own(_in_chunks(partial(engine.begin, room), chunk, graph, cells))
    which = np.arange(len(sought.rank))
    for _ in range(ROUNDS):
        _descend(engine, cells, sought, which, chunk)
        chosen: Chosen = _in_chunks(engine.based[room], chunk, graph, cells, sought.descent.theta)
        which = np.flatnonzero(chosen.rank > sought.rank)
        if len(which) == 0:
            break
        _into(sought, which, _in_chunks(engine.again, chunk, *_rows((cells, chosen, sought.descent), which)))
    else:
        _descend(engine, cells, sought, which, chunk)
    return sought


def _descend(engine: Engine, cells: Cells, sought: Sought, which: Integers, chunk: int) -> None:
    """In place; what has ended leaves its chunk."""
    while len(which):
        _into(sought, which, _in_chunks(engine.go_on, chunk, *_rows((cells, sought), which)))
        state = sought.descent
        which = which[(state.code[which] == RUNNING) & (state.evaluations[which] < MOST_EVALUATIONS)]


def _own(tree: Any) -> Any:
    """Arrays that may be written to."""
    return jax.tree.map(np.array, tree)
