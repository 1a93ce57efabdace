"""Where compiled code is kept between processes."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache

CACHE_VARIABLE = "ONEPATH_CACHE"
"""Environment variable: another folder for compiled code, or "off" for none."""

SHORTEST_COMPILATION = 0.1
"""Code that takes fewer seconds to compile is not kept."""


def cache_folder() -> Path | None:
    """Where compiled code is kept between processes: the user's cache folder, one for each version of JAX."""
    chosen = os.environ.get(CACHE_VARIABLE, "")
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "onepath" / f"jax-{jax.__version__}"


@contextmanager
def jax_cache() -> Iterator[None]:
    """Have JAX keep compiled code, unless the user has chosen a place already or the folder cannot be written."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    folder = cache_folder()
    if before[names[0]] is not None or folder is None or not _writable(folder):
        yield
        return
    try:
        jax.config.update(names[0], str(folder))
        jax.config.update(names[1], SHORTEST_COMPILATION)
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()


@contextmanager
def no_jax_cache() -> Iterator[None]:
    """Have JAX compile, and neither look anything up nor keep it."""
    name = "jax_enable_compilation_cache"
    before = getattr(jax.config, name)
    try:
        jax.config.update(name, False)
        compilation_cache.reset_cache()
        yield
    finally:
        jax.config.update(name, before)
        compilation_cache.reset_cache()


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
