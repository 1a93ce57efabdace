"""A process that works for the server: started, given one task after another, stopped by its end."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from onepath.numerics.memory import MEMORY_VARIABLE

LONGEST_LINE = 1 << 20
"""Bytes of an answer."""

Hear = Callable[[dict[str, Any]], object]


class Died(RuntimeError):
    """A process ended before it had done its task."""


class Process:
    """One `onepath.studio.worker`. Answers on the way go to whoever asked, the last one is the result."""

    def __init__(self, kind: str, folder: Path, memory: float) -> None:
        self.kind, self.folder, self.memory = kind, folder, memory
        self.busy = False
        self._process: asyncio.subprocess.Process | None = None
        self._starting: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to load what it needs, so that the first task does not wait for all of it."""
        if self._starting is None:
            self._starting = asyncio.create_task(self._started())

    async def _started(self) -> None:
        # -P: the folder in which the server was started is no place to import from
        command = (sys.executable, "-P", "-m", "onepath.studio.worker", self.kind, str(self.folder))
        self._process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=LONGEST_LINE,
            start_new_session=True,  # or an interrupt of the server would be one of the fit
            env=os.environ | {MEMORY_VARIABLE: f"{self.memory:.3f}"},
        )
        await self._answer()

    @property
    def alive(self) -> bool:
        """Whether it can be given a task, now or once it has started."""
        return self._process is None or self._process.returncode is None

    async def do(self, task: dict[str, Any], hear: Hear) -> dict[str, Any]:
        """Give it a task and wait for the result; `Died` if it ends before."""
        self.busy = True
        try:
            self.start()
            assert self._starting is not None
            await self._starting
            assert self._process is not None
            assert self._process.stdin is not None
            self._process.stdin.write((json.dumps(task) + "\n").encode())
            await self._process.stdin.drain()
            while True:
                said = await self._answer()
                if said.keys() & {"done", "refused", "failed"}:
                    return said
                hear(said)
        except (ConnectionError, ValueError) as error:
            self.kill()
            raise Died(f"the process that worked on it broke off ({error})") from None
        finally:
            self.busy = False

    async def _answer(self) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            code = await self._process.wait()
            raise Died("it was stopped by the system, probably for want of memory" if code == -9 else f"code {code}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def kill(self) -> None:
        """End it at once, whatever it does."""
        if self._starting is not None and self._process is None:
            self._starting.cancel()
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                if os.name == "posix":
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()

    async def gone(self) -> None:
        """Kill it and wait until it is."""
        self.kill()
        if self._starting is not None:
            with suppress(asyncio.CancelledError, Exception):
                await self._starting
        if self._process is not None:
            await self._process.wait()
