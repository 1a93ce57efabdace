"""Equations beside the process: evidence against integrals, laws of units, known truth, and what is shown of them."""

import re
from dataclasses import replace
from html import escape
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

import onepath
from onepath import SDE
from onepath.after.equations import equations_of
from onepath.compare.processes import PROCESSES
from onepath.graph.links import LINKS
from onepath.inference.equations.beside import with_equations
from onepath.inference.equations.hypotheses import WHOLE, Told
from onepath.inference.equations.regression import Squares, linear, nearly, variances
from onepath.inference.equations.subsets import Simplicity, all_subsets, searched
from onepath.inference.posterior import evaluate
from onepath.inference.posterior.clustering import Clustering
from onepath.inference.posterior.formulas import Formulas
from onepath.inference.posterior.increments import increments
from onepath.show import equations as shown
from onepath.show.facts import facts_of
from onepath.show.notebook import as_html
from onepath.show.report.typeset import typeset
from onepath.studio.told import tables

PROCESS = PROCESSES["double_well_multiplicative"]


@pytest.fixture(scope="module")
def path():
    return PROCESS.simulate(10_000, random_state=5)[0]


@pytest.fixture(scope="module")
def found(path):
    return SDE(progress=False).fit(path, dt=PROCESS.dt, unit="second")


def grid_of(path, more=0.0):
    low, high = np.quantile(path, [0.02, 0.98])
    return np.linspace(low - more, high + more, 25)[:, None]


# evidence


def test_evidence_of_a_regression_is_that_of_its_normal_distribution():
    """p(y | subset) = N(0, D P⁻¹Dᵀ + W⁻¹), against no terms at all."""
    rng = np.random.default_rng(0)
    design, weight, y = rng.normal(size=(8, 3)), rng.uniform(0.5, 2.0, 8), rng.normal(size=8)
    precision = np.array([0.5, 1.0, 2.0])
    subsets = all_subsets(3)
    information = (design * weight[:, None]).T @ design
    got = linear(subsets, information, design.T @ (weight * y), precision)
    noise = np.diag(1 / weight)
    nothing = multivariate_normal.logpdf(y, np.zeros(8), noise)
    for k, subset in enumerate(subsets):
        own = design[:, subset]
        prior = np.diag(1 / precision[subset])
        expected = multivariate_normal.logpdf(y, np.zeros(8), own @ prior @ own.T + noise)
        assert_allclose(got.evidence[k], expected - nothing, rtol=1e-8)
        covariance = np.linalg.inv(np.linalg.inv(prior) + own.T @ (weight[:, None] * own))
        assert_allclose(got.coefficients[k, subset], covariance @ own.T @ (weight * y), rtol=1e-6)
        assert np.all(got.coefficients[k, ~subset] == 0.0)


def test_evidence_of_a_variance_is_its_integral():
    """One positive coefficient, integrated by quadrature; and where scoring ends, no direction leads further down."""
    rng = np.random.default_rng(1)
    x, count = rng.uniform(0.5, 2.0, 60), np.full(60, 20.0)
    design = np.stack([np.ones(60), x], axis=1)
    gain, rest = np.full(60, 0.1), np.full(60, 0.01)
    total = (gain * (0.4 + 0.8 * x) + rest) * rng.chisquare(20, 60)
    squares, precision = Squares(count, total, gain, rest), np.array([1.0, 1.0])
    got = variances(all_subsets(2), design, squares, 0.4 + 0.8 * x, precision)
    best = got.coefficients[0, 0]
    least = squares.loss(np.full(60, best)) + 0.5 * best**2

    def density(c):
        return np.exp(least - squares.loss(np.full(60, c)) - 0.5 * c**2)

    integral, _ = quad(density, 0.8 * best, 1.2 * best)
    assert_allclose(got.evidence[0], -least + np.log(integral) - 0.5 * np.log(2 * np.pi), atol=0.01)
    both = got.coefficients[2]
    errors = np.sqrt(np.diag(np.linalg.inv(got.lower[2] @ got.lower[2].T)))
    assert np.all(np.abs(both - [0.4, 0.8]) < 4 * errors)
    at_best = squares.loss(design @ both) + 0.5 * both @ both
    for step in 1e-3 * np.vstack([np.eye(2), -np.eye(2)]):
        moved = both + step
        assert squares.loss(design @ moved) + 0.5 * moved @ moved > at_best
    order = np.argsort(nearly(all_subsets(2), design, squares, 0.4 + 0.8 * x, precision))
    assert order.tolist() == np.argsort(got.evidence).tolist()


