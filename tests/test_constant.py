"""Whether the noise is the same everywhere: odds against what they must be, and what is done with them."""

import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float
from scipy.stats import norm
from tinygp import kernels
from tinygp.kernels import Kernel
from tinygp.kernels.distance import L2Distance

from onepath import SDE
from onepath.compare.processes import PROCESSES
from onepath.data.trajectory import read_trajectory
from onepath.data.transitions import transitions_of, units_of
from onepath.gp.parameters import AMPLITUDE, LENGTH, LEVEL, NOISE, REACH, Parameter
from onepath.graph.default import GraphOptions, build_graph
from onepath.inference.learning.constant import constant_noise, may_be_constant
from onepath.inference.learning.learned import LearnedTheta
from onepath.inference.learning.optimisers import Optimum
from onepath.inference.learning.prior import parameter_prior
from onepath.inference.learning.search import learned_mask
from onepath.inference.learning.unread import FARTHEST, unread
from onepath.inference.posterior.mixture import masses
from onepath.show.facts import facts_of
from onepath.show.report.words import parameters_in_words

PARAMETERS = [
    Parameter("drift.linear.amplitude", "drift.linear.amplitude", "drift", "drift.linear", AMPLITUDE, 1.0, (0,)),
    Parameter("diffusion.linear.amplitude", "", "diffusion", "diffusion.linear", AMPLITUDE, 1.5, (0,)),
    Parameter("diffusion.matern.amplitude", "", "diffusion", "diffusion.matern", AMPLITUDE, 1.5, (0,)),
    Parameter("diffusion.matern.scale", "", "diffusion", "diffusion.matern", LENGTH, 0.7, (0, 0)),
    Parameter("level", "level", "level", "level", LEVEL, 1.0, (0,)),
    Parameter("noise", "noise", "noise", "noise", NOISE, 1.5, ()),
]
SIZE, AT_LEVEL = len(PARAMETERS), 4


class Matern(Kernel):
    amplitude: Float[Array, ""]
    scale: Float[Array, " d"]

    def evaluate(self, X1, X2):
        return self.amplitude**2 * jnp.exp(-jnp.sum(jnp.square((X1 - X2) / self.scale)))


def judged(evidence_of_data, optima=1):
    """The hypothesis and its probability for a toy -ln p(data | θ), quadratic about its least value, and its slope."""
    prior = parameter_prior(PARAMETERS, np.full(SIZE, -0.3))

    def evidence(parameters):
        value, slope = evidence_of_data(parameters)
        penalty, more = prior.negative_log(parameters)
        return value + penalty, slope + more

    step = 1e-4
    curvature = np.stack(
        [(evidence(prior.mean + e)[1] - evidence(prior.mean - e)[1]) / (2 * step) for e in step * np.eye(SIZE)]
    )
    best = prior.mean - np.linalg.solve(curvature, evidence(prior.mean)[1])
    found = Optimum(best, evidence(best)[0], curvature, 1, "")
    constant = constant_noise(PARAMETERS, evidence, prior, found)
    other = LearnedTheta(None, prior, found) if optima == 2 else None
    learned = LearnedTheta(None, prior, found, other, constant)
    around, densities = learned.around(18)
    parameters = np.concatenate([around, constant.theta[None]])
    values = np.asarray([evidence_of_data(each)[0] for each in parameters])
    mass, cautious = masses(learned, parameters, values, densities)
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
    assert constant.theta[AT_LEVEL] == pytest.approx(posterior_level, abs=1e-6)


@pytest.mark.parametrize("nats", [-3.0, 4.0])
def test_odds_are_those_of_the_data(nats):
    """A constant that the data make e^nats times as probable; the priors' tails count for less than a per cent."""
    absent = np.log(1e-3)

    def evidence(parameters):
        return (-nats if np.all(parameters[1:3] == absent) else 0.0), np.zeros(SIZE)

    assert judged(evidence)[1] == pytest.approx(1 / (1 + np.exp(-nats)), rel=5e-3)
    assert judged(evidence, optima=2)[1] == pytest.approx(1 / (1 + 2 * np.exp(-nats)), rel=5e-3)


@pytest.fixture(scope="module")
def models():
    """Constant noise, and noise that is proportional to the state."""

    def fitted(name):
        process = PROCESSES[name]
        return SDE(equations="off", progress=False).fit(process.simulate(500, random_state=3)[0], dt=process.dt)

    return fitted("ou"), fitted("gbm")


@pytest.mark.slow
def test_constant_noise_is_told_from_noise_that_is_not(models):
    constant, proportional = models
    assert constant.constant_noise_ > 0.6
    assert proportional.constant_noise_ < 1e-3
    assert f"σ is the same everywhere with probability {constant.constant_noise_:.0%}" in constant.summary()
    assert "σ is the same everywhere with probability under 1%" in proportional.summary()
    assert facts_of(constant.model_)["constant_noise"] == constant.constant_noise_
    assert any("the same everywhere" in sentence for sentence in parameters_in_words(constant.model_))


@pytest.mark.slow
def test_the_longer_a_path_of_constant_noise_the_surer(table):
    def median(steps):
        paths = (np.cumsum(np.random.default_rng(seed).standard_normal(steps)) for seed in range(5))
        return np.median([SDE(progress=False, transition="euler").fit(x, dt=0.01).constant_noise_ for x in paths])

    medians = [median(steps) for steps in (20, 500, 5000)]
    table(f"constant noise is that with probability {np.round(medians, 2)} at 20, 500, 5000 rows (five paths each)")
    assert 0.45 < medians[0] < medians[1] < medians[2]


