"""The studio's server: what a page can ask for. It reads and fits nothing itself, and holds no data in memory."""

import asyncio
import json
import os
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from onepath.studio.examples import EXAMPLES
from onepath.studio.guard import REPORT_POLICY
from onepath.studio.options import Refused, form, read_asked, with_cure
from onepath.studio.pool import Full, Pool, Reader, Ticket
from onepath.studio.said import Said, command, python, read_said
from onepath.studio.store import File, Fit, Store, TooMany
from onepath.studio.view import view

MEGABYTE = 1 << 20
MOST_TEXT = 1 << 18
"""Bytes of what is said with a request, beside uploads."""

AT_ONCE, PATIENCE = 4, 30.0
"""Uploads that are written at the same time, and seconds that the next piece of one may take."""

KEPT = 8
"""Times the size of the largest upload, of everything that is kept."""

MEMORY_PER_BYTE = 12.0
"""Of memory that a process may take, for each byte of the largest upload; and gigabytes that it needs for itself."""
MEMORY_AT_LEAST = 2.0

MOST_AHEAD = 5000
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

DRAWN = ("curves", "series", "verdict", "lags", "plane", "follows", "forecast", "tables")
SAVED = {
    "report": ("report.html", "text/html"),
    "model": ("model.onepath", "application/octet-stream"),
    "curves.csv": ("curves.csv", "text/csv"),
    "forecast.csv": ("forecast.csv", "text/csv"),
    "summary": ("summary.txt", "text/plain"),
}


class Limits(NamedTuple):
    """Bytes of an upload, and fits at once."""

    upload: int = 256 * MEGABYTE
    fits: int = max(1, min(2, os.cpu_count() or 1))

    @property
    def memory(self) -> float:
        """Gigabytes that a process may take."""
        return MEMORY_AT_LEAST + MEMORY_PER_BYTE * self.upload / 2**30


