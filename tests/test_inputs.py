"""Inputs: functions of state and inputs against slow NumPy, laws in the state alone, and the door."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from tinygp import kernels, transforms

from onepath import SDE, load
from onepath.data.cells import cells_of
from onepath.data.inputs import CLASS, Input, coded
from onepath.data.trajectory import read_trajectory
from onepath.data.transitions import transitions_of, units_of
from onepath.gp.features import Unknown, with_bases
from onepath.gp.kernels import Driven, Linear, Matern, default_drift_kernel, stacked, terms
from onepath.graph.default import GraphOptions, build_graph
from onepath.io.columns import Chosen, choose_columns
from onepath.io.errors import BadTable
from onepath.show.reach import reaches

L2 = kernels.distance.L2Distance()


def controlled(steps, dt=0.05, seed=0, substeps=10):
    """An Ornstein–Uhlenbeck process around a level that wanders, and another input that does nothing."""
    rng = np.random.default_rng(seed)
    level, other = (np.zeros(steps + 1) for _ in range(2))
    for k, (a, b) in enumerate(rng.standard_normal((steps, 2))):
        level[k + 1], other[k + 1] = 0.98 * level[k] + 0.2 * a, 0.98 * other[k] + 0.2 * b
    x = np.zeros(steps + 1)
    for k, noise in enumerate(rng.standard_normal((steps, substeps))):
        x[k + 1] = x[k]
        for one in noise:
            x[k + 1] += -2.0 * (x[k + 1] - level[k]) * dt / substeps + 0.5 * np.sqrt(dt / substeps) * one
    return x, pd.DataFrame({"level": level, "other": other})


GIVEN = {"learn": None, "transition": "euler", "progress": False}


@pytest.fixture(scope="module")
def driven():
    x, u = controlled(3000)
    return SDE(progress=False, transition="euler").fit(x, dt=0.05, inputs=u)


def test_the_drift_is_that_of_gaussian_process_regression_on_state_and_inputs():
    """K* (K + σ²/Δt + λ/Δt²)⁻¹ y/Δt, in the data's own units; the kernel has a length for each of the three."""
    x, u = controlled(150, seed=1)
    lengths = np.array([1.5, 2.0, 3.0])
    kernel = 4.0 * kernels.stationary.ExpSquared(1.0, distance=L2)
    own, known = transforms.Linear(1.0 / lengths, kernel), kernels.Constant(1e-10)  # a diffusion that is not in doubt
    sde = SDE(drift=own, diffusion=known, cells=256, tolerance=0.0, **GIVEN).fit(x, dt=0.05, inputs=u)
    noise = float(sde.diffusion([0.0])[0]) ** 2 / 0.05 + sde.noise_[0] / 0.05**2

    def gram(a, b):
        return 4.0 * np.exp(-0.5 * np.square((a[:, None] - b[None]) / lengths).sum(axis=2))

    data = np.column_stack([x, u])[:-1]
    at = np.array([[0.3, 0.5, -0.2], [-0.5, 0.1, 0.4], [0.0, 0.0, 0.0]])
    weights = np.linalg.solve(gram(data, data) + noise * np.eye(len(data)), np.diff(x) / 0.05)
    assert_allclose(sde.drift(at[:, 0], inputs=at[:, 1:]), gram(at, data) @ weights, rtol=1e-6)


def test_a_driven_kernel_is_written_out():
    """A line in state and inputs, each input in units of its reach; far beyond its reach an input does not matter."""
    rng = np.random.default_rng(0)
    X1, X2 = rng.normal(size=(2, 5))  # two coordinates, an input of one column and one of two
    reach, owners = np.array([0.5, 3.0]), (0, 1, 1)
    edge = np.full(3, 10.0)
    kernel = Driven(Linear(jnp.asarray(1.3)), jnp.asarray(reach), jnp.asarray(-edge), jnp.asarray(edge), owners)
    wanted = 1.69 * (1 + X1[:2] @ X2[:2] + X1[2] * X2[2] / 0.25 + X1[3:] @ X2[3:] / 9.0)
    assert_allclose(float(kernel.evaluate(jnp.asarray(X1), jnp.asarray(X2))), wanted, rtol=1e-6)
    own = default_drift_kernel(jnp.full(2, -2.0), jnp.full(2, 2.0))
    far = Driven(own, jnp.full(2, 1e9), jnp.asarray(-edge), jnp.asarray(edge), owners)
    assert len(terms(far)) == len(terms(own)) == 3
    assert_allclose(
        float(far.evaluate(jnp.asarray(X1), jnp.asarray(X2))),
        float(own.evaluate(jnp.asarray(X1[:2]), jnp.asarray(X2[:2]))),
        rtol=1e-5,
    )


