"""Compiled programs: the same answers as the plain function, found again by the next process, and never a wrong one."""

import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tinygp import kernels

from onepath.numerics import compiled as program_module
from onepath.numerics.cache import CACHE_VARIABLE
from onepath.numerics.compiled import PROGRAMS, Foreign, compiled, described
from onepath.numerics.spectrum import Waves

SCRIPT = """
import json, sys, jax, numpy as np, onepath
counts = []
def listen(event, duration, **details):
    if event == "/jax/core/compile/backend_compile_duration":
        counts.append(details.get("fun_name"))
jax.monitoring.register_event_duration_secs_listener(listen)
x = np.cumsum(np.random.default_rng(0).standard_normal(200)) * 0.1
sde = onepath.SDE(learn=None, transition="euler").fit(x, dt=0.1)
answers = [*sde.drift(x[:5]), *sde.diffusion(x[:5]), sde.evidence_]
print(json.dumps([counts, answers, jax.config.jax_compilation_cache_dir, jax.config.jax_enable_x64]))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    return tmp_path


def run(folder):
    environment = os.environ | {CACHE_VARIABLE: str(folder)}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_second_process_compiles_nothing_and_a_damaged_file_is_no_harm(tmp_path):
    (first, answers, *settings), (second, again, *_) = run(tmp_path / "kept"), run(tmp_path / "kept")
    assert settings == [None, False]
    assert any("_slopes" in name for name in first)
    assert not any(name in each for each in second for name in ("_slopes", "_evaluated", "_values"))
    assert again == answers
    for file in (tmp_path / "kept").glob("*.program"):
        file.write_bytes(file.read_bytes()[:-100])
    third, after_damage, *_ = run(tmp_path / "kept")
    assert any("_slopes" in name for name in third)
    assert after_damage == answers


def test_a_program_depends_on_what_its_module_imports_and_on_nothing_else(monkeypatch):
    plain = program_module._source

    def digest(changed):
        program_module.sources.cache_clear()
        monkeypatch.setattr(program_module, "_source", lambda name: plain(name) + b" " * (name == changed))
        return program_module.sources("onepath.inference.posterior.evaluate")

    before = digest(None)
    changed = {
        name: digest(f"onepath.{name}") != before
        for name in ("numerics.linalg", "graph.laws.linearised", "gp.kernels", "after.forecast", "io.text", "sde")
    }
    monkeypatch.undo()
    program_module.sources.cache_clear()
    assert [name for name, does in changed.items() if does] == [
        "numerics.linalg",
        "graph.laws.linearised",
        "gp.kernels",
    ]


def test_a_kept_program_that_refuses_its_first_call_is_compiled_anew(folder, monkeypatch):
    @compiled
    def doubled(x):
        return 2.0 * x

    doubled.__wrapped__.__module__ = "onepath.test"
    np.testing.assert_array_equal(doubled(jnp.ones(3)), [2.0, 2.0, 2.0])
    PROGRAMS.clear()

    def refusing(*_):
        raise RuntimeError("NOT_FOUND: Function not found")

    monkeypatch.setattr("onepath.numerics.compiled.deserialize_and_load", lambda *_: refusing)
    for _ in range(2):
        np.testing.assert_array_equal(doubled(jnp.ones(3)), [2.0, 2.0, 2.0])
    assert len(list(folder.glob("*.program"))) == 1


def test_results_keep_their_structure_and_what_is_no_array(folder):
    @compiled
    def both(kernel, factor, name):
        return Waves({name: kernel.scale * factor}, None, factor)

    both.__wrapped__.__module__ = "onepath.test"  # or it would be somebody's own code, which is not kept
    kernel = kernels.Matern52(scale=jnp.arange(3.0))
    plain = both.__wrapped__(kernel, 2, "x")
    for _ in range(2):  # compiled, then loaded
        result = both(kernel, 2, "x")
        assert len(list(folder.glob("*.program"))) == 1
        assert jax.tree.structure(result) == jax.tree.structure(plain)
        np.testing.assert_array_equal(result.length["x"], [0.0, 2.0, 4.0])
        assert result[1:] == (None, 2)
        PROGRAMS.clear()


@pytest.mark.usefixtures("folder")
def test_fixed_values_make_programs_of_their_own():
    @compiled
    def scaled(x, factor):
        return factor * x

    np.testing.assert_array_equal(scaled(jnp.ones(2), 2.0), [2.0, 2.0])
    np.testing.assert_array_equal(scaled(jnp.ones(2), 3.0), [3.0, 3.0])
    np.testing.assert_array_equal(scaled(jnp.ones(3), 3.0), [3.0, 3.0, 3.0])
    assert float(jax.grad(lambda x: scaled(x, 3.0))(2.0)) == 3.0
    with jax.disable_jit():
        np.testing.assert_array_equal(scaled(jnp.ones(2), 2.0), [2.0, 2.0])


class Own(kernels.Kernel):
    def evaluate(self, X1, X2):
        return jnp.exp(-jnp.sum(jnp.square(X1 - X2)))


def test_what_is_described_tells_arguments_apart():
    kernel = kernels.Matern52(scale=jnp.asarray(0.5))
    texts = [
        described(kernel),
        described(kernels.Matern32(scale=jnp.asarray(0.5))),
        described(kernels.Matern52(scale=jnp.ones(2))),
        described(kernels.Matern52(scale=0.5)),
        described(kernel + kernel),
        described((kernel, kernel)),
        described((kernel, "a")),
        described((kernel, "b")),
        described([kernel, "b"]),
    ]
    assert len(set(texts)) == len(texts)
    assert described(kernels.Matern52(scale=jnp.asarray(0.7))) == texts[0]
    assert not any("0x" in text for text in texts)  # no addresses, which differ between processes


@pytest.mark.parametrize("foreign", [Own(), lambda x: x, kernels.Custom(lambda x, y: x @ y)])
def test_code_that_is_not_known_is_not_kept(foreign):
    with pytest.raises(Foreign):
        described((1, foreign))
