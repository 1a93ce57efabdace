"""Transition laws against closed forms, and what they do to a fit at the step that the data have."""

import itertools
import warnings
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from onepath import SDE, load
from onepath.compare.processes import PROCESSES
from onepath.gp.jets import Jet, jet_of, packed, unpacked
from onepath.graph.laws import LAWS
from onepath.graph.laws.flow import linear_flow
from onepath.inference.completion.loop import RUNNING
from onepath.inference.posterior.mixture import complete_at

pytestmark = pytest.mark.usefixtures("double")


def moments(law, drift, diffusion, x, dt):
    at = jnp.atleast_1d(jnp.asarray(x, float))
    mean, covariance = LAWS[law].gaussian(jet_of(drift, at), jet_of(diffusion, at), jnp.asarray(dt))
    return np.asarray(mean), np.asarray(covariance)


def linear_truth(slope, rate, x, dt, parts=4000):
    """The integrals ∫ e^{As} ds A x and ∫ e^{As} a e^{Aᵀs} ds by Simpson's rule, e^{As} by eigenvectors."""
    values, vectors = np.linalg.eig(slope)
    s = np.linspace(0.0, dt, 2 * parts + 1)
    weights = np.full(len(s), 2.0)
    weights[1::2], weights[[0, -1]] = 4.0, 1.0
    weights *= dt / (6 * parts)
    flows = np.real(np.einsum("ij,sj,jk->sik", vectors, np.exp(np.outer(s, values)), np.linalg.inv(vectors)))
    covariance = np.einsum("s,sij,jk,slk->il", weights, flows, rate, flows)
    return np.einsum("s,sij->ij", weights, flows) @ slope @ x, covariance


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
def test_linear_drift_and_correlated_constant_noise_are_exact(d, scale):
    random = np.random.default_rng(d)
    slope = scale * (random.normal(size=(d, d)) - np.eye(d))
    sigma = np.tril(random.normal(size=(d, d))) + np.eye(d)
    x = random.normal(size=d)
    mean, covariance = moments("linearised", lambda u: slope @ u, lambda u: jnp.asarray(sigma) + 0 * u[0], x, 1.0)
    true_mean, true_covariance = linear_truth(slope, sigma @ sigma.T, x, 1.0)
    assert_allclose(mean, true_mean, rtol=1e-10, atol=1e-10 * np.abs(true_mean).max())
    assert_allclose(covariance, true_covariance, rtol=1e-10, atol=1e-10 * np.abs(true_covariance).max())


def gbm_truth(x, dt, rate=2.0):
    return x * np.expm1(rate * dt), x**2 * np.exp(2 * rate * dt) * np.expm1(dt)


def cir_truth(x, dt, rate=2.0, level=1.0, noise=0.8):
    left = np.exp(-rate * dt)
    mean = (level - x) * (1 - left)
    return mean, noise**2 / rate * (x * (left - left**2) + level * (1 - left) ** 2 / 2)


@pytest.mark.parametrize(
    ("truth", "drift", "diffusion"),
    [
        (gbm_truth, lambda u: 2 * u, jnp.diag),
        (cir_truth, lambda u: 2 * (1 - u), lambda u: 0.8 * jnp.diag(jnp.sqrt(u))),
    ],
    ids=["gbm", "cir"],
)
def test_errors_fall_with_the_cube_of_the_step(truth, drift, diffusion, table):
    steps, x = 2.0 ** -np.arange(5, 10), 1.3
    for law, order in (("euler", 2), ("linearised", 3)):
        errors = []
        for dt in steps:
            mean, covariance = moments(law, drift, diffusion, x, dt)
            errors.append(np.abs([mean[0] - truth(x, dt)[0], covariance[0, 0] - truth(x, dt)[1]]))
        of_mean, of_variance = np.asarray(errors).T
        slope = np.polyfit(np.log(steps), np.log(of_variance), 1)[0]
        assert slope == pytest.approx(order, abs=0.15)
        if law == "linearised":
            # the drift is linear, so the mean is exact
            assert np.max(of_mean) < 1e-14
            table(f"{truth.__name__[:3]}: linearised law, variance error falls as dt^{slope:.2f}, the mean is exact")
        else:
            assert np.polyfit(np.log(steps), np.log(of_mean), 1)[0] == pytest.approx(2, abs=0.1)
            table(f"{truth.__name__[:3]}: Euler's law, variance error falls as dt^{slope:.2f}")


