"""Diagnosis: right models are called right, and planted faults are named, first with simple laws, then with fits."""

import numpy as np
import pytest
from scipy import stats
from tinygp import kernels

from onepath import SDE
from onepath.after.diagnose import Diagnosis, diagnosis_of, law_checks, whitened
from onepath.after.diagnose.check import Check, holm
from onepath.after.diagnose.lags import lags_of
from onepath.after.diagnose.memory import predictions
from onepath.after.diagnose.readings import ask_readings
from onepath.after.diagnose.residuals import ask_balance, ask_residuals
from onepath.after.diagnose.steps import every_second_point, jacobian_radii
from onepath.compare.processes import PROCESSES
from onepath.data.trajectory import read_trajectory
from onepath.data.transitions import Transitions, transitions_of

STEPS, DT, RATE = 2000, 0.05, 1.0


def ornstein_uhlenbeck(rng, steps=STEPS, dt=DT, level=0.0):
    """Exact transitions of dX = -(X - level) dt + √2 dW; `level` may be an array over time."""
    decay, x, levels = np.exp(-RATE * dt), np.zeros(steps + 1), np.broadcast_to(level, steps)
    noise = np.sqrt(1 - decay**2) * rng.standard_normal(steps)
    for k in range(steps):
        x[k + 1] = levels[k] + decay * (x[k] - levels[k]) + noise[k]
    return x[:, None]


def regression(path, dt=DT):
    """Residuals under the law of a linear regression: any law will do for the tests."""
    x, y = path[:-1], np.diff(path, axis=0)
    slope, intercept = np.polyfit(x[:, 0], y[:, 0], 1)
    variance = np.mean(np.square(y - slope * x - intercept))

    def law(at, _):
        return slope * at + intercept, np.full((len(at), 1, 1), variance)

    return whitened(Transitions(x, y, np.full(len(x), dt)), np.arange(len(x)), law)


def faults(path, dt=DT):
    return diagnosis_of(law_checks(regression(path, dt), "seconds")).faults


def underdamped(rng, steps=STEPS, dt=DT):
    """Position of a damped oscillator with noise, by short steps."""
    x, v, path, h = 0.0, 0.0, [0.0], dt / 10
    for _ in range(steps):
        for noise in rng.standard_normal(10):
            x, v = x + v * h, v - (v + x) * h + np.sqrt(h) * noise
        path.append(x)
    return np.array(path)[:, None]


def planted(fault, rng):
    if fault == "hidden velocity":
        return underdamped(rng)
    if fault == "blur":
        return ornstein_uhlenbeck(rng, 20 * STEPS, DT / 20)[1:].reshape(STEPS, 20, 1).mean(axis=1)
    time = DT * np.arange(STEPS)
    if fault == "season":
        return ornstein_uhlenbeck(rng, level=2 * np.cos(2 * np.pi * time / 5))
    if fault == "drift over time":
        return ornstein_uhlenbeck(rng, level=np.where(time < time[-1] / 2, -1.0, 1.0))
    path = ornstein_uhlenbeck(rng)
    size = np.std(np.diff(path, axis=0))
    if fault == "measurement noise":
        return path + 0.5 * size * rng.standard_normal(path.shape)
    if fault == "jumps":
        jumps = 6 * size * rng.choice([-1, 1], path.shape) * (rng.uniform(size=path.shape) < 0.01)
        for k in range(STEPS):  # each decays as the process does
            path[k + 1 :, 0] += jumps[k, 0] * np.exp(-DT * np.arange(STEPS - k))
        return path
    x, y = path[:-1], np.diff(path, axis=0)
    late = np.arange(STEPS)[:, None] > STEPS / 2
    steps = np.where(late, 1.5, 1.0) * (y + RATE * DT * x)
    out = np.zeros_like(path)
    for k in range(STEPS):
        out[k + 1] = out[k] - RATE * DT * out[k] + steps[k]
    return out


