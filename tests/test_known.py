"""What is known of drift or diffusion: against maximum likelihood, against the truth, and at the door."""

import json
import pickle
import xml.etree.ElementTree as ElementTree

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

from onepath import SDE, Known, load
from onepath.cli import app
from onepath.gp.jets import Jet, jet_of
from onepath.graph.formula import Formula
from onepath.graph.physics import product, total
from onepath.io.errors import Unsavable


def ornstein_uhlenbeck(n, k=1.3, sigma=0.5, dt=0.1, seed=0):
    """Exact transitions."""
    rng, left = np.random.default_rng(seed), np.exp(-k * dt)
    x = np.zeros(n + 1)
    for i, noise in enumerate(rng.standard_normal(n) * sigma * np.sqrt((1 - left**2) / (2 * k))):
        x[i + 1] = left * x[i] + noise
    return x


def maximum_likelihood(x, dt=0.1):
    """Of a stiffness, with its standard error: the exact likelihood is that of an autoregression."""
    left = x[1:] @ x[:-1] / (x[:-1] @ x[:-1])
    error = np.sqrt(np.var(x[1:] - left * x[:-1]) / (x[:-1] @ x[:-1]))
    return -np.log(left) / dt, error / left / dt


def restoring(x, k):
    return -k * x


@pytest.mark.slow
def test_a_learned_stiffness_is_that_of_maximum_likelihood():
    """To a tenth of its error, and so is the band; and the diffusion is found beside it."""
    x = ornstein_uhlenbeck(4000)
    sde = SDE(drift=Known(restoring, k=0.3, rest=False), progress=False, transition="linearised").fit(x, dt=0.1)
    best, error = maximum_likelihood(x)
    value, lower, upper = sde.known_["k"]
    assert abs(value - best) < 0.1 * error
    assert (upper - lower) / (2 * 1.645 * error) == pytest.approx(1.0, abs=0.15)
    assert sde.diffusion([0.0])[0] == pytest.approx(0.5, rel=0.03)
    low, high = sde.drift_band([1.0])
    assert_allclose([low[0], sde.drift([1.0])[0], high[0]], [-upper, -value, -lower], rtol=0.03)
    assert "k = 1.2" in sde.summary() or "k = 1.3" in sde.summary()
    again = pickle.loads(pickle.dumps(sde))
    assert_allclose(again.drift([0.3]), sde.drift([0.3]))
    paths = sde.forecast(5, paths=20, random_state=0).x
    assert np.all(np.isfinite(paths))


def test_it_cannot_go_into_a_model_file(tmp_path):
    x = ornstein_uhlenbeck(200)
    sde = SDE(drift=Known(restoring, k=1.0), learn=None, transition="euler", progress=False).fit(x, dt=0.1)
    with pytest.raises(Unsavable, match="a function of Python"):
        sde.save(tmp_path / "known.onepath")


def test_a_known_drift_is_taken_off_the_increments():
    """What is left is what is learned from increments less f Δt, each a record of its own."""
    x, at = ornstein_uhlenbeck(400, seed=2), np.linspace(-0.5, 0.5, 5)
    given = {"transition": "euler", "progress": False, "learn": None, "cells": 512, "noise_variance": 1e-6}
    known = SDE(drift=Known(lambda x: -1.2 * np.tanh(x)), **given).fit(x, dt=0.1)
    rest = np.diff(x) + 1.2 * np.tanh(x[:-1]) * 0.1
    records = [pair[:, None] for pair in np.stack([x[:-1], x[:-1] + rest], axis=1)]
    left = SDE(**given).fit(records, dt=0.1)
    assert_allclose(known.drift(at), -1.2 * np.tanh(at) + left.drift(at), atol=0.02)
    assert_allclose(known.diffusion(at), left.diffusion(at), rtol=0.01)
    for ends in zip(known.drift_band(at), left.drift_band(at), strict=True):
        assert_allclose(ends[0], -1.2 * np.tanh(at) + ends[1], atol=0.03)


def test_a_diffusion_known_up_to_its_size():
    rng, n, dt = np.random.default_rng(0), 3000, 0.05
    x = np.ones(n + 1)
    for k, noises in enumerate(rng.standard_normal((n, 10))):
        x[k + 1] = x[k]
        for noise in noises:
            x[k + 1] += (1.0 - x[k + 1]) * dt / 10 + 0.3 * np.sqrt(x[k + 1] * dt / 10) * noise
    given = {"transition": "linearised", "progress": False, "learn": None}
    sde = SDE(diffusion=Known(lambda x, s: s * np.sqrt(x), s=1.0, rest=False), **given).fit(x, dt=dt)
    value, lower, upper = sde.known_["s"]
    assert lower < 0.3 < upper
    assert upper - lower < 0.04
    assert_allclose(sde.diffusion([0.5, 1.5]), value * np.sqrt([0.5, 1.5]), rtol=1e-3)
    free = SDE(diffusion=Known(lambda x: jnp.sqrt(x)), **given).fit(x, dt=dt)  # with an unknown factor
    assert_allclose(free.diffusion([0.8, 1.2]), 0.3 * np.sqrt([0.8, 1.2]), rtol=0.05)


