"""What is seen in the data before anything is learned."""

import numpy as np
import pytest

from onepath.compare.processes import PROCESSES
from onepath.data.statistics import persistence
from onepath.data.trajectory import read_trajectory
from onepath.data.transitions import Transitions, transitions_of
from onepath.graph.default import noise_structure


def observed(path, dt):
    return transitions_of(read_trajectory(path, dt=dt))


def test_without_noise_the_drift_itself_is_persistent():
    t = np.linspace(0.0, 40 * np.pi, 20_001)
    circle = np.column_stack([np.cos(t), 3 * np.sin(t)])
    found = persistence(observed(circle, t[1]))
    # the mean squares of sin and 3 cos, less two standard errors of their averages
    np.testing.assert_allclose(found, [0.5, 4.5], rtol=0.02)


@pytest.mark.parametrize("name", ["ou_slow", "double_well", "cir", "spiral"])
def test_a_drift_that_holds_against_the_noise_is_not_persistent_and_a_cycles_is(name):
    process = PROCESSES[name]
    path = process.simulate(5000, random_state=1)[0]
    found, mean_square = persistence(observed(path, process.dt)), np.mean(np.square(process.drift(path)), axis=0)
    assert np.all(found < mean_square)
    if path.shape[1] == 1:
        assert found == 0.0


def test_on_a_limit_cycle_it_is_the_mean_square_of_the_drift():
    process = PROCESSES["van_der_pol"]
    path = process.simulate(5000, random_state=1)[0]
    found = persistence(observed(path, process.dt))
    np.testing.assert_allclose(found, np.mean(np.square(process.drift(path)), axis=0), rtol=0.25)


@pytest.mark.parametrize("scale", [1.0, 1e-12])
def test_pairs_do_not_reach_over_gaps(scale):
    path = scale * np.cumsum(np.random.default_rng(0).normal(1.0, 0.1, size=(50, 1)), axis=0)
    first, second = observed(path[:25], 1.0), observed(path[25:], 1.0)
    both, turned = (
        Transitions(*(np.concatenate([getattr(each, part) for each in pair]) for part in ("x", "y", "dt")))
        for pair in ((first, second), (second, first))
    )
    np.testing.assert_allclose(persistence(both), persistence(turned), rtol=1e-12)
    assert persistence(first.rows(slice(3))) == 0.0


@pytest.mark.parametrize(("correlation", "structure"), [(0.0, "diagonal"), (0.5, "full"), (-0.5, "full")])
def test_correlated_noise_is_seen(correlation, structure):
    rng = np.random.default_rng(3)
    size = np.exp(np.sin(np.arange(500) / 30))[:, None]  # of both dimensions together, which is no correlation
    noise = rng.standard_normal((500, 2)) @ np.linalg.cholesky([[1.0, correlation], [correlation, 1.0]]).T
    data = observed(np.cumsum(size * noise, axis=0), 0.1)
    assert noise_structure("auto", data) == structure
    assert noise_structure("isotropic", data) == "isotropic"


def test_one_dimension_has_one_structure():
    assert noise_structure("auto", observed(np.cumsum(np.ones(30)), 0.1)) == "diagonal"