@pytest.mark.parametrize("share", [0.2, 1.0, 5.0])
def test_it_whitens_by_the_law_that_was_fitted(share):
    """λ is the same in every step, long or short, as in the loss and in the score: V = σ²Δt + λ."""
    rng = np.random.default_rng(0)
    t = np.cumsum(rng.choice([0.2, 1.0, 1.0, 5.0], 401))
    x = np.cumsum(rng.standard_normal(401) * np.sqrt(np.diff(t, prepend=0.0)))
    constant = {"drift": kernels.Constant(1e-6), "diffusion": kernels.Constant(1.0)}
    sde = SDE(**constant, learn=None, transition="euler", noise_variance=0.3).fit(x, t=t)
    _, covariance = sde.model_.increments(x[:5, None], share)
    sigma = np.mean(sde.diffusion_band(x[:5], level=1e-6), axis=0)
    np.testing.assert_allclose(covariance[:, 0, 0], sigma**2 * share + 0.3, rtol=1e-6)
    paths = sde.simulate(0.0, 1, dt=share, paths=20_000, random_state=0, uncertain=False).x[:, 1, 0]
    assert paths.var() == pytest.approx(sigma[0] ** 2 * share + 0.3 * share, rel=0.05)  # simulated, it grows with time


@pytest.mark.slow
def test_right_models_are_rarely_called_wrong(table):
    alarms = [
        faults(ornstein_uhlenbeck(np.random.default_rng(seed), steps)) for seed in range(60) for steps in (300, 2000)
    ]
    share = np.mean([bool(found) for found in alarms])
    table(f"alarms on a right model: {share:.1%} of {len(alarms)}")
    assert share <= 0.1


@pytest.mark.parametrize(
    "fault", ["measurement noise", "jumps", "hidden velocity", "blur", "season", "drift over time", "noise over time"]
)
def test_planted_faults_are_named_first(fault, table):
    found = [faults(planted(fault, np.random.default_rng(seed))) for seed in range(10)]
    flagged, first = np.mean([fault in each for each in found]), np.mean([each[:1] == (fault,) for each in found])
    table(f"{fault}: flagged in {flagged:.0%}, named first in {first:.0%} of ten records of {STEPS} steps")
    assert flagged >= 0.8
    assert first >= 0.6


def test_a_season_is_told_in_the_unit_of_time():
    residuals = regression(planted("season", np.random.default_rng(0)), DT)
    season = next(answer for answer in law_checks(residuals, "months") if answer.name == "season")
    assert season.statistic == pytest.approx(5, rel=0.05)
    assert f"period of {season.statistic:.4g} months" in season.fault


def test_noise_that_depends_on_the_state_is_no_fault():
    """Residuals are whitened by the law: under the true one of a multiplicative process, nothing is flagged."""
    process = PROCESSES["quadratic_noise"]
    path = process.simulate(2000, random_state=0)[0]
    x, y = path[:-1], np.diff(path, axis=0)

    def law(at, dt):
        return process.drift(at) * dt[:, None], np.square(process.diffusion(at)) * dt[:, None, None]

    residuals = whitened(Transitions(x, y, np.full(2000, 0.01)), np.arange(2000), law)
    found = diagnosis_of(law_checks(residuals, "seconds"))
    assert found.faults == ()
    assert found.fits
    assert found.verdict.startswith("Fits: ")


@pytest.mark.parametrize(("correlation", "flagged"), [(0.0, False), (0.3, True)])
def test_dimensions_that_move_together_are_seen(correlation, flagged):
    rng = np.random.default_rng(4)
    y = rng.standard_normal((STEPS, 2)) @ np.linalg.cholesky([[1.0, correlation], [correlation, 1.0]]).T
    x = np.cumsum(y, axis=0) - y

    def law(at, _):
        return np.zeros_like(at), np.tile(np.eye(2), (len(at), 1, 1))

    answer = ask_residuals(whitened(Transitions(x, y, np.full(STEPS, DT)), np.arange(STEPS), law))
    assert (answer.matters and answer.log_p < np.log(1e-6)) == flagged
    assert ("noise='full'" in answer.fault) == flagged


