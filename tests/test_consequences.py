"""What follows from known functions, against closed forms; and from a fit, against the truth."""

import numpy as np
import pytest
from scipy import integrate, stats
from tinygp import kernels

from onepath import SDE
from onepath.after.consequences import (
    Band,
    Consequences,
    FixedPoint,
    fixed_points,
    modes,
    passage_time,
    potential,
    pull,
    stationary_density,
    zeros,
)
from onepath.after.turning import turning
from onepath.compare.processes import PROCESSES
from onepath.show.report import report_page

CONSTANT = {"drift": kernels.DotProduct() + kernels.Constant(1.0), "diffusion": kernels.Constant(1.0)}


@pytest.fixture(scope="module")
def well():
    process = PROCESSES["double_well"]
    return SDE(transition="euler", progress=False).fit(process.simulate(500, dt=0.1, random_state=1)[0], dt=0.1)


def test_potential_of_a_double_well():
    x = np.linspace(-1.5, 1.5, 201)
    exact = x**4 / 4 - x**2 / 2
    np.testing.assert_allclose(potential(x, x - x**3), exact - exact[0], atol=1e-6)


def test_density_of_an_ornstein_uhlenbeck_process():
    x = np.linspace(-4, 4, 201)
    density = stationary_density(x, -2 * x, np.full_like(x, 1.5))
    np.testing.assert_allclose(density, stats.norm.pdf(x, scale=0.75), atol=1e-4)


def test_density_of_a_square_root_process():
    x = np.linspace(0.02, 5, 401)
    density = stationary_density(x, 2 * (1 - x), 0.8 * np.sqrt(x))
    # an identity link leaves the sign of a diffusion open
    np.testing.assert_array_equal(stationary_density(x, 2 * (1 - x), -0.8 * np.sqrt(x)), density)
    exact = stats.gamma.pdf(x, 2 * 2 / 0.64, scale=0.64 / 4)
    np.testing.assert_allclose(density, exact, atol=2e-3 * exact.max())


def test_brownian_motion_in_a_box_is_spread_evenly_and_leaves_quadratically():
    x, zero, sigma = np.linspace(-1, 3, 201), np.zeros(201), np.full(201, 0.6)
    np.testing.assert_allclose(stationary_density(x, zero, sigma), 0.25, rtol=1e-9)
    upwards = ((2.0 + 1) ** 2 - (0.5 + 1) ** 2) / 0.36
    downwards = ((3 - 0.0) ** 2 - (3 - 1.2) ** 2) / 0.36
    assert passage_time(x, zero, sigma, 0.5, 2.0) == pytest.approx(upwards, rel=1e-4)
    assert passage_time(x, zero, -sigma, 1.2, 0.0) == pytest.approx(downwards, rel=1e-4)


def test_passage_times_of_an_ornstein_uhlenbeck_process():
    """T = √π ∫ e^{v²} (1 + erf v) dv over a scaled interval, for dX = -X dt + √2 dW from a to b."""
    x = np.linspace(-6, 3, 801)
    exact, _ = integrate.quad(lambda v: np.sqrt(2 * np.pi) * np.exp(v * v / 2) * stats.norm.cdf(v), -0.5, 1.5)
    found = passage_time(x, -x, np.full_like(x, np.sqrt(2)), -0.5, 1.5)
    assert found == pytest.approx(exact, rel=1e-3)


def test_passage_times_agree_with_simulated_ones(table):
    process = PROCESSES["quadratic_noise"]
    x = np.linspace(-8, 1, 801)
    f, s = process.drift(x[:, None])[:, 0], process.diffusion(x[:, None])[:, 0, 0]
    start, end = -0.2, 0.5
    expected = float(passage_time(x, f, s, start, end))
    paths = process.simulate(4000, dt=0.01, paths=400, start=[start], random_state=0)[:, :, 0]
    reached = paths > end
    assert reached.any(axis=1).all()
    times = 0.01 * reached.argmax(axis=1)
    table(f"mean passage time: {expected:.3f} by quadrature, {times.mean():.3f} simulated")
    # seen at steps only, a path is found beyond the end by 0.5826 σ √dt on average
    seen = passage_time(x, f, s, start, end + 0.5826 * np.sqrt((0.3 + end**2 / 2) * 0.01))
    assert abs(times.mean() - seen) < 4 * times.std() / np.sqrt(len(times))


