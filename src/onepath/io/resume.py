"""How far the reading of a stream is, in a file of numbers and text, so that an interrupted one can go on."""

import io
import json
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from onepath.data.boxes import Boxes
from onepath.data.streaming import Part, Streaming, Told
from onepath.io.atomic import write_atomically
from onepath.io.errors import Damaged

EVERY = 20.0
"""Seconds between two writings."""

COUNTS = ("rows", "left_out", "missing", "gaps", "every", "place", "tail")
GRID = ("location", "scale", "width", "first", "sums", "squares")


class Resume:
    """A file that is written now and then while a stream is read, and is gone when that has come to its end.

    `key` is what must not have changed since: the source's files, the columns and the version.
    """

    def __init__(self, path: Path, key: str) -> None:
        self.path, self.key, self.written = path, key, time.monotonic()

    def kept(self, told: Told) -> tuple[Streaming, int, dict[str, Any]] | None:
        """What came of the rows that were read already, how many those were, and what else was kept; None if nothing
        was, or of something else."""
        if not self.path.exists():
            return None
        try:
            with np.load(io.BytesIO(self.path.read_bytes()), allow_pickle=False) as arrays:
                facts = json.loads(bytes(arrays["facts"]).decode())
                if facts["key"] != self.key:
                    return None
                return _streaming(told, facts, dict(arrays)), int(facts["passed"]), facts["more"]
        except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
            raise Damaged(f"{self.path} does not say how far reading was ({error}): remove it to begin anew") from error

    def now_and_then(self, streaming: Streaming, passed: int, more: dict[str, Any]) -> None:
        """Keep it, if that was not done for a while."""
        if streaming.boxes is None or time.monotonic() - self.written < EVERY:
            return
        self.keep(streaming, passed, more)
        self.written = time.monotonic()

    def keep(self, streaming: Streaming, passed: int, more: dict[str, Any]) -> None:
        """All that a stream is, as arrays, and as JSON what is no array."""
        arrays, facts = _arrays(streaming)
        facts |= {"key": self.key, "passed": passed, "more": more}
        buffer = io.BytesIO()
        np.savez(buffer, facts=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)  # type: ignore[arg-type]
        write_atomically(self.path, buffer.getvalue(), force=True)

    def done(self) -> None:
        """It is not needed any more."""
        self.path.unlink(missing_ok=True)


def _arrays(streaming: Streaming) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    boxes = streaming.boxes
    assert boxes is not None
    arrays = {f"boxes_{name}": getattr(boxes, name) for name in GRID}
    pieces = [
        *(("stretch", k, 0, 0.0, row, part) for k, (row, part) in streaming.stretches.items()),
        *(("end", i, int(high), value, row, part) for (i, high), (value, row, part) in streaming.ends.items()),
        *(("tail", k, 0, 0.0, row, part) for k, (row, part) in enumerate(streaming.tails)),
        *(("waiting", k, 0, 0.0, 0, part) for k, part in enumerate(streaming.waiting)),
        *([("begun", 0, 0, 0.0, 0, streaming.begun)] if streaming.begun is not None else []),
        ("last", 0, 0, 0.0, 0, streaming.last),
    ]
    for number, (*_, part) in enumerate(pieces):
        arrays |= {f"piece{number}_{name}": array for name, array in part._asdict().items()}
    arrays["seen"] = streaming.seen
    facts: dict[str, Any] = {name: int(getattr(streaming, name)) for name in COUNTS}
    facts |= {"median": streaming.median, "time": boxes.time, "room": boxes.room}
    return arrays, facts | {"pieces": [list(piece[:5]) for piece in pieces]}


def _streaming(told: Told, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> Streaming:
    streaming = Streaming(told)
    grid = {name: arrays[f"boxes_{name}"] for name in GRID}
    boxes = Boxes(grid["location"], grid["scale"], facts["time"], grid["width"], facts["room"])
    boxes.first, boxes.sums, boxes.squares = grid["first"], grid["sums"], grid["squares"]
    streaming.boxes, streaming.median, streaming.seen = boxes, facts["median"], arrays["seen"]
    for name in COUNTS:
        setattr(streaming, name, facts[name])
    for number, (kind, k, high, value, row) in enumerate(facts["pieces"]):
        part = Part(*(arrays[f"piece{number}_{name}"] for name in Part._fields))
        if kind == "stretch":
            streaming.stretches[k] = (row, part)
        elif kind == "end":
            streaming.ends[k, bool(high)] = (value, row, part)
        elif kind == "tail":
            streaming.tails.append((row, part))
        elif kind == "waiting":
            streaming.waiting.append(part)
        elif kind == "begun":
            streaming.begun = part
        else:
            streaming.last = part
    return streaming