def test_predictions_over_several_steps_have_the_closed_forms_spread():
    """Composed of single steps, exact for a linear law: the error of four steps has variance 1 - e^(-8 dt)."""
    path = ornstein_uhlenbeck(np.random.default_rng(0), 4000, 0.3)
    decay, x, y = np.exp(-0.3), path[:-1], np.diff(path, axis=0)

    def law(at, _):
        return (decay - 1) * at, np.full((len(at), 1, 1), 1 - decay**2)

    residuals = whitened(Transitions(x, y, np.full(4000, 0.3)), np.arange(4000), law)
    w, one, weight = predictions(residuals, 4)
    assert np.all(weight == 1.0)
    begin = np.arange(0, 4000, 4)[: len(w)]
    exact = (path[begin + 4] - decay**4 * path[begin]) / np.sqrt(1 - decay**8)
    np.testing.assert_allclose(w, exact, atol=1e-8)
    np.testing.assert_array_equal(one, residuals.z[begin])


def test_nothing_is_compared_across_gaps():
    path = ornstein_uhlenbeck(np.random.default_rng(0))
    residuals = regression(path)
    row = np.concatenate([np.arange(1000), 1001 + np.arange(1000)])
    early, late = residuals._replace(row=row).apart(2)
    assert 998 not in early
    assert 999 not in early
    assert len(early) == 2000 - 4
    np.testing.assert_array_equal(late, early + 2)


def test_steps_that_never_follow_each_other_say_nothing_of_memory():
    residuals = regression(ornstein_uhlenbeck(np.random.default_rng(0)))
    apart = residuals._replace(row=2 * np.arange(STEPS))
    answers = {answer.name: answer for answer in law_checks(apart, "seconds")}
    assert answers["markov"].log_p is None
    assert answers["measurement noise"].statistic == answers["blur"].statistic == 0.0
    assert np.isnan(every_second_point(apart))
    assert diagnosis_of(list(answers.values())).faults == ()


def test_every_second_point_sees_a_long_step():
    """σ² at twice the step is (1 + e^(-2 dt)) / 2 of that at once the step."""
    long = regression(ornstein_uhlenbeck(np.random.default_rng(1), 20_000, 0.5), 0.5)
    assert every_second_point(long) == pytest.approx((1 + np.exp(-1.0)) / 2, rel=0.03)
    short = regression(ornstein_uhlenbeck(np.random.default_rng(1), 20_000, 0.01), 0.01)
    assert every_second_point(short) == pytest.approx(1.0, rel=0.03)


def test_holm_corrects_as_defined():
    p = np.array([0.01, 0.04, 0.03, 0.005])

    def checks(logs, **options):
        return [Check("a", 1.0, log_p, True, "", "", True, **options) for log_p in logs]

    np.testing.assert_allclose(holm(checks([*np.log(p), None]))[:4], [0.03, 0.06, 0.06, 0.02])
    assert np.isnan(holm(checks([*np.log(p), None]))[4])
    assert holm(checks([-5000.0, -1.0]))[0] == 0.0
    # a test of three times the budget, and one that only explains it
    weighty, light, explaining = (
        checks([np.log(0.01)], budget=3.0),
        checks([np.log(0.04)]),
        checks([np.log(0.01)], budget=None),
    )
    np.testing.assert_allclose(holm([*weighty, *light, *explaining]), [0.01 * 4 / 3, 0.04, 0.01 * 4 / 3])


def test_specific_faults_come_before_vague_ones_and_small_effects_do_not_count():
    def answer(name, log_p, matters=True, specific=True):
        return Check(name, 1.0, log_p, matters, f"{name} is fine.", f"{name} is wrong.", specific)

    found = diagnosis_of([answer("a", -900.0, specific=False), answer("b", -20.0), answer("c", -50.0, matters=False)])
    assert found.faults == ("b", "a")
    assert found.verdict == "Does not fit. b is wrong. Also flagged: a."
    assert [question.flagged for question in found.questions] == [True, True, False]
    assert "✗ b" in str(found)