@pytest.mark.usefixtures("double")
def test_laws_differentiate_in_the_state_alone():
    """Features and their derivatives against finite differences along the state; there are none along inputs."""
    rng, d, columns = np.random.default_rng(1), 2, 2
    u = rng.normal(size=(8, d + columns))
    edge = jnp.full(columns, 9.0)
    own = Matern(jnp.asarray(1.0), jnp.asarray([1.1, 0.8]))
    kernel = stacked(Driven(own, jnp.asarray([0.7, 1.9]), -edge, edge, (0, 1)), 1)
    plain = Unknown(kernel, jnp.ones(1), jnp.zeros(d + columns), jnp.ones(d + columns), state=d)
    function = with_bases(plain, u, np.ones(8, bool), 0.0, 8, nudge=1e-3)
    found = np.asarray(function.features(jnp.asarray(u[:3] + 0.05), 2))
    assert found.shape[2] == 1 + d + d * (d + 1) // 2
    step = 1e-4

    def value(*moves):
        return np.asarray(function.features(jnp.asarray(u[:3] + 0.05 + sum(moves, np.zeros(d + columns))), 0))[:, :, 0]

    along = step * np.eye(d + columns)
    scale = np.abs(found).max()
    for i in range(d):
        assert_allclose(found[:, :, 1 + i], (value(along[i]) - value(-along[i])) / 2 / step, atol=1e-5 * scale)
    mixed = [value(*signs) for signs in ((along[0], along[1]), (-along[0], -along[1]))]
    mixed += [value(along[0], -along[1]), value(-along[0], along[1])]
    cross = (mixed[0] + mixed[1] - mixed[2] - mixed[3]) / 4 / step**2
    assert_allclose(found[:, :, 1 + d + 1], cross, atol=1e-4 * scale)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("names", [("level",), ()])
def test_a_function_reads_what_it_says(names):
    x, u = controlled(200)
    transitions = transitions_of(read_trajectory(x, dt=0.05, inputs=u))
    units = units_of(transitions, common=False)
    graph = build_graph(GraphOptions(diffusion_reads=names), transitions, units).with_bases(
        cells_of(transitions, units, 256), 1e-4, 32
    )
    (function,) = graph.diffusion
    assert function.reads == ((0, 1) if names else (0,))
    points = np.tile(np.random.default_rng(0).normal(size=(1, 3)), (3, 1))
    points[1, 2] += 2.0  # the input that is not read
    points[2, 1] += 2.0
    phi = np.asarray(function.features(jnp.asarray(points)))
    assert_allclose(phi[1], phi[0])
    assert np.allclose(phi[2], phi[0]) == (not names)


def test_what_matters_is_found_and_what_does_not(driven):
    """The level moves the drift as it should, and is in its equation; the other input matters to nothing."""
    at = np.linspace(-0.5, 0.5, 5)
    for level in (-0.5, 0.5):
        assert_allclose(driven.drift(at, inputs={"level": level}), -2.0 * (at - level), atol=0.35)
    (level, other), noise = reaches(driven.model_, "drift"), reaches(driven.model_, "diffusion")
    assert level.length.value < level.span
    assert level.clarity == "yes"
    assert {each.clarity for each in (other, *noise)} == {"no"}
    found = driven.equations_.drift[0].best
    assert set(found.coefficients) == {"x", "level"}
    for name, truth in (("x", -2.0), ("level", 2.0)):
        assert abs(found.coefficients[name] - truth) < 3 * found.errors[name]
    points = np.array([[0.3, 0.5, 2.0], [-0.2, 0.1, 1.0]])
    expected = found.coefficients["x"] * points[:, 0] + found.coefficients["level"] * points[:, 1]
    assert_allclose(found(points), expected)
    space = {"np": np}
    exec(driven.equations_.python, space)
    assert_allclose(space["f"](*points.T), expected)
    x, u = controlled(1500, seed=5)
    blind = SDE(progress=False, transition="euler").fit(*controlled(3000)[:1], dt=0.05)
    assert driven.score(x, dt=0.05, inputs=u) > blind.score(x, dt=0.05) + 0.02
    assert driven.diagnose().fits