def test_what_is_never_positive_has_no_evidence():
    x = np.linspace(-1, 1, 40)
    squares = Squares(np.ones(40), np.ones(40), np.ones(40), np.zeros(40))
    got = variances(np.array([[True]]), x[:, None], squares, np.ones(40), np.ones(1))
    assert got.evidence[0] == -np.inf


def test_a_search_finds_what_looking_at_all_finds(monkeypatch):
    rng = np.random.default_rng(3)
    design = rng.normal(size=(60, 9))
    y = design[:, [1, 4, 7]] @ [1.0, -1.0, 0.7] + rng.normal(size=60)
    prior = Simplicity(np.array([0, 1, 1, 2, 2, 2, 3, 3, 3]), 0.3, 0.6)

    def judge(subsets):
        return linear(subsets, design.T @ design, design.T @ y, np.ones(9)).evidence

    every, values = searched(judge, prior)
    monkeypatch.setattr("onepath.inference.equations.subsets.EXHAUSTIVE", 5)
    some, found = searched(judge, prior)
    assert len(some) < len(every)
    assert found.max() == values.max()
    assert -0.05 < np.logaddexp.reduce(found) - np.logaddexp.reduce(values) < 1e-9
    assert_allclose(np.logaddexp.reduce(prior.of(every)), prior.log_total)


# members of the posterior


@pytest.mark.parametrize("link", [*LINKS])
@pytest.mark.usefixtures("double")
def test_what_a_link_makes_of_a_root_has_the_derivatives_it_says(link):
    value, step = np.array([0.05, 0.4, 1.7, 6.0]), 1e-5
    jet = LINKS[link].inverse_jet
    latent, first, second = jet(value, np)
    assert_allclose(latent, LINKS[link].inverse(jnp.asarray(value)), rtol=1e-12)
    ahead, behind = jet(value + step, np), jet(value - step, np)
    assert_allclose(first, (ahead[0] - behind[0]) / (2 * step), rtol=1e-6, atol=1e-8)
    assert_allclose(second, (ahead[1] - behind[1]) / (2 * step), rtol=1e-5, atol=1e-8)


