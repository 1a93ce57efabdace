"""Many series of one dimension, from transitions to drift and diffusion with bands, as a few programs.

All trees of arrays stay on the device, with as many rows as fill chunks. Between programs the host sees some numbers
of each series, so that those which are not done yet, need more points or go on by another law, come together in chunks
of their own. Rows that fill a chunk repeat its last series, and where a chunk is put back as a whole they do no harm.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from onepath.data.cells import Cells
from onepath.data.transitions import Transitions
from onepath.graph.graph import Graph
from onepath.graph.laws import EULER, LINEARISED
from onepath.inference.adequacy import ADEQUATE, FORGOTTEN
from onepath.inference.batch.bases import Chosen
from onepath.inference.batch.engine import ANSWERED, CELLS, SEARCHED, Best, Engine, Sought, engine_of
from onepath.inference.batch.equations import Beside
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
"""Series of one program, at most and at least, and those that are on the device together."""

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
    beside: Any  # what gives the equations of each that is answered for: making all of them takes long


@in_double
def fit_batch(
    series: Sequence[Transitions],
    since: Sequence[Floats],
    points: Floats,
    link: str = "softplus",
    equations: bool = True,
    device: Any = None,
    chunk: int = CHUNK,
) -> Answers:
    """Drift and diffusion of each series at its own points (series, points), on one of JAX's devices."""
    device = jax.devices()[0] if device is None else device
    chunk = min(chunk, max(LEAST, 1 << (len(series) - 1).bit_length()))
    engine, parts = engine_of(link, equations, device.platform), []
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


@jax.jit
def _gathered(tree: Any, rows: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[rows], tree)


@partial(jax.jit, donate_argnums=0)
def _scattered(tree: Any, rows: Any, part: Any) -> Any:
    return jax.tree.map(lambda leaf, new: leaf.at[rows].set(new), tree, part)


def _filled(which: Integers, chunk: int) -> Integers:
    """These rows, and the last of them again and again until chunks are full."""
    return np.pad(which, (0, -len(which) % chunk), mode="edge")


def _chunks(which: Integers, chunk: int) -> list[Integers]:
    """Rows of each chunk."""
    return list(_filled(which, chunk).reshape(-1, chunk)) if len(which) else []


def _in_chunks(program: Callable[..., Any], chunk: int, *trees: Any) -> Any:
    """What a program gives for all rows of trees, chunk by chunk."""
    rows = np.arange(len(jax.tree.leaves(trees)[0]))
    found = [program(*_gathered(trees, some)) for some in _chunks(rows, chunk)]
    return found[0] if len(found) == 1 else jax.tree.map(lambda *each: jnp.concatenate(each), *found)