def test_inputs_in_another_order_and_other_units_are_the_same_inputs():
    x, u = controlled(300)
    here = SDE(**GIVEN).fit(x, dt=0.05, inputs=u)
    there = SDE(**GIVEN).fit(x, dt=0.05, inputs=pd.DataFrame({"other": u.other, "level": -40.0 * u.level + 7.0}))
    at, points = np.array([[0.2, -0.3], [0.5, 0.1]]), np.array([0.1, 0.6])
    moved = np.column_stack([at[:, 1], -40.0 * at[:, 0] + 7.0])
    for ask in ("drift", "diffusion"):
        assert_allclose(getattr(there, ask)(points, inputs=moved), getattr(here, ask)(points, inputs=at), rtol=1e-6)
    assert there.evidence_ == pytest.approx(here.evidence_, rel=1e-9)


@pytest.mark.parametrize("n", [600, 20000], ids=["by splitting", "on a grid first"])
def test_cells_keep_sums_of_inputs_and_never_mix_classes(n):
    rng = np.random.default_rng(0)
    mode, u = rng.choice(["a", "b", "rare"], n, p=[0.6, 0.39, 0.01]), rng.normal(size=n)
    x = np.cumsum(rng.normal(size=n)) * 0.01 + rng.normal(size=n)
    transitions = transitions_of(read_trajectory(x, dt=1.0, inputs={"u": u, "mode": mode}))
    units = units_of(transitions, common=False)
    cells = cells_of(transitions, units, 256 if n < 1000 else 128)
    seen = units.standardised(transitions)
    assert_allclose(cells.weight @ cells.x, seen.points.sum(axis=0), atol=1e-8 * n)
    total = seen.y - seen.y.mean()
    between = cells.weight @ np.square(cells.y - seen.y.mean())
    assert cells.scatter.sum() + between.sum() < np.square(total).sum()
    classes = cells.x[:, 2:][np.asarray(cells.used)] / np.sqrt(2.0)
    assert np.all(np.isclose(classes, 0.0) | np.isclose(classes, 1.0))


def test_no_straight_drift_is_in_the_scatter_of_wide_cells():
    """A drift that is a straight line in state and inputs moves means of cells, and leaves their scatter as it is."""
    rng = np.random.default_rng(0)
    x, u = np.cumsum(rng.normal(size=2001)), rng.normal(size=(2001, 2))
    noise = transitions_of(read_trajectory(x, dt=0.5, inputs=u))
    moved = replace(noise, y=noise.y + 0.5 * (1.0 - noise.x + noise.inputs @ [[3.0], [-2.0]]))
    still, driven = (cells_of(each, units_of(noise, common=False), 256) for each in (noise, moved))
    assert_allclose(driven.scatter, still.scatter, atol=1e-10)
    straight = (
        0.5
        * np.column_stack([np.ones(256), driven.x])
        @ np.linalg.lstsq(0.5 * np.column_stack([np.ones(256), driven.x]), driven.y - still.y, rcond=None)[0]
    )
    assert_allclose(driven.y - still.y, straight, atol=1e-10)


def test_classes_are_corners():
    mode = Input("mode", CLASS, ("off", "on", "stuck"))
    corners = coded((mode,), np.array([[0.0], [1.0], [2.0]]))
    apart = np.linalg.norm(corners[:, None] - corners[None], axis=2)
    assert_allclose(apart, 2.0 * (1 - np.eye(3)))


def test_models_with_inputs_go_to_files_and_back(driven, tmp_path):
    again = load(driven.save(tmp_path / "driven.onepath"))
    at = {"level": [0.1, 0.2, 0.3], "other": 0.5}
    assert_allclose(again.drift([0.0, 0.1, 0.2], inputs=at), driven.drift([0.0, 0.1, 0.2], inputs=at), rtol=0, atol=0)
    ahead = pd.DataFrame({"level": np.linspace(0, 2, 6), "other": 0.0})
    first, second = (one.forecast(6, paths=20, random_state=0, inputs=ahead).x for one in (driven, again))
    assert_allclose(first, second)
    assert again.inputs_ == ("level", "other")


def test_forecasts_follow_inputs_that_are_known(driven):
    """After many relaxation times, its level; without inputs, what they were last."""
    up = driven.forecast(80, paths=400, random_state=0, inputs={"level": np.full(80, 0.8), "other": np.zeros(80)})
    assert up.quantiles([0.5])[0, -1, 0] == pytest.approx(0.8, abs=0.15)
    last = driven.forecast(80, paths=400, random_state=0)
    level = float(driven.trajectory_.inputs.values[-1, 0])
    assert last.quantiles([0.5])[0, -1, 0] == pytest.approx(level, abs=0.15)


