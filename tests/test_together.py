"""What goes together: inputs, seasons and trends with hidden states, jumps, tails, volatility; known parts with all."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from onepath import SDE, Known, load
from onepath.cli import app
from onepath.show.reach import dependence

QUICK = {"progress": False, "transition": "euler"}
NOISE, DT = 0.1, 0.05


def switched(steps, seed=0, jumps=0.0, substeps=10):
    """dX = -2 (X - u) dt + .5 dW under a control that is thrown anew at every step, with jumps of 8 to 12 increments:
    x, u, and which steps jumped."""
    rng = np.random.default_rng(seed)
    u, jumped = rng.standard_normal(steps + 1), rng.random(steps) < jumps
    x, size = np.zeros(steps + 1), 0.5 * np.sqrt(DT) * rng.uniform(8, 12, steps) * rng.choice([-1, 1], steps)
    for k, noise in enumerate(rng.standard_normal((steps, substeps))):
        state = x[k]
        for one in noise:
            state += -2.0 * (state - u[k]) * DT / substeps + 0.5 * np.sqrt(DT / substeps) * one
        x[k + 1] = state + jumped[k] * size[k]
    return x, u, jumped


@pytest.fixture(scope="module")
def read():
    x, u, _ = switched(400)
    z = x + NOISE * np.random.default_rng(9).standard_normal(len(x))
    return z, u, SDE(measurement=NOISE, **QUICK).fit(z, dt=DT, inputs={"u": u})


def test_the_filter_asks_the_law_at_the_inputs_of_each_step(read):
    """The density of readings is that of an extended Kalman filter, row by row in NumPy, around its own states."""
    z, u, sde = read
    model, near = sde.model_, 1e-4
    state, variance, logs = z.mean(), z.var(), []
    for k, reading in enumerate(z):
        if k:
            at = np.array([[state + move, u[k - 1]] for move in (-near, 0.0, near)])
            mean, covariance = model.increments(at, DT)
            flow = 1.0 + (mean[2, 0] - mean[0, 0]) / (2 * near)
            state, variance = state + mean[1, 0], flow**2 * variance + covariance[1, 0, 0]
            whole = variance + NOISE**2
            logs.append(-0.5 * ((reading - state) ** 2 / whole + np.log(2 * np.pi * whole)))
        gain = variance / (variance + NOISE**2)
        state, variance = state + gain * (reading - state), (1 - gain) * variance
    assert sde.score(z, dt=DT, inputs={"u": u}) == pytest.approx(np.mean(logs), abs=2e-3)
    late = sde.score(z[:-1], dt=DT, inputs={"u": u[1:]})
    assert late < np.mean(logs) - 0.02


def test_readings_of_a_driven_state_go_to_files_and_into_the_future(read, tmp_path):
    z, u, sde = read
    back = load(sde.save(tmp_path / "read.onepath"))
    assert back.score(z, dt=DT, inputs={"u": u}) == sde.score(z, dt=DT, inputs={"u": u})
    ahead = back.forecast(20, paths=300, random_state=0, inputs={"u": np.full(20, 2.0)}, readings=True)
    assert np.median(ahead.x[:, -1, 0]) == pytest.approx(2.0 * (1 - np.exp(-2.0)), abs=0.5)
    assert len(back.state_.frame()) == len(z)
    with pytest.raises(ValueError, match="pass inputs="):
        back.score(z, dt=DT)


def test_jumps_of_a_driven_state():
    x, u, jumped = switched(1200, seed=1, jumps=0.02)
    sde = SDE(jumps=True, **QUICK).fit(x, dt=DT, inputs={"u": u})
    assert sde.jumps_.rate.value * DT * 1200 == pytest.approx(jumped.sum(), rel=0.2)
    assert np.mean(sde.jumps_.probability[jumped] > 0.5) > 0.9
    low, high = (sde.drift(0.0, inputs=[value])[0] for value in (-1.0, 1.0))
    assert high - low == pytest.approx(4.0, rel=0.25)
    np.testing.assert_allclose(sde.diffusion([-1.0, 0.0, 1.0]), 0.5, rtol=0.1)
    assert sde.forecast(3, paths=20, inputs={"u": np.zeros(3)}).x.shape == (20, 4, 1)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"tails": "learn"}, {"volatility": "learn", "diffusion_reads": ()}], ids=str)
def test_tails_and_volatility_of_a_season(options):
    """Six hundred months about a cycle of the mean, with t4 noise, or with one whose level has a memory of 40."""
    rng, n = np.random.default_rng(2), 600
    stretch = np.sqrt(4 / rng.chisquare(4, n))
    if "volatility" in options:
        level = np.zeros(n)
        for k in range(1, n):
            level[k] = np.exp(-1 / 40) * level[k - 1] + 0.7 * np.sqrt(1 - np.exp(-1 / 20)) * rng.standard_normal()
        stretch = np.exp(level - level.mean())
    x = np.zeros(n + 1)
    for k, noise in enumerate(rng.standard_normal((n, 10))):
        state = x[k]
        for s, one in enumerate(noise):
            around = 1.5 * np.cos(2 * np.pi * (k + s / 10) / 12)
            state += -0.3 * (state - around) / 10 + 0.4 * np.sqrt(0.1) * stretch[k] * one
        x[k + 1] = state
    sde = SDE(season=12, progress=False, **options).fit(x, dt=1.0)
    phases = np.linspace(0.0, 12.0, 24, endpoint=False)
    truth = 0.45 * np.cos(2 * np.pi * phases / 12)
    error = sde.drift(np.zeros(24), inputs=phases[:, None]) - truth
    assert np.sqrt(np.mean(np.square(error))) < 0.1
    assert sde.diffusion([0.0])[0] == pytest.approx(0.4, rel=0.2)
    if "volatility" in options:
        assert np.corrcoef(np.log(sde.volatility_.level), np.log(stretch))[0, 1] > 0.6
    else:
        assert 2.5 < sde.tails_.value < 6.5


@pytest.mark.slow
def test_hidden_velocities_under_a_switch():
    """A trap whose stiffness a class switches, read in positions alone."""
    rng, n = np.random.default_rng(6), 2500
    stiff = np.arange(n + 1) // 250 % 2 == 1
    x, v, rows = 0.0, 0.0, np.zeros((n + 1, 2))
    for k, noise in enumerate(rng.standard_normal((n, 20))):
        for one in noise:
            h = DT / 20
            x, v = x + v * h, v + (-(4.0 if stiff[k] else 1.0) * x - v) * h + 0.8 * np.sqrt(h) * one
        rows[k + 1] = x, v
    names = np.where(stiff, "stiff", "soft")
    sde = SDE(order=2, progress=False).fit(rows[:, 0], dt=DT, inputs={"mode": names})
    for name, k in (("stiff", 4.0), ("soft", 1.0)):
        at = rows[names == name]
        slope = np.linalg.lstsq(np.c_[at, np.ones(len(at))], sde.drift(at, inputs=[name])[:, 1], rcond=None)[0]
        assert -slope[0] == pytest.approx(k, rel=0.3)
    assert "depends on mode" in " ".join(dependence(sde.model_))
    assert sde.diagnose().fits


def test_a_known_drift_under_an_input_says_so():
    """Also where the noise of readings is learned with its parameter."""
    x, u, _ = switched(400)
    form = Known(lambda x, u, k: -k * (x - u["u"]), k=1.0, rest=False)
    z = x + NOISE * np.random.default_rng(9).standard_normal(len(x))
    sde = SDE(drift=form, measurement=NOISE, **QUICK).fit(z, dt=DT, inputs={"u": u})
    assert sde.known_["k"].lower < 2.0 < sde.known_["k"].upper
    assert "depends on inputs as its known form says" in sde.summary()


def test_the_command_takes_inputs_and_noise_together(tmp_path):
    x, u, _ = switched(300)
    frame = pd.DataFrame({"t": DT * np.arange(len(x)), "height": x, "control": u})
    frame.to_csv(tmp_path / "series.csv", index=False)
    words = ["fit", tmp_path / "series.csv", "--value", "height", "--input", "control", "--measurement", "0.05"]
    words += ["--learn", "none", "--transition", "euler", "--model", tmp_path / "m.onepath", "--json"]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["inputs"] == [{"name": "control", "kind": "number"}]
    said = CliRunner().invoke(app, ["info", str(tmp_path / "m.onepath")])
    assert said.exit_code == 0
    assert "control" in said.stdout
