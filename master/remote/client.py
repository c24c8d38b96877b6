#!/usr/bin/env python3
"""A USI engine on another machine: ``gougi usi --connect HOST:PORT``, or this file alone: ``client.py HOST:PORT``.

The GUI starts it as an engine. It passes lines on and survives a cut connection: the engine continues to think, and
each line that was sent meanwhile arrives exactly once. If the engine itself was lost, the new one gets everything that
the GUI had sent to the old one. The times of a running search are then reduced by the time that has passed.

`Link` and `ThinEngine` are pure: events come in, actions go out. This file needs only the standard library (Python
3.11), so it can be copied to a machine without Gougi. A secret comes from ``GOUGI_USI_SECRET`` or a file.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import hmac
import io
import os
import secrets
import ssl
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import Final, NamedTuple

CHALLENGE: Final = "auth_cram_sha256"
ERROR: Final = "WRAPPER_ERROR:"
PING_S: Final = 5.0
"""Seconds between two pings."""
SILENCE_S: Final = 15.0
"""A connection that is silent for this number of seconds is cut."""
FIRST_S: Final = 20.0
"""Limit in seconds for the first connection; GUIs wait for about 30 s."""
QUIT_S: Final = 5.0
"""Seconds after ``quit`` in which the client tries to free the engine, also through cuts."""
_LONGEST_WAIT_S: Final = 10.0
_MOST_KEPT: Final = 300
_ANSWERS: Final = {"usi": "usiok", "isready": "readyok"}
LONGEST_LINE: Final = 1 << 16
"""Maximum bytes of a line."""


def digest(secret: str, nonce: str) -> str:
    """The answer to a challenge: HMAC-SHA256 of the nonce's text, hexadecimal."""
    return hmac.new(secret.encode(), nonce.encode(), hashlib.sha256).hexdigest()


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT``. Raises ValueError."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"expected HOST:PORT, got {text!r}")
    return host.strip("[]"), int(port)


class Link:
    """One end of a connection that may be cut: each text reaches the other end exactly once, in order.

    Each text has a number. It is kept until the other end has acknowledged it.
    """

    def __init__(self) -> None:
        self.received = 0
        """The number of the last text received."""
        self._sent = 0
        self._kept: deque[tuple[int, str]] = deque()

    def pack(self, text: str) -> str:
        """The line for a text, which is kept. If too many wait, search information is dropped first."""
        self._sent += 1
        self._kept.append((self._sent, text))
        if len(self._kept) > _MOST_KEPT:
            old = next((item for item in self._kept if item[1].startswith("info ")), None)
            if old is not None:
                self._kept.remove(old)
        return f"{self._sent} {text}"

    def unpack(self, line: str) -> str | None:
        """The text of a line; None: it was received before. Raises ValueError."""
        number, _, text = line.partition(" ")
        count = parse_number(number)
        if count <= self.received:
            return None
        self.received = count
        return text

    def arrived(self, number: int) -> None:
        """Note that the other end has all texts up to ``number``."""
        while self._kept and self._kept[0][0] <= number:
            self._kept.popleft()

    def again(self, number: int) -> list[str]:
        """The lines that the other end lacks if it has all up to ``number``."""
        self.arrived(number)
        return [f"{count} {text}" for count, text in self._kept]


def parse_number(text: str) -> int:
    """A count of lines. Raises ValueError."""
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise ValueError(f"expected a number, got {text[:40]!r}")
    return int(text)


class ToGui(NamedTuple):
    """Write a line to the GUI."""

    text: str


class ToHost(NamedTuple):
    """Send a line to the host."""

    text: str


class Connect(NamedTuple):
    """Connect after this number of seconds."""

    after_s: float


class Drop(NamedTuple):
    """Close the connection, and report that it is gone."""


class End(NamedTuple):
    """Exit with this code after everything is written."""

    code: int


Instruction = ToGui | ToHost | Connect | Drop | End


