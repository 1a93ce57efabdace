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
from onepath.data.cells import cells_of
from onepath.data.trajectory import read_trajectory
from onepath.data.transitions import transitions_of, units_of
from onepath.gp.parameters import learnable
from onepath.graph.default import GraphOptions, build_graph
from onepath.graph.graph import NOISES, graph_at
from onepath.graph.laws import LAWS
from onepath.graph.links import LINKS
from onepath.inference.completion import SOLVERS, initial_weights
from onepath.inference.completion.objective import cell_loss, cell_rows
from onepath.inference.learning.criterion import Stage
from onepath.inference.learning.evidence import judge_evidence
from onepath.numerics.precision import in_double

HASTY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
CASES = [
    (name, noise, law, link)
    for name, noises in (("double_well", ("diagonal",)), ("spiral", NOISES))
    for noise, law, link in itertools.product(noises, LAWS, LINKS)
]


def once(function, *args):
    return jax.jit(function).lower(*args).compile(compiler_options=HASTY)(*args)


@in_double
def compare(case):
    """Relative differences of the value and of its slope."""
    name, noise, law, link = case
    process = PROCESSES[name]
    transitions = transitions_of(read_trajectory(process.simulate(120, random_state=3)[0], dt=process.dt))
    units = units_of(transitions, common=False)
    graph = build_graph(GraphOptions(noise=noise, link=link), transitions, units).with_law(LAWS[law])
    cells = cells_of(transitions.rows(slice(40)), units, 16)
    graph = graph.with_bases(cells, 1e-3, 4)
    stage = Stage.of(graph, learnable(graph.parameters), cells)
    theta = stage.source.theta
    theta = theta + 0.3 * np.random.default_rng(5).standard_normal(len(theta))
    start = initial_weights(stage.objective(stage.source.theta))
    written = judge_evidence(theta, stage, SOLVERS["fisher"], start)
    assert written.completion.outcome.startswith("converged")
    weights = graph.layout.padded(written.completion.weights)
    value, slope = once(jax.value_and_grad(lambda *at: plain(graph, cells, *at)), theta, weights)
    return float(abs(written.value / value - 1)), float(np.abs(written.slope - slope).max() / np.abs(slope).max())


def plain(graph, cells, theta, weights):
    """J(ŵ) + ½ ln det F, all in JAX, with ŵ the end of a Newton step whose value is where it began."""
    graph = graph_at(graph, learnable(graph.parameters), theta)
    phi = graph.features(jnp.asarray(cells.x), graph.order)

    def each_cell(function, weights):
        latent = jnp.einsum("cfkp,fp->cfk", phi, weights).at[:, :, 0].add(graph.offset)
        return jax.vmap(function, (None, 0, 0))(graph, latent, cells)

    def loss(flat):
        return jnp.sum(each_cell(cell_loss, flat.reshape(weights.shape))) + 0.5 * flat @ flat

    flat = weights.ravel()
    hessian = jax.lax.stop_gradient(jax.hessian(loss)(flat))
    newton = jnp.linalg.solve(hessian, jax.grad(loss)(flat))
    flat = flat - (newton - jax.lax.stop_gradient(newton))
    rows = jnp.einsum("crfk,cfkp->crfp", each_cell(cell_rows, flat.reshape(weights.shape)), phi)
    rows = rows.reshape(-1, flat.size)
    return loss(flat) + 0.5 * jnp.linalg.slogdet(jnp.eye(flat.size) + rows.T @ rows)[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    worst = 0.0
    with ProcessPoolExecutor(parser.parse_args().jobs) as pool:
        for case, (value, slope) in zip(CASES, pool.map(compare, CASES), strict=True):
            print(f"{' '.join(case):44} value {value:.1e}  slope {slope:.1e}", flush=True)
            worst = max(worst, value, slope)
    print(f"{len(CASES)} cases, largest relative difference {worst:.1e}")
