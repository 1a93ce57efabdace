"""Whether the noise is the same everywhere: odds against what they must be, and what is done with them."""

import numpy as np
import pytest
from scipy.stats import norm

from onepath import SDE
from onepath.cli.fitting import facts_of
from onepath.fitting import _masses
from onepath.learning.constant import constant_noise
from onepath.learning.learn import Learned
from onepath.learning.optimisers import Found
from onepath.learning.prior import parameter_prior
from onepath.processes import PROCESSES
from onepath.report.words import parameters_in_words

NAMES = (
    "drift.linear.amplitude",
    "diffusion.linear.amplitude",
    "diffusion.matern.amplitude",
    "diffusion.matern.scale",
    "level",
    "noise",
)
LEVEL = NAMES.index("level")


def judged(evidence_of_data, optima=1):
    """The hypothesis and its probability for a toy -ln p(data | θ), quadratic about its least value, and its slope."""
    prior = parameter_prior(NAMES, np.full(len(NAMES), -0.3))

    def evidence(parameters):
        value, slope = evidence_of_data(parameters)
        penalty, more = prior.negative_log(parameters)
        return value + penalty, slope + more

    step = 1e-4
    curvature = np.stack(
        [(evidence(prior.mean + e)[1] - evidence(prior.mean - e)[1]) / (2 * step) for e in step * np.eye(len(NAMES))]
    )
    best = prior.mean - np.linalg.solve(curvature, evidence(prior.mean)[1])
    found = Found(best, evidence(best)[0], curvature, 1, "")
    constant = constant_noise(NAMES, evidence, prior, found)
    other = Learned(None, prior, found) if optima == 2 else None
    learned = Learned(None, prior, found, other, constant)
    around, densities = learned.around(18)
    parameters = np.concatenate([around, constant.parameters[None]])
    values = np.asarray([evidence_of_data(each)[0] for each in parameters])
    mass, cautious = _masses(learned, parameters, values, densities)
    return constant, float(mass[-1]), np.asarray(cautious)


def test_odds_stay_what_they_were_where_the_data_say_nothing_of_what_makes_the_noise_depend_on_the_state():
    rates = np.array([40.0, 0.0, 0.0, 0.0, 900.0, 3.0])
    centre = np.array([-0.5, 0.0, 0.0, 0.0, 0.2, -1.0])

    def evidence(parameters):
        return 0.5 * float(rates @ np.square(parameters - centre)), rates * (parameters - centre)

    constant, probability, cautious = judged(evidence)
    assert probability == pytest.approx(0.5, abs=1e-6)
    assert cautious[-1] == 0
    assert cautious.sum() == pytest.approx(1.0)
    posterior_level = (900.0 * 0.2 - 0.3 / 1.0**2) / (900.0 + 1.0)
    assert constant.parameters[LEVEL] == pytest.approx(posterior_level, abs=1e-6)


@pytest.mark.parametrize("nats", [-3.0, 4.0])
def test_odds_are_those_of_the_data(nats):
    """A constant that the data make e^nats times as probable; the priors' tails count for less than a per cent."""
    absent = np.log(1e-3)

    def evidence(parameters):
        return (-nats if np.all(parameters[1:3] == absent) else 0.0), np.zeros(len(NAMES))

    assert judged(evidence)[1] == pytest.approx(1 / (1 + np.exp(-nats)), rel=5e-3)
    assert judged(evidence, optima=2)[1] == pytest.approx(1 / (1 + 2 * np.exp(-nats)), rel=5e-3)


@pytest.fixture(scope="module")
def models():
    """Constant noise, and noise that is proportional to the state."""

    def fitted(name):
        process = PROCESSES[name]
        return SDE(progress=False).fit(process.simulate(500, random_state=3)[0], dt=process.dt)

    return fitted("ou"), fitted("gbm")


def test_constant_noise_is_told_from_noise_that_is_not(models):
    constant, proportional = models
    assert constant.constant_noise_ > 0.6
    assert proportional.constant_noise_ < 1e-3
    assert f"σ is the same everywhere with probability {constant.constant_noise_:.0%}" in constant.summary()
    assert "σ is the same everywhere with probability under 1%" in proportional.summary()
    assert facts_of(constant)["constant_noise"] == constant.constant_noise_
    assert any("the same everywhere" in sentence for sentence in parameters_in_words(constant))


def test_the_longer_a_path_of_constant_noise_the_surer(table):
    def median(steps):
        paths = (np.cumsum(np.random.default_rng(seed).standard_normal(steps)) for seed in range(5))
        return np.median([SDE(progress=False, transition="euler").fit(x, dt=0.01).constant_noise_ for x in paths])

    medians = [median(steps) for steps in (20, 500, 5000)]
    table(f"constant noise is that with probability {np.round(medians, 2)} at 20, 500, 5000 rows (five paths each)")
    assert 0.45 < medians[0] < medians[1] < medians[2]


def test_estimates_use_it_and_bands_and_draws_do_not(models):
    """Means and quantiles of the mixture, by hand."""
    model, _ = models
    x = np.quantile(model.transitions_.x, [0.1, 0.5, 0.9])
    means, variances = (part[:, :, 1] for part in model._marginals(x))
    mass, probability = np.asarray(model.posterior_.mass), model.constant_noise_
    around = mass[:-1] / mass[:-1].sum()
    together = (1 - probability) * means[:, :-1] @ around + probability * means[:, -1]
    np.testing.assert_allclose(model._moments(x)[0][:, 1], together, rtol=1e-9)

    unit = model.posterior_.graph.unit[0] * model.units_.scale[0] / np.sqrt(model.units_.time)
    for mean, deviation, *band in zip(means, np.sqrt(variances), *model.diffusion_band(x), strict=True):
        latent = np.log(np.expm1(np.asarray(band) / unit))
        below = [around @ norm.cdf((end - mean[:-1]) / deviation[:-1]) for end in latent]
        np.testing.assert_allclose(below, [0.05, 0.95], atol=1e-6)

    _, drawn = model.functions(x, draws=300, random_state=0)
    constant = unit * np.log1p(np.exp(means[:, -1]))
    assert np.ptp(drawn, axis=1).min() > np.ptp(constant)


@pytest.mark.parametrize(
    "names",
    [
        [name for name in NAMES if name != "diffusion.matern.scale"],  # fixed by the user
        [name for name in NAMES if name != "level"],  # likewise, or an identity link
        ["drift.linear.amplitude", "diffusion.constant.value", "level", "noise"],  # a kernel of the user's
        [*NAMES, "diffusion.linear.amplitude"],  # more entries than positive ones: correlated noise
    ],
)
def test_where_it_is_not_asked(names):
    prior = parameter_prior(tuple(names), np.zeros(len(names)))
    found = Found(prior.mean, 0.0, np.eye(len(names)), 1, "")
    assert constant_noise(tuple(names), lambda at: (0.0, np.zeros_like(at)), prior, found) is None


def test_nothing_is_said_where_nothing_is_learned():
    process = PROCESSES["ou"]
    model = SDE(learn=None, transition="euler").fit(process.simulate(300, random_state=0)[0], dt=process.dt)
    assert model.constant_noise_ is None
    assert "the same everywhere" not in model.summary()
