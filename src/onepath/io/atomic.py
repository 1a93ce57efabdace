"""Writing files so that a crash leaves the old one or the new one, never half of one."""

import os
import secrets
from pathlib import Path

from onepath.io.errors import Kept

FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def check_free(path: str | Path, *, force: bool) -> Path:
    """Refuse a place that cannot be written, before any work is done."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file")
    if path.exists() and not force:
        raise Kept(f"{path} exists already and was kept; choose another name, or replace it with force (--force)")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: the folder {path.parent} does not exist")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written: the folder {path.parent} may not be written to")
    return path


def write_atomically(path: str | Path, content: bytes, *, force: bool = False) -> Path:
    """Write to a temporary file in the same folder, bring it to the disk, and only then give it its name."""
    path = check_free(path, force=force)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with os.fdopen(os.open(temporary, FRESH, 0o666), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if not force:
            check_free(path, force=False)  # somebody may have been quicker
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)
    return path


def _sync_folder(folder: Path) -> None:
    """Bring the new name to the disk too, on systems where folders can be opened."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
