"""Where compiled code is kept, and that nobody else's settings are touched."""

import jax

from onepath.numerics.cache import CACHE_VARIABLE, jax_cache
from onepath.numerics.precision import in_double


def test_the_callers_settings_come_back():
    assert in_double(lambda: jax.config.jax_enable_x64)()
    assert not jax.config.jax_enable_x64


def test_a_users_own_cache_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "ours"))
    before = jax.config.jax_compilation_cache_dir
    assert before is not None  # the suite has one
    with jax_cache():
        assert jax.config.jax_compilation_cache_dir == before
    assert not (tmp_path / "ours").exists()
