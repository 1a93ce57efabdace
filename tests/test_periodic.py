"""A state that is an angle: dθ = (ω - a sin θ) dt + s dW, whose drift, density and mean velocity are known."""

import numpy as np
import pytest
from scipy import integrate
from sklearn.base import clone
from tinygp import kernels

import onepath
from onepath import SDE
from onepath.after.turning import turning

OMEGA, PULL, NOISE, DT, TURN = 1.0, 0.8, 0.7, 0.05, 2 * np.pi
SETTINGS = {"transition": "euler", "progress": False}


def simulated(steps, seed):
    """Unwrapped angles, ten Euler steps each."""
    rng, dt = np.random.default_rng(seed), DT / 10
    angle, seen = 0.0, [0.0]
    for _ in range(steps):
        for normal in rng.standard_normal(10):
            angle += (OMEGA - PULL * np.sin(angle)) * dt + NOISE * np.sqrt(dt) * normal
        seen.append(angle)
    return np.asarray(seen)


@pytest.fixture(scope="module")
def path():
    return simulated(4000, 0)


@pytest.fixture(scope="module")
def fitted(path):
    return SDE(periodic=TURN, **SETTINGS).fit(np.mod(path, TURN), dt=DT)


@pytest.fixture(scope="module")
def grid():
    return np.linspace(0.0, TURN, 201)


def exact(grid):
    """Density and velocity from the Fokker–Planck equation as Fourier modes: independent of any quadrature."""
    k = np.arange(-30, 31)
    generator = np.diag(-1j * k * OMEGA - 0.5 * NOISE**2 * k**2).astype(complex)
    # -∂(-a sin θ p) = a ∂(sin θ p), and sin θ couples neighbouring modes
    for i, mode in enumerate(k):
        if i > 0:
            generator[i, i - 1] += 1j * mode * PULL / 2j
        if i < len(k) - 1:
            generator[i, i + 1] -= 1j * mode * PULL / 2j
    generator[30] = 0.0
    generator[30, 30] = 1.0
    modes = np.linalg.solve(generator, np.where(k == 0, 1 / TURN, 0.0))
    density = np.real(np.exp(1j * np.outer(grid, k)) @ modes)
    return density, integrate.trapezoid(density * (OMEGA - PULL * np.sin(grid)), grid)


def test_quadrature_agrees_with_fourier_modes(grid):
    density, velocity = exact(grid)
    found = turning(grid, OMEGA - PULL * np.sin(grid), np.full_like(grid, NOISE))
    np.testing.assert_allclose(found.density, density, atol=2e-4)
    assert found.velocity == pytest.approx(velocity, rel=1e-3)
    still = turning(grid, -PULL * np.sin(grid), np.full_like(grid, NOISE))
    assert still.velocity == pytest.approx(0.0, abs=1e-9)


def test_drift_density_and_velocity_are_found(fitted, grid, table):
    error = np.sqrt(np.mean(np.square(fitted.drift(grid) - (OMEGA - PULL * np.sin(grid)))))
    density, velocity = exact(grid)
    found = fitted.consequences()
    table(f"drift error {error:.3f}, velocity {velocity:.3f}, found {found.velocity}")
    assert error < 0.15
    assert found.velocity.lower < velocity < found.velocity.upper
    np.testing.assert_allclose(found.density.median, density, atol=0.05)
    np.testing.assert_allclose(found.density.median[0], found.density.median[-1], rtol=1e-6)
    mode, trough = found.fixed_points
    assert [found.kind(point) for point in (mode, trough)] == ["mode of the density", "trough of the density"]
    assert mode.position.lower < grid[np.argmax(density)] < mode.position.upper
    assert trough.position.lower < grid[np.argmin(density)] < trough.position.upper
    assert fitted.diagnose().fits
    assert "mean velocity" in fitted.summary()


