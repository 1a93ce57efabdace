"""What the house promises to take from outside: a transition law and an observation, each one new class."""

from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np
import pytest
from tinygp import kernels

from onepath import SDE, load
from onepath.data.transitions import transitions_of
from onepath.graph.laws import LAWS, Law
from onepath.inference.observation import Exact, Observation
from onepath.io.errors import Unsavable
from onepath.numerics.linalg import contract

LINEAR = {"drift": kernels.DotProduct() + kernels.Constant(1.0), "diffusion": kernels.Constant(1.0), "learn": None}


def ornstein_uhlenbeck(steps, dt, seed=0):
    """Exact transitions of dX = -X dt + dW."""
    rng, left = np.random.default_rng(seed), np.exp(-dt)
    x = np.zeros(steps + 1)
    for k, noise in enumerate(rng.standard_normal(steps) * np.sqrt((1 - left**2) / 2)):
        x[k + 1] = left * x[k] + noise
    return x


@dataclass(frozen=True)
class Halfway(Law):
    """Drift and noise half a step on, to first order: mean f Δt + ½ f' f Δt² and variance σ² (1 + f' Δt) Δt."""

    name = "halfway"
    order = 2
    couples = True
    longest = 0.2
    beyond = "Nobody knows what happens then"

    def gaussian(self, drift, diffusion, dt):
        slope, _ = drift.derivatives
        rate = contract(diffusion.value, diffusion.value.T)
        turned = contract(slope.T, rate)
        mean = dt * (drift.value + 0.5 * dt * contract(slope.T, drift.value))
        return mean, dt * (rate + 0.5 * dt * (turned + turned.T))


def test_a_law_of_ones_own_fits_forecasts_and_is_diagnosed(tmp_path):
    """Against the truth, slope -1 and noise 1, which Euler's law underestimates at this step."""
    x = ornstein_uhlenbeck(4000, 0.2)
    own, euler = (SDE(**LINEAR, transition=law).fit(x, dt=0.2) for law in (Halfway(), "euler"))
    slopes = [model.drift([1.0])[0] - model.drift([0.0])[0] for model in (own, euler)]
    noises = [model.diffusion([0.0])[0] for model in (own, euler)]
    assert abs(slopes[0] + 1) < 0.5 * abs(slopes[1] + 1)
    assert abs(noises[0] - 1) < 0.4 * abs(noises[1] - 1)
    assert own.transition_ == "halfway"
    assert "halfway, as asked" in own.summary()
    assert np.isfinite(own.score(x, dt=0.2))
    assert own.forecast(3, paths=5, random_state=0).x.shape == (5, 4, 1)
    step = next(question for question in own.diagnose().questions if question.name == "step size")
    assert "short enough" in step.verdict  # its own limit, 0.2, is not exceeded
    coarse = SDE(**LINEAR, transition=Halfway()).fit(x[::3], dt=0.6)
    step = next(question for question in coarse.diagnose().questions if question.name == "step size")
    assert "too long for the halfway law" in step.verdict
    assert Halfway.beyond in step.verdict
    with pytest.raises(Unsavable, match="Halfway"):
        own.save(tmp_path / "own.onepath")
    assert list(tmp_path.iterdir()) == []


