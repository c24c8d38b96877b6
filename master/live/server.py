"""The web server of the live page: Starlette on uvicorn, server-sent events. It can only be read, and asked about
a position.

A viewer gets the newest version of each section, at most four times a second, without missed versions. A viewer that
accepts nothing for `SLOW_S` is cut off. The page loads nothing from elsewhere, and its Content-Security-Policy enforces
that. Without a token it answers only under names of this machine; otherwise a foreign page could read it through a host
name of its own that points here.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import socket
import time
from collections.abc import Awaitable, Callable
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, quote, unquote

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from master.live.asking import Asker, OvertakenError
from master.live.page import GAME_SECTIONS, Cursor, Site
from worker.engine import EngineError
from worker.text import japanese

STATIC: Final = Path(__file__).with_name("static")
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_TYPES: Final = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_COOKIE: Final = "gougi_page_{port}"
"""Browsers separate cookies by host, not by port; one host may have several pages."""

MOST_VIEWERS: Final = 100
EVERY_S: Final = 0.25
"""Minimum seconds between two messages to a viewer."""
BEAT_S: Final = 5.0
"""Maximum seconds between two messages, so that a viewer that is gone is noticed."""
SLOW_S: Final = 10.0
"""Seconds that a viewer may take to receive a message."""


class Hub:
    """Wakes the viewers after a change, and builds each section's text once for all of them."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.viewers = 0
        self.closing = False
        self._changed = asyncio.Event()
        self._texts: dict[tuple[str | None, str], tuple[int, str]] = {}

    def changed(self) -> None:
        """Something has changed; on the server's loop."""
        self._changed.set()
        self._changed = asyncio.Event()

    def close(self) -> None:
        """Notify the viewers of the end."""
        self.closing = True
        self.changed()

    @property
    def next_change(self) -> asyncio.Event:
        """Set at the next change; a waiter takes it before it reads the current state."""
        return self._changed

    async def wait(self, change: asyncio.Event) -> None:
        """Wait for a `next_change`, for `BEAT_S` at most."""
        try:
            async with asyncio.timeout(BEAT_S):
                await change.wait()
        except TimeoutError:
            pass

    def text(self, key: str | None, name: str, version: int) -> str:
        """A section as JSON."""
        place = (key if name in GAME_SECTIONS else None, name)
        kept = self._texts.get(place)
        if kept is None or kept[0] != version:
            kept = (version, _json(self.site.section(name, key)))
            if len(self._texts) > 200:
                self._texts.clear()
            self._texts[place] = kept
        return kept[1]


