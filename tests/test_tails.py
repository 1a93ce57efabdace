"""Heavy tails: Student's likelihood and distribution against SciPy, and degrees of freedom that are known."""

import numpy as np
import pytest
from scipy import stats

from onepath import SDE, load
from onepath.inference.disturbance.clustered import is_clustered
from onepath.inference.disturbance.disturbance import Steps
from onepath.inference.disturbance.tails import Tails, log_student, shared


def some_steps(n=300, d=2, freedom=4.0, seed=0):
    """Student's increments about zero, of covariances of all kinds."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, d, d))
    covariance = root @ np.swapaxes(root, 1, 2) + 0.1 * np.eye(d)
    white = rng.standard_normal((n, d)) / np.sqrt(rng.chisquare(freedom, (n, 1)) / freedom)
    rest = np.einsum("nij,nj->ni", np.linalg.cholesky(covariance), white)
    return Steps(rest, covariance, np.ones(n), np.ones(n), np.ones(n))


def test_density_is_students():
    steps = some_steps()
    slow = [
        stats.multivariate_t(np.zeros(2), covariance, 4.0).logpdf(rest)
        for rest, covariance in zip(steps.rest, steps.covariance, strict=True)
    ]
    np.testing.assert_allclose(Tails(4.0, 2).log_density(steps), slow, rtol=1e-10)
    np.testing.assert_allclose(
        Tails(np.inf, 2).log_density(steps),
        [
            stats.multivariate_normal(np.zeros(2), covariance).logpdf(rest)
            for rest, covariance in zip(steps.rest, steps.covariance, strict=True)
        ],
    )


def test_normal_numbers_are_those_of_students_distribution():
    steps = some_steps(d=1)
    z = Tails(4.0, 1).normal(steps)[:, 0]
    t = steps.rest[:, 0] / np.sqrt(steps.covariance[:, 0, 0])
    np.testing.assert_allclose(z, stats.norm.ppf(stats.t.cdf(t, 4.0)), rtol=1e-9)
    two = Tails(4.0, 2).normal(some_steps(n=4000))
    assert stats.kstest(np.ravel(two), "norm").pvalue > 0.01
    assert abs(stats.kurtosis(np.square(two).sum(axis=1)) - 6.0) < 2.5  # of χ²(2)
    far = Tails(4.0, 1).normal(steps._replace(rest=1e9 * np.sign(steps.rest)))
    assert np.all(np.isfinite(far))


def test_steps_that_do_not_follow_each_other_have_no_memory_of_their_size():
    steps = some_steps()
    assert not is_clustered(steps._replace(since=np.full(len(steps.rest), np.inf)))


def test_degrees_of_freedom_are_the_most_likely_ones():
    """As SciPy's own maximum likelihood has them, with a scale beside."""
    steps = some_steps(n=3000, d=1, seed=1)
    t = steps.rest[:, 0] / np.sqrt(steps.covariance[:, 0, 0])
    freedom, _, scale = stats.t.fit(t, floc=0.0)
    assert Tails(8.0, 1).learned(steps).freedom == pytest.approx(freedom, rel=5e-3)
    # a covariance that is off by a factor does not matter
    assert Tails(8.0, 1).learned(steps._replace(covariance=9 * steps.covariance)).freedom == pytest.approx(
        freedom, rel=5e-3
    )
    described = Tails(freedom, 1).described(steps._replace(covariance=scale**2 * steps.covariance))
    assert described.bands["freedom"].lower < 4.0 < described.bands["freedom"].upper


def test_shares_are_fishers_information():
    """By the variance of scores, for one and two dimensions, over what the weights ν / (ν + z²) seem to tell."""
    rng = np.random.default_rng(2)
    for d in (1, 2):
        nu, n = 5.0, 400_000
        white = rng.standard_normal((n, d)) / np.sqrt(rng.chisquare(nu, (n, 1)) / nu)
        weight = nu / (nu + np.square(white).sum(axis=1))
        own = (nu + d) / nu * weight
        in_mean, in_scale = np.var(own * white[:, 0]), np.var(own * np.square(white[:, 0]) - 1.0)
        drift, diffusion = Tails(nu, d, fixed=True).shares
        assert drift == pytest.approx(in_mean / weight.mean(), rel=0.02)
        assert diffusion == pytest.approx(in_scale / 2 / weight.mean(), rel=0.02)
        square, step = np.square(white).sum(axis=1), 1e-3
        of_freedom = (log_student(square, nu + step, d) - log_student(square, nu - step, d)) / (2 * step)
        of_scale = own * square - d
        assert shared(nu, d) == pytest.approx(np.corrcoef(of_freedom, of_scale)[0, 1] ** 2, rel=0.03)
        assert Tails(nu, d).shares[1] == pytest.approx((1 - shared(nu, d)) * diffusion)


def heavy(n=2500, freedom=4.0, dt=0.02, seed=0):
    """dX = -2 X dt + (.5 + .2 X²)^½ dL, with Student's increments, each in ten substeps."""
    rng = np.random.default_rng(seed)
    x, state = np.zeros(n + 1), 0.0
    stretch = np.sqrt(freedom / rng.chisquare(freedom, n)) if freedom else np.ones(n)
    noise = rng.standard_normal((n, 10)) * np.sqrt(dt / 10)
    for k in range(n):
        for each in noise[k]:
            state += -2.0 * state * dt / 10 + np.sqrt(0.5 + 0.2 * state**2) * each * stretch[k]
        x[k + 1] = state
    return x


@pytest.fixture(scope="module")
def student():
    x = heavy()
    return x, SDE(tails="learn").fit(x, dt=0.02)


def test_tails_are_found_and_leave_the_diffusion_free(student):
    x, sde = student
    grid = np.linspace(-0.7, 0.7, 20)
    true = np.sqrt(0.5 + 0.2 * grid**2)
    plain = SDE().fit(x, dt=0.02)
    errors = [np.sqrt(np.mean(np.square(model.diffusion(grid) - true))) for model in (sde, plain)]
    assert errors[0] < 0.03 < 0.15 < errors[1]
    assert sde.tails_.lower < 4.0 < sde.tails_.upper
    assert sde.score(x, dt=0.02) > plain.score(x, dt=0.02) + 0.02
    assert not plain.diagnose().fits
    assert sde.diagnose().fits, sde.diagnose()


def test_forecasts_draw_students_increments(student):
    _, sde = student
    ahead = sde.simulate(0.0, 1, paths=20_000, random_state=0, uncertain=False).x[:, 1, 0]
    scale = sde.diffusion(0.0)[0] * np.sqrt(0.02)
    assert stats.kstest(ahead / scale, stats.t(sde.tails_.value).cdf).pvalue > 0.01


def test_given_tails_are_taken_as_they_are(student, tmp_path):
    x, _ = student
    sde = SDE(tails=6).fit(x, dt=0.02)
    assert sde.tails_.value == 6.0
    back = load(sde.save(tmp_path / "tails.onepath"))
    assert back.score(x, dt=0.02) == sde.score(x, dt=0.02)


def test_normal_increments_are_left_as_they_are():
    x = heavy(n=1500, freedom=None, seed=3)
    plain, sde = SDE().fit(x, dt=0.02), SDE(tails="learn").fit(x, dt=0.02)
    assert sde.tails_.value == np.inf
    np.testing.assert_array_equal(sde.diffusion([0.0, 0.5]), plain.diffusion([0.0, 0.5]))
