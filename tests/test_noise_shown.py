"""What is shown as noise is the standard deviation of each dX_i, in tables, figures, JSON and all that follows."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from tinygp import kernels

from onepath import SDE
from onepath.show import numbers
from onepath.show.facts import facts_of
from onepath.show.report import report_page

LOWER = np.array([[1.0, 0.0], [36.0, 2.5]])
TRUE = np.sqrt(np.square(LOWER).sum(axis=1))


@pytest.fixture(scope="module")
def correlated():
    """dX = L dW: the corner of L is 2.5 where the second coordinate moves by 36."""
    x = np.cumsum(0.1 * np.random.default_rng(0).standard_normal((1000, 2)) @ LOWER.T, axis=0)
    constant = {"drift": kernels.Constant(1e-6), "diffusion": kernels.Constant(1e4)}
    return SDE(**constant, noise="full", learn=None, transition="euler").fit(x, dt=0.01)


@pytest.fixture(scope="module")
def blurred():
    """An Ornstein–Uhlenbeck process whose noise is said to be half λ; its stationary variance is 1."""
    rng, x = np.random.default_rng(0), [0.0]
    for _ in range(2000):
        x.append(0.9 * x[-1] + np.sqrt(1 - 0.9**2) * rng.standard_normal())
    prior = {"drift": kernels.DotProduct(), "diffusion": kernels.Constant(1.0)}
    return SDE(**prior, learn=None, transition="euler", noise_variance=0.095).fit(np.asarray(x), dt=0.1)


def drawn(sde, what):
    """What the lines that are labelled as learned show, panel by panel."""
    figure = sde.plot(what)
    lines = [line for axes in figure.axes for line in axes.get_lines() if line.get_label() == "learned"]
    plt.close(figure)
    return [line.get_ydata() for line in lines], [axes.get_ylabel() for axes in figure.axes]


def test_tables_and_json_show_each_coordinates_own_noise(correlated):
    model = correlated.model_
    rows = [[row.noise.value for row in numbers.values(model) if row.name == name] for name in model.names]
    np.testing.assert_allclose(np.mean(rows, axis=1), TRUE, rtol=0.08)
    facts = facts_of(model)
    np.testing.assert_allclose(np.mean(facts["diffusion"]["mean"], axis=0), TRUE, rtol=0.08)
    np.testing.assert_allclose(np.mean(facts["sigma"], axis=0), LOWER, rtol=0.08, atol=0.5)
    for text in (correlated.summary(), facts["diffusion"]["is"], report_page(model)):
        assert "Noise is the standard deviation of dX of each coordinate, √((σσᵀ)ᵢᵢ) per √time" in text


def test_figures_show_each_coordinates_own_noise(correlated):
    curves, labels = drawn(correlated, "diffusion")
    np.testing.assert_allclose([curve.mean() for curve in curves], TRUE, rtol=0.08)
    assert labels == ["noise of x0, per √time", "noise of x1, per √time"]
    figure = correlated.plot("maps")
    levels = [axes.collections[0].get_clim() for axes in figure.axes[2:4]]
    plt.close(figure)
    np.testing.assert_allclose(np.mean(levels, axis=1), TRUE, rtol=0.08)


def test_noise_is_whole_where_part_of_it_does_not_grow_with_the_step(blurred):
    """Increments have a variance of 0.19, half of it λ: σ alone is 0.97, all of it √1.9."""
    model, true = blurred.model_, np.sqrt(1.9)
    assert np.all(model.diffusion(np.zeros((1, 1))) < 1.1)
    np.testing.assert_allclose([row.noise.value for row in numbers.values(model)], true, rtol=0.05)
    np.testing.assert_allclose(facts_of(model)["diffusion"]["mean"], true, rtol=0.05)
    (curve,), (label,) = drawn(blurred, "diffusion")
    np.testing.assert_allclose(curve, true, rtol=0.05)
    assert label == "noise of x, per √time"
    for text in (blurred.summary(), report_page(model)):
        assert "√(σ² + λ/Δt)" in text
        assert "Density and times are those of the whole noise" in text


def test_the_density_is_that_of_the_whole_noise(blurred):
    """A variance of 1, as the process has, and not the half of it that σ alone makes."""
    found = blurred.consequences()
    (curve,), _ = drawn(blurred, "density")
    for x, density in ((found.x, found.density.median), (np.linspace(found.x[0], found.x[-1], len(curve)), curve)):
        mean = np.average(x, weights=density)
        assert np.average(np.square(x - mean), weights=density) == pytest.approx(1.0, abs=0.2)


def test_where_noise_is_sigma_it_is_called_the_diffusion(line):
    facts = facts_of(line.model_)
    np.testing.assert_array_equal(facts["diffusion"]["mean"], line.diffusion(facts["points"]))
    assert "Noise is the standard deviation" not in line.summary()
    assert drawn(line, "diffusion")[1] == ["diffusion of x, per √second"]
