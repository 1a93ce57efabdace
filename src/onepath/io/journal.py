"""A journal of finished pieces of work: what was done is kept as it is finished, and never redone."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from onepath.io.atomic import write_atomically


class Keyed(Protocol):
    """A piece of work: what it is, and what must not have changed for its kept result to stand."""

    @property
    def key(self) -> str: ...

    @property
    def recipe(self) -> str: ...


class Journal:
    """One line of JSON a finished run, in the order of finishing; the later of two lines of one run counts.

    A line is written and forced to the disk in one go once its run is finished. If the process is killed while it
    writes, the last line is incomplete; it is cut off on opening, and its run is computed again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[str, dict[str, Any]] = {}
        if path.exists():
            for line in _whole_lines(path):
                self._remember(line)

    def _remember(self, line: bytes) -> None:
        record = json.loads(line)
        self.records[record["key"]] = record

    def get(self, run: Keyed) -> dict[str, Any] | None:
        """What was kept of a run, whatever its settings were."""
        return self.records.get(run.key)

    def finished(self, run: Keyed) -> bool:
        """Whether a run was computed with the settings that it has now."""
        kept = self.get(run)
        return kept is not None and kept["recipe"] == run.recipe

    def forget(self, runs: Iterable[Keyed]) -> None:
        """Drop runs that were kept, all at once: whenever the process is killed, they are all there or all gone."""
        keys = {run.key for run in runs}
        with self.writing():
            lines = [line for line in _whole_lines(self.path) if json.loads(line)["key"] not in keys]
            write_atomically(self.path, b"".join(lines), force=True)
        self.records = {key: record for key, record in self.records.items() if key not in keys}

    @contextmanager
    def writing(self) -> Iterator["Writer"]:
        """The right to add runs, which one process at a time has."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            _lock(file, self.path)
            # another process may have added runs between reading and locking
            lines = _whole_lines(self.path)
            file.truncate(sum(map(len, lines)))
            for line in lines:
                self._remember(line)
            yield Writer(self, file)


class Writer:
    """Adds finished runs to a journal."""

    def __init__(self, journal: Journal, file: IO[bytes]) -> None:
        self.journal, self.file = journal, file

    def keep(self, *records: dict[str, Any]) -> None:
        """Add what was finished together: it is forced to the disk in one go."""
        lines = [json.dumps(record, allow_nan=True).encode() + b"\n" for record in records]
        self.file.write(b"".join(lines))
        self.file.flush()
        os.fsync(self.file.fileno())
        for line in lines:
            self.journal._remember(line)


def _whole_lines(path: Path) -> list[bytes]:
    lines = path.read_bytes().splitlines(keepends=True)
    return [line for line in lines if line.endswith(b"\n")]


def _lock(file: IO[bytes], path: Path) -> None:
    """Refuse a second writer; the lock goes with the process that holds it, however that ends."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks: there, nothing stops a second writer
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise BlockingIOError(
            f"Another process is writing {path}. Wait until it has ended, or choose another folder with -o."
        ) from error
