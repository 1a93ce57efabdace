"""Functions with many waves within the data: seen in what a first search leaves over, and found by a second one."""

import re

import numpy as np
import pytest

from onepath import SDE
from onepath.after.diagnose import whitened
from onepath.after.diagnose.waves import ask_waves
from onepath.compare.processes import Process
from onepath.data.cells import Cells
from onepath.data.transitions import Transitions
from onepath.gp.parameters import AMPLITUDE, LENGTH, Parameter
from onepath.inference.learning.prior import ParameterPrior
from onepath.inference.learning.restart import shorter_starts
from onepath.numerics.spectrum import waves_in


def constant(value):
    return lambda x: np.full((*x.shape, 1), value)


ROTOR = Process("rotor", lambda x: 1.2 - np.cos(x), constant(0.4), np.zeros(1), 0.02, "dX = (1.2 - cos X) dt + 0.4 dW")
"""A phase that goes round a dozen times."""

LATTICE = Process(
    "lattice",
    lambda x: 3 * np.sin(6 * x) - 0.05 * x,
    constant(1.5),
    np.zeros(1),
    0.01,
    "dX = (3 sin 6X - 0.05 X) dt + 1.5 dW",
)
"""A particle that hops among a dozen wells, hardly visible in the noise."""


def entry(function, field, role, *place):
    stem = f"{function}.{field}"
    name = f"{stem}[{','.join(map(str, place))}]"
    return Parameter(name, stem, function, stem.rsplit(".", 1)[0], role, 1.0, place)


def fitted(process, seed):
    """A fit to 5000 steps, the relative error of its drift, and the share of the drift within its bands."""
    x = process.simulate(5000, random_state=seed)[0]
    sde = SDE(progress=False, transition="euler").fit(x, dt=process.dt)
    at = np.linspace(*np.quantile(x, [0.01, 0.99]), 400)
    truth, (lower, upper) = process.drift(at[:, None])[:, 0], sde.drift_band(at)
    error = np.linalg.norm(sde.drift(at) - truth) / np.linalg.norm(truth)
    return sde, error, np.mean((lower <= truth) & (truth <= upper))


@pytest.mark.slow
@pytest.mark.parametrize("places", ["uniform", "standard_exponential"])
def test_white_scores_have_waves_no_more_often_than_they_should(places):
    rng = np.random.default_rng(0)
    found = [waves_in(rng.standard_normal(256), getattr(rng, places)(size=256), 85).log_p for _ in range(1500)]
    assert np.mean(np.array(found) < np.log(1e-2)) < 0.01
    assert np.mean(np.array(found) < np.log(1e-3)) < 0.002


@pytest.mark.parametrize("waves", [3, 12, 50])
def test_the_length_of_waves_is_found(waves):
    rng = np.random.default_rng(waves)
    x = np.sort(rng.uniform(-2, 2, 256))
    found = waves_in(rng.standard_normal(256) + np.sin(2 * np.pi * waves * x / 4), x, 85)
    assert found.length == pytest.approx(4 / waves, rel=0.2)
    assert found.log_p < np.log(1e-4)
    assert 0.1 < found.share < 0.5  # a third of the variance, some of it at other frequencies


def test_one_large_score_is_no_wave():
    scores, x = np.random.default_rng(0).standard_normal(256), np.linspace(-2, 2, 256)
    scores[40] = 100.0
    assert waves_in(scores, x, 85).log_p > np.log(0.05)
    assert waves_in(np.zeros(256), x, 85) is None
    assert waves_in(scores[:2], x[:2], 0) is None


def test_only_the_function_and_the_axis_that_have_waves_begin_anew():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (1024, 2))
    scores = rng.standard_normal((1024, 4))
    scores[:, 1] += np.sin(8 * x[:, 0])
    functions = ("drift", "diffusion")
    parameters = [
        *(entry(function, "linear.amplitude", AMPLITUDE, i) for function in functions for i in range(2)),
        *(entry(function, "matern.amplitude", AMPLITUDE, i) for function in functions for i in range(2)),
        *(entry(function, "matern.scale", LENGTH, i, j) for function in functions for i in range(2) for j in range(2)),
    ]
    names = [each.name for each in parameters]
    cells = Cells(np.ones(1024), x, x, np.zeros((1024, 2, 2)), np.ones(1024))
    prior = ParameterPrior(np.zeros(len(names)), np.ones(len(names)))
    starts = shorter_starts(scores, 2, cells, prior, parameters)
    changed = {name for name, column in zip(names, starts.T, strict=True) if np.any(column != 0.0)}
    assert changed == {"drift.matern.amplitude[1]", "drift.matern.scale[1,0]"}
    assert np.exp(starts[0, names.index("drift.matern.scale[1,0]")]) == pytest.approx(1.5 / 8, rel=0.2)
    assert shorter_starts(rng.standard_normal((1024, 4)), 2, cells, prior, parameters) is None


@pytest.mark.parametrize(("of", "axis"), [("drift", 0), ("drift", 1), ("noise", 0), ("noise", 1)])
def test_waves_in_residuals_are_named(of, axis):
    """Residuals of a law that knows nothing of waves along one of two coordinates, planted in one of two residuals."""
    rng = np.random.default_rng(0)
    x, z = rng.uniform(-2, 2, (5000, 2)), rng.standard_normal((5000, 2))
    wave = np.sin(9 * x[:, axis])
    z[:, 1] = z[:, 1] + 0.2 * wave if of == "drift" else z[:, 1] * (1 + 0.2 * wave)

    def answer(z):
        law = np.zeros_like(x), np.tile(np.eye(2), (len(x), 1, 1))
        return ask_waves(whitened(Transitions(x, z, np.ones(5000)), np.arange(5000), lambda *_: law))

    found, nothing = answer(z), answer(rng.standard_normal((5000, 2)))
    assert found.matters
    assert found.log_p < np.log(1e-6)
    said = re.match(rf"The {of} has waves along dimension {axis + 1}, about (\S+) long", found.fault)
    assert float(said[1]) == pytest.approx(2 * np.pi / 9, rel=0.1)
    assert nothing.log_p > np.log(0.01)


@pytest.mark.slow
def test_a_phase_that_goes_round_is_followed(table):
    """A smooth drift, the evidence's other optimum, is off by two thirds and has the truth in a tenth of its bands."""
    sde, error, covered = fitted(ROTOR, 0)
    table(f"rotor: drift off by {error:.2f}, {covered:.0%} of it within 90 % bands")
    assert error < 0.4
    assert covered > 0.8
    assert "waves" not in sde.diagnose().faults


@pytest.mark.slow
def test_wells_that_are_not_followed_are_said(table):
    """Hardly visible in the noise: followed on some paths, and never wrong without a word."""
    followed = []
    for seed in range(2):
        sde, error, covered = fitted(LATTICE, seed)
        table(f"lattice {seed}: drift off by {error:.2f}, {covered:.0%} of it within 90 % bands")
        followed.append(error < 0.8 and covered > 0.6)
        assert followed[-1] or "waves" in sde.diagnose().faults
    assert any(followed)