@pytest.mark.usefixtures("double")
def test_latents_of_a_squared_noise_have_the_slopes_of_its_root(found):
    """Jets of link⁻¹(√a) against finite differences, where a is a polynomial."""
    formulas: Formulas = found.posterior_.formulas
    e = int(np.argmax(np.asarray(formulas.mass)[1]))

    def latent(u, order):
        sums = np.einsum("nkt,t->nk", formulas.terms.jets(u, order), np.asarray(formulas.mean)[1, e])
        return np.asarray(formulas.latents(np.stack([0 * sums, sums], axis=1), np))[:, 1]

    u, step = np.linspace(-1.2, 1.2, 7)[:, None], 1e-4
    jets, ahead, behind = latent(u, 2), latent(u + step, 2), latent(u - step, 2)
    assert_allclose(jets[:, 1], (ahead[:, 0] - behind[:, 0]) / (2 * step), rtol=1e-6, atol=1e-6)
    assert_allclose(jets[:, 2], (ahead[:, 1] - behind[:, 1]) / (2 * step), rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("double")
def test_draws_increments_and_means_are_of_one_posterior(found, path):
    """What draws scatter around are means; compiled increments are the law of NumPy's moments."""
    posterior, units = found.posterior_, found.units_
    x = grid_of(path)
    u = units.points(x)
    mean, covariance = posterior.moments(u)
    formulas = posterior.formulas
    likely = replace(posterior, band_mass=posterior.mass, formulas=replace(formulas, mass=formulas.band_mass()))
    mean, covariance = likely.moments(u)
    drawn = evaluate.draws(likely, u, 4000, np.random.default_rng(0))
    deviation = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    assert_allclose(drawn.mean(axis=0), mean[..., 0], atol=5 * deviation.max() / np.sqrt(4000))
    assert_allclose(drawn.std(axis=0), deviation, rtol=0.15)
    middle, _ = evaluate.mixture(likely, u).moments()
    assert_allclose(middle, mean[..., 0], rtol=1e-10, atol=1e-12)
    steps = increments(posterior, units, x, PROCESS.dt)
    latent, _ = posterior.moments(u, order=2)
    one = np.full(len(x), PROCESS.dt / units.time)
    expected = jax.vmap(posterior.graph.bare.gaussian)(jnp.asarray(latent), u, one)
    assert_allclose(steps[0], np.asarray(expected[0]) * units.scale, rtol=1e-9, atol=1e-12)
    assert_allclose(steps[1], np.asarray(expected[1]) * units.scale**2, rtol=1e-9)


def test_off_is_the_process_alone_bit_for_bit(found, path):
    off = SDE(progress=False, equations="off").fit(path, dt=PROCESS.dt, unit="second")
    assert off.equations_ is None
    plain = replace(found.model_, posterior=replace(found.posterior_, formulas=None))
    x = grid_of(path, 0.5)
    assert np.array_equal(off.model_.drift(x), plain.drift(x))
    assert np.array_equal(off.model_.diffusion_band(x)[0], plain.diffusion_band(x)[0])
    assert off.evidence_ == found.evidence_


# laws and truth


@pytest.mark.parametrize(("a", "c"), [(1e4, 60.0), (-0.003, 1e-3)])
def test_an_equation_is_the_same_in_other_units(found, path, a, c):
    other = SDE(progress=False).fit(a * path, dt=c * PROCESS.dt)
    for mine, its in zip(found.equations_.all, other.equations_.all, strict=True):
        assert_allclose(its.none, mine.none, rtol=1e-5, atol=1e-9)
        factor = 1.0 / c if mine.of.startswith("drift") else a / c
        for one, its_own in zip(mine.equations, its.equations, strict=True):
            assert_allclose(its_own.probability, one.probability, rtol=1e-5)
            for term, its_term in zip(one.terms, its_own.terms, strict=True):
                power = sum(p for _, p in term.factors)
                scale = a * factor * a ** (-float(power))
                assert its_term.name == term.name
                assert_allclose(its_term.coefficient, term.coefficient * scale, rtol=1e-5)
                assert_allclose(its_term.error, term.error * abs(scale), rtol=1e-5)


def test_a_shift_changes_equations_and_not_the_process(found, path):
    other = SDE(progress=False).fit(path + 3.0, dt=PROCESS.dt)
    first, second = (replace(each.model_, posterior=replace(each.posterior_, formulas=None)) for each in (found, other))
    x = grid_of(path)
    assert_allclose(second.drift(x + 3.0), first.drift(x), atol=1e-6 * np.abs(first.drift(x)).max())
    assert set(other.equations_.noise[0].equations[0].coefficients) != {"1", "x^2"}


def test_a_simple_law_is_found_as_one(found, path):
    """dX = (X - X³) dt + 0.5 √(1 + X²) dW: its terms, its coefficients within errors, and the answer much nearer."""
    drift, noise = (each[0].best for each in (found.equations_.drift, found.equations_.noise))
    assert set(drift.coefficients) == {"x", "x^3"}
    assert set(noise.coefficients) == {"1", "x^2"}
    for equation, truth in ((drift, {"x": 1.0, "x^3": -1.0}), (noise, {"1": 0.25, "x^2": 0.25})):
        for name, value in truth.items():
            assert abs(equation.coefficients[name] - value) < 4 * equation.errors[name]
    x = grid_of(path)
    plain = replace(found.model_, posterior=replace(found.posterior_, formulas=None))
    errors = [np.linalg.norm(each.drift(x) - PROCESS.drift(x)) for each in (found.model_, plain)]
    assert errors[0] < 0.8 * errors[1]
    beyond = np.array([[-3.0], [3.0]])
    lower, upper = found.model_.drift_band(beyond)
    truth = PROCESS.drift(beyond)
    assert np.all((lower < truth) & (truth < upper))
    assert np.linalg.norm(found.model_.drift(beyond) - truth) < 0.3 * np.linalg.norm(plain.drift(beyond) - truth)


def test_what_is_no_equation_is_not_called_one():
    process = PROCESSES["wiggly"]
    sde = SDE(progress=False).fit(process.simulate(10_000, random_state=6)[0], dt=process.dt)
    noise = sde.equations_.noise[0]
    assert noise.best is None
    assert noise.none > 0.9
    assert "no simple equation" in str(sde.equations_)
    assert "# squared noise: no simple equation" in sde.equations_.python
    assert "no simple equation" in sde.summary()


def test_terms_of_ones_own_are_found():
    """Six wells: dX = (3 sin 2X - 0.3 X) dt + √(1.5 + cos X) dW, by an expression and by a function of NumPy."""
    rng, x = np.random.default_rng(0), np.zeros(100_001)
    for i, z in enumerate(rng.standard_normal(100_000)):
        drift = 3 * np.sin(2 * x[i]) - 0.3 * x[i]
        x[i + 1] = x[i] + drift * 0.002 + np.sqrt(0.002 * (1.5 + np.cos(x[i]))) * z
    x = x[::10]
    sde = SDE(terms={"sin 2x": "sin(2*x)", "cos x": np.cos}, progress=False).fit(x, dt=0.02)
    drift, noise = sde.equations_.drift[0], sde.equations_.noise[0]
    assert drift.terms["sin 2x"] > 0.9
    assert noise.terms["cos x"] > 0.5
    space = {}
    exec(sde.equations_.python, space)
    for name, one, own in (("f", drift, sde.drift), ("variance", noise, lambda at: sde.diffusion(at) ** 2)):
        if one.best is not None:
            at = np.quantile(x, [0.2, 0.5, 0.8])
            assert_allclose(space[name](at), one.best(at), rtol=1e-9)
            assert_allclose(own(at), one.best(at), rtol=0.25, atol=0.1)


# asked for


def test_only_equations_are_the_whole_answer(path):
    sde = SDE(equations="only", progress=False).fit(path[:2001], dt=PROCESS.dt)
    assert all(one.none < 1e-9 for one in sde.equations_.all)
    x = grid_of(path[:2001])
    share = sum(each.probability * each(x) for each in sde.equations_.drift[0].equations)
    missing = 1.0 - sum(each.probability for each in sde.equations_.drift[0].equations)
    assert_allclose(sde.model_.drift(x)[:, 0], share, atol=(0.02 + 2 * missing) * np.abs(share).max())
    ahead = sde.forecast(20, paths=50, random_state=0)
    assert np.all(np.isfinite(ahead.x))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"learn": None}, "learn"),
        ({"periodic": 6.283}, "periodic"),
        ({"jumps": True}, "jumps"),
        ({"measurement": "learn"}, "measurement"),
        ({"order": 2}, "order=2"),
        ({"trend": True}, "trend"),
        ({"noise": "full"}, "correlated noise"),
        ({"link": "identity"}, "link"),
        ({"terms": ["sin(x)"], "equations": "off"}, "equations='off'"),
        ({"terms": ["sin(x)"], "equations": "auto", "trend": True}, "terms do not go together with trend"),
        ({"equations": "maybe"}, "not known"),
    ],
)
def test_what_does_not_go_together_is_refused_before_any_work(settings, said):
    with pytest.raises(ValueError, match=said):
        SDE(**{"equations": "only", **settings}).fit(np.arange(20.0), dt=1.0)


