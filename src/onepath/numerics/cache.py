"""Where compiled code is kept between processes: a folder that nobody else can write, of bounded size."""

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import jax
from jax.experimental.compilation_cache import compilation_cache

from onepath.numerics.caution import caution

CACHE_VARIABLE = "ONEPATH_CACHE"
"""Environment variable: another folder for compiled code, or "off" for none."""

OFF = {"off", "no", "none", "false", "0", "disabled"}

SHORTEST_COMPILATION = 0.1
"""Code that takes fewer seconds to compile is not kept."""

LARGEST, OLDEST, UNFINISHED = 200 << 20, 90 * 86400.0, 3600.0
"""Bytes that are kept at most, seconds since a file's last use after which it goes, and for what was never finished."""

OURS = re.compile(r"[0-9a-f]{64}\.(program|\d+\.part)|.+-[0-9a-f]{64}-(cache|atime)")
"""Names of files that are kept here, JAX's own among them; nothing else in the folder is counted or removed."""

OTHERS_MAY_WRITE = 0o022
_SAID: set[str] = set()


class Kept(NamedTuple):
    """What a cache holds."""

    folder: Path | None
    files: int
    size: int


def cache_folder() -> Path | None:
    """The folder for this version of JAX, made if need be; None where there is none that can be trusted."""
    root = cache_root()
    if root is None:
        return None
    folder = root if _chosen() else root / f"jax-{jax.__version__}"
    return folder if _is_ours(folder) else None


def cache_root() -> Path | None:
    """Everything that is kept lies below this; None where nothing is to be kept."""
    chosen = _chosen()
    if chosen.lower() in OFF:
        return None
    if chosen:
        return _absolute(CACHE_VARIABLE, chosen)
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home folder
        return None
    if not home.is_absolute():
        return _absolute("HOME", str(home))
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "onepath"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "onepath"
    given = os.environ.get("XDG_CACHE_HOME")
    base = _absolute("XDG_CACHE_HOME", given) if given else None
    return (base or home / ".cache") / "onepath"


def _chosen() -> str:
    return os.environ.get(CACHE_VARIABLE, "").strip()


def _absolute(variable: str, value: str) -> Path | None:
    """A path that means the same wherever a program is started; another is ignored with a word."""
    if Path(value).is_absolute():
        return Path(value)
    _say_once(f"{variable}={value!r} is no absolute path and is ignored: compiled code is not kept there.")
    return None


def _say_once(text: str) -> None:
    if text not in _SAID:
        _SAID.add(text)
        caution(text)


def _is_ours(folder: Path) -> bool:
    """Whether it is there, or can be made, and only this user can write to it: what is kept there is run."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fault = _fault(folder.stat())
    except OSError:  # a place that cannot be written is no fault of the user's
        return False
    if fault is not None:
        _say_once(
            f"Compiled code is not kept in {folder}, which {fault}: make it yours alone, or set {CACHE_VARIABLE}."
        )
        return False
    return os.access(folder, os.W_OK)


def _fault(status: os.stat_result) -> str | None:
    """Why what lies there may be somebody else's; None if it may not."""
    if os.name != "posix":
        return None
    if status.st_uid != os.getuid():
        return "belongs to another user"
    return "others may write" if status.st_mode & OTHERS_MAY_WRITE else None


def read_kept(file: Path) -> bytes | None:
    """The content of a file that only this user can have written; None otherwise. Using it keeps it young."""
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as opened:
            if _fault(os.fstat(opened.fileno())) is not None:
                return None
            content = opened.read()
        os.utime(file)
    except OSError:
        return None
    return content


def write_kept(file: Path, content: bytes) -> None:
    """Under its name only when it is whole; afterwards the folder is brought to its size. Failing is no harm."""
    part = file.with_suffix(f".{os.getpid()}.part")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(part, flags, 0o600), "wb") as opened:
            opened.write(content)
        part.replace(file)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        return
    prune(file.parent)


def _files(folder: Path) -> list[tuple[Path, os.stat_result]]:
    found = []
    for path in folder.rglob("*") if folder.is_dir() else ():
        with suppress(OSError):
            if OURS.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                found.append((path, path.stat()))
    return found


def prune(folder: Path, largest: int | None = None) -> None:
    """Remove what was never finished, what was not used for long, and the least recently used beyond a size."""
    now, left = time.time(), []
    for path, status in _files(folder):
        age = now - status.st_mtime
        if age > OLDEST or (path.suffix == ".part" and age > UNFINISHED):
            with suppress(OSError):
                path.unlink()
        else:
            left.append((status.st_mtime, status.st_size, path))
    size, largest = sum(size for _, size, _ in left), LARGEST if largest is None else largest
    for _, part, path in sorted(left):
        if size <= largest:
            break
        with suppress(OSError):
            path.unlink()
        size -= part


def kept() -> Kept:
    """What is there, for this version of JAX and for others."""
    root = cache_root()
    found = [] if root is None else _files(root)
    return Kept(root, len(found), sum(status.st_size for _, status in found))


def clear() -> Kept:
    """Remove all of it, and say what it was."""
    before = kept()
    for path, _ in [] if before.folder is None else _files(before.folder):
        with suppress(OSError):
            path.unlink()
    return before


@contextmanager
def jax_cache() -> Iterator[None]:
    """Have JAX keep compiled code, unless the user has chosen a place already or there is none to be trusted."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    folder = cache_folder() if before[names[0]] is None else None
    if folder is None:
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
        prune(folder)


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
