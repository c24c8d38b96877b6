"""The master's end of the live page: starts its process, and passes facts to it from a thread.

Nothing waits for it: an event goes into a queue, and the thread makes a fact of it, writes it, and drops outdated ones.
If the page's process is gone, or accepts no more input, there is no page; the game goes on.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Final

from cluster.api import Progress
from master.live.facts import Fact, Teller, UsiTeller, fleet_fact
from master.player.events import GameEvent
from master.usi.options import Event, Instruction

PROGRESS_S: Final = 0.2
"""Minimum seconds between two updates of each side's search on the page."""
_STUCK_S: Final = 5.0
"""A page that has accepted nothing for this long is given up."""
_MOST_WAITING: Final = 20_000
_END_S: Final = 3.0

_Item = tuple[float, str, Any]
"""The time of an event, its kind, the event."""


@dataclass(frozen=True, slots=True)
class PageSettings:
    """The page's address and title."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str = field(default="", repr=False)
    """The token that a browser must present; empty: none, on this machine alone."""
    head: dict[str, Any] = field(default_factory=dict)


class Feed:
    """The live page of this process's fleet and games. All but `start` and `close` return at once, from any thread.

    Args:
        settings: address and title.
        on_ready: gets the page's address, from a thread.
        on_trouble: gets the reason why there is no page, or none any more, from a thread.
    """

    def __init__(
        self, settings: PageSettings, on_ready: Callable[[str], None], on_trouble: Callable[[str], None]
    ) -> None:
        self._settings = settings
        self._on_ready = on_ready
        self._on_trouble = on_trouble
        self._queue: SimpleQueue[_Item] = SimpleQueue()
        self._tellers = {"own": Teller(), "other": Teller(thoughts_only=True)}
        self._usi = UsiTeller("Gougi")
        self._open = False
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the process. Errors are reported, not raised."""
        ours, theirs = socket.socketpair()
        try:
            environment = {name: value for name, value in os.environ.items() if name != "GOUGI_CSA_PASSWORD"}
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "master.live.process"],
                stdin=theirs.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,  # the master handles Ctrl-C
            )
        except OSError as error:
            ours.close()
            self._on_trouble(str(error))
            return
        finally:
            theirs.close()
        self._open = True
        self._thread = threading.Thread(target=self._run, args=(ours, self._process), name="page", daemon=True)
        self._thread.start()

    def observe(self, event: GameEvent) -> None:
        """Take an event of the player whose page it is."""
        self._put("own", event)

    def observe_opponent(self, event: GameEvent) -> None:
        self._put("other", event)

    def fleet_event(self, name: str, fields: dict[str, object]) -> None:
        self._put("fleet", (name, fields))

    def usi(self, what: Event | Instruction) -> None:
        """Take an event or an instruction of a USI front."""
        self._put("usi", what)

    def close(self) -> None:
        """Let the page show the last state, and end it; waits for that, for `_END_S` at most."""
        if self._thread is not None and self._process is not None:
            self._queue.put((0.0, "end", None))
            self._thread.join(_END_S)
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _put(self, kind: str, value: object) -> None:
        if self._open:
            if self._queue.qsize() >= _MOST_WAITING:
                self._open = False
            self._queue.put((time.time(), kind, value))

    # --- the thread -----------------------------------------------------------------------------------------------

    def _run(self, to_page: socket.socket, process: subprocess.Popen[bytes]) -> None:
        try:
            with to_page:
                to_page.settimeout(_STUCK_S)
                settings = self._settings
                first = {"host": settings.host, "port": settings.port, "token": settings.token, "head": settings.head}
                _send(to_page, first)
                assert process.stdout is not None
                answer = json.loads(process.stdout.readline() or b'{"error": "its process ended"}')
                if "error" in answer:
                    self._give_up(answer["error"])
                    return
                self._on_ready(answer["url"])
                self._pass_on(to_page)
        except (OSError, ValueError) as error:
            self._give_up(str(error) or type(error).__name__)

    def _give_up(self, why: str) -> None:
        self._open = False
        self._on_trouble(why)

    def _pass_on(self, to_page: socket.socket) -> None:
        """Until the end: write each event at once, but of a search only its newest state, every `PROGRESS_S`."""
        held: dict[str, _Item] = {}
        due = 0.0
        while True:
            new: _Item | None = None
            with contextlib.suppress(Empty):
                new = self._queue.get(timeout=max(0.0, due - time.monotonic()) if held else None)
            if new is not None and _is_progress(new):
                held[new[1]] = new
                if time.monotonic() < due:
                    continue
                new = None
            if held:
                for waiting in held.values():
                    self._tell(to_page, waiting)
                held.clear()
                due = time.monotonic() + PROGRESS_S
            if new is not None:
                if new[1] == "end":
                    return
                self._tell(to_page, new)

    def _tell(self, to_page: socket.socket, item: _Item) -> None:
        at, kind, value = item
        fact: Fact | None
        match kind:
            case "fleet":
                name, fields = value
                fact = fleet_fact(name, fields, at)
            case "usi":
                for each in self._usi.tell(value, at):
                    _send(to_page, each)
                return
            case _:
                fact = self._tellers[kind].tell(value, at)
        if fact is not None:
            _send(to_page, fact)


def _is_progress(item: _Item) -> bool:
    return isinstance(item[2], Progress)


def _send(to_page: socket.socket, value: object) -> None:
    to_page.sendall(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
