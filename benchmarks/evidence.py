"""The slope of the evidence that is written out against automatic differentiation: every structure, link and law.

    python benchmarks/evidence.py [--jobs 2]

Compiling is all of the cost: two dimensions under the linearised law take a minute each.
"""

import argparse
import itertools
import os
from concurrent.futures import ProcessPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np

from onepath.compare.processes import PROCESSES
from onepath.data.cells import Cells, cells_of
from onepath.data.trajectory import read_trajectory
from onepath.data.transitions import transitions_of, units_of
from onepath.gp.parameters import learnable, pack
from onepath.graph.default import GraphOptions, build_graph
from onepath.graph.graph import NOISES
from onepath.graph.laws import LAWS
from onepath.graph.links import LINKS
from onepath.inference.completion import SOLVERS, initial_weights, objective_of
from onepath.inference.learning.criterion import graph_at
from onepath.inference.learning.evidence import judge_evidence

HASTY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
CASES = [
    (name, noise, law, link)
    for name, noises in (("double_well", ("diagonal",)), ("spiral", NOISES))
    for noise, law, link in itertools.product(noises, LAWS, LINKS)
]


def once(function, *args):
    return jax.jit(function).lower(*args).compile(compiler_options=HASTY)(*args)


def compare(case):
    """Relative differences of the value and of its slope."""
    with jax.enable_x64(True):
        return _compare(*case)


def _compare(name, noise, law, link):
    process = PROCESSES[name]
    transitions = transitions_of(read_trajectory(process.simulate(120, random_state=3)[0], dt=process.dt))
    units = units_of(transitions, common=False)
    graph = build_graph(GraphOptions(noise=noise, link=link), transitions, units).with_law(LAWS[law])
    cells = Cells(*map(jnp.asarray, cells_of(transitions.rows(slice(40)), units, 16)))
    graph = graph.with_bases(cells, 1e-3, 4)
    mask = learnable(graph.parameters)
    theta = pack(graph.parameters, mask)
    theta = theta + 0.3 * jnp.asarray(np.random.default_rng(5).standard_normal(len(theta)))
    start = once(lambda: initial_weights(objective_of(graph, cells)))
    written = once(
        lambda theta, start: judge_evidence.__wrapped__(theta, graph, mask, cells, SOLVERS["fisher"], start),
        theta,
        start,
    )

    def plain(theta, weights):
        objective = objective_of(graph_at(graph, mask, theta), cells)
        hessian = jax.lax.stop_gradient(objective.hessian(weights))
        newton = jnp.linalg.solve(hessian, objective.gradient(weights).ravel()).reshape(weights.shape)
        weights = weights - (newton - jax.lax.stop_gradient(newton))
        return objective.loss(weights) + 0.5 * jnp.linalg.slogdet(objective.fisher(weights))[1]

    assert written.completion.outcome.startswith("converged")
    value, slope = once(jax.value_and_grad(plain), theta, written.completion.weights)
    return float(abs(written.value / value - 1)), float(np.abs(written.slope - slope).max() / np.abs(slope).max())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    worst = 0.0
    with ProcessPoolExecutor(parser.parse_args().jobs) as pool:
        for case, (value, slope) in zip(CASES, pool.map(compare, CASES), strict=True):
            print(f"{' '.join(case):44} value {value:.1e}  slope {slope:.1e}", flush=True)
            worst = max(worst, value, slope)
    print(f"{len(CASES)} cases, largest relative difference {worst:.1e}")