@pytest.fixture(scope="module")
def fits():
    """A right model, and one at a step that is too long."""
    rng = np.random.default_rng(4)
    good, long = ornstein_uhlenbeck(rng, 500, 0.02), ornstein_uhlenbeck(rng, 500, 0.5)
    return SDE(learn=None, transition="euler").fit(good, dt=0.02), SDE(learn=None, transition="euler").fit(long, dt=0.5)


def test_a_fit_of_good_data_is_called_right(fits):
    found = fits[0].diagnose()
    assert isinstance(found, Diagnosis)
    assert found.faults == ()
    names = [question.name for question in found.questions]
    assert len(names) == len(set(names)) == 16
    assert all(question.verdict and not question.flagged for question in found.questions)
    assert "known from the data" in found.questions[-1].verdict


def test_a_step_that_is_too_long_is_named(fits):
    found = fits[1].diagnose()
    assert found.faults[0] == "step size"
    assert found.verdict.startswith("Does not fit. The step is too long for the euler law")


def test_the_drifts_slope_is_that_of_a_line(fits):
    """A linear fit's |f'|: the regression's, near (1 - e^(-dt)) / dt."""
    x = fits[1].trajectory_.x[:, 0]
    slope = stats.linregress(x[:-1], np.diff(x)).slope / 0.5
    assert jacobian_radii(fits[1].model_).mean() == pytest.approx(-slope, rel=0.1)


# Readings


def readings(values, room=0.02):
    """The answer of the question about readings, for a record of one dimension."""
    read = read_trajectory(np.asarray(values, float), dt=1.0)
    return ask_readings(read, transitions_of(read), np.full(1, room))


WALK = np.random.default_rng(8).standard_normal(2000).cumsum()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.round(WALK), "Rounded values: x comes in steps of 1 and moves by"),
        (np.repeat(WALK[:1000], 2)[:2000], "Repeated values: x does not move in 50% of steps"),
        (np.maximum(WALK, np.quantile(WALK, 0.2)), "rows of x are at its lowest value"),
        (np.mod(0.3 * WALK, 2 * np.pi), "steps of x are all of about 6.28"),
        (np.mod(20 * WALK, 360), "an angle"),
    ],
)
def test_values_that_no_state_has_are_said_to_be_that(values, words):
    answer = readings(values)
    assert answer.matters
    assert words in answer.fault


def test_ordinary_values_are_not_and_what_is_small_is_said_beside():
    assert not readings(WALK).matters
    jumps = WALK + 100.0 * (np.arange(2000) > 1000)
    assert not readings(jumps).matters
    fine = readings(np.round(WALK, 1))
    assert not fine.matters
    assert readings(np.round(WALK, 1), room=1e-5).matters


def test_rounding_widens_the_diffusion_as_said():
    """By q²/6 of an increment's variance, which is q²/12 of the diffusion."""
    rounded = np.round(WALK / 2) * 2
    found = np.std(np.diff(rounded)) / np.std(np.diff(WALK)) - 1
    assert readings(rounded).statistic == pytest.approx(found, abs=0.05)


def test_a_drift_that_does_not_add_up_is_seen():
    """Large increments of another mean, at a law that counts them little."""
    rng = np.random.default_rng(2)
    wild = rng.uniform(size=STEPS) < 0.3
    y = np.where(wild, 2.0 + 6.0 * rng.standard_normal(STEPS), rng.standard_normal(STEPS))[:, None]

    def law(at, _):
        del at
        return np.zeros((STEPS, 1)), np.where(wild, 40.0, 1.0)[:, None, None]

    x = np.cumsum(y, axis=0) - y
    found = ask_balance(whitened(Transitions(x, y, np.full(STEPS, DT)), np.arange(STEPS), law))
    assert found.matters
    assert found.log_p < np.log(1e-6)
    told = float(np.mean(y)) / DT
    assert f"the data went {told:.3g}" in found.fault


