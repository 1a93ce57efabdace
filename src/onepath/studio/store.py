"""What the studio holds while it is open: files that were dropped, and fits of them. Nothing of it outlives it."""

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from onepath.studio.options import Asked
from onepath.studio.pool import Ticket
from onepath.studio.said import Said

PREFIX = "onepath-studio-"
SUFFIXES = (".csv", ".tsv", ".txt", ".dat", ".parquet", ".pq", ".npy", ".npz")
MOST_FILES, MOST_FITS = 64, 200
LONGEST_NAME = 120


class TooMany(RuntimeError):
    """There is no room for one more."""


@dataclass
class File:
    """An upload: where it is kept, what its client called it, what is understood of it."""

    key: int
    name: str
    path: Path
    size: int = 0
    example: str | None = None
    said: Said = field(default_factory=Said)
    looked: dict[str, Any] | None = None  # None while it is read

    def told(self) -> dict[str, Any]:
        return {
            "id": self.key,
            "name": self.name,
            "size": self.size,
            "example": self.example,
            "ready": None if self.looked is None else bool(self.looked.get("ready")),
        }


@dataclass
class Fit:
    """A fit that was asked for, and how far it is."""

    key: int
    file: File
    said: Said
    asked: Asked
    folder: Path
    command: str
    python: str
    state: str = "waiting"  # running, done, stopped, refused, failed
    doing: str = ""
    trouble: str = ""
    made: list[str] = field(default_factory=list)
    ticket: Ticket | None = None
    begun: float = 0.0
    seconds: float | None = None
    ahead: int = 0  # how often its forecast was made anew
    looking_ahead: bool = False

    def told(self, now: float) -> dict[str, Any]:
        return {
            "id": self.key,
            "file": self.file.key,
            "name": self.file.name,
            "asked": self.asked,
            "state": self.state,
            "doing": self.doing,
            "trouble": self.trouble,
            "made": self.made,
            "seconds": self.seconds if self.seconds is not None else max(now - self.begun, 0.0) if self.begun else 0.0,
            "command": self.command,
            "python": self.python,
            "ahead": self.ahead,
            "lookingAhead": self.looking_ahead,
        }


class Store:
    """Files and fits by number, in a temporary folder that only the user can read."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        self.files: dict[int, File] = {}
        self.fits: dict[int, Fit] = {}
        self._keys: Iterator[int] = count(1)
        self.version = 0

    def changed(self) -> None:
        """Something is to be seen anew."""
        self.version += 1

    def new_file(self, name: str) -> File:
        """A place for an upload. Its name is only shown; of its place, no more than a known ending is the client's."""
        if len(self.files) >= MOST_FILES:
            raise TooMany(f"{MOST_FILES} files are open already: close some of them")
        key, shown = next(self._keys), shown_name(name)
        ending = next((suffix for suffix in SUFFIXES if shown.lower().endswith(suffix)), ".dat")
        folder = self.folder / f"file{key}"
        folder.mkdir()
        self.files[key] = File(key, shown, folder / f"data{ending}")
        self.changed()
        return self.files[key]

    def new_fit(self, file: File, asked: Asked, command: str, python: str) -> Fit:
        if len(self.fits) >= MOST_FITS:
            raise TooMany(f"{MOST_FITS} fits are kept already: close some of them")
        key = next(self._keys)
        folder = self.folder / f"fit{key}"
        folder.mkdir()
        self.fits[key] = Fit(key, file, file.said, asked, folder, command, python)
        self.changed()
        return self.fits[key]

    def drop_file(self, key: int) -> None:
        file = self.files.pop(key)
        shutil.rmtree(file.path.parent, ignore_errors=True)
        self.changed()

    def drop_fit(self, key: int) -> None:
        shutil.rmtree(self.fits.pop(key).folder, ignore_errors=True)
        self.changed()

    def used(self) -> int:
        """Bytes of everything that is kept."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def shown_name(given: str) -> str:
    """The last part of a client's name for a file, without what is no printable character."""
    last = given.replace("\\", "/").rpartition("/")[2]
    clean = "".join(letter for letter in last if letter.isprintable()).strip()
    if len(clean) > LONGEST_NAME:
        stem, dot, ending = clean.rpartition(".")
        clean = (stem or ending)[: LONGEST_NAME - 12] + (dot + ending[:10] if stem else "")
    return clean if clean.strip(".") else "data"