class Studio:
    """Answers to requests, and what they are about."""

    def __init__(self, limits: Limits, leave: Callable[[], object], opened: Path | None = None) -> None:
        self.limits, self.leave, self.opened = limits, leave, opened
        self.store = Store()
        self.pool = Pool(self.store.folder, limits.fits, limits.memory)
        self.reader = Reader(self.store.folder, limits.memory)
        self.writing = asyncio.Semaphore(AT_ONCE)
        self.pages = {
            each.name: (each.read_bytes(), TYPES[Path(each.name).suffix])
            for each in files("onepath.studio").joinpath("static").iterdir()
            if Path(each.name).suffix in TYPES
        }

    @asynccontextmanager
    async def alive(self, _: Starlette) -> AsyncIterator[None]:
        """From the first request to the last: nothing is left behind."""
        try:
            self.reader.start()
            self.pool.start()
            if self.opened is not None:
                file = self.store.new_file(self.opened.name)
                await run_in_threadpool(shutil.copyfile, self.opened, file.path)
                file.size = file.path.stat().st_size
                asyncio.get_running_loop().create_task(self._look(file))
            yield
        finally:
            await asyncio.gather(self.pool.close(), self.reader.close())
            self.store.close()

    # pages and what they show

    async def page(self, request: Request) -> Response:
        content, kind = self._static(request.path_params.get("name", "index.html"))
        return Response(content, media_type=kind)

    def _static(self, name: str) -> tuple[bytes, str]:
        if name not in self.pages:
            raise HTTPException(404)
        return self.pages[name]

    async def about(self, _: Request) -> Response:
        examples = [{"key": key, "title": each.title, "told": each.told} for key, each in EXAMPLES.items()]
        return JSONResponse(
            {"version": version("onepath"), "form": form(), "examples": examples, "largest": self.limits.upload}
        )

    async def state(self, request: Request) -> Response:
        if request.query_params.get("since") == str(self.store.version):
            return JSONResponse({"version": self.store.version})
        now = time.monotonic()
        return JSONResponse(
            {
                "version": self.store.version,
                "files": [file.told() for file in self.store.files.values()],
                "fits": [fit.told(now) for fit in self.store.fits.values()],
            }
        )

    # files

    async def upload(self, request: Request) -> Response:
        """A file as it is, its name beside it; its place and everything else about it is the studio's choice."""
        declared = request.headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > self.limits.upload:
            raise HTTPException(413, self._too_large())
        await self._room(int(declared) if declared.isdecimal() else 0)
        file = self.store.new_file(request.query_params.get("name", ""))
        try:
            async with self.writing:
                await self._write(request, file)
        except BaseException:
            self.store.drop_file(file.key)
            raise
        await self._look(file)
        return JSONResponse(file.told() | {"looked": file.looked})

    async def _write(self, request: Request, file: File) -> None:
        chunks = request.stream()
        with file.path.open("xb") as out:
            while True:
                try:
                    chunk = await asyncio.wait_for(anext(chunks, None), PATIENCE)
                except TimeoutError:
                    raise HTTPException(408, "The file did not arrive.") from None
                if chunk is None:
                    return
                file.size += len(chunk)
                if file.size > self.limits.upload:
                    raise HTTPException(413, self._too_large())
                await run_in_threadpool(out.write, chunk)

    def _too_large(self) -> str:
        most = self.limits.upload / MEGABYTE
        return f"The file is larger than {most:g} MB: take every tenth row, or start onepath studio with --largest."

    async def _room(self, size: int) -> None:
        free = shutil.disk_usage(self.store.folder).free
        if await run_in_threadpool(self.store.used) + size > KEPT * self.limits.upload or size > free / 2:
            raise HTTPException(507, "There is no room for more: close files and fits that are no longer needed.")

    async def example(self, request: Request) -> Response:
        key = request.path_params["name"]
        if key not in EXAMPLES:
            raise HTTPException(404)
        file = self.store.new_file(EXAMPLES[key].file)
        file.example, file.said = key, Said(unit=EXAMPLES[key].unit)
        await self._look(file)
        return JSONResponse(file.told() | {"looked": file.looked})

    async def file(self, request: Request) -> Response:
        file = self._file(request)
        return JSONResponse(file.told() | {"looked": file.looked, "said": file.said._asdict()})

    async def look(self, request: Request) -> Response:
        """Read a file once more, with what is said of it."""
        file, file.said = self._file(request), read_said(await self._json(request))
        await self._look(file)
        return JSONResponse(file.told() | {"looked": file.looked})

    async def _look(self, file: File) -> None:
        example = file.example if not file.path.exists() else None
        task = {"source": str(file.path), "name": file.name, "said": _plain(file.said), "example": example}
        file.looked = await self.reader.look(task)
        self.store.changed()

    async def close_file(self, request: Request) -> Response:
        file = self._file(request)
        for fit in self.store.fits.values():
            if fit.file is file and fit.ticket is not None and fit.state in ("waiting", "running"):
                self.pool.stop(fit.ticket)
        self.store.drop_file(file.key)
        return JSONResponse({})

    # fits

    async def fit(self, request: Request) -> Response:
        """Begin a fit, or let it wait."""
        given = await self._json(request)
        file = self.store.files.get(given.get("file", 0))
        if file is None:
            raise HTTPException(404)
        if not (file.looked or {}).get("ready"):
            raise Refused("the table is not understood yet: say first what its columns are")
        asked = with_cure(read_asked(given.get("asked", {})), read_asked(given.get("cure", {})))
        await self._room(0)
        said = file.said
        fit = self.store.new_fit(file, asked, command(file.name, said, asked), python(file.name, said, asked))
        fit.ticket = Ticket(self._task(fit), lambda told: self._hear(fit, told), lambda told: self._end(fit, told))
        try:
            self.pool.submit(fit.ticket)
        except Full:
            self.store.drop_fit(fit.key)
            raise
        return JSONResponse({"id": fit.key})

    def _task(self, fit: Fit) -> dict[str, Any]:
        places = {"source": str(fit.file.path), "folder": str(fit.folder)}
        told = {"name": fit.file.name, "asked": fit.asked, "command": fit.command, "example": fit.file.example}
        return {"task": "fit", "said": _plain(fit.said), **places, **told}

    def _hear(self, fit: Fit, told: dict[str, Any]) -> None:
        if "started" in told:
            fit.state, fit.doing, fit.begun = "running", "starting", time.monotonic()
        fit.doing = told.get("said", fit.doing)
        if "made" in told:
            fit.made.append(told["made"])
        self.store.changed()

    def _end(self, fit: Fit, told: dict[str, Any]) -> None:
        state = next(name for name in ("stopped", "refused", "failed", "done") if name in told)
        fit.state, fit.doing, fit.ticket = state, "", None
        fit.trouble = str(told[state]) if state in ("refused", "failed") else ""
        fit.seconds = time.monotonic() - fit.begun if fit.begun else 0.0
        self.store.changed()

    async def stop(self, request: Request) -> Response:
        fit = self._fit(request)
        if fit.ticket is not None:
            self.pool.stop(fit.ticket)
        return JSONResponse({})

    async def close_fit(self, request: Request) -> Response:
        fit = self._fit(request)
        if fit.ticket is not None:
            self.pool.stop(fit.ticket)
        self.store.drop_fit(fit.key)
        return JSONResponse({})

    async def part(self, request: Request) -> Response:
        """What has been made of a fit: numbers for its figures, or a file to keep."""
        fit, name = self._fit(request), request.path_params["name"]
        if name in DRAWN and (name in fit.made):
            return FileResponse(fit.folder / f"{name}.json", media_type="application/json")
        if name not in SAVED or not (fit.folder / SAVED[name][0]).is_file():
            raise HTTPException(404)
        kept, kind = SAVED[name]
        stem = Path(fit.file.name).stem or "fit"
        shown = "show" in request.query_params and name == "report"
        headers = {"content-security-policy": REPORT_POLICY} if kind == "text/html" else None
        saved_as = f"{stem}{Path(kept).suffix}" if name in ("report", "model") else f"{stem}-{kept}"
        how = "inline" if shown else "attachment"
        return FileResponse(
            fit.folder / kept, media_type=kind, filename=saved_as, content_disposition_type=how, headers=headers
        )

    async def view(self, request: Request) -> Response:
        fit, query = self._fit(request), request.query_params
        if "series" not in fit.made:
            raise HTTPException(404)
        try:
            ends = [float(query[name]) if name in query else None for name in ("from", "to")]
        except ValueError:
            raise Refused("from and to must be numbers") from None
        return JSONResponse(await run_in_threadpool(view, fit.folder / "series.npy", *ends))

    async def ahead(self, request: Request) -> Response:
        """Forecast over so many steps."""
        fit, steps = self._fit(request), (await self._json(request)).get("steps")
        if "model" not in fit.made or not isinstance(steps, int) or not 1 <= steps <= MOST_AHEAD:
            raise Refused(f"a forecast has from 1 to {MOST_AHEAD} steps, and begins once the model is kept")
        done: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

        def end(told: dict[str, Any]) -> None:
            if not done.done():
                done.set_result(told)

        task = {"task": "ahead", "folder": str(fit.folder), "steps": steps}
        self.pool.submit(Ticket(task, lambda _: None, end))
        told = await done
        if "done" not in told:
            raise Refused(str(told.get("refused") or told.get("failed") or "it was stopped"))
        fit.ahead += 1
        self.store.changed()
        return JSONResponse({})

    async def quit(self, _: Request) -> Response:
        asyncio.get_running_loop().call_later(0.2, self.leave)
        return JSONResponse({})

    # what requests have in common

    def _file(self, request: Request) -> File:
        if (file := self.store.files.get(request.path_params["key"])) is None:
            raise HTTPException(404)
        return file

    def _fit(self, request: Request) -> Fit:
        if (fit := self.store.fits.get(request.path_params["key"])) is None:
            raise HTTPException(404)
        return fit

    async def _json(self, request: Request) -> dict[str, Any]:
        """What a request says; of a kind that another page cannot send without asking first."""
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise HTTPException(415, "Requests are JSON.")
        content = b""
        async for chunk in request.stream():
            content += chunk
            if len(content) > MOST_TEXT:
                raise HTTPException(413, "That is too much to say.")
        try:
            given = json.loads(content)
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            raise Refused("a request is one JSON object")
        return given