class ThinEngine:
    """The GUI's side: each method takes an event and appends actions to ``out``.

    Args:
        place: the host's address, for messages.
        secret: empty: no secret.
        session: unguessable text without spaces, by which the host recognises a returning client.
        now_s: the time of a monotonic clock, as in every method.
    """

    def __init__(self, place: str, secret: str, session: str, now_s: float) -> None:
        self.out: list[Instruction] = [Connect(0.0)]
        self._place, self._secret, self._session = place, secret, session
        self._link = Link()
        self._begun_s = self._since_s = self._heard_s = self._pinged_s = now_s
        self._is_connected = self._is_open = self._was_open = self._is_told = self._is_over = False
        self._is_asked = self._was_asked = False
        """Whether this connection, or any, has asked for the session."""
        self._quit_s: float | None = None
        """The time of ``quit``."""
        self._wait_s = 0.1
        self._is_answered: dict[str, bool] = {}
        """By request, ``usi`` and ``isready``: whether the answer was received."""
        self._options: dict[str, str] = {}
        self._position = ""
        self._search: list[tuple[str, float]] = []
        """The lines about the running search, with their times."""
        self._swallowed: deque[str] = deque()
        """Answers to swallow, because the GUI already got them from an earlier engine."""

    def from_gui(self, line: str, now_s: float) -> None:
        """Handle a line from the GUI; ``quit`` also if the GUI is gone."""
        word, _, rest = line.strip().partition(" ")
        if self._quit_s is not None:
            return
        match word:
            case "":
                return
            case "quit":
                self._quit_s = now_s
                if self._is_asked:
                    self._ask()
                elif not self._was_asked:  # so the host has no engine for us
                    self._end(0)
                return
            case "usi" | "isready":
                self._is_answered[word] = False
            case "setoption":
                self._options[rest.partition(" value ")[0]] = line
            case "position":
                self._position = line
            case "go":
                self._search = [(line, now_s)]
            case "ponderhit" if self._search:
                self._search = [(hit(self._search[0][0], rest), now_s)]
            case "usinewgame" | "gameover":
                self._search = []
            case _ if self._search:
                self._search.append((line, now_s))
        packed = self._link.pack(line)
        if self._is_open:
            self.out.append(ToHost(packed))

    def connected(self, now_s: float) -> None:
        """Handle a new connection."""
        self._is_connected, self._since_s = True, now_s
        self._heard_s = self._pinged_s = now_s
        if not self._secret:
            self._ask()

    def gone(self, why: str, now_s: float) -> None:
        """Handle a failed or lost connection."""
        self._is_connected = self._is_open = self._is_asked = False
        if self._is_over:
            return
        if not self._was_open and now_s - self._begun_s >= FIRST_S:
            self._fail(f"{self._place}: {why}")
            return
        if self._was_open and not self._is_told and self._quit_s is None:
            self._is_told = True
            self._tell(f"the connection to {self._place} is cut ({why}); trying again")
        self.out.append(Connect(self._wait_s))
        self._wait_s = min(2 * self._wait_s, _LONGEST_WAIT_S)

    def from_host(self, line: str, now_s: float) -> None:
        """Handle a line from the host."""
        if self._is_over:  # the first reason is the one to show
            return
        self._heard_s = now_s
        word, _, rest = line.partition(" ")
        try:
            if line.startswith(ERROR):
                self._fail(f"{self._place}: {line.removeprefix(ERROR).strip()}")
            elif self._quit_s is not None and word not in (CHALLENGE, "auth_ok"):
                if word == "bye":
                    self._end(0)
            elif word in ("ping", "pong"):
                self._link.arrived(parse_number(rest))
            elif self._is_open:
                text = self._link.unpack(line)
                if text is not None:
                    self._deliver(text)
            elif word == CHALLENGE and self._secret:
                self.out.append(ToHost(f"auth {digest(self._secret, rest)}"))
            elif word == CHALLENGE:
                self._fail(f"{self._place} asks for a secret: set GOUGI_USI_SECRET, or name a --secret-file")
            elif word == "auth_ok":
                self._ask()
            elif word == "session":
                kind, _, number = rest.partition(" ")
                self._opened(kind == "kept", parse_number(number), now_s)
            else:
                raise ValueError(f"not a line of gougi: {line[:80]!r}")
        except ValueError as error:
            self._fail(f"{self._place}: {error}")

    def tick(self, now_s: float) -> None:
        """Handle the passage of time."""
        if self._quit_s is not None and now_s - self._quit_s >= QUIT_S:
            self._end(0)
        if not self._is_connected:
            return
        if not self._is_open and now_s - self._since_s >= _LONGEST_WAIT_S and self._secret:
            self._fail(f"{self._place} asks for no secret, or is no gougi usi --listen")
        elif now_s - self._heard_s >= SILENCE_S:
            self.out.append(Drop())
        elif self._is_open and now_s - self._pinged_s >= PING_S:
            self._pinged_s = now_s
            self.out.append(ToHost(f"ping {self._link.received}"))

    def _ask(self) -> None:
        self._is_asked = self._was_asked = True
        if self._quit_s is None:
            self.out.append(ToHost(f"session {self._session} {self._link.received}"))
        else:
            self.out.append(ToHost(f"quit {self._session}"))

    def _opened(self, is_kept: bool, number: int, now_s: float) -> None:
        if self._is_told:
            self._tell(f"connected to {self._place} again" + ("" if is_kept else "; its engine is a new one"))
        is_lost = self._was_open and not is_kept
        self._is_open, self._was_open, self._is_told, self._wait_s = True, True, False, 0.1
        if is_lost:
            self._link, number = Link(), 0
            for line in self._retold(now_s):
                self._link.pack(line)
        self.out += map(ToHost, self._link.again(number))

    def _retold(self, now_s: float) -> list[str]:
        """All lines that an engine needs in order to replace another one."""
        self._swallowed = deque(_ANSWERS[asked] for asked in _ANSWERS if self._is_answered.get(asked))
        lines = ["usi"] if "usi" in self._is_answered else []
        lines += self._options.values()
        lines += ["isready"] if "isready" in self._is_answered else []
        lines += [self._position] if self._position else []
        return lines + [aged(line, (now_s - said_s) * 1000, self._position) for line, said_s in self._search]

    def _deliver(self, text: str) -> None:
        if self._swallowed:
            if text == self._swallowed[0]:
                self._swallowed.popleft()
            return
        word = text.partition(" ")[0]
        for asked, answer in _ANSWERS.items():
            if word == answer:
                self._is_answered[asked] = True
        if word in ("bestmove", "checkmate"):
            self._search = []
        self.out.append(ToGui(text))

    def _tell(self, text: str) -> None:
        self.out.append(ToGui(f"info string {text}"))

    def _fail(self, why: str) -> None:
        if self._quit_s is None:
            self._tell(f"error: {why}")
        self._end(int(self._quit_s is None))

    def _end(self, code: int) -> None:
        self._is_over = True
        self.out.append(End(code))


