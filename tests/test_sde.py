"""The estimator: shapes, refusals, symmetries, and the truth."""

import subprocess
import sys
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from tinygp import kernels

from onepath import SDE
from onepath.compare.metrics import coverage
from onepath.compare.processes import PROCESSES

NAMES = {1: "double_well", 2: "spiral", 3: "linear_3d"}
LINEAR = {"drift": kernels.DotProduct() + kernels.Constant(1.0), "diffusion": kernels.Constant(1.0)}  # quick to compile
METHODS = ["drift", "diffusion"]
GRID = np.linspace(-1, 1, 50)


def record(d, steps=300, seed=0):
    return PROCESSES[NAMES[d]].simulate(steps, dt=0.01, substeps=1, random_state=seed)[0]


@pytest.fixture(scope="module")
def x():
    return record(1)


@pytest.fixture(scope="module")
def fitted(x):
    return SDE(learn=None, transition="euler").fit(x, dt=0.01)


def same(one, other, rtol=1e-6, grid=GRID):
    for method in METHODS:
        wanted = getattr(other, method)(grid)
        atol = rtol * np.abs(wanted).max()
        np.testing.assert_allclose(getattr(one, method)(grid), wanted, rtol=0, atol=atol, err_msg=method)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "noise"), [(1, "full"), (2, "isotropic"), (2, "full")])
def test_shapes_and_structure(d, noise):
    x = record(d)
    model = SDE(**LINEAR, noise=noise, learn=None, transition="euler").fit(x, dt=0.01)
    grid = np.random.default_rng(0).normal(size=(7, d))
    vector, matrix = ((7,), (7,)) if d == 1 else ((7, d), (7, d, d))
    drifts = [model.drift(grid), *model.drift_band(grid)]
    sigmas = [model.diffusion(grid), *model.diffusion_band(grid)]
    draws = model.functions(grid, draws=5, random_state=0)
    assert [part.shape for part in drifts] == [vector] * 3
    assert [part.shape for part in sigmas] == [matrix] * 3
    assert [part.shape for part in draws] == [(5, *vector), (5, *matrix)]
    assert all(part.dtype == np.float64 for part in [*drifts, *sigmas, *draws])
    assert np.all(drifts[1] < drifts[0])
    assert np.all(drifts[0] < drifts[2])
    assert np.isfinite(model.score(x, dt=0.01))
    assert model.n_features_in_ == d
    for sigma in [*sigmas, *draws[1]]:
        sigma = sigma.reshape(7, d, d)
        diagonal = np.diagonal(sigma, axis1=1, axis2=2)
        assert np.all(diagonal > 0)
        assert np.all(np.triu(sigma, 1) == 0)
        if noise != "full":
            assert np.all(np.tril(sigma, -1) == 0)
        if noise == "isotropic":
            np.testing.assert_allclose(diagonal, np.broadcast_to(diagonal[:, :1], (7, d)))


def test_full_noise_is_the_covariance_of_what_a_regression_leaves():
    x = record(2, steps=500)
    sigma = SDE(**LINEAR, noise="full", learn=None, transition="euler").fit(x, dt=0.01).diffusion(np.zeros((1, 2)))[0]
    design, y = np.column_stack([np.ones(500), x[:-1]]), np.diff(x, axis=0)
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(sigma @ sigma.T, residual.T @ residual / 500 / 0.01, rtol=0.02)


def test_points_in_one_dimension_have_three_forms(fitted):
    flat = fitted.drift(GRID)
    assert flat.shape == (50,)
    np.testing.assert_array_equal(fitted.drift(GRID[:, None]), flat)
    np.testing.assert_array_equal(fitted.drift(list(GRID)), flat)
    np.testing.assert_array_equal(fitted.drift(GRID[3]), flat[3:4])


