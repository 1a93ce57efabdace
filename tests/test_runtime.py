"""Compiled code is kept between processes, and nobody else's settings are touched."""

import os
import subprocess
import sys
from pathlib import Path

import jax

from onepath.runtime import CACHE_VARIABLE, cache_folder, engine

SCRIPT = """
import jax, numpy as np, onepath
counts = []
jax.monitoring.register_event_listener(lambda name, **_: counts.append(name))
x = np.cumsum(np.random.default_rng(0).standard_normal(200)) * 0.1
onepath.SDE(learn=None).fit(x, dt=0.1)
print(sum("cache_misses" in name for name in counts), sum("cache_hits" in name for name in counts))
print(jax.config.jax_compilation_cache_dir, jax.config.jax_enable_x64)
"""


def run(folder: Path) -> list[list[str]]:
    environment = os.environ | {CACHE_VARIABLE: str(folder)}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


def test_a_second_process_finds_compiled_code(tmp_path):
    (first, settings), (second, _) = run(tmp_path / "kept"), run(tmp_path / "kept")
    assert settings == ["None", "False"]
    assert list((tmp_path / "kept").iterdir())
    assert int(first[0]) > int(second[0])
    assert int(second[1]) > int(first[1])


def test_a_users_own_cache_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "ours"))
    before = jax.config.jax_compilation_cache_dir
    assert before is not None  # the suite has one
    assert engine(lambda: jax.config.jax_compilation_cache_dir)() == before
    assert not (tmp_path / "ours").exists()


def test_the_cache_can_be_moved_and_turned_off(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, "off")
    assert cache_folder() is None
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv(CACHE_VARIABLE)
    assert "onepath" in cache_folder().parts
