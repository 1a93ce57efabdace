"""The suite's own choices: one compilation cache, shapes checked, double precision only where a test asks for it."""

import os
from pathlib import Path

import jax
import jaxtyping
import pytest

from onepath.numerics.cache import CACHE_VARIABLE

# every module that states shapes; `typing.Self`, which the estimators return, is nothing that beartype can check here
SHAPED = (
    *("data.cells", "data.statistics", "data.transitions", "numerics.linalg"),
    *("gp", "graph", "inference.completion", "inference.posterior"),
)
jaxtyping.install_import_hook([f"onepath.{module}" for module in SHAPED], "beartype.beartype")


def pytest_configure(config):
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker and hasattr(os, "sched_setaffinity"):
        # one core each: XLA's threads slow each other down badly when several processes share all cores
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})
    os.environ.setdefault(CACHE_VARIABLE, str(config.rootpath / ".jax_cache"))
    Path(os.environ[CACHE_VARIABLE]).mkdir(mode=0o700, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", os.environ[CACHE_VARIABLE])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def pytest_terminal_summary(terminalreporter):
    """Show what tests measured, from whichever process they ran in."""
    reports = [report for group in ("passed", "failed") for report in terminalreporter.stats.get(group, [])]
    tables = [(report.nodeid, text) for report in reports for name, text in report.user_properties if name == "table"]
    if tables:
        terminalreporter.section("measured")
    for nodeid in dict.fromkeys(nodeid for nodeid, _ in tables):
        terminalreporter.write_line(nodeid)
        for text in (text for owner, text in tables if owner == nodeid):
            terminalreporter.write_line(f"  {text}")


@pytest.fixture
def table(record_property):
    """Call it with a text to have it shown when the suite ends."""
    return lambda text: record_property("table", text)


@pytest.fixture(autouse=True, scope="module")
def dropped_when_done():
    """Compiled code takes memory maps, of which a process has only so many."""
    yield
    from onepath.numerics.compiled import PROGRAMS

    PROGRAMS.clear()
    jax.clear_caches()


@pytest.fixture
def double():
    """Double precision and one thread, for tests that call the engine directly: the estimator does this by itself."""
    from onepath.numerics.threads import one_thread

    with one_thread(), jax.enable_x64(True):
        yield


@pytest.fixture(scope="session")
def line():
    """A fitted model of one dimension, with parameters learned."""
    from onepath.compare.processes import PROCESSES
    from onepath.sde import SDE

    process = PROCESSES["double_well_multiplicative"]
    model = SDE(transition="euler", progress=False)
    return model.fit(process.simulate(500, random_state=1)[0], dt=process.dt, unit="second")


@pytest.fixture(scope="session")
def plane():
    """A fitted model of two dimensions, with kernels as given."""
    from onepath.compare.processes import PROCESSES
    from onepath.sde import SDE

    process = PROCESSES["van_der_pol"]
    path = process.simulate(500, random_state=1)[0]
    return SDE(noise="full", learn=None, transition="euler", cells=64, tolerance=1e-2).fit(path, dt=process.dt)
