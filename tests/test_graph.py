"""The graph as a picture that a reader of the paper recognises, and as a map from functions to a Gaussian."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tinygp import kernels

from onepath import SDE
from onepath.compare.processes import PROCESSES
from onepath.data.cells import cells_of
from onepath.data.trajectory import read_trajectory
from onepath.data.transitions import Units, transitions_of
from onepath.gp.features import Known
from onepath.gp.kernels import stacked
from onepath.graph.default import GraphOptions, build_graph
from onepath.graph.graph import diffusion_entries
from onepath.graph.laws import LAWS
from onepath.graph.links import LINKS
from onepath.inference.completion import SOLVERS, GradientDescent, complete, initial_weights, objective_of

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def graph():
    process = PROCESSES["spiral"]
    return SDE(noise="full", learn=None).fit(process.simulate(100, random_state=0)[0], dt=process.dt).graph_


def test_it_draws_itself_as_in_the_paper(graph):
    """Squares for variables, circles where they are aggregated, red unknown functions, blue random variables."""
    root = ElementTree.fromstring(graph.draw())
    groups = {name: [g for g in root.iter(f"{SVG}g") if g.get("class") == name] for name in ("unknown", "random")}
    labels = {name: ["".join(g.itertext()) for g in found] for name, found in groups.items()}
    assert labels["unknown"] == ["f", "σ, by softplus"]
    assert labels["random"] == ["ξₙ", "εₙ"]
    assert len(list(root.iter(f"{SVG}circle"))) == 2
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert {"Xₙ", "Yₙ", "Δtₙ", "σ̄ₙ", "f̄ₙ", "f̄ₙ Δtₙ", "σ̄ₙ √Δtₙ ξₙ"} <= set(texts)
    assert graph._repr_svg_() == graph.draw()


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("link", LINKS)
def test_links_are_undone_by_their_inverses(link):
    values = jnp.asarray([1e-3, 0.5, 1.0, 7.0, 200.0])
    np.testing.assert_allclose(LINKS[link].forward(LINKS[link].inverse(values)), values, rtol=1e-10)


def test_the_unknown_entries_of_the_diffusion():
    assert [part.tolist() for part in diffusion_entries("isotropic", 3)] == [[0], [0]]
    assert [part.tolist() for part in diffusion_entries("diagonal", 2)] == [[0, 1], [0, 1]]
    assert [part.tolist() for part in diffusion_entries("full", 2)] == [[0, 1, 1], [0, 1, 0]]


def linear_graph(known=None, law="euler", noise="diagonal", reads=None):
    """A spiral of linear drift and constant noise, in the data's own units, and some of its coordinates known."""
    process = PROCESSES["spiral"]
    transitions = transitions_of(read_trajectory(process.simulate(400, random_state=3)[0], dt=process.dt))
    units = Units(np.zeros(2), np.ones(2), 1.0)
    kernel = kernels.DotProduct() + kernels.Constant(1.0)
    options = GraphOptions(kernel, kernels.Constant(1.0), noise, noise_variance=1e-8)
    graph = build_graph(options, transitions, units).with_law(LAWS[law])
    if known is not None:
        (whole,), ones = graph.drift, jnp.ones(1)
        own = replace(whole, kernel=stacked(kernel, 1), amplitude=whole.amplitude[1:])
        if reads is not None:
            own = replace(own, location=own.location[jnp.array(reads)], scale=own.scale[jnp.array(reads)], reads=reads)
        first = Known(known, ones, jnp.zeros(2), jnp.ones(2))
        graph = replace(graph, drift=(first, own))
    cells = cells_of(transitions, units, 512)
    return graph.with_bases(cells, 1e-8, 32), cells


def true_drift(x):
    return jnp.stack([-0.5 * x[0] - 2.0 * x[1]])


def completed(graph, cells, solver="fisher"):
    objective = objective_of(graph, cells)
    done = complete(objective, SOLVERS[solver].for_graph(graph), initial_weights(objective))
    assert done.outcome.startswith("converged")
    latent = objective.latent(done.weights)[:, :, 0]
    drift, _ = jax.vmap(graph.values)(latent, cells.x)
    return np.asarray(drift), objective, done


@pytest.mark.slow
@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(("law", "noise"), [("euler", "diagonal"), ("euler", "full")])
def test_a_coordinate_may_be_known(law, noise):
    """It is what it is, nothing is learned of it, and the other is learned as beside an unknown one."""
    graph, cells = linear_graph(true_drift, law, noise)
    drift, objective, done = completed(graph, cells)
    used = cells.used
    x = cells.x[used]
    np.testing.assert_allclose(drift[used, 0], -0.5 * x[:, 0] - 2.0 * x[:, 1], rtol=1e-12)
    assert graph.drifts == 1
    assert graph.unknown_coordinates.tolist() == [1]
    assert [function for group in graph.groups() for function in group.functions] == list(range(graph.functions))
    assert done.weights.shape[0] == graph.functions == 1 + len(graph.unit)
    assert np.max(np.abs(objective.gradient(done.weights))) < 1e-3
    truth = 2.0 * x[:, 0] - 0.5 * x[:, 1]
    error = np.linalg.norm(drift[used, 1] - truth) / np.linalg.norm(truth)
    assert error < 0.3
    if (law, noise) == ("euler", "diagonal"):
        # where coordinates do not touch, what is known of one says nothing of the other
        both, *_ = completed(*linear_graph(None, law, noise))
        np.testing.assert_allclose(drift[used, 1], both[used, 1], rtol=1e-6, atol=1e-6)


@pytest.mark.slow
@pytest.mark.usefixtures("double")
def test_the_papers_solvers_know_what_is_known():
    graph, cells = linear_graph(true_drift)
    wanted, *_ = completed(graph, cells)
    found, *_ = completed(graph, cells, "newton")
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    objective = objective_of(graph, cells)
    weights = objective.no_weights
    profile = GradientDescent().begin(objective, weights).place
    np.testing.assert_allclose(profile.weights, objective.with_best_drift(weights), rtol=1e-8, atol=1e-10)


@pytest.mark.slow
@pytest.mark.usefixtures("double")
def test_derivatives_with_known_coordinates_are_limits_of_differences():
    graph, cells = linear_graph(lambda x: jnp.stack([jnp.sin(x[0]) * x[1] ** 2]), "linearised")
    objective = objective_of(graph, cells)
    rng, step = np.random.default_rng(0), 1e-5
    weights = 0.3 * rng.normal(size=objective.no_weights.shape)
    direction = rng.normal(size=weights.shape)
    ends = [objective.loss(weights + k * step * direction) for k in (-2, -1, 1, 2)]
    difference = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step)
    slope = np.sum(objective.gradient(weights) * direction)
    assert slope == pytest.approx(difference, rel=1e-6)


@pytest.mark.slow
@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("law", ["linearised"])
def test_a_function_reads_what_it_says(law):
    """One that reads the second coordinate alone is the same along the first, and has no slope there."""
    graph, cells = linear_graph(true_drift, law, reads=(1,))
    drift, objective, done = completed(graph, cells)
    used = cells.used
    second = cells.x[used, 1]
    order = np.argsort(second)
    straight = np.polyval(np.polyfit(second, drift[used, 1], 1), second)
    np.testing.assert_allclose(drift[used, 1][order], straight[order], atol=1e-8)
    if objective.phi.shape[2] > 1:
        slopes = objective.latent(done.weights)[used, 0, 1:3]
        np.testing.assert_allclose(slopes[:, 0], 0.0, atol=1e-12)
        assert np.all(np.abs(slopes[:, 1]) > 1e-3)
