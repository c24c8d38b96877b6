"""The host of an engine for a remote GUI, as a pure state machine: connection and engine events in, actions out.

A connection proves that it knows the secret, if there is one. Then it sends a request: ``list``, for the engines as
JSON; ``session NAME NUMBER``, for our own client's numbered lines, which survive a cut (`master.remote.client.Link`),
and ``quit NAME`` at its end; or ``run ID``, for plain USI, as in the bridge of shogihome-lab. There is one engine and
one user. If the user's connection is lost, engine and search are kept for a while: a session continues, and a ``run``
finds the engine in its old state with the search stopped.
"""

from __future__ import annotations

import hmac
import json
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from master.remote.client import CHALLENGE, ERROR, SILENCE_S, Link, digest, parse_number

ENGINE_ID: Final = "gougi"
HANDSHAKE_S: Final = 10.0
"""Seconds within which a connection must send its request."""


class Send(NamedTuple):
    """Send a line to a connection."""

    connection: int
    text: str


class Close(NamedTuple):
    """Close a connection, after all sent lines; `Host.gone` is not called for it."""

    connection: int


class StartEngine(NamedTuple):
    """Start an engine; its output is identified by this number."""

    engine: int


class ToEngine(NamedTuple):
    """Write a line to the engine."""

    engine: int
    text: str


class EndEngine(NamedTuple):
    """Make the engine quit; `Host.ended` is not called for it."""

    engine: int


Order = Send | Close | StartEngine | ToEngine | EndEngine


@dataclass(slots=True)
class _Peer:
    """A connection that is not the user's, or not yet the user's."""

    nonce: str
    since_s: float
    is_trusted: bool


@dataclass(slots=True)
class _User:
    name: str
    """Name of the session; empty: plain USI."""
    engine: int
    connection: int | None
    heard_s: float
    link: Link = field(default_factory=Link)
    cut_s: float = 0.0
    is_searching: bool = False
    unwanted: int = 0
    """Number of running searches of earlier connections: their results, and until then the course of the search, are
    not passed on. Answers to other commands are."""