def test_high_barriers_do_not_overflow():
    x = np.linspace(-1.6, 1.6, 401)
    time = passage_time(x, 200 * (x - x**3), np.full_like(x, 0.5), -1.0, 1.0)
    barrier = 2 * 200 * 0.25 / 0.25
    kramers = np.log(2 * np.pi / (np.sqrt(2.0) * 200)) + barrier
    assert np.log(time) == pytest.approx(kramers, rel=0.01)


def test_noise_that_vanishes_somewhere_gives_numbers():
    """And no warning: the density is where there is no noise, and a state gets there in a finite time."""
    x = np.linspace(-1, 1, 201)
    for sigma in (np.where(np.abs(x) < 0.1, 0.0, 1.0), np.where(x < 0, 1e-200, 1.0), 0.0 * x):
        density = stationary_density(x, -x, sigma)
        assert np.all(np.isfinite(density))
        assert not np.isnan(passage_time(x, -x, sigma, -0.5, 0.5))
        assert np.all(np.isfinite(turning(x, 0.1 + 0 * x, sigma + 0.1).density))


def test_many_points_are_counted_in_a_summary_and_listed_on_demand():
    each = [FixedPoint(Band(k, k, k), k % 2 == 0, Band(1.0, 1.0, 1.0), 1.0) for k in range(11)]
    found = Consequences(np.zeros(0), None, None, each, [], [], 0.9)
    assert str(found).count("stable point at") == 11
    assert found.brief().startswith("6 × stable point, 5 × unstable point, between 0 and 10: ")
    few = Consequences(np.zeros(0), None, None, each[:9], [], [], 0.9)
    assert few.brief() == str(few)


def test_zeros_of_a_cubic():
    x = np.linspace(-2, 2, 200)
    positions, stable, slopes = zeros(x, x - x**3)
    np.testing.assert_allclose(positions, [-1, 0, 1], atol=1e-3)
    assert stable.tolist() == [True, False, True]
    np.testing.assert_allclose(slopes, [-2, 1, -2], atol=0.05)


def test_bands_of_fixed_points_are_those_of_the_draws():
    x, rng = np.linspace(-3, 3, 301), np.random.default_rng(0)
    shifts = rng.normal(0.0, 0.1, size=2000)
    draws = -(x - shifts[:, None])
    draws[:200] = 1.0 + 0 * x  # a tenth of the draws have none
    (point,) = fixed_points(x, -x, draws, 0.9)
    assert point.stable
    assert point.share == pytest.approx(0.9)
    np.testing.assert_allclose([point.position.lower, point.position.upper], [-0.1645, 0.1645], atol=0.01)
    assert point.slope.median == pytest.approx(-1.0)


def test_modes_of_a_spiral():
    points = np.random.default_rng(0).normal(size=(100, 2))
    matrix = np.array([[-0.5, -2.0], [2.0, -0.5]])
    (mode,) = modes(points, np.stack([points @ matrix.T + 3.0] * 5), 0.9)
    assert mode.rate.median == pytest.approx(-0.5)
    assert mode.period.median == pytest.approx(np.pi)
    slow, fast = modes(points, np.stack([points @ np.diag([-3.0, -1.0])] * 5), 0.9)
    assert (slow.rate.median, fast.rate.median) == pytest.approx((-1.0, -3.0))
    assert np.isinf(slow.period.median)


def test_wells_are_modes_of_the_density_and_not_zeros_of_the_drift():
    """dX = -X dt + σ dW, σ² = 1 + 4 e^(-x²/0.2): the drift's only zero, at 0, is where the density has its least."""
    x = np.linspace(-2, 2, 801)
    sigma = np.sqrt(1 + 4 * np.exp(-np.square(x) / 0.2))
    density = stationary_density(x, -x, sigma)
    inner = density[1:-1]
    peaks = x[1:-1][(inner > density[:-2]) & (inner > density[2:])]
    positions, stable, _ = zeros(x, pull(x, -x, sigma))
    np.testing.assert_allclose(positions[stable], peaks, atol=0.01)
    np.testing.assert_allclose(positions[~stable], [0.0], atol=0.01)
    np.testing.assert_allclose(pull(x, -x, np.full_like(x, 3.0)), -x, atol=1e-9)


