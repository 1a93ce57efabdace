"""The programs of a batch: each knows one series and runs under `vmap`; and what is made of them for a chunk."""

from collections.abc import Callable
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
from onepath.inference.batch.bases import Chosen, with_bases
from onepath.inference.batch.cells import cells_of, coarser
from onepath.inference.batch.doubts import clustering
from onepath.inference.batch.equations import Asked, Beside, formulas_of
from onepath.inference.batch.evidence import Judge, Judged, Problem, nowhere
from onepath.inference.batch.posterior import (
    First,
    Values,
    by_law,
    first_of,
    mixture_of,
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
from onepath.inference.batch.stack import Stack, Units, graph_of, units_of
from onepath.inference.completion.loop import CONVERGED
from onepath.inference.learning.prior import ParameterPrior, parameter_prior
from onepath.inference.learning.search import TOLERANCE, USUAL, learned_mask
from onepath.inference.posterior.evaluate import PREDICTIVE_DRAWS
from onepath.numerics.arrays import Floats
from onepath.numerics.compiled import quick_options

CELLS = 256
"""That transitions are merged into."""

SEARCHED, ANSWERED = (26, 42), (42, 58)
"""Room for points of a smooth term, and where it is not enough the next: while θ is learned, and for the answer.

A drift has six more for its other terms: in all a function has 32, 48 or 64 features.
"""

TURNS, NEWTONS = 6, 6
"""Evaluations after which series that are done leave their chunk; and Newton's last steps."""

FINEST = 1e-5
"""Tolerance of the features in the answer."""

LEVEL, QUADRATURE = 0.9, 12
"""Of bands; nodes of the average over a diffusion's posterior."""


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
    """The programs for one link and with equations or without, each of one series under `vmap`, and chunks by them."""

    def __init__(self, link: str, equations: bool, platform: str) -> None:
        self.equations = equations
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
        self.prepare = _each(self._prepared)
        self.based = {room: _each(partial(self._based, room)) for room in SEARCHED}
        self.complete = {room: _each(partial(self._completed, room)) for room in ANSWERED}
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

    def _completed(self, room: int, graph: Graph, cells: Cells, theta: Array) -> First:
        return first_of(self.own, graph, cells, theta, FINEST, room)

    def _answered(
        self, law: Law, stack: Stack, units: Units, cells: Cells, first: First, best: Best, points: Array
    ) -> dict[str, Any]:
        own = self.own
        first = first if law == EULER else by_law(law, own, first, cells, best.theta)
        same = relevelled(own, first, cells, best.same, self.parameters, USUAL.cells[1])
        posterior = posterior_of(own, first, cells, (best.theta, best.curvature), same)
        constant, formulas = posterior.mass[-1], None
        if self.equations:
            asked = Asked.of(own, first, cells, (best.theta, best.curvature))
            formulas = formulas_of(own, self.parameters, asked, units, constant)
            constant = formulas.constant_noise(constant, jnp)
        u, x = ((each[:, None] - units.location) / units.scale for each in (points, stack.x))
        seen, count = seen_at(posterior, first.graph, own.mask, jnp.concatenate([u, x])), len(u)
        mixture = mixture_of(posterior, seen.at(slice(count)), u, formulas)
        drift, diffusion = values_at(mixture, first.graph, LEVEL, QUADRATURE)
        moves, normals = (x, stack.y / units.scale, stack.dt / units.time), jnp.asarray(self.normals)
        steps = of_steps(posterior, first.graph, seen.at(slice(count, None)), moves, normals, formulas)
        total, level = jnp.sum(stack.weight), first.graph.entries(seen.means[-1, :1, 1:, 0])[0, 0]
        rate, root = units.scale / units.time, units.scale / jnp.sqrt(units.time)
        return {
            "drift": Values(*(rate * part for part in drift)),
            "diffusion": Values(*(root * part for part in diffusion)),
            "score": jnp.sum(stack.weight * steps.densities) / total - jnp.log(units.scale),
            "evidence": posterior.evidence - total * jnp.log(units.scale),
            "constant_noise": constant,
            "unexplained": first.graph.noise * first.graph.noise_unit[0] * jnp.square(units.scale),
            "clustering": clustering(steps.white, stack.weight, stack.since),
            "beside": Beside(
                formulas, rate, jnp.square(root * first.graph.unit[0]), posterior.mass[-1], jnp.square(root * level)
            ),
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
def engine_of(link: str, equations: bool, platform: str) -> Engine:
    return Engine(link, equations, platform)


def _normals(functions: int) -> Floats:
    """Standard normal numbers of the average in a predictive density, as `evaluate.predictive` has them."""
    from scipy.stats import qmc

    return np.asarray(ndtri(qmc.Sobol(functions, scramble=True, rng=0).random(PREDICTIVE_DRAWS)))