class Host:
    """See the module's docstring. Each method takes an event and the time, and appends actions to ``out``.

    Args:
        name: name of the engine, for lists.
        secret: empty: no secret is required.
        keep_s: seconds to keep the engine after the user's connection is lost.
    """

    def __init__(self, name: str, secret: str, keep_s: float) -> None:
        self.out: list[Order] = []
        self._name, self._secret, self._keep_s = name, secret, keep_s
        self._peers: dict[int, _Peer] = {}
        self._user: _User | None = None
        self._engines = 0

    def opened(self, connection: int, nonce: str, now_s: float) -> None:
        """Handle a new connection; ``nonce`` is fresh and unguessable."""
        self._peers[connection] = _Peer(nonce, now_s, not self._secret)
        if self._secret:
            self.out.append(Send(connection, f"{CHALLENGE} {nonce}"))

    def heard(self, connection: int, line: str, now_s: float) -> None:
        """Handle a line from a connection."""
        user = self._user
        if user is not None and user.connection == connection:
            user.heard_s = now_s
            if user.name:
                self._numbered(user, connection, line)
            else:
                self._told(user, line)
            return
        peer = self._peers.get(connection)
        if peer is None:
            return
        word, _, rest = line.strip().partition(" ")
        if not peer.is_trusted:
            if word != "auth" or not hmac.compare_digest(
                rest.lower().encode(), digest(self._secret, peer.nonce).encode()
            ):
                self._refuse(connection, "authentication failed")
                return
            peer.is_trusted = True
            self.out.append(Send(connection, "auth_ok"))
        elif word == "list":
            engines = [{"id": ENGINE_ID, "name": self._name, "type": ["game", "research"]}]
            self.out.append(Send(connection, json.dumps(engines, ensure_ascii=False)))
            self._close(connection)
        elif word == "run" and rest.strip() == ENGINE_ID:
            self._run(connection, now_s)
        elif word == "run":
            self._refuse(connection, f"no engine {rest[:40]!r}; there is {ENGINE_ID}")
        elif word == "session":
            self._session(connection, rest, now_s)
        elif word == "quit":
            self._quit(connection, rest)
        else:
            self._refuse(connection, f"expected list, run ID or session NAME NUMBER, got {line[:40]!r}")

    def gone(self, connection: int, now_s: float) -> None:
        """Handle the end of a connection."""
        self._peers.pop(connection, None)
        if self._user is not None and self._user.connection == connection:
            self._user.connection, self._user.cut_s = None, now_s

    def said(self, engine: int, line: str) -> None:
        """Handle a line from an engine."""
        user = self._user
        if user is None or user.engine != engine:
            return
        if line.startswith(("bestmove", "checkmate")):
            if user.unwanted:
                user.unwanted -= 1
                return
            user.is_searching = False
        elif user.unwanted and line.startswith("info "):
            return
        text = user.link.pack(line) if user.name else line
        if user.connection is not None:
            self.out.append(Send(user.connection, text))

    def ended(self, engine: int, why: str) -> None:
        """Handle the end of an engine's process that we did not end."""
        user = self._user
        if user is None or user.engine != engine:
            return
        self._user = None
        if user.connection is not None:
            self._refuse(user.connection, f"the engine ended: {why}")

    def tick(self, now_s: float) -> None:
        """Handle the passage of time; call once per second."""
        for connection, peer in list(self._peers.items()):
            if now_s - peer.since_s >= HANDSHAKE_S:
                self._refuse(connection, f"nothing was asked for within {HANDSHAKE_S:.0f} s")
        user = self._user
        if user is None:
            return
        if user.connection is not None and user.name and now_s - user.heard_s >= SILENCE_S:
            self.out.append(Close(user.connection))
            user.connection, user.cut_s = None, now_s
        if user.connection is None and now_s - user.cut_s >= self._keep_s:
            self._leave(user)

    def _numbered(self, user: _User, connection: int, line: str) -> None:
        word, _, rest = line.partition(" ")
        try:
            if word == "quit":
                self._quit(connection, user.name)
            elif word == "ping":
                user.link.arrived(parse_number(rest))
                self.out.append(Send(connection, f"pong {user.link.received}"))
            elif (text := user.link.unpack(line)) is not None:
                self._told(user, text)
        except ValueError as error:
            self._refuse(connection, str(error))
            self._leave(user)

    def _told(self, user: _User, line: str) -> None:
        """Handle a line from the user, for the engine."""
        word = line.strip().partition(" ")[0]
        if word == "quit":
            if user.connection is not None:
                self.out.append(Close(user.connection))
            self._leave(user)
            return
        if word == "go":
            user.is_searching = True
        self.out.append(ToEngine(user.engine, line))

    def _session(self, connection: int, rest: str, now_s: float) -> None:
        name, _, number = rest.partition(" ")
        try:
            received = parse_number(number)
            if len(name) < 16:
                raise ValueError("a session's name has 16 letters or more")
        except ValueError as error:
            self._refuse(connection, str(error))
            return
        user = self._user
        if user is not None and user.name == name:
            if user.connection is not None:  # it is dead, but we were not notified
                self.out.append(Close(user.connection))
            del self._peers[connection]
            user.connection, user.heard_s = connection, now_s
            self.out.append(Send(connection, f"session kept {user.link.received}"))
            self.out += (Send(connection, line) for line in user.link.again(received))
        elif self._is_free(connection, now_s):
            self._begin(connection, name, now_s)
            self.out.append(Send(connection, "session new 0"))

    def _quit(self, connection: int, name: str) -> None:
        """End a session and its engine, if they are not at their end yet."""
        user = self._user
        if user is not None and name and user.name == name:
            if user.connection is not None and user.connection != connection:  # it is dead, but we were not notified
                self.out.append(Close(user.connection))
            self._leave(user)
        self.out.append(Send(connection, "bye"))
        self._close(connection)

    def _run(self, connection: int, now_s: float) -> None:
        user = self._user
        if user is not None and not user.name and user.connection is None:
            del self._peers[connection]
            user.connection, user.heard_s = connection, now_s
            if user.is_searching:
                user.is_searching = False
                user.unwanted += 1
                self.out.append(ToEngine(user.engine, "stop"))
        elif self._is_free(connection, now_s):
            self._begin(connection, "", now_s)

    def _is_free(self, connection: int, now_s: float) -> bool:
        """Whether no user has the engine; otherwise send the connection the reason."""
        user = self._user
        if user is None:
            return True
        left_s = self._keep_s - (now_s - user.cut_s)
        who = "somebody else plays with this engine"
        if user.connection is None:
            who = f"it is kept for somebody whose connection was cut, for {max(1, round(left_s))} s more"
        self._refuse(connection, f"busy: {who}")
        return False

    def _begin(self, connection: int, name: str, now_s: float) -> None:
        del self._peers[connection]
        self._engines += 1
        self._user = _User(name, self._engines, connection, now_s)
        self.out.append(StartEngine(self._engines))

    def _leave(self, user: _User) -> None:
        self._user = None
        self.out.append(EndEngine(user.engine))

    def _refuse(self, connection: int, why: str) -> None:
        self.out.append(Send(connection, f"{ERROR} {why}"))
        self._close(connection)

    def _close(self, connection: int) -> None:
        self._peers.pop(connection, None)
        self.out.append(Close(connection))
