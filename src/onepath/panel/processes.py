"""Plain processes of one machine, each fitting batch after batch: one that dies costs time and no result."""

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from onepath.panel.layout import Series
from onepath.panel.one import Plan, Record, failed, fit_all
from onepath.panel.worker import receive, send

TRIES = 2
"""Of a series that the process dies with, alone."""

Batch = list[Series]


def processors() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def fit_in_processes(plan: Plan, batches: Iterator[Batch], workers: int) -> Iterator[list[Record]]:
    """Records of batches as they are finished; with one worker, in this process."""
    if workers == 1:
        yield from (fit_all(plan, batch) for batch in batches)
        return
    check_sendable(plan)
    crew = _Crew(plan, batches)
    threads = [threading.Thread(target=crew.serve, args=(index,), daemon=True) for index in range(workers)]
    for thread in threads:
        thread.start()
    try:
        yield from crew.records(workers)
    finally:
        crew.stop()
        for thread in threads:
            thread.join()


def check_sendable(plan: Plan) -> None:
    """Refuse settings that cannot be sent to another process."""
    try:
        pickle.dumps(plan)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"these settings cannot be sent to other processes ({error}): define functions at the top of a module "
            "that can be imported, or fit with workers=1"
        ) from None


class _Crew:
    """Batches that are waiting, records that are done, and the processes between them."""

    def __init__(self, plan: Plan, batches: Iterator[Batch]) -> None:
        self.plan, self.batches = plan, batches
        self.again: list[tuple[Batch, int]] = []  # what a process died with, and how often one did
        self.lock, self.done = threading.Lock(), queue.Queue[Any]()
        self.under_way: dict[int, subprocess.Popen[bytes]] = {}
        self.stopped = False

    def records(self, workers: int) -> Iterator[list[Record]]:
        """As they come, until every worker has said that there is no more."""
        while workers > 0:
            came = self.done.get()
            if isinstance(came, Exception):
                raise came
            if came is None:
                workers -= 1
            else:
                yield came

    def stop(self) -> None:
        """End every process that was started here."""
        with self.lock:
            self.stopped = True
            for process in self.under_way.values():
                process.kill()

    def serve(self, index: int) -> None:
        """Give one process batch after batch, and a new process where it died."""
        try:
            process = None
            while (task := self._next()) is not None:
                process = process or self._started(index)
                if not self._fit(process, *task):
                    self._ended(process, index)
                    process = None
            if process is not None:
                self._ended(process, index)
            self.done.put(None)
        except Exception as error:  # raised where the records are asked for
            self.done.put(error)

    def _next(self) -> tuple[Batch, int] | None:
        with self.lock:
            if self.stopped:
                return None
            if self.again:
                return self.again.pop()
            batch = next(self.batches, None)
            return None if batch is None else (batch, 0)

    def _fit(self, process: subprocess.Popen[bytes], batch: Batch, tries: int) -> bool:
        """Whether the process lives; what it died with is tried again one by one, and then said to have failed."""
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            send(process.stdin, batch)
            self.done.put(receive(process.stdout))
            return True
        except (EOFError, OSError):
            code = process.wait()
        if len(batch) == 1 and tries + 1 >= TRIES:
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            reason = f"the process that fitted it died {TRIES} times ({how}), maybe for want of memory"
            self.done.put([failed(batch[0], reason)])
        else:
            with self.lock:
                self.again += [([one], tries + (len(batch) == 1)) for one in reversed(batch)]
        return False

    def _started(self, index: int) -> subprocess.Popen[bytes]:
        """A process that has been told the plan."""
        # a process is one core's work: together they would ask for a GPU's memory many times over
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "JAX_PLATFORMS": "cpu"}
        command = [sys.executable, "-m", "onepath.panel.worker"]
        with self.lock:
            if self.stopped:
                raise InterruptedError("stopped")
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
            self.under_way[index] = process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            send(process.stdin, self.plan)
            trouble = receive(process.stdout)
        except (EOFError, OSError):
            raise RuntimeError(f"a process that should fit series died at its start: {' '.join(command)}") from None
        if trouble is not None:
            raise ValueError(
                f"these settings cannot be used in other processes ({trouble}): define functions in a module that can "
                "be imported, or fit with workers=1"
            )
        return process

    def _ended(self, process: subprocess.Popen[bytes], index: int) -> None:
        with self.lock:
            self.under_way.pop(index, None)
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError):  # it may be gone already
            process.stdin.close()
        process.stdout.close()
        process.wait()
