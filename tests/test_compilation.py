"""Another length, another grid: the compiled code is the same. Counted by JAX itself, in a fresh process."""

import json
import os
import subprocess
import sys

import pytest

from onepath.numerics.cache import CACHE_VARIABLE

pytestmark = pytest.mark.slow

SCRIPT = """
import json
import numpy as np
import jax
from onepath import SDE
from onepath.compare.processes import PROCESSES

compiled, stages = [], {}

def listen(event, duration, **details):
    if event == "/jax/core/compile/backend_compile_duration":
        compiled.append(details.get("fun_name", "?"))

def stage(name):
    stages[name] = list(compiled)
    compiled.clear()

jax.monitoring.register_event_duration_secs_listener(listen)
x = PROCESSES["double_well"].simulate(5000, substeps=1, random_state=0)[0]
models = {}
for length in (300, 500, 900, 5000):
    models[length] = SDE(learn=None, transition="euler").fit(x[: length + 1], dt=0.01)
    stage(f"fit {length}")
for length in (10, 50, 33, 100, 400, 1000):
    grid = np.linspace(-1, 1, length)
    for method in ("drift", "diffusion", "drift_band", "diffusion_band"):
        getattr(models[5000], method)(grid)
        stage(f"{method} {length}")
for length in (300, 500, 900):
    models[5000].score(x[: length + 1], dt=0.01)
    stage(f"score {length}")
for length, draws in ((200, 400), (201, 400), (128, 200), (90, 300)):
    models[5000].functions(np.linspace(-1, 1, length), draws=draws, random_state=0)
    stage(f"functions {length}")
models[300].drift(np.linspace(-1, 1, 64))
models[300].diffusion(np.linspace(-1, 1, 64))
stage("another model")
print(json.dumps(stages))
"""


@pytest.fixture(scope="module")
def compiled():
    """Names of the functions compiled in each stage."""
    nothing_kept = os.environ | {CACHE_VARIABLE: "off"}
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=nothing_kept, capture_output=True, text=True, check=True, timeout=600
    )
    return json.loads(process.stdout)


def test_the_first_fit_is_counted(compiled):
    """The listener hears: without this, the tests below would pass on silence."""
    assert any("_slopes" in name for name in compiled["fit 300"])
    assert any("_evaluated" in name for name in compiled["fit 300"])
    assert any("_values" in name for name in compiled["drift 10"])


@pytest.mark.parametrize("length", [500, 900, 5000])
def test_another_length_compiles_nothing(compiled, length):
    assert compiled[f"fit {length}"] == []


@pytest.mark.parametrize("method", ["drift", "diffusion", "drift_band", "diffusion_band"])
@pytest.mark.parametrize("length", [50, 33, 400, 1000])
def test_another_grid_compiles_nothing(compiled, method, length):
    """They are evaluated in blocks of one size."""
    assert compiled[f"{method} {length}"] == []


def test_a_band_reuses_the_code_of_the_mean(compiled):
    assert compiled["drift_band 10"] + compiled["diffusion 10"] == []


@pytest.mark.parametrize("length", [500, 900])
def test_another_score_compiles_nothing(compiled, length):
    assert compiled[f"score {length}"] == []


@pytest.mark.parametrize("length", [201, 128, 90])
def test_other_grids_and_numbers_of_draws_compile_nothing(compiled, length):
    assert any("_prior_covariances" in name for name in compiled["functions 200"])
    assert compiled[f"functions {length}"] == []


def test_another_model_reuses_the_grids_code(compiled):
    assert compiled["another model"] == []