@pytest.mark.parametrize(
    ("setting", "value", "error", "message"),
    [
        (
            "noise",
            "banded",
            ValueError,
            "noise='banded' is not known. Choose one of 'auto', 'diagonal'",
        ),
        ("link", "square", ValueError, "link='square' is not known. Choose one of 'softplus'"),
        ("transition", "milstein", ValueError, "transition='milstein' is not known. Choose one of 'auto', 'euler'"),
        ("solver", "adam", ValueError, "solver='adam' is not known. Choose one of 'fisher'"),
        ("learn", "luck", ValueError, "learn='luck' is not known"),
        ("noise_variance", -1.0, ValueError, "noise_variance=-1.0 cannot be used"),
        ("smoothing", np.nan, ValueError, "smoothing=nan cannot be used"),
        ("smoothing", None, ValueError, "smoothing=None cannot be used"),
        ("smoothing", "a", ValueError, "smoothing='a' cannot be used"),
        ("tolerance", "small", ValueError, "tolerance='small' cannot be used"),
        ("cells", 3, ValueError, "cells=3 cannot be used"),
        ("cells", 64.0, ValueError, "cells=64.0 cannot be used"),
        ("drift", "rbf", TypeError, "drift must be a tinygp kernel"),
        ("diffusion", 1.0, TypeError, "diffusion must be a tinygp kernel"),
        ("drift", kernels.Matern52(scale=np.ones(3)), ValueError, "The kernel given as drift"),
    ],
)
def test_wrong_settings_are_refused(x, setting, value, error, message):
    with pytest.raises(error) as caught:
        SDE(learn=None, transition="euler").set_params(**{setting: value}).fit(x, dt=0.01)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.zeros((4, 2)), r"shape \(n,\) or \(n, 1\).*got \(4, 2\)"),
        (np.zeros((2, 2, 2)), r"got \(2, 2, 2\)"),
        ([], "No points"),
        ([0.0, np.nan], "must be finite"),
    ],
)
def test_wrong_points_are_refused(fitted, points, message):
    for method in ("drift", "diffusion", "drift_band", "diffusion_band", "functions"):
        with pytest.raises(ValueError, match=message):
            getattr(fitted, method)(points)


@pytest.mark.parametrize("level", [0.0, 1.0, 90])
def test_wrong_levels_are_refused(fitted, level):
    with pytest.raises(ValueError, match="between 0 and 1"):
        fitted.drift_band(GRID, level=level)


def test_a_score_of_another_dimension_is_refused(fitted):
    with pytest.raises(ValueError, match="1 dimensions, the new data 2"):
        fitted.score(record(2), dt=0.01)


def test_pandas_is_numpy_with_names(x, fitted):
    index = pd.date_range("2024-01-01", periods=len(x), freq="36s")  # 0.01 h
    dated = SDE(learn=None, transition="euler").fit(pd.Series(x[:, 0], index, name="price"), unit="hour")
    same(dated, fitted)
    same(SDE(learn=None, transition="euler").fit(pd.DataFrame({"price": x[:, 0]}), dt=0.01), fitted)
    assert dated.trajectory_.names == ("price",)


def test_records_in_either_order_are_the_same():
    one, other = record(1, seed=1), record(1, seed=2)[:201]
    same(
        SDE(learn=None, transition="euler").fit([one, other], dt=0.01),
        SDE(learn=None, transition="euler").fit([other, one], dt=0.01),
    )


def test_a_record_given_twice_counts_twice(x):
    """Twice the evidence is half the variance, of a constant drift and diffusion under a broad prior."""
    broad = SDE(kernels.Constant(1e4), kernels.Constant(1e4), learn=None, transition="euler")
    widths = []
    for data in (x, [x, x]):
        low, high = broad.fit(data, dt=0.01).drift_band([0.0])
        widths.append((high - low)[0])
    assert widths[0] / widths[1] == pytest.approx(np.sqrt(2), rel=1e-3)
    assert len(broad.transitions_.dt) == 600


def test_a_constant_drift_is_the_mean_slope(x):
    broad = SDE(kernels.Constant(1e4), kernels.Constant(1e4), learn=None, transition="euler").fit(x, dt=0.01)
    increments = np.diff(x[:, 0])
    assert broad.drift([0.0])[0] == pytest.approx(increments.mean() / 0.01, abs=1e-3)
    assert broad.diffusion([0.0])[0] == pytest.approx(increments.std() / 0.1, rel=1e-2)


