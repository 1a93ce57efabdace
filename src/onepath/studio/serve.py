"""From a command to a page in the browser, and to nothing left behind."""

import asyncio
import secrets
import signal
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn

from onepath.studio.guard import Guard, Opening
from onepath.studio.server import Limits, Studio, application

HERE = "127.0.0.1"


class Server(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[], object]) -> None:
        super().__init__(config)
        self.listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.listening()


def serve(say: Callable[[str], object], *, port: int, browser: bool, limits: Limits, opened: Path | None) -> None:
    """Serve until it is ended by the page, by an interrupt or by the end of the terminal.

    The socket is bound to this machine only. `say` is told the address, and a browser is opened if wanted.
    """
    listener = _listener(port)
    token, code = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    base = f"http://{HERE}:{listener.getsockname()[1]}"

    servers: list[Server] = []

    def leave() -> None:
        servers[0].should_exit = True

    def listening() -> None:
        say(f"onepath studio is at  {base}/{token}/")
        say("Press Ctrl-C to end it; nothing is kept but what was saved.")
        if browser:
            asyncio.get_running_loop().run_in_executor(None, webbrowser.open, f"{base}/open/{code}")

    async def run() -> None:
        app = Guard(application(Studio(limits, leave, opened)), token, Opening(code))
        servers.append(Server(_config(app), listening))
        if hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, leave)
        await servers[0].serve([listener])

    with suppress(KeyboardInterrupt):  # the server has ended in order by then
        asyncio.run(run())


def _listener(port: int) -> socket.socket:
    """Bound to this machine only; 0 is any port that is free."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.bind((HERE, port))
    except OSError as error:
        listener.close()
        raise ValueError(f"the port {port} cannot be used ({error.strerror}): choose another with --port") from None
    return listener


def _config(app: Guard) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        server_header=False,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="on",
        proxy_headers=False,
        limit_concurrency=256,
        h11_max_incomplete_event_size=1 << 14,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
    )
