"""Hostile servers: lines mutated, repeated, out of order, no text at all, in chunks of any size, at any moment.

No exception leaves the client, only legal lines are sent, and never two when one was requested.
"""

from __future__ import annotations

import asyncio
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.api import Listener, StartSearch
from master.csa import SIGNS
from master.csa.client import CsaConnectionError
from master.csa.lines import LineProtocol
from master.csa.login import ServerAddress
from master.csa.protocol import MAX_LINE
from master.game.driver import GameSettings, LoginRefusedError, play_game
from master.player import inputs
from master.player.events import GameBegan, MovePlayed, Note
from master.player.instructions import Emit, Finish, Login, PlayerSettings, Send
from master.player.player import Player
from tests.answers import make_decision, make_progress
from tests.master.csa.transcripts import NAMES, server_lines
from tests.master.scripted import ScriptedSearcher
from worker.shogi import Position, move_to_csa, move_to_usi

PLAIN = [name for name in NAMES if "x1" not in name]
LINE = re.compile(r"LOGIN alice \*{8}|AGREE ?\S*|REJECT ?\S*|LOGOUT|%TORYO|%KACHI|([+-]\d{4}[A-Z]{2})(,'[ -+\--~]*)?")
ODD = (
    b"",
    b"\xff\xfe\x00",
    b"\xe2\x98",
    b"x" * (MAX_LINE + 5),
    b"+" * (3 * MAX_LINE),
    b"LOGIN:alice OK",
    b"LOGIN:incorrect",
    b"LOGOUT:completed",
    b"BEGIN Game_Summary",
    b"END Game_Summary",
    b"BEGIN Position",
    b"START:",
    b"REJECT:x by y",
    b"+7776FU",
    b"+0055FU,T1",
    b"-3334FU,T999999999",
    b"-9999OU,T0.001",
    b"%TORYO",
    b"%KACHI,T0",
    b"%%%",
    b"#",
    b"#WIN",
    b"#TIME_UP",
    b"#CHUDAN",
    b"#MAX_MOVES",
    b"##[CHAT]\xff",
    b"'comment",
    b"$",
)


class Watched:
    """A player with `LineProtocol`, which checks its every line against the inputs so far."""

    def __init__(self) -> None:
        self.player = Player(
            Login("alice", "test,secret"), PlayerSettings(resign_score=None, ponder=True, validate=True)
        )
        self.bytes = LineProtocol(self._line, lambda _: None)
        self.now = 1_000.0
        self.board: Position | None = None
        """As the player's events have it, once a game has begun."""
        self.waiting: str | None = None
        """Our move that no `MovePlayed` has confirmed."""
        self.search_id = 1
        self.said: list[str] = []
        self.finished = False
        self.tell(inputs.Connected())

    def tell(self, event: inputs.Input) -> None:
        for instruction in self.player.handle(event, self.now):
            assert not self.finished
            match instruction:
                case Send(line, shown):
                    self._judge(line, shown)
                case Emit(GameBegan(_, sfen)):
                    self.board = Position.from_sfen(sfen)
                case Emit(MovePlayed() as played):
                    assert self.board is not None
                    self.board.push_csa(played.csa)
                    if played.mine:
                        self.waiting = None
                case Emit(Note("lost_track", {"move": str(csa)})):  # the server plays on with it, on its own board
                    summary = self.player.protocol.summary
                    assert summary is not None
                    if SIGNS.index(csa[0]) == summary.my_colour:
                        self.waiting = None
                case StartSearch(request):
                    self.search_id = request.search_id
                case Finish():
                    self.finished = True

    def hear(self, data: bytes, cuts: list[int]) -> None:
        at = 0
        for cut in [*cuts, len(data)]:
            self.bytes.data_received(data[at : at + cut])
            at += cut
        self.bytes.data_received(data[at:])

    def _line(self, line: str) -> None:
        self.tell(inputs.ServerLine(line))

    def _judge(self, line: str, shown: str) -> None:
        match = LINE.fullmatch(shown)
        assert match is not None, shown
        assert len(line) < 256
        assert line.isascii()
        assert line.isprintable()
        assert "LOGOUT" not in self.said
        self.said.append(line)
        assert sum(word.startswith("LOGIN") for word in self.said) <= 1
        if line[0] not in "+-%":
            return
        assert self.board is not None
        assert self.waiting is None, f"{line} after {self.waiting}"
        self.waiting = line
        summary = self.player.protocol.summary
        assert summary is not None
        if line == "%TORYO":  # even if the server's last move is illegal on our board
            assert self.player.protocol.turn == summary.my_colour
            return
        assert self.board.turn == summary.my_colour
        if match[1]:
            self.board.parse_csa(match[1])
        else:
            assert self.board.can_declare()

    # Other events

    def decide(self, choice: int) -> None:
        move = "resign" if choice % 7 == 0 else "win" if choice % 7 == 1 else "5e5d"
        if self.board is not None and choice % 7 > 2 and (moves := self.board.legal_moves()):
            move = move_to_usi(moves[choice % len(moves)])
        decision = make_decision(self.search_id, move, choice % 4000 - 2000, 3, (move, "3c3d", "0a0a"), 9, 9, "vote")
        self.tell(decision)

    def server_plays(self, choice: int) -> bytes:
        """The echo of our move, or a legal move of the opponent."""
        sent = self.player.protocol.sent
        if sent is not None:
            return f"{sent},T1".encode()
        if self.board is not None and (moves := self.board.legal_moves()):
            return f"{move_to_csa(moves[choice % len(moves)])},T1".encode()
        return b""


