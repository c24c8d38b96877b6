"""Fuzz targets for input from a network: the channel's messages, a CSA server's lines, a CSA client's lines."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

import numpy as np

from benchmarks.fuzz.target import Target, client_lines, server_lines
from cluster.api import Decision, SearchRequest, StartSearch
from cluster.network.messages import (
    Done,
    Heartbeat,
    Hello,
    Job,
    Leave,
    Message,
    MessageError,
    NewGame,
    Peers,
    Report,
    Shared,
    Stop,
    decode,
    encode,
)
from cluster.sharing.table import MEANING_BYTES, BatchError, decode_batch, encode_batch
from master.csa.lines import LineProtocol
from master.player.inputs import BookReplied, Connected, ConnectionLost, Input, Prepared, ServerLine, Tick
from master.player.instructions import AskBook, Login, PlayerSettings, PrepareSearcher, Send
from master.player.player import Player
from master.practice.server_room import Room
from worker.clock import ClockSettings
from worker.engine import Bound, HistoryChanges
from worker.shogi import STARTPOS, Position, move_to_usi

_MEANING: Final = bytes(range(MEANING_BYTES))
_MESSAGES: Final[tuple[Message, ...]] = (
    Hello("node-1", "ab12", "host", 7, "gougi"),
    Heartbeat("node-1", "ab12", 3, False),
    Job(1, 2, STARTPOS, ("7g7f",), multipv=2, nodes=1000, alpha=-30, beta=30),
    Stop(1),
    NewGame(),
    Peers(("tcp://127.0.0.1:4000",), ("node-2",), ("k" * 40,), ("l" * 40,), 1000),
    Report("node-1", 1, 2, 9, 12, 35, Bound.EXACT, 1000, 20, 3, ("7g7f", "3c3d")),
    Done("node-1", 1, 2, 1000, 20),
    Leave("node-1", "drained"),
    Shared("node-1", *range(10)),
)
_STEP_MS: Final = 40
_SUMMARY_LINES: Final = 45
"""Lines of a server up to the first moves."""
_LAST_LINES: Final = 12
"""The number of lines taken from the rest: whole games are too slow to try often."""


class Channel(Target):
    """Messages and table entries from a peer. A message that is decoded must stay the same after encoding and
    decoding."""

    name = "channel"

    def seeds(self) -> Iterator[bytes]:
        yield from (encode(message) for message in _MESSAGES)
        changes = HistoryChanges(np.arange(5, dtype=np.uint32), np.arange(5, dtype=np.int16))
        yield encode_batch("node-1/ab12", _MEANING, 3, np.arange(8, dtype=np.uint64).reshape(4, 2), changes)

    def one(self, data: bytes) -> None:
        try:
            message = decode(data)
        except MessageError:
            pass
        else:
            assert decode(encode(message)) == message
        with contextlib.suppress(BatchError):
            decode_batch(data, _MEANING, "node-1")


class CsaServer(Target):
    """A tournament server's lines, received by a whole player, whose searches end at once with a legal move.

    The first byte says how many of the next lines arrive before the first decision.
    """

    name = "csa"

    def seeds(self) -> Iterator[bytes]:
        for text in server_lines():
            lines = text.splitlines(keepends=True)
            yield b"\0" + b"".join(lines[:_SUMMARY_LINES] + lines[_SUMMARY_LINES:][-_LAST_LINES:])
            yield b"\2" + b"".join(lines[: _SUMMARY_LINES + _LAST_LINES])

    def one(self, data: bytes) -> None:
        _Game(data[0] % 8 if data else 0).hear(data[1:])


class _Game:
    """A player, and the code that answers its instructions."""

    def __init__(self, delay: int) -> None:
        self._player = Player(
            Login("alice", "test,secret"), PlayerSettings(clock=ClockSettings(), book_ms=10, validate=True)
        )
        self._bytes = LineProtocol(self._line, lambda _: None)
        self._now = 1_000.0
        self._delay = delay
        """Lines that pass before a search ends."""
        self._searches: list[tuple[int, SearchRequest]] = []

    def hear(self, data: bytes) -> None:
        self._tell(Connected())
        self._bytes.data_received(data)
        self._end_searches(self._delay)
        self._tell(Tick(), self._now + 3_600_000)
        self._tell(ConnectionLost("gone"))

    def _line(self, line: str) -> None:
        self._now += _STEP_MS
        self._tell(ServerLine(line))
        self._tell(Tick())
        self._end_searches(1)

    def _end_searches(self, lines: int) -> None:
        waiting, self._searches = self._searches, []
        for left, request in waiting:
            if left > lines:
                self._searches.append((left - lines, request))
                continue
            position = Position.from_sfen(request.sfen)
            position.push_all(request.moves)
            moves = position.legal_moves()
            move = move_to_usi(moves[0]) if moves else "resign"
            self._tell(Decision(search_id=request.search_id, move=move, source="vote"))

    def _tell(self, event: Input, at_ms: float | None = None) -> None:
        for instruction in self._player.handle(event, self._now if at_ms is None else at_ms):
            match instruction:
                case Send(line):
                    assert line.isascii() and (line.isprintable() or not line)
                case PrepareSearcher():
                    self._tell(Prepared())
                case AskBook(question_id):
                    self._tell(BookReplied(question_id, None))
                case StartSearch(request):
                    self._searches.append((self._delay, request))


class CsaClient(Target):
    """Lines of two clients, received by the practice server. A line's first byte says whose it is, and how much
    later."""

    name = "csa-server"

    def seeds(self) -> Iterator[bytes]:
        for text in client_lines():
            lines = text.splitlines()
            second = [line.replace(b"alice", b"bob").replace(b"-B", b"-W") for line in lines]
            yield b"\n".join(b"0" + one + b"\n1" + other for one, other in zip(lines, second, strict=True))

    def one(self, data: bytes) -> None:
        room = Room()
        now = 0.0
        for conn in range(2):
            room.connect(conn, now)
        for line in data.decode("utf-8", "replace").split("\n"):
            kind = ord(line[0]) if line else 0
            now += (kind >> 1 & 7) * 700.0
            room.receive(kind & 1, line[1:], now)
            room.tick(now)
        room.disconnect(0, now)
        room.close(now)
