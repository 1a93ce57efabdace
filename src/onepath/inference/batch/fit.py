"""Many series of one dimension, from transitions to drift and diffusion with bands, as a few programs.

Between programs series are in the memory of the host, so that those which are not done yet, need more points or go on
by another law, come together in chunks of their own.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from onepath.data.cells import Cells
from onepath.data.transitions import Transitions
from onepath.graph.graph import Graph
from onepath.graph.laws import EULER, LINEARISED
from onepath.inference.adequacy import ADEQUATE, FORGOTTEN
from onepath.inference.batch.bases import Chosen
from onepath.inference.batch.engine import ANSWERED, CELLS, SEARCHED, Best, Engine, Sought, engine_of
from onepath.inference.batch.posterior import First, Values
from onepath.inference.batch.stack import stacked
from onepath.inference.completion.loop import CONVERGED, RUNNING
from onepath.inference.disturbance.clustered import CLEARLY
from onepath.inference.learning.restart import CHANCE
from onepath.inference.learning.search import MOST_EVALUATIONS, ROUNDS
from onepath.numerics.arrays import Floats, Integers
from onepath.numerics.cache import jax_cache
from onepath.numerics.precision import in_double

CHUNK, LEAST, TOGETHER = 2048, 16, 16384
"""Series of one program, at most and at least, and those that wait for it in the memory of the host."""

LONGEST = 4096
"""Transitions of a series."""

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

    why: Any
    law: Any
    drift: Values  # (series, points)
    diffusion: Values
    score: Floats  # mean log density of its own transitions
    evidence: Floats
    constant_noise: Floats
    unexplained: Floats  # λ, in squared units of the data
    evaluations: Integers


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
    chunk = min(chunk, max(LEAST, 1 << (len(series) - 1).bit_length()))
    engine, parts = engine_of(link, device.platform), []
    with jax.default_device(device), jax_cache():
        for begin in range(0, len(series), TOGETHER):
            some = slice(begin, begin + TOGETHER)
            parts.append(_fitted(engine, series[some], since[some], points[some], chunk))
    return parts[0] if len(parts) == 1 else _joined(parts)


def _joined(parts: list[Answers]) -> Answers:
    def one(*values: Any) -> Any:
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


def _rows(tree: Any, which: Any) -> Any:
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
    best = _learned(engine, graph, coarse, chunk)
    answers = _nothing(count, points.shape[1], best.evaluations)
    which = np.flatnonzero(np.isfinite(best.value))
    for room in ANSWERED:
        if len(which) == 0:
            break
        own = _rows((graph, cells, best.theta), which)
        first: First = _in_chunks(engine.complete[room], chunk, *own)
        there = np.asarray(first.enough)
        _answer(engine, chunk, answers, which[there], points, _rows(first, there), (stack, units, cells, best))
        which = which[~there]
    return answers


def _nothing(count: int, points: int, evaluations: Any) -> Answers:
    """What is said of series of which nothing is known yet: that there was no room for them."""
    drift, diffusion = (Values(*np.full((3, count, points), np.nan)) for _ in range(2))
    score, evidence, constant, unexplained = np.full((4, count), np.nan)
    why, law = np.full(count, ROOM, object), np.full(count, "", object)
    return Answers(why, law, drift, diffusion, score, evidence, constant, unexplained, np.asarray(evaluations))


def _answer(
    engine: Engine, chunk: int, answers: Answers, which: Integers, points: Floats, first: First, parts: tuple[Any, ...]
) -> None:
    """In place, for series that are completed under Euler's law: by the law that will do."""
    stack, units, cells, best = _rows(parts, which)
    law = np.where(first.shift <= ADEQUATE, EULER.name, LINEARISED.name).astype(object)
    why = np.full(len(which), "", object)
    _doubt(why, first.code != CONVERGED, LEFT)
    _doubt(why, first.waves < np.log(CHANCE), WAVES)
    _doubt(why, ~(first.change < FORGOTTEN), FORGETS)
    for name, program in engine.answer.items():
        some = np.flatnonzero((law == name) & (why == ""))
        if len(some) == 0:
            continue
        told = _in_chunks(program, chunk, *_rows((stack, units, cells, first, best, points[which]), some))
        reasons = np.full(len(some), "", object)
        _doubt(reasons, ~told.pop("sound"), LEFT)
        _doubt(reasons, told.pop("clustering") > CLEARLY, CLUSTERS)
        why[some] = reasons
        for key, values in told.items():
            _into(getattr(answers, key), which[some], values)
    answers.why[which], answers.law[which] = why, law


def _doubt(why: Any, which: Any, reason: str) -> None:
    """The first reason stands."""
    why[np.asarray(which) & (why == "")] = reason


def _learned(engine: Engine, graph: Graph, cells: Cells, chunk: int) -> Best:
    """What searches have found, with more room where their points need it; NaN where there is too little."""
    best, which = None, np.arange(len(cells.weight))
    for room in SEARCHED:
        if len(which) == 0:
            break
        own = _rows((graph, cells), which)
        sought = _searched(engine, room, own[0], own[1], chunk)
        found: Best = _own(_in_chunks(engine.settle, chunk, own[1], sought))
        found.value[~sought.enough] = np.nan
        best = found if best is None else best
        _into(best, which, found)
        which = which[~np.asarray(sought.enough)]
    assert best is not None
    return best


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