def test_a_coordinate_that_is_the_rate_of_another(tmp_path):
    """dx = v dt, dv = -(x + v) dt + 0.5 dW: the first is what it says, the second is learned."""
    rng, n, h = np.random.default_rng(0), 2000, 0.005
    state = np.zeros((n + 1, 2))
    now = np.zeros(2)
    for k, noises in enumerate(rng.standard_normal((n, 10))):
        for noise in noises:
            now = now + h * np.array([now[1], -now[0] - now[1]]) + np.array([0.0, 0.5 * np.sqrt(h) * noise])
        state[k + 1] = now
    frame = pd.DataFrame(state, columns=["x", "v"])
    sde = SDE(drift={"x": "v"}, learn=None, transition="euler", noise="diagonal", progress=False).fit(frame, dt=0.05)
    at = np.quantile(state, [0.2, 0.5, 0.8], axis=0)
    assert_allclose(sde.drift(at)[:, 0], at[:, 1])
    assert_allclose(sde.drift(at)[:, 1], -at.sum(axis=1), atol=0.35)
    assert_allclose(load(sde.save(tmp_path / "rate.onepath")).drift(at), sde.drift(at))


def test_a_known_part_may_read_inputs():
    """A trap whose stiffness an input switches: both stiffnesses."""
    rng, n, dt = np.random.default_rng(1), 3000, 0.05
    mode = np.where(np.arange(n + 1) // 200 % 2 == 0, "soft", "stiff")
    x = np.zeros(n + 1)
    for k, noises in enumerate(rng.standard_normal((n, 10))):
        x[k + 1] = x[k]
        for noise in noises:
            x[k + 1] += -(1.0 if mode[k] == "soft" else 4.0) * x[k + 1] * dt / 10 + 0.5 * np.sqrt(dt / 10) * noise
    trap = Known(lambda x, u, a, b: -(a + b * u["mode"]) * x, a=2.0, b=0.5, rest=False)
    sde = SDE(drift=trap, diffusion_reads=(), transition="linearised", learn=None, progress=False)
    sde.fit(x, dt=dt, inputs={"mode": mode})
    a, b = (sde.known_[name] for name in "ab")
    assert a.lower < 1.0 < a.upper
    assert b.lower < 3.0 < b.upper
    assert sde.drift([1.0], inputs=["stiff"])[0] == pytest.approx(-(a.value + b.value), rel=1e-3)


@pytest.mark.usefixtures("double")
def test_jets_of_sums_and_products_are_those_of_functions():
    def f(x):
        return jnp.stack([jnp.sin(x[0] * x[1]), x[0] ** 3])

    def g(x):
        return jnp.stack([jnp.exp(x[0] - x[1]), x[1] * x[0]])

    x = jnp.asarray([0.4, -0.7])
    for act, both in ((product, lambda x: f(x) * g(x)), (total, lambda x: f(x) + g(x))):
        for got, wanted in zip(act(jet_of(f, x), jet_of(g, x)), jet_of(both, x), strict=True):
            assert_allclose(got, wanted, atol=1e-12)
        assert act(Jet(f(x)), Jet(g(x))).slope is None


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"drift": Known(lambda x, k: -k * x)}, "no start for k"),
        ({"drift": Known(lambda x: -x, k=1.0)}, "no argument k"),
        ({"drift": Known(lambda x: 1.0 if x > 0 else 2.0)}, "without if"),
        ({"drift": Known(lambda x: np.log(x))}, "not finite"),
        ({"diffusion": Known(lambda x: x)}, "not positive"),
        ({"drift": Known(lambda x, u: u["level"] - x)}, "there are none: pass inputs="),
        ({"drift": Known(lambda x: -x, rest=False), "diffusion": Known(lambda _: 1.0, rest=False)}, "nothing to learn"),
        ({"drift": {"x": "v"}}, "The coordinates are x"),
        ({"diffusion": Known(lambda _: 1.0), "noise": "full"}, "noise='diagonal'"),
        ({"drift": Known(lambda x: -x), "solver": "newton"}, "needs solver='fisher'"),
    ],
)
def test_what_cannot_be_known_is_refused(settings, said):
    with pytest.raises((ValueError, TypeError), match=said):
        SDE(learn=None, progress=False, **settings).fit(ornstein_uhlenbeck(60), dt=0.1)