def test_a_fit_with_noise_that_varies_has_the_modes_of_the_density(table):
    """dX = -X dt + σ dW, σ² = 0.3 + 1.5 e^(-2x²): ½(σ²)' = -x at ±√(½ ln 3), and at 0, which is a trough."""
    rng, dt = np.random.default_rng(0), 0.002
    path = np.empty(100_001)
    path[0] = 0.5
    for k, normal in enumerate(rng.standard_normal(100_000)):
        here = path[k]
        path[k + 1] = here - here * dt + np.sqrt(dt * (0.3 + 1.5 * np.exp(-2 * here**2))) * normal
    model = SDE(transition="euler", progress=False).fit(path[::10], dt=10 * dt)
    found = model.consequences()
    table(str(found).replace("\n", "; "))
    assert found.by_density
    points = [point for point in found.fixed_points if point.share > 0.5]
    assert [found.kind(point) for point in points] == [
        "mode of the density",
        "trough of the density",
        "mode of the density",
    ]
    where = np.sqrt(0.5 * np.log(3.0))
    for point, position in zip(points, (-where, 0.0, where), strict=True):
        assert point.position.lower < position < point.position.upper
    sigma = np.sqrt(0.3 + 1.5 * np.exp(-2 * np.square(found.x)))
    expected = passage_time(found.x, -found.x, sigma, -where, where)
    assert found.passages[0].time.lower < expected < found.passages[0].time.upper
    for text in (model.summary(), report_page(model.model_)):
        assert "f = ½(σ²)′, not where f = 0" in text
        assert "stable point" not in text
        assert "ode of the density" in text


def test_under_constant_noise_points_are_zeros_of_the_drift(well):
    """As they were: of the mean drift, and called so."""
    found = well.consequences()
    assert not found.by_density
    assert found.notes == ()
    drift = well.drift(found.x)
    crossings = found.x[1:][np.diff(np.sign(drift)) != 0]
    assert len(crossings) == len(found.fixed_points)
    assert {found.kind(point) for point in found.fixed_points} == {"stable point", "unstable point"}
    assert "density" not in str(found)


def test_a_fitted_double_well_has_its_wells(well, table):
    found = well.consequences()
    table(str(found).replace("\n", "; "))
    stable = [point for point in found.fixed_points if point.stable and point.share > 0.5]
    truth = np.array([-1.0, 1.0])
    assert len(stable) == 2
    for point, position in zip(stable, truth, strict=True):
        assert point.position.lower < position < point.position.upper
    x = found.x
    exact = stationary_density(x, x - x**3, np.full_like(x, 0.5))
    inside = (found.density.lower <= exact) & (exact <= found.density.upper)
    assert inside.mean() > 0.6
    assert np.all(found.potential.lower <= found.potential.upper)
    forth, back = found.passages
    assert (forth.start, forth.end) == (back.end, back.start)
    expected = passage_time(x, x - x**3, np.full_like(x, 0.5), -1.0, 1.0)
    assert forth.time.lower < expected < forth.time.upper


def test_above_one_dimension_there_are_modes():
    process = PROCESSES["spiral"]
    model = SDE(**CONSTANT, noise="full", learn=None, transition="euler").fit(
        process.simulate(500, random_state=0)[0], dt=process.dt
    )
    found = model.consequences(draws=100)
    (mode,) = found.modes
    assert mode.period.lower < np.pi < mode.period.upper
    assert found.fixed_points == []
    assert "period" in str(found)


@pytest.mark.parametrize(
    ("change", "message"), [({"level": 90}, "between 0 and 1"), ({"draws": 1}, "draws=1 cannot be used")]
)
def test_wrong_questions_are_refused(well, change, message):
    with pytest.raises(ValueError, match=message):
        well.consequences(**change)
