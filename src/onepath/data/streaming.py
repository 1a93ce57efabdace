"""A stream of readings, in one pass and constant memory: transitions into boxes, and stretches kept as a sample."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from onepath.data.boxes import Boxes
from onepath.data.clocks import UNDATED, Clock, median_length
from onepath.data.soundness import check_sound
from onepath.data.trajectory import Trajectory, Whole
from onepath.numerics.arrays import Floats, Integers

BLOCK = 1 << 15
"""Rows that are worked on at once."""

LOOK = 1 << 17
"""Rows of the first look."""

STRETCH, STRETCHES, TAIL = 1 << 12, 30, 512
"""Rows of a stretch that is kept, how many stretches at most, so that a diagnosis looks at all, and the last rows."""


class Part(NamedTuple):
    """Some rows, one after another."""

    x: Floats  # (n, d), NaN where missing
    t: Floats  # (n,)
    record: Integers  # (n,), from 0 on: which record a row belongs to

    def rows(self, chosen: slice | Integers) -> "Part":
        return Part(self.x[chosen], self.t[chosen], self.record[chosen])

    def copied(self) -> "Part":
        """Rows of their own, which keep no others in memory."""
        return Part(self.x.copy(), self.t.copy(), self.record.copy())


@dataclass(frozen=True)
class Told:
    """What is known of a stream before it comes."""

    names: tuple[str, ...]
    unit: str | None = None
    clock: Clock = UNDATED
    gap: float = 10.0
    cells: int = 256


class Look(NamedTuple):
    """What a first look says: boxes, still empty, and the usual step."""

    boxes: Boxes
    median: float


class Streaming:
    """Takes parts as they come. Neighbours across their ends are transitions too, within each record.

    A stream in several pieces takes the look of the first of them; then they can be joined.
    """

    def __init__(self, told: Told, look: Look | None = None) -> None:
        self.told, self.dimension = told, len(told.names)
        self.waiting: list[Part] = []
        self.rows = self.left_out = self.missing = self.gaps = 0
        self.boxes: Boxes | None = None if look is None else look.boxes.empty()
        self.median = np.nan if look is None else look.median
        self.begun: Part | None = None  # the first row
        self.last = Part(np.zeros((0, self.dimension)), np.zeros(0), np.zeros(0, np.int64))  # row of each record
        self.seen = np.zeros(0, bool)  # whether a record has a last row
        self.stretches: dict[int, tuple[int, Part]] = {}  # by number: where it begins, and its rows
        self.every = 1  # of which stretches are kept
        self.place, self.tail = -1, -1  # the number of the last row that was taken, and its record
        self.ends: dict[tuple[int, bool], tuple[float, int, Part]] = {}  # outmost transitions, by coordinate and side
        self.tails: list[tuple[int, Part]] = []  # the last rows of the last two blocks

    def add(self, part: Part) -> None:
        """More rows, in the order of time within each record."""
        if self.begun is None and len(part.t):
            self.begun = part.rows(slice(1)).copied()
        self.waiting.append(part)
        if self.boxes is None:
            if sum(len(each.t) for each in self.waiting) >= LOOK:
                self._look()
        elif sum(len(each.t) for each in self.waiting) >= BLOCK:
            self._work(whole=False)

    def end(self) -> "Streamed":
        """After the last of them."""
        return self.finished()._gathered()

    def finished(self) -> "Streaming":
        """Nothing waits any more."""
        if self.boxes is None:
            self._look()
        self._work(whole=True)
        return self

    def look(self) -> Look:
        """For other pieces, by what came so far."""
        if self.boxes is None:
            self._look()
        assert self.boxes is not None
        return Look(self.boxes.empty(), self.median)

    def join(self, other: "Streaming") -> None:
        """Take what comes after all this, of one record, with the step between the two."""
        assert self.boxes is not None
        assert other.boxes is not None
        if other.begun is None:
            return
        seam = Streaming(self.told, Look(self.boxes, self.median))
        end = Part(self.last.x[:1], self.last.t[:1], self.last.record[:1])
        seam._take(_joined([end, other.begun] if self.rows else [other.begun]))
        assert seam.boxes is not None
        self.boxes.join(seam.boxes)
        self.boxes.join(other.boxes)
        self.gaps, self.left_out = self.gaps + seam.gaps + other.gaps, self.left_out + seam.left_out + other.left_out
        self.missing += other.missing
        pieces = {k + self.rows // STRETCH: (row + self.rows, part) for k, (row, part) in other.stretches.items()}
        self.stretches = self.stretches | pieces
        while len(self.stretches) > STRETCHES:
            self.stretches = dict(list(self.stretches.items())[::2])
        for at, (value, row, part) in other.ends.items():
            if at not in self.ends or value > self.ends[at][0]:
                self.ends[at] = (value, row + self.rows, part)
        self.tails = [*self.tails[-1:], *((row + self.rows, part) for row, part in other.tails)][-2:]
        self.last, self.seen, self.rows = other.last, other.seen, self.rows + other.rows

    def _look(self) -> None:
        """A first look: how wide boxes are, and how long steps."""
        if not any(len(part.t) for part in self.waiting):
            raise ValueError("the stream has no rows, so there is nothing to learn from")
        x, t, record = _ordered(_joined(self.waiting).rows(slice(LOOK)))
        y, dt = x[1:] - x[:-1], t[1:] - t[:-1]
        whole = (record[1:] == record[:-1]) & np.isfinite(y).all(axis=1) & (dt > 0.0)
        if whole.sum() < 2:
            raise ValueError(f"the first {len(t)} rows have no two neighbours with values: is it the right column?")
        self.median = median_length(dt[whole])
        self.boxes = Boxes.from_look(x[:-1][whole], dt[whole], self.told.cells)

    def _work(self, whole: bool) -> None:
        """All that waits, in blocks; what fills none waits on, unless it is the end."""
        if not self.waiting:
            return
        joined = _joined(self.waiting)
        n = len(joined.t)
        most = n if whole else n - n % BLOCK
        for begin in range(0, most, BLOCK):
            self._take(joined.rows(slice(begin, min(begin + BLOCK, most))))
        self.waiting = [joined.rows(slice(most, None)).copied()] if most < n else []

    def _take(self, part: Part) -> None:
        """One block: with the last row of each of its records before it, in the order of records."""
        assert self.boxes is not None
        one = bool(np.all(part.record == part.record[0]))
        named = part.record[:1] if one else np.unique(part.record)
        self._make_room(int(named[-1]) + 1)
        known = named[self.seen[named]]
        before = Part(self.last.x[known], self.last.t[known], known)
        x, t, record = both = _ordered(_joined([before, part]))
        self._check_time(t, record, part)
        y, dt = x[1:] - x[:-1], t[1:] - t[:-1]
        within = record[1:] == record[:-1] if not one else np.ones(len(dt), bool)
        there = np.isfinite(y[:, 0]) if self.dimension == 1 else np.isfinite(y).all(axis=1)
        if not there.all():
            self._check_finite(part)
            self.missing += int(np.isnan(part.x).any(axis=1).sum())
        steps = within & there
        long = steps & (dt > self.told.gap * self.median)
        self.gaps += int(long.sum())
        self.left_out += int((within & ~there).sum())
        steps &= ~long
        chosen = slice(None) if steps.all() else steps
        starts = x[:-1][chosen]
        self.boxes.add(starts, y[chosen], dt[chosen])
        goes_on = one and len(known) == 1 and int(known[0]) == self.tail
        self.place += 0 if goes_on else 2  # rows that do not follow each other are not numbered so
        self._keep(both, steps, len(before.t))
        self.place, self.tail = self.place + len(both.t) - 1, int(record[-1])
        last = np.flatnonzero(np.r_[record[1:] != record[:-1], True])
        self.last.x[record[last]], self.last.t[record[last]], self.seen[record[last]] = x[last], t[last], True
        self.rows += len(part.t)

    def _check_finite(self, part: Part) -> None:
        infinite = np.isinf(part.x).any(axis=1)
        if infinite.any():
            row = self.rows + int(np.argmax(infinite))
            raise ValueError(f"row {row} has an infinite value: pass NaN, or leave it empty, if it is missing")

    def _check_time(self, t: Floats, record: Integers, part: Part) -> None:
        """Time moves forward within a record."""
        forward = (t[1:] > t[:-1]) | (record[1:] != record[:-1])
        if forward.all():
            return
        k = int(np.argmin(forward))
        raise ValueError(
            f"time does not move forward: {t[k + 1]:.9g} follows {t[k]:.9g}, in rows {self.rows} to "
            f"{self.rows + len(part.t)}. Sort the rows by time, keep one row for each; if there are several "
            "trajectories, name the column that tells them apart with group= (--group)"
        )

    def _make_room(self, records: int) -> None:
        if records <= len(self.seen):
            return
        size = max(records, 2 * len(self.seen))
        x, t, seen = np.zeros((size, self.dimension)), np.zeros(size), np.zeros(size, bool)
        x[: len(self.seen)], t[: len(self.seen)], seen[: len(self.seen)] = self.last.x, self.last.t, self.seen
        self.last, self.seen = Part(x, t, np.arange(size)), seen

    # what is kept of the path itself

    def _keep(self, both: Part, steps: np.ndarray, before: int) -> None:
        """Stretches of it, the outmost transitions, and the last one."""
        rows = self.place + np.arange(len(both.t))
        for begin in range(before, len(both.t), STRETCH):
            number = (self.rows + begin - before) // STRETCH
            if number % self.every == 0:
                self.stretches[number] = self._piece(both, rows, begin, STRETCH)
        while len(self.stretches) > STRETCHES:
            self.every *= 2
            self.stretches = {k: kept for k, kept in self.stretches.items() if k % self.every == 0}
        starts = np.flatnonzero(steps)
        if len(starts) == 0:
            return
        for i, column in enumerate(both.x.T):
            own = column[:-1][steps]
            for high in (False, True):
                k = int(own.argmax() if high else own.argmin())
                value = float(own[k] if high else -own[k])
                if (i, high) not in self.ends or value > self.ends[i, high][0]:
                    self.ends[i, high] = (value, *self._piece(both, rows, int(starts[k]), 2))
        last = int(starts[-1]) + 2
        self.tails = [*self.tails[-1:], self._piece(both, rows, max(last - TAIL, 0), min(last, TAIL))]

    @staticmethod
    def _piece(both: Part, rows: Integers, begin: int, length: int) -> tuple[int, Part]:
        return int(rows[begin]), both.rows(slice(begin, begin + length)).copied()

    def _gathered(self) -> "Streamed":
        """The sample as a trajectory, and everything in boxes."""
        assert self.boxes is not None
        kept = [*self.stretches.values(), *((row, part) for _, row, part in self.ends.values()), *self.tails]
        places = np.concatenate([row + np.arange(len(part.t)) for row, part in kept])
        x, t, record = _joined([part for _, part in kept])
        # a row that begins a block's record is that of the block before it, and may be here twice
        _, first = np.unique(np.column_stack([record, t.view(np.int64)]), axis=0, return_index=True)
        order = first[np.lexsort((places[first], record[first]))]
        x, t, record, places = x[order], t[order], record[order], places[order]
        length, follows = np.diff(t), np.diff(places) == 1
        whole = follows & (np.diff(record) == 0) & ~np.isnan(x[1:] + x[:-1]).any(axis=1)
        step = np.flatnonzero(whole & (length <= self.told.gap * self.median))
        total = int(self.boxes.total)
        said = f"{self.left_out} touch a missing row, {self.gaps} are recording gaps"
        check_sound(x, t, step, self.told.names, said)
        told = self.told
        trajectory = Trajectory(
            x, t, record, step, self.gaps, self.missing, told.names, told.unit, told.clock,
            whole=Whole(self.rows, total, int(self.seen.sum()), len(self.stretches)),
        )  # fmt: skip
        for array in (x, t, record, step):
            array.flags.writeable = False
        return Streamed(trajectory, self.boxes)


class Streamed(NamedTuple):
    """What came of a stream: a sample of it, and everything in boxes."""

    trajectory: Trajectory
    boxes: Boxes


def joined(pieces: list[Streaming]) -> Streamed:
    """Pieces of one record, in their order, each of which began with the same look."""
    first, *others = pieces
    for other in others:
        first.join(other)
    return first._gathered()


def _joined(parts: list[Part]) -> Part:
    if len(parts) == 1:
        return parts[0]
    x, t, record = zip(*parts, strict=True)
    return Part(np.concatenate(x), np.concatenate(t), np.concatenate(record))


def _ordered(part: Part) -> Part:
    """By record, in the order in which rows came."""
    if np.all(part.record[1:] >= part.record[:-1]):
        return part
    return part.rows(np.argsort(part.record, kind="stable"))