NUMBERS = st.integers(0, 2**20)
STEPS = st.one_of(
    st.tuples(st.sampled_from(["turn", "turn", "turn", "plays", "next"]), NUMBERS),
    st.tuples(st.sampled_from(["turn", "turn", "turn", "plays", "next"]), NUMBERS),
    st.tuples(st.just("decide"), NUMBERS),
    st.tuples(st.sampled_from(["prepared", "tick", "progress", "fail", "lost", "abort", "skip"]), NUMBERS),
    st.tuples(st.just("raw"), st.one_of(st.sampled_from(ODD), st.binary(max_size=80))),
    st.tuples(st.just("mutated"), NUMBERS),
)


def mutated(line: bytes, choice: int) -> bytes:
    data = bytearray(line or b"\n")
    at = choice % len(data)
    kind = choice // 1000 % 4
    if kind == 0:
        data[at] ^= 1 << choice % 8
    elif kind == 1:
        del data[at:]
    elif kind == 2:
        data[at:at] = data[: choice % 50]
    else:
        data[at:at] = bytes([choice % 256])
    return bytes(data)


@settings(max_examples=60)
@given(
    st.sampled_from(PLAIN),
    st.one_of(st.just(-1), st.just(-1), st.integers(0, 50)),
    st.lists(STEPS, min_size=10, max_size=60),
    st.lists(st.integers(1, 40), max_size=4),
)
def test_any_server_lines(name: str, head: int, steps: list[tuple[str, int | bytes]], cuts: list[int]) -> None:
    watched = Watched()
    lines = [line.encode() for line in server_lines(name)]
    if head < 0:  # most games begin before the first fault
        head = next((at + 1 for at, line in enumerate(lines) if line.startswith(b"START:")), 0)
    for line in lines[:head]:
        watched.hear(line + b"\n", cuts)
        if line == b"END Game_Summary":
            watched.tell(inputs.Prepared())
    left = lines[head:]
    for kind, value in steps:
        watched.now += 40
        number = value if isinstance(value, int) else 0
        match kind:
            case "next" | "skip" | "mutated":
                line = left.pop(0) if left else b""
                if kind != "skip":
                    watched.hear((mutated(line, number) if kind == "mutated" else line) + b"\n", cuts)
            case "raw":
                assert isinstance(value, bytes)
                watched.hear(value + b"\r\n", cuts)
            case "turn":
                watched.decide(6 + 7 * number)
                for reply in (number, number // 1000):
                    watched.hear(watched.server_plays(reply) + b"\n", cuts)
            case "plays":
                watched.hear(watched.server_plays(number) + b"\n", cuts)
            case "decide":
                watched.decide(number)
            case "prepared":
                watched.tell(inputs.Prepared())
            case "tick":
                watched.now += 1000 * (number % 50)
                watched.tell(inputs.Tick())
            case "progress":
                pv = ("7g7f", "5e5d")[number % 2 :]
                progress = make_progress(watched.search_id, 5, 3, 12, pv, 100, agreement=number % 11 / 10)
                watched.tell(progress)
            case "fail":
                watched.tell(inputs.SearchFailed(watched.search_id, "broken"))
            case "lost" if number % 8 == 0:  # now and then, because nothing follows
                watched.tell(inputs.ConnectionLost("gone"))
            case "abort" if number % 8 == 0:
                watched.tell(inputs.GiveUp("enough"))


@pytest.mark.timeout(60)
async def test_any_bytes_over_tcp() -> None:
    """The whole client: for any input its end is an outcome or one of its two errors."""

    async def one(rng: random.Random) -> None:
        lines = [line.encode() for line in server_lines(rng.choice(PLAIN))]

        async def say(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            data = b"\n".join(
                rng.choice(ODD)
                if (dice := rng.random()) < 0.05
                else mutated(line, rng.randrange(4000))
                if dice < 0.1
                else line
                for line in lines
            )
            while data and not writer.is_closing():
                size = rng.randint(1, 400)
                writer.write(data[:size])
                data = data[size:]
                await asyncio.sleep(0)
            await asyncio.sleep(0.01)
            writer.close()

        searcher = ScriptedSearcher()
        await searcher.open(Listener())
        async with await asyncio.start_server(say, "127.0.0.1", 0) as host:
            address = ServerAddress(*host.sockets[0].getsockname())
            try:
                await play_game(address, Login("alice", "p"), searcher, GameSettings())
            except (CsaConnectionError, LoginRefusedError):
                return

    for seed in range(20):
        await asyncio.wait_for(one(random.Random(seed)), 10)