def hit(go: str, times: str) -> str:
    """The ``go`` line that stands for a ``go ponder`` and its ``ponderhit``, whose ``times`` are newer if there are
    any."""
    words = times.split() or [word for word in go.split()[1:] if word != "ponder"]
    return " ".join(["go", *words])


def aged(line: str, passed_ms: float, position: str) -> str:
    """A ``go`` after ``passed_ms`` more on the clock: main time is used first, then byoyomi."""
    words = line.split()
    if words[:1] != ["go"] or "ponder" in words:
        return line
    start, _, moves = position.partition(" moves ")
    fields = start.split()
    is_white = (fields[3:4] == ["w"] if fields[1:2] == ["sfen"] else False) != (len(moves.split()) % 2 == 1)
    for name in ("wtime" if is_white else "btime", "byoyomi", "movetime"):
        if name in words[:-1] and words[words.index(name) + 1].isdecimal():
            at = words.index(name) + 1
            left = max(0, int(words[at]) - round(passed_ms))
            passed_ms -= int(words[at]) - left
            words[at] = str(left)
    return " ".join(words)


class _Driver:
    """Connects `ThinEngine` to standard input and output and to the network."""

    def __init__(self, engine: ThinEngine, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._engine, self._host, self._port, self._tls = engine, host, port, tls
        self._events: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self._writer: asyncio.StreamWriter | None = None
        self._task: asyncio.Task[None] | None = None

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read_gui, args=(loop,), daemon=True).start()
        while True:
            code = await self._carry_out()
            if code is not None:
                return code
            try:
                kind, text = await asyncio.wait_for(self._events.get(), 1.0)
            except TimeoutError:
                kind, text = "tick", ""
            now_s = time.monotonic()
            if kind == "gui":
                self._engine.from_gui(text, now_s)
            elif kind == "host":
                self._engine.from_host(text, now_s)
            elif kind == "connected":
                self._engine.connected(now_s)
            elif kind == "gone":
                self._writer = None
                self._engine.gone(text, now_s)
            self._engine.tick(now_s)

    async def _carry_out(self) -> int | None:
        code = None
        while self._engine.out:
            orders, self._engine.out = self._engine.out, []
            for order in orders:
                if isinstance(order, ToGui):
                    print(order.text, flush=True)
                elif isinstance(order, ToHost) and self._writer is not None:
                    self._writer.write(f"{order.text}\n".encode())
                elif isinstance(order, Connect):
                    self._task = asyncio.ensure_future(self._connect(order.after_s))
                elif isinstance(order, Drop) and self._writer is not None:
                    self._writer.transport.abort()
                elif isinstance(order, End):
                    code = order.code
        if code is not None and self._writer is not None:
            self._writer.close()
            with contextlib.suppress(OSError):
                await asyncio.wait_for(self._writer.wait_closed(), 2.0)
        return code

    async def _connect(self, after_s: float) -> None:
        """Connect, and pass on incoming lines until the end."""
        await asyncio.sleep(after_s)
        why = "it ended"
        writer: asyncio.StreamWriter | None = None
        try:
            opening = asyncio.open_connection(self._host, self._port, ssl=self._tls, limit=LONGEST_LINE)
            reader, writer = await asyncio.wait_for(opening, 5.0)
            self._writer = writer
            self._events.put_nowait(("connected", ""))
            while (line := await reader.readline()).endswith(b"\n"):
                self._events.put_nowait(("host", line.decode(errors="replace").rstrip("\r\n")))
        except TimeoutError:
            why = "no answer within 5 s"
        except (OSError, ValueError) as error:
            why = (getattr(error, "strerror", "") or str(error)).lower()
        if writer is not None:
            writer.transport.abort()
        self._events.put_nowait(("gone", why))

    def _read_gui(self, loop: asyncio.AbstractEventLoop) -> None:
        put = self._events.put_nowait
        for line in sys.stdin:
            loop.call_soon_threadsafe(put, ("gui", line.removeprefix("\ufeff").rstrip("\r\n")))
        loop.call_soon_threadsafe(put, ("gui", "quit"))