@pytest.mark.slow
def test_permuted_dimensions_permute_the_answer():
    x = record(2)
    grid = x[::10]
    settings = LINEAR | {"learn": None, "transition": "euler", "noise": "diagonal"}  # a triangular σ has an order
    here, there = (SDE(**settings).fit(data, dt=0.01) for data in (x, x[:, ::-1]))
    np.testing.assert_allclose(there.drift(grid[:, ::-1])[:, ::-1], here.drift(grid), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(there.diffusion(grid[:, ::-1])[:, ::-1, ::-1], here.diffusion(grid), rtol=1e-6)


@pytest.mark.slow
def test_bands_cover_the_truth_as_often_as_they_say(table):
    """Given a drift prior of the right size; averaged over records and points."""
    process, level = PROCESSES["double_well"], 0.9
    shares = []
    for x in process.simulate(5000, paths=10, random_state=0):
        grid = np.quantile(x, np.linspace(0.02, 0.98, 50))[:, None]
        model = SDE(kernels.Matern52(scale=1.0), learn=None, transition="euler").fit(x, dt=process.dt)
        truths = process.drift(grid)[:, 0], process.diffusion(grid)[:, 0, 0]
        bands = model.drift_band(grid, level), model.diffusion_band(grid, level)
        shares.append([coverage(*band, truth) for band, truth in zip(bands, truths, strict=True)])
    drift, diffusion = np.mean(shares, axis=0)
    table(f"coverage of 90 % bands: drift {drift:.0%}, diffusion {diffusion:.0%}")
    # ten records, whose shares vary by about a tenth each
    assert 0.82 <= drift <= 0.98
    assert 0.82 <= diffusion <= 0.98


def test_functions_are_drawn_from_the_bands(fitted):
    drift, diffusion = fitted.functions(GRID, draws=2000, random_state=0)
    again, _ = fitted.functions(GRID, draws=2000, random_state=0)
    other, _ = fitted.functions(GRID, draws=2000, random_state=1)
    np.testing.assert_array_equal(drift, again)
    assert not np.any(drift == other)
    for draws, band in ((drift, fitted.drift_band(GRID)), (diffusion, fitted.diffusion_band(GRID))):
        width = np.mean(band[1] - band[0])
        np.testing.assert_allclose(np.quantile(draws, [0.05, 0.95], axis=0), band, rtol=0, atol=0.1 * width)


def test_the_matching_model_scores_higher(x, fitted):
    fresh = record(1, seed=9)
    wrong = SDE(learn=None, transition="euler").fit(3 * x, dt=0.01)
    assert fitted.score(fresh, dt=0.01) > wrong.score(fresh, dt=0.01) + 0.3


def test_score_is_near_the_truths_own(fitted):
    """Entropy of an increment N(0, σ² Δt) with σ = 0.5, for a record of the same process."""
    fresh = PROCESSES["double_well"].simulate(2000, dt=0.01, substeps=1, random_state=9)[0]
    ideal = -0.5 * np.log(2 * np.pi * np.e * 0.25 * 0.01)
    # four other records: 0.002 to 0.009 below
    assert -0.02 < fitted.score(fresh, dt=0.01) - ideal < 0.02


def test_summary_says_what_was_seen_and_learned(x):
    frame = pd.DataFrame({"price": x[:, 0]})
    model = SDE(learn=None, transition="euler").fit(frame, dt=0.01, unit="day")
    text = model.summary()
    for part in (
        "price",
        "0.01 day",
        "301 rows",
        "300 transitions",
        model.outcome_,
        "converged",
        "softplus",
        "per day",
    ):
        assert part in text
    assert text.startswith(model.diagnose().verdict)
    first = str(model.consequences()).splitlines()[0].strip()
    assert f"Follows     {first}" in text


def test_fitting_is_silent(x, capfd):
    """Warnings are errors in this suite."""
    SDE(learn=None, transition="euler").fit(x, dt=0.01).score(x, dt=0.01)
    assert capfd.readouterr() == ("", "")


def test_a_fit_that_fails_leaves_the_estimator_as_it_was(x):
    wrong = SDE(fixed=("typo",))
    with pytest.raises(ValueError, match="fixed names 'typo'"):
        wrong.fit(x, dt=0.01)
    with pytest.raises(NotFittedError, match="not fitted"):
        wrong.drift([0.0])
    assert not [name for name in vars(wrong) if name.endswith("_")]
    model = SDE(learn=None, transition="euler").fit(x, dt=0.01)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="fixed names 'typo'"):
        model.set_params(fixed=("typo",)).fit(2 * x, dt=0.01)
    model.set_params(fixed=())
    assert vars(model) == before
    same(model, SDE(learn=None, transition="euler").fit(x, dt=0.01))