def test_auto_leaves_equations_out_where_they_do_not_go(path):
    sde = SDE(learn=None, progress=False).fit(path[:501], dt=PROCESS.dt)
    assert sde.equations_ is None
    with pytest.raises(ValueError, match="terms of a class"):
        SDE(equations="only").fit(path[:501], dt=PROCESS.dt, inputs={"u": ["a", "b", "c"] * 167})


def test_a_quadratic_says_of_variances_what_scoring_says_and_half_of_the_information_half(path, monkeypatch):
    """Where cells say all of what normal increments do, and where they say half of it."""
    found = []

    def asked(*given):
        alike = Told(clustering=Clustering(np.eye(len(given[2].weight)), learned=True))
        found.extend(with_equations(*given, told).posterior.formulas for told in (WHOLE, alike, Told(0.5, 0.5)))
        return with_equations(*given)

    monkeypatch.setattr("onepath.inference.fit.with_equations", asked)
    SDE(progress=False).fit(path, dt=PROCESS.dt)
    scored, quadratic, half = found
    assert_allclose(quadratic.mass[1, 0], scored.mass[1, 0], atol=0.05)
    errors = np.linalg.norm(scored.root[1, 0], axis=1)
    used = errors > 0
    assert np.array_equal(used, np.any(quadratic.root[1, 0] != 0.0, axis=1))
    assert np.all(np.abs(quadratic.mean[1, 0] - scored.mean[1, 0])[used] < 0.3 * errors[used])
    for f in range(2):
        same = next(e for e in range(8) if np.array_equal(half.mean[f, e] != 0.0, scored.mean[f, 0] != 0.0))
        whole, less = (np.linalg.norm(each, axis=1) for each in (scored.root[f, 0], half.root[f, same]))
        assert_allclose(less[less > 0], np.sqrt(2.0) * whole[whole > 0], rtol=0.1)