def test_missing_inputs_leave_steps_out_and_last_ones_are_not_needed():
    x, u = controlled(100)
    u = u.copy()
    u.loc[[10, 11, 50], "level"] = np.nan
    u.loc[100, "other"] = np.nan
    trajectory = read_trajectory(x, dt=0.05, inputs=u)
    assert sorted(set(range(100)) - set(trajectory.step.tolist())) == [10, 11, 50]
    assert trajectory.missing == 4


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        (np.zeros(50), "50 rows of u but x has 101"),
        (np.ones(101), "the same in all transitions"),
        (np.full(101, np.inf), "infinite values"),
        ({"day": pd.date_range("2020", periods=101).to_numpy()}, "inputs are real numbers or classes"),
        ([f"row {k}" for k in range(101)], "101 classes"),
        (np.zeros((101, 2, 2)), "has shape"),
    ],
)
def test_inputs_that_mean_nothing_are_refused(inputs, said):
    x, _ = controlled(100)
    with pytest.raises((ValueError, TypeError), match=said):
        SDE(**GIVEN).fit(x, dt=0.05, inputs=inputs)


def test_questions_to_inputs_that_mean_nothing_are_refused(driven):
    for inputs, said in [
        ({"speed": 1.0}, "names speed, and this model reads level and other"),
        ([1.0, 2.0, 3.0], "one value for each of level and other"),
        ({"level": [1.0, 2.0]}, "2 values of level for 3 points"),
        ({"level": np.nan}, "level is missing"),
    ]:
        with pytest.raises(ValueError, match=said):
            driven.drift([0.0, 1.0, 2.0], inputs=inputs)
    x, u = controlled(100)
    with pytest.raises(ValueError, match="reads level and other: pass inputs="):
        driven.score(x, dt=0.05)
    with pytest.raises(ValueError, match="has the columns level, and this model reads"):
        driven.score(x, dt=0.05, inputs=u[["level"]])
    with pytest.raises(ValueError, match="level is missing"):
        driven.forecast(5, inputs={"level": [1.0, 2.0, np.nan, 1.0, 1.0], "other": np.zeros(5)})
    with pytest.raises(ValueError, match=r"drift_reads=.*it has level and other"):
        SDE(drift_reads=["speed"], **GIVEN).fit(x, dt=0.05, inputs=u)
    plain = SDE(**GIVEN).fit(x, dt=0.05)
    with pytest.raises(ValueError, match="reads none"):
        plain.drift([0.0], inputs=1.0)
    with pytest.raises(ValueError, match="reads none"):
        plain.forecast(5, inputs=np.zeros(5))


def test_several_trajectories_have_inputs_each():
    pairs = [controlled(80, seed=seed) for seed in (0, 1)]
    x, u = [x for x, _ in pairs], [u for _, u in pairs]
    sde = SDE(**GIVEN).fit(x, dt=0.05, inputs=u)
    transitions = sde.transitions_
    assert_allclose(transitions.inputs[80], pairs[1][1].iloc[0])
    with pytest.raises(ValueError, match="inputs are one DataFrame: pass a list, one for each"):
        SDE(**GIVEN).fit(x, dt=0.05, inputs=pd.concat(u))


def test_a_weight_of_two_is_a_transition_given_twice():
    x, u = controlled(60)
    once = transitions_of(read_trajectory(x, dt=0.05, inputs=u))
    weights = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    twice = once.rows(np.repeat(np.arange(60), weights.astype(int)))
    weighted = replace(once, weights=weights)
    here, there = units_of(weighted, common=False), units_of(twice, common=False)
    assert_allclose(here.input_location, there.input_location)
    assert_allclose(here.input_scale, there.input_scale)


def test_the_command_takes_inputs_by_their_columns():
    x, u = controlled(30)
    frame = pd.DataFrame({"t": 0.05 * u.index, "x": x, **u, "mode": ["on", "off", "n.d."] * 10 + ["on"]})
    seen = choose_columns(
        frame.iloc[::-1], Chosen(time="t", inputs=("level", "mode"), values=("x",), missing=("n.d.",))
    )
    assert_allclose(seen.x["x"], x)  # turned round, as the inputs are
    assert_allclose(seen.inputs["level"], u.level)
    assert seen.inputs["mode"].isna().sum() == 10
    assert "inputs from 'level', 'mode'" in seen.notes
    grouped = choose_columns(
        frame.assign(run=[0] * 16 + [1] * 15), Chosen(dt=0.05, values=("x",), group="run", inputs=("level",))
    )
    assert [len(part) for part in grouped.inputs] == [16, 15]
    with pytest.raises(BadTable, match="a column is one of them"):
        choose_columns(frame, Chosen(time="t", values=("x",), inputs=("x",)))