def test_one_turn_later_everything_is_the_same(fitted, path, grid):
    for later in (grid + TURN, grid - 3 * TURN):
        np.testing.assert_allclose(fitted.drift(later), fitted.drift(grid), rtol=1e-9)
        np.testing.assert_allclose(fitted.diffusion_band(later), fitted.diffusion_band(grid), rtol=1e-9)
    unwrapped = SDE(periodic=TURN, **SETTINGS).fit(path + 5 * TURN, dt=DT)
    np.testing.assert_allclose(unwrapped.drift(grid), fitted.drift(grid), atol=1e-5)
    assert fitted.score(path, dt=DT) == pytest.approx(unwrapped.score(np.mod(path, TURN), dt=DT), abs=1e-6)


def test_where_a_turn_is_cut_changes_nothing(path, grid):
    """With a cell for each transition and fine features, whose merging and choice would depend on it a little."""
    some = path[:251]
    above, around = (np.mod(some - low, TURN) + low for low in (0.0, -np.pi))
    fine = SDE(periodic=TURN, learn=None, tolerance=1e-9, **SETTINGS)
    here, there = (clone(fine).fit(x, dt=DT) for x in (above, around))
    np.testing.assert_allclose(there.drift(grid), here.drift(grid), atol=1e-5)
    np.testing.assert_allclose(there.diffusion(grid), here.diffusion(grid), atol=1e-5)
    assert there.consequences().x[0] == pytest.approx(-np.pi)


def test_degrees_are_radians_in_other_units(fitted, path, grid):
    degrees = SDE(periodic=360, **SETTINGS).fit(np.degrees(np.mod(path, TURN)), dt=DT)
    np.testing.assert_allclose(degrees.drift(np.degrees(grid)), np.degrees(fitted.drift(grid)), rtol=1e-5, atol=1e-4)


def test_forecasts_go_on_from_turn_to_turn(fitted):
    fan = fitted.forecast(400, paths=200, random_state=0)
    assert not fan.exploded.any()
    assert np.all(fan.outside == 0)
    moved = np.mean(fan.x[:, -1, 0] - fan.x[:, 0, 0]) / (400 * DT)
    assert moved == pytest.approx(exact(np.linspace(0, TURN, 201))[1], abs=0.1)


def test_a_model_file_keeps_the_period(fitted, tmp_path, grid):
    again = onepath.load(fitted.save(tmp_path / "angle.onepath"))
    np.testing.assert_array_equal(again.drift(grid), fitted.drift(grid))
    np.testing.assert_array_equal(again.model_.period, [TURN])


@pytest.mark.slow
def test_one_of_two_coordinates_may_be_an_angle(path):
    """The other relaxes to the angle's sine."""
    rng, y = np.random.default_rng(1), [0.0]
    for angle in path[:-1]:
        y.append(y[-1] + (np.sin(angle) - y[-1]) * DT + 0.3 * np.sqrt(DT) * rng.standard_normal())
    both = np.column_stack([np.mod(path, TURN), y])
    sde = SDE(periodic=(TURN, None), noise="diagonal", **SETTINGS).fit(both, dt=DT)
    points = both[::100]
    truth = np.column_stack([OMEGA - PULL * np.sin(points[:, 0]), np.sin(points[:, 0]) - points[:, 1]])
    assert np.sqrt(np.mean(np.square(sde.drift(points) - truth))) < 0.2
    np.testing.assert_allclose(sde.drift(points + np.array([TURN, 0.0])), sde.drift(points), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"periodic": 0.0}, "one number above 0"),
        ({"periodic": (1.0, 2.0)}, "one number above 0"),
        ({"periodic": TURN, "bounds": (0.0, 7.0)}, "an angle has no bounds"),
        ({"periodic": TURN, "drift": kernels.Matern52(1.0)}, "is not periodic"),
    ],
)
def test_what_is_no_period_is_refused(path, settings, message):
    with pytest.raises(ValueError, match=message):
        SDE(**settings, **SETTINGS).fit(np.mod(path, TURN), dt=DT)


def test_wrapped_values_are_told_what_to_type(path):
    model = SDE(learn=None, **SETTINGS).fit(np.mod(path, TURN), dt=DT)
    assert "--periodic 6.283185" in model.diagnose().verdict
