"""Processes that fit, as many at once as there is room for, and a queue of bounded length before them."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from onepath.studio.process import Died, Hear, Process
from onepath.studio.worker import FITTER, READER

WAITING = 16
"""Tasks that may wait."""

PATIENCE = 120.0
"""Seconds that a look at a file may take."""


class Full(RuntimeError):
    """Too many tasks wait already."""


class Ticket:
    """A task on its way: waiting, running, and then its result."""

    def __init__(self, task: dict[str, Any], hear: Hear, end: Callable[[dict[str, Any]], object]) -> None:
        self.task, self.hear, self.end = task, hear, end
        self.process: Process | None = None
        self.stopped = False


class Pool:
    """Fits in processes of their own, `most` at once; one process always stands ready."""

    def __init__(self, folder: Path, most: int, memory: float) -> None:
        self.folder, self.most, self.memory = folder, most, memory
        self._waiting: deque[Ticket] = deque()
        self._processes: list[Process] = []
        self._running: set[asyncio.Task[None]] = set()
        self.closed = False

    def start(self) -> None:
        """Have one process ready."""
        if not self.closed and not any(not each.busy for each in self._processes) and len(self._processes) < self.most:
            self._processes.append(Process(FITTER, self.folder, self.memory))
            self._processes[-1].start()

    def submit(self, ticket: Ticket) -> None:
        """Run it, or let it wait; `Full` where too many do."""
        if len(self._waiting) >= WAITING:
            raise Full(f"{WAITING} fits are waiting already: stop some, or wait")
        self._waiting.append(ticket)
        self._next()

    def stop(self, ticket: Ticket) -> None:
        """End its process, or leave it out of the queue."""
        ticket.stopped = True
        if ticket.process is not None:
            ticket.process.kill()
        elif ticket in self._waiting:
            self._waiting.remove(ticket)
            ticket.end({"stopped": True})

    def _next(self) -> None:
        """Give waiting tasks to processes that are free."""
        while self._waiting and not self.closed and (process := self._free()) is not None:
            ticket = self._waiting.popleft()
            ticket.process, process.busy = process, True
            running = asyncio.create_task(self._run(ticket, process))
            self._running.add(running)
            running.add_done_callback(self._running.discard)

    def _free(self) -> Process | None:
        self._processes = [each for each in self._processes if each.alive]
        free = next((each for each in self._processes if not each.busy), None)
        if free is None and len(self._processes) < self.most:
            free = Process(FITTER, self.folder, self.memory)
            self._processes.append(free)
        return free

    async def _run(self, ticket: Ticket, process: Process) -> None:
        ticket.hear({"started": True})
        try:
            result = await process.do(ticket.task, ticket.hear)
        except (Died, asyncio.CancelledError) as error:
            process.kill()
            result = {"failed": f"The fit broke off: {error}."}
        if process in self._processes and not process.alive:
            self._processes.remove(process)
        ticket.end({"stopped": True} if ticket.stopped else result)
        await asyncio.sleep(0)
        if ticket.stopped:
            await process.gone()
        self._next()
        self.start()

    async def close(self) -> None:
        """End everything."""
        self.closed = True
        self._waiting.clear()
        await asyncio.gather(*(each.gone() for each in self._processes))
        for running in list(self._running):
            running.cancel()


class Reader:
    """The process that looks at files, one after another; one that takes too long is ended."""

    def __init__(self, folder: Path, memory: float) -> None:
        self._new = lambda: Process(READER, folder, memory)
        self._process = self._new()
        self._lock = asyncio.Lock()
        self.waiting = 0

    def start(self) -> None:
        self._process.start()

    async def look(self, task: dict[str, Any]) -> dict[str, Any]:
        """What is understood of a file."""
        found: dict[str, Any] = {}
        if self.waiting >= WAITING * 4:
            raise Full("too many files are waiting to be read: wait a little")
        self.waiting += 1
        try:
            async with self._lock, asyncio.timeout(PATIENCE):
                result = await self._process.do({"task": "look", **task}, found.update)
        except TimeoutError:
            await self._renew()
            return {"ready": False, "error": f"reading took longer than {PATIENCE:.0f} seconds and was stopped"}
        except Died as error:
            await self._renew()
            return {"ready": False, "error": f"reading broke off: {error}"}
        finally:
            self.waiting -= 1
        if "looked" in found:
            return dict(found["looked"])
        return {"ready": False, "error": result.get("refused") or result.get("failed")}

    async def _renew(self) -> None:
        old, self._process = self._process, self._new()
        with suppress(Exception):
            await old.gone()

    async def close(self) -> None:
        await self._process.gone()