def test_a_small_season_does_not_matter():
    """A wave with a thousandth of the residuals' variance in a long record: seen, and no fault."""
    z = np.random.default_rng(0).standard_normal(80_000)
    wave = np.sqrt(2e-3) * np.cos(2 * np.pi * np.arange(80_000) / 100)
    y = (z + wave)[:, None]

    def law(at, _):
        return np.zeros_like(at), np.ones((len(at), 1, 1))

    residuals = whitened(Transitions(np.cumsum(y, axis=0) - y, y, np.ones(80_000)), np.arange(80_000), law)
    answer = next(answer for answer in law_checks(residuals, "seconds") if answer.name == "season")
    assert answer.log_p < np.log(1e-4)
    assert answer.statistic == pytest.approx(100.0, rel=0.01)
    assert not answer.matters


@pytest.mark.slow
@pytest.mark.parametrize("readings", ["exact", "blurred", "noisy"])
def test_the_range_said_with_a_verdict_holds_if_readings_are_not_quite_the_state(readings, table):
    """Faults too small to be seen: σ of 40 paths is outside of what is said about as often as the 10 % allow."""
    dt, outside, fits = 0.02, 0, 0
    for seed in range(40):
        rng = np.random.default_rng([3, seed])
        fine = ornstein_uhlenbeck(rng, 20 * STEPS, dt / 20)[1:].reshape(STEPS, 20)
        path = fine[:, :6].mean(axis=1) if readings == "blurred" else fine[:, 0]
        path = path + (0.15 * np.sqrt(2 * dt) * rng.standard_normal(STEPS) if readings == "noisy" else 0.0)
        residuals = regression(path[:, None], dt)
        found = diagnosis_of(law_checks(residuals, "seconds"))
        if found.fits:
            low, high = found.within
            truth = np.sqrt((1 - np.exp(-2 * dt)) / residuals.covariance[0, 0, 0])
            fits, outside = fits + 1, outside + (not low < truth < high)
            assert f"the diffusion is {low:.2f} to {high:.2f} times what is shown (90 %)." in found.verdict
        else:
            assert found.within is None
    table(f"{readings}: {fits} of 40 fit, {outside} of these outside of what is said")
    assert fits >= 20
    assert outside <= 8


@pytest.mark.parametrize(("g", "kind"), [(0.2, "velocity"), (1.0, "velocity")])
def test_a_velocity_is_told_from_blur_by_the_second_lag(g, kind):
    """Displacements of an Ornstein–Uhlenbeck velocity, exact in a step of g relaxation times, 20 substeps each."""
    rng = np.random.default_rng(1)
    decay, v, x = np.exp(-g / 20), 0.0, np.zeros(20 * STEPS)
    for k, noise in enumerate(np.sqrt(1 - decay**2) * rng.standard_normal(20 * STEPS)):
        v = decay * v + noise
        x[k] = v
    path = np.cumsum(x)[::20][:, None]
    residuals = regression(path)
    assert lags_of(residuals, residuals.z, np.full(1, 0.02)).memory == kind


def test_an_explanation_that_is_not_flagged_has_no_p_value_of_its_own():
    """Blur is clear; beside it "no sign of a hidden velocity" and p = 1e-20 would say two things at once."""

    def explained(name, matters):
        return Check(name, 0.3, -46.0, matters, f"no {name}", name, specific=True, budget=None)

    longer = Check("longer steps", 1.4, -46.0, True, "", "longer", specific=False)
    found = diagnosis_of([longer, explained("blur", True), explained("hidden velocity", False)])
    p = {question.name: question.p_value for question in found.questions}
    assert found.faults == ("blur", "longer steps")
    assert p["blur"] == p["longer steps"] < 1e-18
    assert np.isnan(p["hidden velocity"])