def simulated(drift, diffusion, x, dt, paths=200_000, parts=64):
    """Mean and covariance of many finely simulated increments, and their standard errors."""
    random, state = np.random.default_rng(0), np.tile(x, (paths, 1))
    for _ in range(parts):
        noise = random.normal(size=state.shape) * np.sqrt(dt / parts)
        state = state + drift(state) * dt / parts + np.einsum("nij,nj->ni", diffusion(state), noise)
    increments = state - x
    products = np.einsum("ni,nj->nij", increments - increments.mean(0), increments - increments.mean(0))
    return increments.mean(0), products.mean(0), products.std(0) / np.sqrt(paths)


def test_two_dimensions_with_drift_and_noise_that_bend():
    """Against simulation: what the second law leaves is several times smaller than what Euler's does."""

    def drift(u):
        return jnp.stack([u[1] - u[0] ** 3, -2 * u[1] + jnp.sin(u[0])])

    def diffusion(u):
        return (
            jnp.asarray([[1.0, 0.0], [0.0, 0.0]]) * jnp.sqrt(1 + u[0] ** 2)
            + jnp.asarray([[0.0, 0.0], [0.3, 0.0]]) * u[1]
            + jnp.asarray([[0.0, 0.0], [0.0, 1.0]]) * (0.6 + 0.2 * jnp.tanh(u[1]))
        )

    x, dt = np.array([0.8, -0.5]), 0.1
    _, covariance, error = simulated(jax.vmap(drift), jax.vmap(diffusion), x, dt)
    gaps = {law: np.abs(moments(law, drift, diffusion, x, dt)[1] - covariance) for law in LAWS}
    assert np.max(gaps["linearised"]) < 0.2 * np.max(gaps["euler"]) + 4 * np.max(error)


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2])
def test_variances_are_positive_for_any_step(d):
    random = np.random.default_rng(0)
    for _ in range(50):
        slope, centre = 3 * random.normal(size=(d, d)), random.normal(size=d)
        steep = 5 * random.normal(size=d)

        def drift(u, slope=slope, centre=centre):
            return slope @ (u - centre)

        def diffusion(u, steep=steep):
            return jnp.diag(jax.nn.softplus(steep * u))

        mean, covariance = moments("linearised", drift, diffusion, random.normal(size=d), 10 ** random.uniform(-2, 0.5))
        assert np.all(np.isfinite(mean))
        assert np.all(np.linalg.eigvalsh(covariance) > 0)


