"""The graph as a picture that a reader of the paper recognises, and as a map from functions to a Gaussian."""

import xml.etree.ElementTree as ElementTree

import jax.numpy as jnp
import numpy as np
import pytest

from onepath import SDE
from onepath.graph import LINKS, diffusion_entries
from onepath.processes import PROCESSES

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