@pytest.mark.parametrize(("rest", "labels"), [(True, ["known + f", "σ, by softplus"]), (False, ["σ, by softplus"])])
def test_the_graph_draws_what_is_unknown(rest, labels):
    drift = Known(restoring, k=1.0, rest=rest)
    given = {"learn": None, "transition": "euler", "progress": False, "cells": 64}
    sde = SDE(drift=drift, **given).fit(ornstein_uhlenbeck(60), dt=0.1, inputs=np.arange(61.0))
    root = ElementTree.fromstring(sde.graph_.draw())
    groups = [g for g in root.iter("{http://www.w3.org/2000/svg}g") if g.get("class") == "unknown"]
    assert ["".join(g.itertext()) for g in groups] == labels
    assert "Xₙ, uₙ" in sde.graph_.draw()


# formulas


def test_a_formula_is_the_function_that_it_says(tmp_path):
    """The same answer as from Python, also from a model file, which says it; and the file fits again."""
    x = ornstein_uhlenbeck(200)
    given = {"learn": None, "transition": "euler", "progress": False}
    written = SDE(drift=Known("-k * x", k=1.0), **given).fit(x, dt=0.1)
    called = SDE(drift=Known(restoring, k=1.0), **given).fit(x, dt=0.1)
    assert_allclose(written.drift([0.3]), called.drift([0.3]), rtol=1e-12)
    again = load(written.save(tmp_path / "known.onepath"))
    assert_allclose(again.drift([0.3]), written.drift([0.3]), rtol=1e-12)
    assert again.known_ == written.known_
    assert "the drift, -k * x and an unknown rest" in again.summary()
    assert repr(again.get_params()["drift"]) == "Known('-k * x', k=1.0)"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-k * x[0]**3 + pi, sqrt(level) / 2", lambda x, k, u: (-k * x[0] ** 3 + np.pi, np.sqrt(u) / 2)),
        (
            "where(x[1] > k, tanh(x[0]), -1e-1), +x[0]**0.5",
            lambda x, k, _: (np.tanh(x[0]) if x[1] > k else -0.1, x[0] ** 0.5),
        ),
        ("maximum(x[0], k) * exp(-x[1]), u['level'] - k", lambda x, k, u: (max(x[0], k) * np.exp(-x[1]), u - k)),
    ],
)
def test_formulas_compute_what_numpy_does(text, value):
    for x in (np.array([0.4, 0.9]), np.array([1.7, -2.0])):
        found = Formula(text, ("k",))(jnp.asarray(x), {"level": 2.25}, k=0.7)
        assert_allclose(found, value(x, 0.7, 2.25), rtol=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        "x.real",
        "__import__('os')",
        "lambda: 1",
        "(x, x)[0]",
        "x if x > 0 else 1",
        "exp(x, out=x)",
        "x @ x",
        "True",
        "-",
    ],
)
def test_a_formula_is_nothing_else(text):
    with pytest.raises(ValueError, match=r"cannot be read|is no formula"):
        Formula(text)(jnp.ones(()))


def test_the_command_takes_formulas(tmp_path):
    rows = pd.DataFrame({"t": 0.1 * np.arange(201), "x": ornstein_uhlenbeck(200)})
    rows.to_csv(tmp_path / "x.csv", index=False)

    def fit(*words):
        return CliRunner().invoke(app, ["fit", str(tmp_path / "x.csv"), "--learn", "none", "--json", *words])

    known = ("--known-drift", "-k * x", "--parameter", "k=1", "--only-known", "--transition", "euler")
    found = fit(*known)
    assert found.exit_code == 0, found.stderr
    sde = SDE(drift=Known(restoring, k=1.0, rest=False), learn=None, transition="euler", progress=False, random_state=0)
    assert json.loads(found.stdout)["known"]["k"]["value"] == pytest.approx(
        sde.fit(rows["x"].to_numpy(), dt=0.1).known_["k"].value
    )
    for words, said in (
        (("--known-drift", "-k * x"), "reads k, and there are no inputs"),
        (("--known-drift", "-k * x", "--parameter", "q=1"), "is in no formula"),
        (("--parameter", "k=1"), "are about --known-drift"),
        (("--known-drift", "-k * x", "--parameter", "k=1", "--drift", "matern52"), "give one"),
    ):
        refused = fit(*words)
        assert refused.exit_code == 2
        assert said in refused.stdout + refused.stderr