@pytest.mark.slow
def test_estimates_use_it_and_bands_and_draws_do_not(models):
    """Means and quantiles of the mixture, by hand."""
    model, _ = models
    x = np.quantile(model.transitions_.x, [0.1, 0.5, 0.9])
    means, variances = (part[:, :, 1] for part in model.model_.marginals(x[:, None]))
    mass, probability = np.asarray(model.posterior_.mass), model.constant_noise_
    around = mass[:-1] / mass[:-1].sum()
    together = (1 - probability) * means[:, :-1] @ around + probability * means[:, -1]
    np.testing.assert_allclose(model.model_._moments(x[:, None])[0][:, 1], together, rtol=1e-9)

    unit = model.posterior_.graph.unit[0] * model.units_.scale[0] / np.sqrt(model.units_.time)
    for mean, deviation, *band in zip(means, np.sqrt(variances), *model.diffusion_band(x), strict=True):
        latent = np.log(np.expm1(np.asarray(band) / unit))
        below = [around @ norm.cdf((end - mean[:-1]) / deviation[:-1]) for end in latent]
        np.testing.assert_allclose(below, [0.05, 0.95], atol=1e-6)

    _, drawn = model.functions(x, draws=300, random_state=0)
    constant = unit * np.log1p(np.exp(means[:, -1]))
    assert np.ptp(drawn, axis=1).min() > np.ptp(constant)


@pytest.mark.parametrize(
    ("options", "fixed"),
    [
        ({}, ("diffusion.matern.scale",)),
        ({}, ("level",)),
        ({"link": "identity"}, ()),
        ({"diffusion": 2.0 * kernels.Matern52(0.5, distance=L2Distance())}, ()),
        ({"diffusion": Matern(np.asarray(1.0), np.ones(2))}, ()),  # the user's own, of the same name as ours
        ({"noise": "full"}, ()),
    ],
    ids=["a fixed length", "a fixed level", "no level", "a kernel", "a kernel called Matern", "correlated noise"],
)
@pytest.mark.usefixtures("double")
def test_where_it_is_not_asked(options, fixed):
    process = PROCESSES["spiral"]
    transitions = transitions_of(read_trajectory(process.simulate(100, random_state=0)[0], dt=process.dt))
    units = units_of(transitions, common=False)
    usual = build_graph(GraphOptions(noise="diagonal"), transitions, units)
    assert may_be_constant(usual, learned_mask(usual, ("drift", "noise")))
    graph = build_graph(GraphOptions(**{"noise": "diagonal"} | options), transitions, units)
    assert not may_be_constant(graph, learned_mask(graph, fixed))


def test_nothing_is_said_where_nothing_is_learned():
    process = PROCESSES["ou"]
    model = SDE(learn=None, transition="euler").fit(process.simulate(300, random_state=0)[0], dt=process.dt)
    assert model.constant_noise_ is None
    assert "the same everywhere" not in model.summary()


@pytest.mark.slow
def test_its_level_is_that_of_the_law_that_is_taken(table):
    """Euler's σ² is (1 - e^(-2 dt)) / 2 dt of the truth's, 5 % less here; exact is a linear law's likelihood."""
    decay, rng, x = np.exp(-0.05), np.random.default_rng(5), np.zeros(3001)
    for k, noise in enumerate(np.sqrt((1 - decay**2) / 2) * rng.standard_normal(3000)):
        x[k + 1] = decay * x[k] + noise
    slope, intercept = np.polyfit(x[:-1], x[1:], 1)
    rest = np.mean(np.square(x[1:] - slope * x[:-1] - intercept))
    exact = np.sqrt(rest * 2 * np.log(slope) / (slope**2 - 1) / 0.05)
    model = SDE(progress=False).fit(x, dt=0.05)
    assert model.model_.law.name == "linearised"
    assert model.constant_noise_ > 0.8
    found = model.diffusion(np.quantile(x, [0.1, 0.5, 0.9]))
    table(f"σ {np.round(found, 4)}, by maximum likelihood {exact:.4f}")
    np.testing.assert_allclose(found, exact, rtol=5e-3)


@pytest.mark.parametrize("known", [0.0, 30.0], ids=["nothing known of a reach", "well known"])
def test_odds_of_an_input_that_does_not_matter_are_those_of_its_integral(known):
    """-ln p(data | reach) is ½ known (ln reach - centre)², `far` beyond all data: against its mean over the prior."""
    centre, far, spread = -0.4, 3.0, 1.0
    named = [PARAMETERS[0], Parameter("drift.reach[0,0]", "", "drift", "drift", REACH, spread, (0, 0))]
    prior = parameter_prior(named, np.zeros(2))

    def evidence(theta):
        value = far if theta[1] == FARTHEST else 0.5 * known * (theta[1] - centre) ** 2
        return value + prior.negative_log(theta)[0], np.zeros(2)

    best = np.array([0.0, known * centre / (known + spread**-2)])
    curvature = np.diag([1.0, known + spread**-2])
    found = unread(named, evidence, prior, Optimum(best, evidence(best)[0], curvature, 1, ""))
    wide = 1.0 / known + spread**2 if known else 1.0
    mean = norm.pdf(centre, 0.0, np.sqrt(wide)) * np.sqrt(2 * np.pi / known) if known else 1.0
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(-far - np.log(mean))
