"""Which runs each of the paper's tables is made of."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from onepath.compare.paper.cases import AS_DESCRIBED, AS_PRINTED, STEPS, WHOLE, Case
from onepath.compare.paper.methods import BENCHMARK, DEFAULT, METHODS, OWN_KERNEL
from onepath.compare.paper.runs import Run


class Block(NamedTuple):
    """Three columns of a table: one trajectory, learned with one kernel."""

    heading: str
    trajectory: str
    kernel: str


TABLES = {
    "exponential": (Block("Trajectory 1", "exponential-1", "matern"), Block("Trajectory 2", "exponential-2", "matern")),
    "trigonometric": (
        Block("Trajectory 1", "trigonometric-1", "matern"),
        Block("Trajectory 2", "trigonometric-2", "matern"),
    ),
    "gbm": (Block("Linear kernel", "gbm", "linear"), Block("Matérn kernel", "gbm", "matern")),
    "ou": (Block("Matérn kernel", "ou", "matern"), Block("Linear kernel", "ou", "linear")),
}
"""The paper's tables 1 to 4."""

STEP_TABLES = {"multiscale-exponential": "exponential-2", "multiscale-trigonometric": "trigonometric-1"}
"""Its tables 5 and 6: the trajectory that is seen every k-th step."""

NAMES = (*TABLES, *STEP_TABLES)

STEP_METHODS = tuple(method for method in METHODS if method != BENCHMARK)
"""The paper has no benchmark in its tables on time discretisation."""


def run_of(trajectory: str, kernel: str, method: str, seed: int | None = None) -> Run:
    """A run of tables 1 to 4."""
    return Run(Case(trajectory, WHOLE, 1, seed), OWN_KERNEL if method == DEFAULT else kernel, method)


def step_run(trajectory: str, method: str, view: str, k: int, seed: int | None = None) -> Run:
    """A run of tables 5 and 6; with k = 1 the two views are the same."""
    case = Case(trajectory, AS_PRINTED if k == 1 else view, k, seed)
    return Run(case, OWN_KERNEL if method == DEFAULT else "matern", method)


def plan(names: Sequence[str], methods: Sequence[str], seeds: Iterable[int | None] = (None,)) -> list[Run]:
    """All runs of these tables, each once; a seed's runs together, so that a population grows evenly."""
    runs: dict[Run, None] = {}
    for seed in seeds:
        for name in names:
            for method in methods:
                runs |= dict.fromkeys(_runs(name, method, seed))
    return list(runs)


def _runs(name: str, method: str, seed: int | None) -> list[Run]:
    if name in TABLES:
        return [run_of(block.trajectory, block.kernel, method, seed) for block in TABLES[name]]
    if method not in STEP_METHODS:
        return []
    trajectory = STEP_TABLES[name]
    return [step_run(trajectory, method, view, k, seed) for view in (AS_PRINTED, AS_DESCRIBED) for k in STEPS]