def test_a_step_is_two_half_steps():
    """The flow of a linear equation composes; seen from a displaced state, its mean is moved by the flow."""
    slope, drift, rate = jnp.asarray([[-1.0, 2.0], [-0.5, 0.3]]), jnp.asarray([0.4, -1.0]), jnp.eye(2)
    whole, half = (linear_flow(slope, drift, rate, jnp.asarray(dt)) for dt in (0.8, 0.4))
    second = linear_flow(slope, drift + slope @ half[0], rate, jnp.asarray(0.4))
    flow = np.eye(2) + np.asarray(jax.jacfwd(lambda x: linear_flow(slope, slope @ x, rate, jnp.asarray(0.4))[0])(drift))
    assert_allclose(whole[0], half[0] + second[0], rtol=1e-12)
    assert_allclose(whole[1], flow @ half[1] @ flow.T + half[1], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("d", [2])
def test_slopes_of_a_linear_flow_are_limits_of_differences(d):
    """Its derivative is written by hand, once; of that one, autodiff's second derivative must agree too."""
    random = np.random.default_rng(d)
    places = random.normal(size=d * d), random.normal(size=d), np.eye(d).ravel(), np.array([0.3])
    point, toward = np.concatenate(places), random.normal(size=2 * d * d + d + 1)
    edges = np.cumsum([0, *map(len, places)])

    def flow(point):
        slope, drift, rate, dt = (point[a:b] for a, b in itertools.pairwise(edges))
        mean, covariance = linear_flow(slope.reshape(d, d), drift, rate.reshape(d, d), dt[0])
        return jnp.concatenate([mean, covariance.ravel()])

    def slope(point):
        return jax.jvp(flow, (point,), (jnp.asarray(toward),))[1]

    for function, derivative in ((flow, slope), (slope, lambda at: jax.jvp(slope, (at,), (jnp.asarray(toward),))[1])):
        ends = [function(jnp.asarray(point + step * toward)) for step in (-2e-4, -1e-4, 1e-4, 2e-4)]
        difference = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / 1.2e-3
        assert_allclose(derivative(jnp.asarray(point)), difference, rtol=1e-7, atol=1e-9)


def test_jets_survive_packing():
    jet = jet_of(lambda u: jnp.stack([u[0] ** 2 * u[1], jnp.sin(u[1])]), jnp.asarray([0.3, -0.7]))
    again = unpacked(packed(jet), 2)
    assert all(np.array_equal(a, b) for a, b in zip(jet, again, strict=True))
    assert_allclose(jet.slope, [[2 * 0.3 * -0.7, 0.0], [0.09, np.cos(-0.7)]])
    assert_allclose(jet.bend[0, 1], [0.6, 0.0])


@pytest.fixture(scope="module")
def stiff():
    """An Ornstein–Uhlenbeck process whose step is half a relaxation time, by its exact law."""
    random, left = np.random.default_rng(0), np.exp(-0.5)
    x = np.zeros(2001)
    for i, noise in enumerate(random.normal(size=2000) * np.sqrt((1 - left**2) / 2)):
        x[i + 1] = left * x[i] + noise
    return x


@pytest.mark.slow
def test_auto_takes_the_second_law_where_it_is_needed_and_says_why(stiff, tmp_path):
    sde = SDE(progress=False).fit(stiff, dt=0.5)
    euler = SDE(transition="euler", progress=False).fit(stiff, dt=0.5)
    assert sde.transition_ == "linearised"
    assert sde.stiffness_.change == pytest.approx(0.5, abs=0.1)
    assert "linearised: |f'| Δt = 0." in sde.summary()
    x = np.quantile(stiff, [0.1, 0.3, 0.5, 0.7, 0.9])
    assert_allclose(sde.diffusion(x), 1.0, atol=0.08)
    assert np.all(euler.diffusion(x) < 0.87)
    assert_allclose(euler.diffusion(x) ** 2, (1 - np.exp(-1.0)) / 1.0, atol=0.08)
    assert -np.polyfit(x, sde.drift(x), 1)[0] == pytest.approx(1.0, abs=0.15)
    again = load(sde.save(tmp_path / "stiff.onepath"))
    assert again.transition_ == "linearised"
    assert np.array_equal(again.diffusion(x), sde.diffusion(x))


@pytest.mark.slow
def test_laws_agree_to_a_tenth_of_a_band_where_euler_is_adequate(table):
    worst = 0.0
    for name in ("gbm",):
        x = PROCESSES[name].simulate(500, random_state=4)[0]
        laws = {"euler": "auto", "linearised": "linearised"}
        fits = {law: SDE(transition=asked, progress=False).fit(x, dt=PROCESSES[name].dt) for law, asked in laws.items()}
        assert fits["euler"].transition_ == "euler"
        assert fits["euler"].stiffness_.change < 0.02
        grid = np.quantile(x, np.linspace(0.05, 0.95, 19))
        for values, band in (("drift", "drift_band"), ("diffusion", "diffusion_band")):
            lower, upper = getattr(fits["euler"], band)(grid)
            apart = getattr(fits["euler"], values)(grid) - getattr(fits["linearised"], values)(grid)
            worst = max(worst, float(np.sqrt(np.mean(np.square(apart / (upper - lower))))))
    table(f"Euler adequate (|f'| dt < 0.02): laws differ by {worst:.3f} of a band's width")
    assert worst < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["irregular", "forgotten", "outwards"])