def _first_of(tree: Any, count: int) -> Any:
    """The first rows, in the memory of the host."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:count], tree)


def _fitted(
    engine: Engine, series: Sequence[Transitions], since: Sequence[Floats], points: Floats, chunk: int
) -> Answers:
    count = len(series)
    length = 1 << (max(map(len, series)) - 1).bit_length()
    rows = _filled(np.arange(count), chunk)
    stack = jax.tree.map(lambda leaf: jnp.asarray(leaf[rows]), stacked(series, since, max(length, 2 * CELLS)))
    units, graph, cells, coarse = _in_chunks(engine.prepare, chunk, stack)
    best = _learned(engine, graph, coarse, count, chunk)
    answers = _nothing(count, points.shape[1], np.asarray(best.evaluations)[:count])
    which = np.flatnonzero(np.isfinite(np.asarray(best.value)[:count]))
    for room in ANSWERED:
        if len(which) == 0:
            break
        own = _gathered((graph, cells, best.theta), _filled(which, chunk))
        first: First = _in_chunks(engine.complete[room], chunk, *own)
        there = np.flatnonzero(np.asarray(first.enough)[: len(which)])
        _answer(engine, chunk, answers, (which[there], there), points, first, (stack, units, cells, best))
        which = np.delete(which, there)
    return answers


def _one_of(tree: Any, place: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[place], tree)


def _nothing(count: int, points: int, evaluations: Any) -> Answers:
    """What is said of series of which nothing is known yet: that there was no room for them."""
    drift, diffusion = (Values(*np.full((3, count, points), np.nan)) for _ in range(2))
    score, evidence, constant, unexplained = np.full((4, count), np.nan)
    why, law = np.full(count, ROOM, object), np.full(count, "", object)
    beside = np.full(count, None, object)
    return Answers(why, law, drift, diffusion, score, evidence, constant, unexplained, np.asarray(evaluations), beside)


def _answer(
    engine: Engine,
    chunk: int,
    answers: Answers,
    places: tuple[Integers, Integers],
    points: Floats,
    first: First,
    parts: tuple[Any, ...],
) -> None:
    """In place, for series that are completed under Euler's law, by the law that will do.

    `places` are their rows in all else, and in what was completed.
    """
    which, there = places
    shift, code, waves, change = (
        np.asarray(part)[there] for part in (first.shift, first.code, first.waves, first.change)
    )
    law = np.where(shift <= ADEQUATE, EULER.name, LINEARISED.name).astype(object)
    why = np.full(len(which), "", object)
    _doubt(why, code != CONVERGED, LEFT)
    _doubt(why, waves < np.log(CHANCE), WAVES)
    _doubt(why, ~(change < FORGOTTEN), FORGETS)
    for name, program in engine.answer.items():
        some = np.flatnonzero((law == name) & (why == ""))
        if len(some) == 0:
            continue
        here = _filled(which[some], chunk)
        stack, units, cells, best = _gathered(parts, here)
        own = _gathered(first, _filled(there[some], chunk))
        found = _in_chunks(program, chunk, stack, units, cells, own, best, jnp.asarray(points[here]))
        told = _first_of(found, len(some))
        reasons = np.full(len(some), "", object)
        _doubt(reasons, ~told.pop("sound"), LEFT)
        _doubt(reasons, told.pop("clustering") > CLEARLY, CLUSTERS)
        why[some] = reasons
        together: Beside = told.pop("beside")
        answers.beside[which[some]] = [partial(_one_of, together, place) for place in range(len(some))]
        for key, values in told.items():
            for whole, part in zip(jax.tree.leaves(getattr(answers, key)), jax.tree.leaves(values), strict=True):
                whole[which[some]] = part
    answers.why[which], answers.law[which] = why, law


def _doubt(why: Any, which: Any, reason: str) -> None:
    """The first reason stands."""
    why[np.asarray(which) & (why == "")] = reason


def _learned(engine: Engine, graph: Graph, cells: Cells, count: int, chunk: int) -> Best:
    """What searches have found, with more room where their points need it; NaN where there is too little."""
    best, which = None, np.arange(count)
    for room in SEARCHED:
        if len(which) == 0:
            break
        graphs, own = (graph, cells) if best is None else _gathered((graph, cells), _filled(which, chunk))
        sought = _searched(engine, room, graphs, own, len(which), chunk)
        found: Best = _in_chunks(engine.settle, chunk, own, sought)
        found = found._replace(value=jnp.where(sought.enough, found.value, jnp.nan))
        # rows that fill a chunk were begun and not searched on
        best = found if best is None else _scattered(best, which, _gathered(found, np.arange(len(which))))
        which = which[~np.asarray(sought.enough)[: len(which)]]
    assert best is not None
    return best


def _searched(engine: Engine, room: int, graph: Graph, cells: Cells, count: int, chunk: int) -> Sought:
    """Every search to its end, and again while what it has learned needs more points for the features."""
    sought: Sought = _in_chunks(partial(engine.begin, room), chunk, graph, cells)
    which = np.arange(count)
    for _ in range(ROUNDS):
        sought = _descended(engine, cells, sought, which, chunk)
        chosen: Chosen = _in_chunks(engine.based[room], chunk, graph, cells, sought.descent.theta)
        which = np.flatnonzero((np.asarray(chosen.rank) > np.asarray(sought.rank))[:count])
        if len(which) == 0:
            break
        for rows in _chunks(which, chunk):
            sought = _scattered(sought, rows, engine.again(*_gathered((cells, chosen, sought.descent), rows)))
    else:
        sought = _descended(engine, cells, sought, which, chunk)
    return sought


def _descended(engine: Engine, cells: Cells, sought: Sought, which: Integers, chunk: int) -> Sought:
    """What has ended leaves its chunk."""
    while len(which):
        for rows in _chunks(which, chunk):
            sought = _scattered(sought, rows, engine.go_on(*_gathered((cells, sought), rows)))
        code, evaluations = np.asarray(sought.descent.code)[which], np.asarray(sought.descent.evaluations)[which]
        which = which[(code == RUNNING) & (evaluations < MOST_EVALUATIONS)]
    return sought