class LaterHalf(Observation):
    """Only the later half of a record counts."""

    name = "the later half"

    def transitions(self, trajectory, fit):
        if fit is not None:
            return None
        found = transitions_of(trajectory)
        return replace(found, weights=(np.arange(len(found)) >= len(found) // 2).astype(float))


def test_an_observation_of_ones_own_may_weigh():
    """Noise that doubles half way through: the answer is that of the later half alone."""
    x = np.cumsum(np.random.default_rng(0).standard_normal(800) * np.repeat([0.1, 0.2], 400))
    later = SDE(**LINEAR, transition="euler", observation=LaterHalf()).fit(x, dt=0.01)
    whole, half = (SDE(**LINEAR, transition="euler").fit(part, dt=0.01) for part in (x, x[399:]))
    at = x[[450, 600, 799]]
    np.testing.assert_allclose(later.diffusion(at), half.diffusion(at), rtol=1e-2)
    assert whole.diffusion(at)[0] < 0.9 * half.diffusion(at)[0]
    assert "noise over time" in whole.diagnose().faults
    assert "noise over time" not in later.diagnose().faults
    assert "observation: the later half, which counts 400" in later.summary()


class WithoutJumps(Observation):
    """In turns with the fit, until nothing changes: steps far outside under the last fit count nothing in the next."""

    name = "without jumps"

    def transitions(self, trajectory, fit):
        found = transitions_of(trajectory)
        if fit is None:
            return found
        mean, covariance = fit.increments(found.x, found.dt)
        far = np.abs(found.y - mean)[:, 0] > 4.5 * np.sqrt(covariance[:, 0, 0])
        weights = np.where(far, 0.0, 1.0)
        return None if np.array_equal(weights, fit.transitions.weight) else replace(found, weights=weights)


def test_an_observation_of_ones_own_may_take_turns_with_the_fit(tmp_path):
    """Jumps that are taken for noise by a single fit, and are seen through by some in turn."""
    rng, x = np.random.default_rng(1), ornstein_uhlenbeck(2000, 0.02)
    jumps = np.cumsum(rng.choice([-1.0, 1.0], 2001) * (rng.uniform(size=2001) < 0.01))
    plain, turned = (
        SDE(**LINEAR, transition="euler", observation=each).fit(x + jumps, dt=0.02) for each in (None, WithoutJumps())
    )
    assert plain.diffusion([0.0])[0] > 1.15
    assert turned.diffusion([0.0])[0] == pytest.approx(1.0, abs=0.05)
    assert len(turned.transitions_) == 2000
    assert turned.transitions_.total < 2000
    assert "jumps" in plain.diagnose().faults
    assert "jumps" not in turned.diagnose().faults
    with pytest.raises(Unsavable, match="WithoutJumps"):
        turned.save(tmp_path / "own.onepath")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.full(300, -1.0)}, "not finite numbers from 0 on"),
        ({"weights": np.zeros(300)}, "every transition the weight 0"),
        ({"weights": np.full(300, np.nan)}, "not finite numbers from 0 on"),
        ({"y": np.full((300, 1), np.nan)}, "not finite"),
        (None, "gave no transitions"),
        (slice(0, 100), "gave 100 transitions for 300 steps"),
    ],
)
def test_what_no_observation_may_say(change, message):
    class Wrong(Observation):
        name = "wrong"

        def transitions(self, trajectory, fit):  # noqa: ARG002
            found = transitions_of(trajectory)
            if isinstance(change, slice):
                return found.rows(change)
            return None if change is None else replace(found, **change)

    with pytest.raises(ValueError, match=message):
        SDE(**LINEAR, transition="euler", observation=Wrong()).fit(ornstein_uhlenbeck(300, 0.1), dt=0.1)


def test_what_is_no_observation_or_law_is_refused():
    with pytest.raises(TypeError, match=r"subclass of onepath\.inference\.observation\.Observation"):
        SDE(observation="exact").fit(np.arange(20.0), dt=0.1)
    with pytest.raises(ValueError, match=r"is not known\. Choose one of 'auto', 'euler'"):
        SDE(transition=jnp.sin).fit(np.arange(20.0), dt=0.1)


def test_laws_and_observations_that_do_not_say_what_they_are_are_refused_where_they_are_written():
    with pytest.raises(TypeError, match="Nameless does not say its name, order, couples, longest, beyond"):

        class Nameless(Law):
            pass

    with pytest.raises(TypeError, match="Unnamed does not say its name"):

        class Unnamed(Observation):
            pass


def test_an_observation_that_never_ends_is_stopped(monkeypatch):
    class Endless(Observation):
        name = "endless"

        def transitions(self, trajectory, fit):  # noqa: ARG002
            return transitions_of(trajectory)

    monkeypatch.setattr("onepath.inference.observation.MOST_TURNS", 3)
    with pytest.raises(RuntimeError, match="came to no end in 3 turns"):
        SDE(**LINEAR, transition="euler", observation=Endless()).fit(ornstein_uhlenbeck(300, 0.1), dt=0.1)


def test_what_is_the_default_may_be_said(tmp_path):
    x = ornstein_uhlenbeck(300, 0.1)
    said = SDE(**LINEAR, transition=LAWS["euler"], observation=Exact(), solver="newton").fit(x, dt=0.1)
    again = load(said.save(tmp_path / "said.onepath"))
    assert again.get_params()["observation"] == Exact()
    np.testing.assert_array_equal(again.drift(x), said.drift(x))