def read_secret(file: Path | None) -> str:
    """The secret: the first line of a file, else ``GOUGI_USI_SECRET``, else empty. Raises OSError, ValueError.

    The same rules as `master.config.csa_password`, which this file cannot import.
    """
    if file is None:
        return os.environ.get("GOUGI_USI_SECRET", "")
    if os.name == "posix" and file.stat().st_mode & 0o077 and file.is_file():
        raise ValueError(f"{file}: others can read it; it needs mode 600")
    lines = file.read_text(encoding="utf-8-sig").splitlines()
    if not lines or not lines[0].strip():
        raise ValueError(f"{file}: its first line is empty")
    return lines[0].strip()


def connect(place: str, secret: str, ca: Path | None = None, *, tls: bool = False) -> int:
    """Connect the GUI on standard input and output to the engine at ``place``. Returns the exit code.

    Args:
        ca: certificates to trust instead of the system's.
        tls: without a ``ca``: whether to use TLS at all.

    Raises:
        ValueError: ``place`` is not an address.
        OSError: ``ca`` cannot be read.
    """
    host, port = parse_address(place)
    context = ssl.create_default_context(cafile=None if ca is None else str(ca)) if tls or ca is not None else None
    engine = ThinEngine(place, secret, secrets.token_hex(16), time.monotonic())
    for stream in (sys.stdin, sys.stdout):  # not the locale's encoding; undecodable bytes must not end the session
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")

    async def run() -> int:
        return await _Driver(engine, host, port, context).run()

    return asyncio.run(run())


def main() -> None:
    """The command line if this file is run alone."""
    parser = argparse.ArgumentParser(description="A USI engine that runs elsewhere, at gougi usi --listen.")
    parser.add_argument("address", metavar="HOST:PORT")
    parser.add_argument("--secret-file", type=Path, metavar="FILE", help="default: the variable GOUGI_USI_SECRET")
    parser.add_argument("--tls", action="store_true", help="encrypt; the certificate is one that the system trusts")
    parser.add_argument("--tls-ca", type=Path, metavar="FILE", help="encrypt; trust this certificate")
    given = parser.parse_args()
    try:
        code = connect(given.address, read_secret(given.secret_file), given.tls_ca, tls=given.tls)
    except (OSError, ValueError) as error:
        print(f"gougi: {error}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        code = 130
    sys.stdout.flush()
    os._exit(code)  # the thread that reads from the GUI may wait for ever


if __name__ == "__main__":
    main()