def make_app(hub: Hub, token: str, asker: Asker | None = None) -> ASGIApp:
    """The application.

    Args:
        token: the token that a browser must present once; empty: answer only under this machine's own names.
        asker: answers a reader's questions about positions; None: there is none.
    """

    def file(name: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(_request: Request) -> Response:
            path = STATIC / name
            return Response(path.read_bytes(), media_type=_TYPES[path.suffix])

        return answer

    async def events(request: Request) -> Response:
        if hub.viewers >= MOST_VIEWERS:
            return PlainTextResponse("too many viewers", 503)
        return _Events(hub, Cursor(request.query_params.get("game", "latest")))

    async def details(request: Request) -> Response:
        name, ply = request.path_params["key"], request.path_params["ply"]
        key = hub.site.key(name)
        found = None if key is None else hub.site.details(key, ply)
        return JSONResponse({"now": time.time(), "thoughts": found or [None, None]})

    async def ask(request: Request) -> Response:
        # Another site's page can send a request here, but not with this header. So it cannot keep the engine busy.
        if asker is None or "x-gougi" not in request.headers:
            return PlainTextResponse("only this page may ask, and only of gougi watch", 403)
        try:
            return JSONResponse(await asker.ask(request.query_params.get("sfen", "")))
        except OvertakenError:
            return PlainTextResponse("another question came first", 409)
        except EngineError as error:
            return PlainTextResponse(str(error), 422)

    async def words(_request: Request) -> Response:
        return JSONResponse(dict(japanese("master", "live")))

    static = [path for path in STATIC.rglob("*") if path.suffix in _TYPES]
    routes = [
        Route("/", file("index.html")),
        Route("/events", events),
        Route("/games/{key}/{ply:int}", details),
        Route("/ask", ask),
        Route("/words/ja", words),
        *(Route(f"/{path.relative_to(STATIC)}", file(str(path.relative_to(STATIC)))) for path in static),
    ]
    return _AccessControl(Starlette(routes=routes), token)


class _Events(Response):
    """The stream of one viewer."""

    def __init__(self, hub: Hub, cursor: Cursor) -> None:
        super().__init__()
        self._hub = hub
        self._cursor = cursor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
        hub = self._hub
        hub.viewers += 1
        gone = asyncio.create_task(_gone(receive))
        try:
            await _within(send({"type": "http.response.start", "status": 200, "headers": headers}))
            first = True
            while not gone.done():
                closing = hub.closing
                text = self._message(first)
                if closing:
                    text += "event: bye\ndata: {}\n\n"
                await _within(send({"type": "http.response.body", "body": text.encode(), "more_body": not closing}))
                if closing:
                    return
                first = False
                await asyncio.sleep(EVERY_S)
                change = hub.next_change
                if not self._behind():
                    waiting = asyncio.create_task(hub.wait(change))
                    await asyncio.wait({gone, waiting}, return_when=asyncio.FIRST_COMPLETED)
                    waiting.cancel()
        except TimeoutError:
            pass  # uvicorn ends a connection whose response breaks off
        finally:
            hub.viewers -= 1
            gone.cancel()

    def _behind(self) -> bool:
        """Whether there is anything new for the viewer."""
        return self._hub.closing or self._cursor.lags(self._hub.site)

    def _message(self, first: bool) -> str:
        site = self._hub.site
        key, names = self._cursor.next(site)
        versions = site.versions(key)
        parts = [f'"now":{time.time():.3f}', f'"key":{_json(key)}']
        if first:
            parts.append(f'"head":{_json(site.head)}')
        sections = ",".join(f'"{name}":{self._hub.text(key, name, versions[name])}' for name in names)
        if not (first or names):
            return ": still here\n\n"
        return f'event: state\ndata: {{{",".join(parts)},"sections":{{{sections}}}}}\n\n'


class _AccessControl:
    """Admits authorized readers, and gives each answer the headers that isolate the page."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *own]}
            await send(message)

        refusal = self._refusal(scope)
        await (self._app if refusal is None else refusal)(scope, receive, answer)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("this page can only be read", 405, {"Allow": "GET, HEAD"})
        if not self._token:
            host = headers.get("host", "").lower()
            name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
            return (
                None if name in ("localhost", "127.0.0.1", "[::1]") else PlainTextResponse("not under this name", 421)
            )
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            cookies = SimpleCookie()
        port = headers.get("host", "").rpartition(":")[2]
        cookie = _COOKIE.format(port=port if port.isdigit() else 80)
        kept = unquote(cookies[cookie].value) if cookie in cookies else ""
        shown = (parse_qs(scope["query_string"].decode("latin-1")).get("token") or [""])[0]
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if self._is(kept) or self._is(bearer):
            return None
        if not self._is(shown):
            return PlainTextResponse("a token is needed: open the address that gougi printed", 401)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(cookie, quote(self._token, safe=""), httponly=True, samesite="strict")
        return answer

    def _is(self, said: str) -> bool:
        return hmac.compare_digest(said.encode(), self._token.encode())


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. If another program has the port, any free one is used.

    Raises:
        OSError: the machine has no such address.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        try:
            found.bind((host, port))
        except OSError as error:
            if error.errno not in (98, 13) or not port:
                raise
            found.bind((host, 0))
        found.listen(128)
    except OSError:
        found.close()
        raise
    return found


def address_of(sock: socket.socket, host: str, token: str) -> str:
    name = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{name}:{sock.getsockname()[1]}/" + (f"?token={quote(token, safe='')}" if token else "")


class _Server(uvicorn.Server):
    """Notifies the viewers before it ends: an open stream would be cut off after a second, with a traceback."""

    def __init__(self, config: uvicorn.Config, hub: Hub) -> None:
        super().__init__(config)
        self._hub = hub

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._hub.close()
        await super().shutdown(sockets)


def make_server(app: ASGIApp, hub: Hub) -> uvicorn.Server:
    """A server that prints nothing. When a signal or ``should_exit`` ends it, the viewers get the last state; it waits
    a second for them at most."""
    config = uvicorn.Config(
        app,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=1,
    )
    return _Server(config, hub)


async def _within(sending: Awaitable[None]) -> None:
    async with asyncio.timeout(SLOW_S):
        await sending


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