def test_answers_are_computed_once_and_not_handed_on(fitted):
    assert fitted.diagnose() is fitted.diagnose()
    assert fitted.consequences() is fitted.consequences()
    assert fitted.consequences(level=0.5) is not fitted.consequences()
    assert fitted.consequences(random_state=None) is not fitted.consequences(random_state=None)
    assert replace(fitted.model_).answers == {}
    with pytest.raises(FrozenInstanceError):
        fitted.model_.loss = 0.0


def test_inside_a_model_shapes_do_not_depend_on_the_dimension(x):
    for path, d in ((x, 1), (record(2), 2)):
        model = SDE(**LINEAR, noise="diagonal", learn=None, transition="euler").fit(path, dt=0.01).model_
        points = path[:7]
        curves = model.curves(points)
        assert [part.shape for part in curves.drift] == [(7, d)] * 3
        assert [part.shape for part in curves.diffusion] == [(7, d, d)] * 3
        assert [part.shape for part in model.functions(points, 4, 0)] == [(4, 7, d), (4, 7, d, d)]
        assert [part.shape for part in model.increments(points, 0.01)] == [(7, d), (7, d, d)]
        with pytest.raises(ValueError, match=rf"shape \(n, {d}\)"):
            model.drift(points[0])


def test_importing_changes_and_prints_nothing():
    """Not even pandas is needed, which scikit-learn loads where it finds it."""
    code = (
        "import sys, jax; before = dict(jax.config.values)\n"
        "sys.modules.update(pandas=None, matplotlib=None)  # an import of these fails now\n"
        "import onepath\n"
        "changed = {k for k, v in jax.config.values.items() if before.get(k, v) != v}\n"
        "assert not changed, changed\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_spread_of_correlated_noise_is_that_of_each_coordinate():
    """Of dX = L dW, the standard deviation of dX_2 is |L_2|, not the corner of L, which is small here."""
    lower = np.array([[1.0, 0.0], [36.0, 2.5]])
    x = np.cumsum(0.1 * np.random.default_rng(0).standard_normal((1000, 2)) @ lower.T, axis=0)
    constant = {"drift": kernels.Constant(1e-6), "diffusion": kernels.Constant(1e4)}
    model = SDE(**constant, noise="full", learn=None, transition="euler").fit(x, dt=0.01).model_
    mean, low, high = model.spread(x[:3])
    np.testing.assert_allclose(mean[0], np.sqrt(np.square(lower).sum(axis=1)), rtol=0.08)
    assert np.all((low < mean) & (mean < high))
    np.testing.assert_allclose(model.constant_part, 0.0)


def test_the_spread_has_the_noise_that_does_not_grow_with_the_step():
    """λ of a third of an increment: what is shown is all that moves the state in a step."""
    x = np.cumsum(np.random.default_rng(0).standard_normal(500))
    constant = {"drift": kernels.Constant(1e-6), "diffusion": kernels.Constant(1.0)}
    model = SDE(**constant, learn=None, transition="euler", noise_variance=0.33).fit(x, dt=0.5).model_
    assert model.spread(x[:3, None]).mean == pytest.approx(np.std(np.diff(x)) / np.sqrt(0.5), rel=0.05)
    assert np.all(model.diffusion(x[:3, None])[..., 0] < 0.95 * model.spread(x[:3, None]).mean)
