"""The unit of work: one data set, one kernel, one method. Finished runs are kept in a journal and never redone."""

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from onepath.compare.metrics import delta_diffusion, delta_drift, loss
from onepath.compare.paper.cases import Case
from onepath.compare.paper.methods import Band, Estimate, estimate, settings_of
from onepath.compare.paper.printed import Row
from onepath.io.atomic import write_atomically
from onepath.numerics.arrays import Floats

JOURNAL, POPULATION_JOURNAL = "cells.jsonl", "population.jsonl"
"""Files in an output folder: runs on the paper's own trajectories, and on those of fresh seeds."""

CURVE_POINTS = 101
DIGITS = 6


@dataclass(frozen=True)
class Run:
    """What gives three numbers in one of the paper's tables."""

    case: Case
    kernel: str
    method: str

    @property
    def key(self) -> str:
        seed = "paper" if self.case.seed is None else f"seed-{self.case.seed}"
        return "/".join([self.case.trajectory, self.case.view, f"k-{self.case.k}", seed, self.kernel, self.method])

    @property
    def recipe(self) -> str:
        """What must not have changed for a kept result to stand: the method's settings."""
        return json.dumps(settings_of(self.method), sort_keys=True, default=str)

    def compute(self) -> dict[str, Any]:
        """The record to keep: scores, seconds, notes, and for the paper's own trajectories curves to draw."""
        begun = time.perf_counter()
        result: dict[str, Any] = {"key": self.key, "recipe": self.recipe, **asdict(self.case)}
        result |= {"kernel": self.kernel, "method": self.method}
        data, record = self.case.data(), self.case.record
        try:
            found = estimate(self.method, self.kernel, data)
        except RuntimeError as error:
            return result | {"error": str(error)}
        at = data.x_test[:, 0]
        drift, diffusion = found.drift(at)[:, None], found.diffusion(at)[:, None, None]
        result |= {
            "loss": loss(data.y_test, drift, diffusion, data.dt, found.noise),
            "drift": delta_drift(drift, record.drift(data.x_test)),
            "diffusion": delta_diffusion(diffusion, record.diffusion(data.x_test)),
            "true_loss": loss(data.y_test, record.drift(data.x_test), record.diffusion(data.x_test), data.dt),
            "predictive": found.predictive,
            "seconds": round(time.perf_counter() - begun, 3),
        }
        if self.case.seed is None:
            result |= {"notes": found.notes, "curves": _curves(found, np.concatenate([data.x, data.x_test])[:, 0])}
        return result


def _curves(found: Estimate, visited: Floats) -> dict[str, Any]:
    """Drift and diffusion on a grid over all states visited, with 90 % bands where the method has them."""
    grid = np.linspace(visited.min(), visited.max(), CURVE_POINTS)
    curves: dict[str, Any] = {"x": grid, "drift": found.drift(grid), "diffusion": found.diffusion(grid)}
    bands: dict[str, Band | None] = {"drift_band": found.drift_band, "diffusion_band": found.diffusion_band}
    curves |= {name: np.stack(band(grid)) for name, band in bands.items() if band is not None}
    return {name: _rounded(values).tolist() for name, values in curves.items()}


def _rounded(values: Floats) -> Floats:
    """A few significant digits are enough to draw."""
    return np.vectorize(lambda value: float(f"{value:.{DIGITS}g}"))(values)


def row_of(record: dict[str, Any]) -> Row | None:
    """The three metrics of a record; None if the method failed."""
    return None if "error" in record else Row(record["loss"], record["drift"], record["diffusion"])


class Journal:
    """One line of JSON a finished run, in the order of finishing.

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

    def get(self, run: Run) -> dict[str, Any] | None:
        """What was kept of a run, whatever its settings were."""
        return self.records.get(run.key)

    def finished(self, run: Run) -> bool:
        """Whether a run was computed with the settings that it has now."""
        kept = self.get(run)
        return kept is not None and kept["recipe"] == run.recipe

    def forget(self, runs: Iterable[Run]) -> None:
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

    def keep(self, record: dict[str, Any]) -> None:
        line = json.dumps(record, allow_nan=True).encode() + b"\n"
        self.file.write(line)
        self.file.flush()
        os.fsync(self.file.fileno())
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
