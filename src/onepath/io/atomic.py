"""Writing files so that a crash leaves the old one or the new one, never half of one, and nothing else is touched."""

import hashlib
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

from onepath.io.errors import Kept, Unwritten

FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def sha256_of(path: Path) -> str:
    """By which a file is known again."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_places(places: Iterable[Path | None], *, read: Iterable[Path] = (), force: bool) -> None:
    """Refuse, before any work, places that cannot be written, that are read from, or that are one and the same."""
    given = [place for place in places if place is not None]
    for place in given:
        check_free(place, force=force)
        if any(_same(place, source) for source in read):
            raise Kept(f"{place} is the file that is read: choose another name for what is written")
    for index, place in enumerate(given):
        if any(_same(place, other) for other in given[:index]):
            raise Kept(f"{place} was given for two files: give each its own name")


def check_free(path: str | Path, *, force: bool) -> Path:
    """Refuse a place that cannot be written, before any work is done; where it is a link, the place that it names."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file")
    if path.exists() and not path.is_file():
        raise Kept(f"{path} is a device, a pipe or a socket, no file: give the name of a file")
    if path.exists() and not force:
        raise Kept(f"{path} exists already and was kept; choose another name, or replace it with force (--force)")
    if path.is_symlink() and not path.exists() and not force:
        raise Kept(f"{path} is a link to {path.readlink()}, which is not there; choose another name, or write there "
                   "with force (--force)")  # fmt: skip
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(f"{path} is write-protected and was kept: choose another name")
    path = path.resolve() if path.is_symlink() else path
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: the folder {path.parent} does not exist")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written: the folder {path.parent} may not be written to")
    return path


def _same(one: Path, other: Path) -> bool:
    """Whether two paths name one file, there or not."""
    both_there = one.exists() and other.exists()
    return one.samefile(other) if both_there else one.resolve() == other.resolve()


def write_atomically(path: str | Path, content: bytes, *, force: bool = False) -> Path:
    """Write to a temporary file in the same folder, bring it to the disk, and only then give it its name."""
    path, place = Path(path), check_free(path, force=force)
    temporary = place.with_name(f".{place.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        with os.fdopen(os.open(temporary, FRESH, 0o666), "wb") as file:
            if place.exists():
                temporary.chmod(stat.S_IMODE(place.stat().st_mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        check_free(place, force=force)  # somebody may have been quicker
        temporary.replace(place)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, Kept):
            raise Unwritten(
                f"{path} could not be written ({error.strerror or error}); nothing there was changed"
            ) from error
        raise
    _sync_folder(place.parent)
    return path


def _sync_folder(folder: Path) -> None:
    """Bring the new name to the disk too, on systems where folders can be opened."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
