"""Who may talk to the studio: this machine's browser, on the studio's own page, with the token of its address."""

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

NAMES = ("127.0.0.1", "localhost", "[::1]")
"""Of this machine: a page whose own name has been made to lead here sends that name, and is refused."""

OWN = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
POLICY = OWN + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""Of every answer that does not say otherwise."""

TOLD = "onepath studio: open the address that is shown where it was started."


class Guard:
    """Refuses whatever has not the token, or comes from elsewhere, before the application sees it."""

    def __init__(self, app: App, token: str, opening: "Opening") -> None:
        self.app, self.token, self.opening = app, token, opening

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        method, path = scope["method"], str(scope["path"])
        first, _, rest = path.removeprefix("/").partition("/")
        if (why := elsewhere(headers, method, rest)) is not None:
            await _refuse(send, 403, why)
        elif first == "open" and method == "GET" and self.opening.used(rest):
            await _answer(send, 303, "", {"location": f"/{self.token}/"})
        elif not hmac.compare_digest(first.encode(), self.token.encode()):
            await _refuse(send, 404, TOLD)
        else:
            inner = dict(scope) | {"path": f"/{rest}", "raw_path": f"/{rest}".encode(), "root_path": ""}
            await self.app(inner, receive, _with_headers(send))


def elsewhere(headers: dict[str, str], method: str, rest: str) -> str | None:
    """Why a request is not from this machine's browser on the studio's page, or a program of the user's; else None."""
    host = headers.get("host", "")
    if (host.rpartition(":")[0] or host) not in NAMES:
        return "This name is none of the studio's."
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        return "Requests from other pages are refused."
    site = headers.get("sec-fetch-site", "none")
    followed = method == "GET" and rest == "" and headers.get("sec-fetch-mode") == "navigate"
    if site not in ("none", "same-origin") and not followed:
        return "Requests from other pages are refused."
    return None


class Opening:
    """A code with which the page can be opened once: the address that a browser is started with can be seen by others
    on the machine, the token cannot."""

    def __init__(self, code: str) -> None:
        self.code: str | None = code

    def used(self, given: str) -> bool:
        """Whether this is the code; it is none afterwards."""
        right = self.code is not None and hmac.compare_digest(given.encode(), self.code.encode())
        self.code = None if right else self.code
        return right


def _with_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in given]
            message["headers"] = [*message["headers"], *more]
        await send(message)

    return with_headers


async def _refuse(send: Send, status: int, text: str) -> None:
    await _answer(send, status, text, {"content-type": "text/plain; charset=utf-8", "connection": "close"})


async def _answer(send: Send, status: int, text: str, headers: dict[str, str]) -> None:
    pairs = [(name.encode(), value.encode()) for name, value in (HEADERS | headers).items()]
    pairs.append((b"content-length", str(len(text.encode())).encode()))
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": text.encode()})