def _plain(said: Said) -> dict[str, Any]:
    """As `read_said` takes it."""
    return said._asdict() | {"missing": " ".join(said.missing), "roles": dict(said.roles)}


def _said_no(status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer(_: Request, error: Exception) -> Response:
        told = error.detail if isinstance(error, HTTPException) else str(error)
        return JSONResponse({"error": told}, error.status_code if isinstance(error, HTTPException) else status)

    return answer


def application(studio: Studio) -> Starlette:
    """Routes and errors."""
    routes = [
        Route("/", studio.page),
        Route("/static/{name}", studio.page),
        Route("/about", studio.about),
        Route("/state", studio.state),
        Route("/files", studio.upload, methods=["POST"]),
        Route("/examples/{name}", studio.example, methods=["POST"]),
        Route("/files/{key:int}", studio.file),
        Route("/files/{key:int}", studio.close_file, methods=["DELETE"]),
        Route("/files/{key:int}/look", studio.look, methods=["POST"]),
        Route("/fits", studio.fit, methods=["POST"]),
        Route("/fits/{key:int}", studio.close_fit, methods=["DELETE"]),
        Route("/fits/{key:int}/stop", studio.stop, methods=["POST"]),
        Route("/fits/{key:int}/ahead", studio.ahead, methods=["POST"]),
        Route("/fits/{key:int}/view", studio.view),
        Route("/fits/{key:int}/{name}", studio.part),
        Route("/quit", studio.quit, methods=["POST"]),
    ]
    refusals = {
        Refused: _said_no(400),
        Full: _said_no(429),
        TooMany: _said_no(429),
        HTTPException: _said_no(500),
        ClientDisconnect: _said_no(499),
    }
    return Starlette(routes=routes, exception_handlers=refusals, lifespan=studio.alive)