def test_hostile_steps_give_finite_answers(trouble):
    random = np.random.default_rng(1)
    steps = {
        "irregular": 10 ** random.uniform(-2, 0, 500),
        "forgotten": np.full(500, 3.0),
        "outwards": np.full(500, 0.02),
    }
    dt, rate = steps[trouble], 1.0 if trouble == "outwards" else -1.0
    t, x = np.concatenate([[0.0], np.cumsum(dt)]), np.zeros(501)
    flow = np.exp(rate * dt)
    for i, noise in enumerate(random.normal(size=500) * np.sqrt((flow**2 - 1) / (2 * rate))):
        x[i + 1] = flow[i] * x[i] + noise
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sde = SDE(learn="evidence" if trouble == "irregular" else None, progress=False).fit(x, t=t, gap=np.inf)
    lower, upper = sde.diffusion_band(x)
    assert all(np.all(np.isfinite(part)) for part in (sde.drift(x), lower, upper, sde.score(x, t=t, gap=np.inf)))
    assert np.all(lower > 0)
    if trouble == "irregular":  # a hundredth to a whole relaxation time: the truth is -x and 1
        at = np.quantile(x, [0.2, 0.8])
        low, high = sde.drift_band(at, level=0.99)
        assert np.all((low < -at) & (-at < high))
        assert np.all(high - low < 2.5)
        assert_allclose(sde.diffusion(at), 1.0, atol=0.12)
    assert any("relaxation times" in str(w.message) for w in caught) == (trouble == "forgotten")


@pytest.mark.parametrize("end", ["fails", "goes on for ever"])
def test_where_the_second_law_comes_to_no_end_eulers_is_kept_and_that_is_said(stiff, monkeypatch, end):
    def endless(graph, *rest):
        if graph.law.name == "euler":
            return complete_at(graph, *rest)
        if end == "fails":
            raise RuntimeError
        found = complete_at(graph, *rest)
        return found._replace(completion=replace(found.completion, code=RUNNING))

    monkeypatch.setattr("onepath.inference.fit.complete_at", endless)
    with pytest.warns(UserWarning, match="these are Euler's answers"):
        sde = SDE(learn=None, progress=False).fit(stiff[:500], dt=0.5)
    assert sde.transition_ == "euler"
    assert sde.outcome_.startswith("converged")
    assert "the linearised law has not converged" in sde.summary()


@pytest.mark.parametrize("d", [1, 2])
def test_noise_that_is_nearly_nothing_leaves_the_law_finite(d):
    """σ whose square is too small to be a number, and steep: what is divided by it is one still."""

    def law(size):
        sigma = size * jnp.eye(d)
        steep = Jet(sigma, 100 * jnp.broadcast_to(sigma, (d, d, d)), 1e4 * jnp.broadcast_to(sigma, (d, d, d, d)))
        return LAWS["linearised"].gaussian(jet_of(lambda u: -3 * u, jnp.ones(d)), steep, jnp.asarray(0.1))

    both = jax.jit(lambda size: (law(size), jax.jacrev(law)(size)))
    for size in (1.0, 1e-150, 1e-190):
        (mean, covariance), slopes = both(size)
        assert all(np.all(np.isfinite(each)) for each in (mean, covariance, *slopes))
        assert np.all(np.diagonal(covariance) >= 0)


def test_the_papers_solvers_keep_to_eulers_law():
    x = PROCESSES["ou"].simulate(500, random_state=0)[0]
    with pytest.raises(ValueError, match="rest on Euler's law"):
        SDE(transition="linearised", solver="newton").fit(x, dt=0.001)
    with pytest.raises(ValueError, match="transition='milstein' is not known"):
        SDE(transition="milstein").fit(x, dt=0.001)


@pytest.mark.parametrize("reach", [1e3, 1e6])
def test_a_step_of_very_many_relaxation_times_ends_in_the_stationary_law(reach):
    """Where a series would not converge any more: J C + C Jᵀ = -a."""
    slope, rate = -reach * jnp.asarray([[1.0, 0.3], [-0.2, 0.7]]), jnp.asarray([[2.0, 0.5], [0.5, 1.0]])
    with jax.enable_x64(True):
        mean, covariance = linear_flow(slope, slope @ jnp.asarray([-1.0, 2.0]), rate, jnp.asarray(1.0))
        left = slope @ covariance
    np.testing.assert_allclose(left + left.T, -rate, rtol=0.02)
    np.testing.assert_allclose(mean, [1.0, -2.0], rtol=0.02)