# shown


def test_equations_are_kept_in_files(found, tmp_path):
    loaded = onepath.load(found.save(tmp_path / "m.onepath"))
    assert str(loaded.equations_) == str(found.equations_)
    x = np.linspace(-2.5, 2.5, 9)
    assert np.array_equal(loaded.drift(x), found.drift(x))
    ahead = [each.forecast(10, paths=20, random_state=1).x for each in (found, loaded)]
    assert np.array_equal(*ahead)


def test_text_latex_and_python_say_the_same(found):
    drift = found.equations_.drift[0].best
    x = np.array([-1.0, 0.5, 2.0])
    space = {}
    exec(found.equations_.python, space)
    assert_allclose(space["f"](x), drift(x), rtol=1e-9)
    assert_allclose(drift(x), drift.coefficients["x"] * x + drift.coefficients["x^3"] * x**3, rtol=1e-9)
    assert "x^{3}" in drift.latex
    assert "x^3" in drift.text
    assert f"{drift.probability:.0%}" in str(found.equations_) or "over 99%" in str(found.equations_)


def test_summary_facts_report_and_figure_tell_of_them(found, tmp_path):
    drift = found.equations_.drift[0].best
    assert f"drift = {drift.text}" in found.summary()
    assert "squared noise = " in found.summary()
    facts = facts_of(found.model_)
    assert facts["candidates"][0]["equations"][0]["coefficients"] == drift.coefficients
    page = found.report(tmp_path / "r.html").read_text()
    assert "<math>" in page
    assert "As LaTeX" in page
    assert "://" not in page.replace("http://www.w3.org", "")
    figure = found.plot("terms")
    import matplotlib.pyplot as plt

    assert [axes.get_title(loc="left") for axes in figure.axes if axes.get_visible()] == ["drift", "squared noise"]
    plt.close(figure)


def test_probabilities_are_ordered_and_sum_to_one(found):
    for one in found.equations_.all:
        each = [equation.probability for equation in one.equations]
        assert all(first >= second for first, second in pairwise(each))
        assert 0.95 < sum(each) + one.none <= 1.0 + 1e-9
        assert all(0.0 <= share <= 1.0 + 1e-9 for share in one.terms.values())
    assert equations_of(found.model_) is equations_of(found.model_)


@pytest.mark.slow
def test_intervals_of_coefficients_cover(table):
    """Of the true equation, wherever it is among the probable ones: 90 % intervals over 40 seeds."""
    process, inside, errors = PROCESSES["double_well_multiplicative"], [], []
    for seed in range(40):
        sde = SDE(progress=False).fit(process.simulate(4000, random_state=300 + seed)[0], dt=process.dt)
        for candidates, truth in (
            (sde.equations_.drift[0], {"x": 1.0, "x^3": -1.0}),
            (sde.equations_.noise[0], {"1": 0.25, "x^2": 0.25}),
        ):
            for one in candidates.equations:
                if set(one.coefficients) == set(truth):
                    inside += [abs(one.coefficients[k] - v) < norm.ppf(0.95) * one.errors[k] for k, v in truth.items()]
                    errors += [one.errors[k] for k in truth]
    table(f"{np.mean(inside):.0%} of {len(inside)} coefficients inside their 90 % intervals")
    assert 0.78 < np.mean(inside) < 0.98


def test_whoever_shows_a_model_shows_the_same_equations(found):
    model = found.model_
    lines = shown.found(model)
    assert lines[0].startswith("drift = ")
    assert "probability" in lines[0]
    assert facts_of(model)["equations"] == lines
    assert tables(model)["equations"] == [typeset(line) for line in lines]
    assert all(line.strip() in found.summary() for line in lines)
    page = as_html(model)
    assert all(escape(typeset(line)) in page for line in lines)


def test_where_a_drift_is_no_equation_it_is_said_how_much_a_cubic_explains(found, monkeypatch):
    asked = equations_of(found.model_)
    none = replace(asked.drift[0], equations=(), none=1.0)
    monkeypatch.setattr(shown, "equations_of", lambda _: replace(asked, drift=(none,)))
    assert re.search(r"no simple equation.*the best cubic polynomial explains \d+% of it", shown.lines(found.model_)[0])
