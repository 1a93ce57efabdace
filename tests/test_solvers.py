"""The three solvers on the paper's six trajectories."""

import numpy as np
import pytest
from tinygp import kernels

from onepath import SDE
from onepath.compare.baselines import LAMBDA, mean_pairwise_distance
from onepath.compare.processes import PAPER_TRAJECTORIES
from onepath.data.cells import cells_of
from onepath.inference.completion import SOLVERS, complete, initial_weights, objective_of

pytestmark = pytest.mark.slow


def completed(record):
    """What each solver comes to from the paper's start, with the paper's kernel before learning, and J's unit."""
    kernel = kernels.Matern52(scale=mean_pairwise_distance(record.x_train[:-1]))
    model = SDE(kernel, kernel, link="identity", learn=None, transition="euler", noise_variance=LAMBDA)
    model.fit(record.x_train, dt=record.dt)
    cells = cells_of(model.transitions_, model.units_, 512)
    objective = objective_of(model.graph_, cells)
    start = initial_weights(objective)
    ends = {name: complete(objective, solver, start) for name, solver in SOLVERS.items()}
    return ends, np.log(model.units_.scale[0])


@pytest.mark.usefixtures("double")
def test_fisher_scoring_ends_lowest_and_takes_a_hundredth_of_the_steps_of_gradient_descent(table):
    case = "exponential-1"
    record = PAPER_TRAJECTORIES[case]
    ends, logarithm = completed(record)
    for solver, end in ends.items():
        table(f"{case:16} {solver:9} J {end.loss + record.n * logarithm:15.8f}  {end.outcome}")
    fisher = ends["fisher"]
    for solver in ("newton", "gradient"):
        assert fisher.loss <= ends[solver].loss + 1e-6 * abs(ends[solver].loss)
    assert fisher.outcome.startswith("converged")
    assert 100 * fisher.steps < ends["gradient"].steps
