"""Both ends of a remote engine, on a line that cuts, halves and delays at random; in virtual time."""

from __future__ import annotations

import random
from collections import deque

import pytest

from master.remote.client import (
    ERROR,
    QUIT_S,
    Connect,
    Drop,
    End,
    Link,
    ThinEngine,
    ToGui,
    ToHost,
    aged,
    digest,
)
from master.remote.host import Close, EndEngine, Host, Order, Send, StartEngine, ToEngine

NAME = "0123456789abcdef"


class World:
    """One client, one host, an engine that answers at once or on demand, and the line between them."""

    def __init__(self, rng: random.Random, secret: str = "s", keep_s: float = 60) -> None:
        self.rng, self.now_s = rng, 100.0
        self.host = Host("Gougi", secret, keep_s)
        self.client = ThinEngine("there", secret, NAME, self.now_s)
        self.connection: int | None = None
        self.connections = 0
        self.down: deque[str] = deque()
        """Lines under way to the client."""
        self.up: deque[str] = deque()
        self.gui: list[str] = []
        self.engines: dict[int, list[str]] = {}
        """Lines for each engine."""
        self.exit: int | None = None
        self.wants: float | None = None
        self.reachable = True

    def settle(self) -> None:
        """Carry out all instructions, and deliver all lines under way."""
        while self.client.out or self.host.out or self.down or self.up:
            self.step()

    def step(self) -> None:
        for order in self._taken():
            if isinstance(order, ToGui):
                self.gui.append(order.text)
            elif isinstance(order, ToHost) and self.connection is not None:
                self.up.append(order.text)
            elif isinstance(order, Connect):
                self.wants = self.now_s + order.after_s
            elif isinstance(order, Drop):
                self.cut()
            elif isinstance(order, End):
                self.exit = order.code
        self._carry_out_the_hosts()
        if self.up:
            assert self.connection is not None
            self.host.heard(self.connection, self.up.popleft(), self.now_s)
        if self.down:
            self.client.from_host(self.down.popleft(), self.now_s)

    def _taken(self) -> list[object]:
        orders, self.client.out = self.client.out, []
        return list(orders)

    def _carry_out_the_hosts(self) -> None:
        orders: list[Order]
        orders, self.host.out = self.host.out, []
        for order in orders:
            match order:
                case Send(connection, text) if connection == self.connection:
                    self.down.append(text)
                case Close(connection) if connection == self.connection:
                    while self.down:
                        self.client.from_host(self.down.popleft(), self.now_s)
                    self.connection = None
                    self.up.clear()
                    self.client.gone("closed", self.now_s)
                case StartEngine(engine):
                    self.engines[engine] = []
                case ToEngine(engine, text):
                    self.engines[engine].append(text)
                    self._answer(engine, text)
                case EndEngine(engine):
                    self.engines[engine].append("quit")

    def _answer(self, engine: int, text: str) -> None:
        word = text.split()[0]
        if word == "usi":
            self.host.said(engine, "usiok")
        elif word == "isready":
            self.host.said(engine, "readyok")

    def cut(self, *, host_knows: bool = True) -> None:
        """Lines under way are lost."""
        lost, self.connection = self.connection, None
        self.down.clear()
        self.up.clear()
        if lost is not None and host_knows:
            self.host.gone(lost, self.now_s)
        if lost is not None:
            self.client.gone("cut", self.now_s)

    def wait(self, seconds: float) -> None:
        """Let time pass; clients that want to connect do so."""
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            self.now_s = min(end_s, self.now_s + 0.5)
            if self.wants is not None and self.now_s >= self.wants and self.exit is None:
                self.wants = None
                if self.reachable:
                    self.connections += 1
                    self.connection = self.connections
                    self.host.opened(self.connection, f"{self.rng.getrandbits(128):032x}", self.now_s)
                    self.client.connected(self.now_s)
                else:
                    self.client.gone("refused", self.now_s)
            self.client.tick(self.now_s)
            self.host.tick(self.now_s)
            self.settle()

    def say(self, *lines: str) -> None:
        for line in lines:
            self.client.from_gui(line, self.now_s)

    @property
    def heard(self) -> list[str]:
        """The engine's lines, as they came to the GUI."""
        return [line for line in self.gui if not line.startswith("info string")]


def begun(seed: int = 1, **settings: float) -> World:
    world = World(random.Random(seed), **settings)  # type: ignore[arg-type]
    world.say("usi", "setoption name Threads value 2", "isready")
    world.wait(1)
    assert world.heard == ["usiok", "readyok"]
    return world


@pytest.mark.parametrize("seed", range(60))
def test_each_line_arrives_once_and_in_order_after_any_cut(seed: int) -> None:
    world = begun(seed)
    rng = world.rng
    told, answers = ["usi", "setoption name Threads value 2", "isready"], ["usiok", "readyok"]
    for number in range(30):
        lines = [f"position startpos moves {number}", "go byoyomi 1000"]
        world.say(*lines)
        told += lines
        for _ in range(rng.randrange(6)):
            if world.client.out or world.host.out or world.down or world.up:
                world.step()
        if rng.random() < 0.5:
            world.cut(host_knows=rng.random() < 0.5)
        if rng.random() < 0.5:
            world.wait(rng.choice((0.5, 3, 20)))
        world.wait(15 if "position" not in world.engines[1][-2] else 0)
        if world.engines[1][-2:] != lines:
            world.wait(20)
        assert world.engines[1][-2:] == lines
        for line in ("info depth 1 pv 7g7f", f"bestmove {number}"):
            world.host.said(1, line)
            answers.append(line)
            if rng.random() < 0.3:
                world.step()
                world.cut(host_knows=rng.random() < 0.5)
        world.wait(25)
    assert world.engines == {1: told}
    assert world.heard == answers
    assert world.exit is None


def test_a_bestmove_that_became_due_in_the_gap_comes_once() -> None:
    world = begun()
    world.say("position startpos", "go infinite")
    world.wait(1)
    world.reachable = False
    world.cut()
    world.host.said(1, "bestmove 7g7f")
    world.wait(10)
    assert world.heard[-1] == "readyok"
    world.reachable = True
    world.wait(12)
    assert world.heard[2:] == ["bestmove 7g7f"]
    assert any("is cut" in line for line in world.gui)
    assert any("again" in line for line in world.gui)


def test_after_the_minute_a_new_engine_is_told_everything_and_only_its_move_is_heard() -> None:
    world = begun()
    world.say("position startpos moves 7g7f", "go btime 60000 wtime 60000 byoyomi 5000")
    world.wait(1)
    world.reachable = False
    world.cut()
    world.wait(61)
    assert world.engines[1][-1] == "quit"
    world.reachable = True
    world.wait(12)
    *first, position, go = world.engines[2]
    assert first == ["usi", "setoption name Threads value 2", "isready"]
    assert position == "position startpos moves 7g7f"
    assert go.startswith("go btime 60000 wtime 0 byoyomi ")  # white is to move, and more than a minute has gone
    world.host.said(2, "bestmove 3c3d")
    world.wait(1)
    assert world.heard == ["usiok", "readyok", "bestmove 3c3d"]


def test_quit_ends_the_engine_at_once() -> None:
    world = begun()
    world.say("quit")
    world.settle()
    assert world.engines[1][-1] == "quit"
    assert world.exit == 0


def test_nobody_ends_the_engine_of_another() -> None:
    for request in ("run gougi", f"session {NAME} 0"):
        host = Host("Gougi", "", 60)
        host.opened(1, "n", 0)
        host.heard(1, request, 0)
        for number, line in enumerate(("quit", "quit ", "quit fedcba9876543210"), 2):
            host.opened(number, "n", 0)
            host.heard(number, line, 0)
            assert sent(host, number) == ["bye", "closed"]
        assert not any(isinstance(order, EndEngine) for order in host.out)


@pytest.mark.parametrize("steps", range(4))
@pytest.mark.parametrize("host_knows", [False, True])
def test_a_quit_that_a_cut_swallows_ends_the_engine_too(steps: int, host_knows: bool) -> None:
    world = begun()
    world.say("quit")
    for _ in range(steps):
        world.step()
    world.cut(host_knows=host_knows)
    world.wait(2)
    assert world.exit == 0
    assert list(world.engines) == [1]
    assert world.engines[1][-1] == "quit"


def test_quit_while_the_line_is_cut() -> None:
    world = begun()
    world.cut(host_knows=False)
    world.say("quit", "quit")
    world.wait(2)
    assert world.exit == 0
    assert world.engines[1].count("quit") == 1
    assert not any("connected to" in line for line in world.gui)


def test_a_client_without_a_host_ends_some_seconds_after_quit() -> None:
    world = begun()
    world.reachable = False
    world.cut()
    world.wait(1)
    told = len(world.gui)
    world.say("quit")
    world.wait(QUIT_S - 1)
    early = world.exit
    world.wait(1)
    assert (early, world.exit) == (None, 0)
    assert world.gui[told:] == []


def test_quit_before_any_connection_ends_at_once() -> None:
    world = World(random.Random(1))
    world.say("quit")
    world.settle()
    assert (world.exit, world.engines) == (0, {})


def test_an_engine_that_ends_is_told_and_ends_the_client() -> None:
    world = begun()
    world.host.ended(1, "exit code 1")
    world.settle()
    assert world.exit == 1
    assert world.gui[-1] == "info string error: there: the engine ended: exit code 1"


def test_a_host_that_is_not_there_is_told_after_a_while() -> None:
    world = World(random.Random(1))
    world.reachable = False
    world.say("usi")
    world.wait(40)
    assert world.exit == 1
    assert world.gui == ["info string error: there: refused"]


def test_a_wrong_secret_ends_the_client() -> None:
    world = World(random.Random(1), secret="right")
    world.client = ThinEngine("there", "wrong", NAME, world.now_s)
    world.wait(1)
    assert world.exit == 1
    assert world.gui == ["info string error: there: authentication failed"]
    assert world.engines == {}


@pytest.mark.parametrize(
    ("hosts", "clients", "words"), [("s", "", "asks for a secret"), ("", "s", "asks for no secret")]
)
def test_only_one_side_has_a_secret(hosts: str, clients: str, words: str) -> None:
    world = World(random.Random(1), secret=hosts)
    world.client = ThinEngine("there", clients, NAME, world.now_s)
    world.wait(30)
    assert world.exit == 1
    assert words in world.gui[-1]
    assert world.engines == {}


def sent(host: Host, connection: int) -> list[str]:
    """Lines sent on a connection up to now."""
    found = [order.text for order in host.out if isinstance(order, Send) and order.connection == connection]
    return found + ["closed" for order in host.out if order == Close(connection)]


def test_the_second_user_is_told_that_there_is_one() -> None:
    world = begun()
    world.host.opened(99, "n", world.now_s)
    world.host.heard(99, f"auth {digest('s', 'n')}", world.now_s)
    world.host.heard(99, f"session {'f' * 16} 0", world.now_s)
    assert sent(world.host, 99)[2:] == [f"{ERROR} busy: somebody else plays with this engine", "closed"]
    world.host.out.clear()
    world.cut()
    world.host.opened(98, "n", world.now_s + 10)
    world.host.heard(98, f"auth {digest('s', 'n')}", world.now_s + 10)
    world.host.heard(98, "run gougi", world.now_s + 10)
    assert "connection was cut, for 50 s more" in sent(world.host, 98)[2]


def test_nothing_is_done_before_the_secret_is_shown() -> None:
    host = Host("Gougi", "s", 60)
    host.opened(1, "n", 0)
    host.heard(1, "auth 00", 0)
    host.heard(1, "run gougi", 0)
    assert sent(host, 1) == ["auth_cram_sha256 n", f"{ERROR} authentication failed", "closed"]
    host.opened(2, "n", 0)
    host.heard(2, "list", 0)
    assert sent(host, 2)[-1] == "closed"
    assert not any(isinstance(order, StartEngine) for order in host.out)


def test_the_bridges_dialect() -> None:
    """As the bridge of shogihome-lab has it: `list` and the end, or `run` and plain USI."""
    host = Host("Gougi 1", "", 60)
    host.opened(1, "n", 0)
    host.heard(1, "list", 0)
    assert sent(host, 1) == ['[{"id": "gougi", "name": "Gougi 1", "type": ["game", "research"]}]', "closed"]
    host.opened(2, "n", 0)
    host.heard(2, "run nobody", 0)
    assert sent(host, 2) == [f"{ERROR} no engine 'nobody'; there is gougi", "closed"]
    host.out.clear()
    host.opened(3, "n", 0)
    host.heard(3, "run gougi", 0)
    host.heard(3, "usi", 0)
    host.said(1, "usiok")
    assert host.out == [StartEngine(1), ToEngine(1, "usi"), Send(3, "usiok")]


def cut_in_a_search() -> Host:
    """A user of plain USI is cut at 5 s while the engine searches; at 50 s a second connection opens."""
    host = Host("Gougi", "", 60)
    host.opened(1, "n", 0)
    for line in ("run gougi", "usi", "position startpos", "go infinite"):
        host.heard(1, line, 0)
    host.gone(1, 5)
    host.opened(2, "n", 50)
    host.out.clear()
    return host


def test_a_run_finds_the_engine_of_the_one_that_was_cut_with_its_search_stopped() -> None:
    host = cut_in_a_search()
    host.heard(2, "run gougi", 50)
    host.said(1, "info depth 3")
    host.said(1, "bestmove 7g7f")
    host.heard(2, "usi", 50)
    host.said(1, "usiok")
    assert host.out == [ToEngine(1, "stop"), ToEngine(1, "usi"), Send(2, "usiok")]
    host.gone(2, 51)
    host.out.clear()
    host.tick(110)
    assert host.out == []
    host.tick(111)
    assert host.out == [EndEngine(1)]


def test_answers_during_the_stop_are_passed_on() -> None:
    """The engine answers ``usi`` at once, before its search has ended."""
    host = cut_in_a_search()
    host.heard(2, "run gougi", 50)
    host.out.clear()
    host.heard(2, "usi", 50)
    host.said(1, "usiok")
    host.said(1, "info depth 3 pv 2g2f")
    host.heard(2, "go movetime 9", 50)
    host.said(1, "bestmove 7g7f")
    host.said(1, "bestmove 2g2f")
    assert host.out == [ToEngine(1, "usi"), Send(2, "usiok"), ToEngine(1, "go movetime 9"), Send(2, "bestmove 2g2f")]


def test_a_second_cut_still_stops_the_search() -> None:
    host = cut_in_a_search()
    for line in ("run gougi", "go infinite"):
        host.heard(2, line, 50)
    host.said(1, "bestmove 7g7f")
    host.gone(2, 51)
    host.opened(3, "n", 52)
    host.out.clear()
    host.heard(3, "run gougi", 52)
    host.said(1, "bestmove 2g2f")
    assert host.out == [ToEngine(1, "stop")]


def test_a_silent_connection_is_closed() -> None:
    host = Host("Gougi", "", 60)
    host.opened(1, "n", 0)
    host.tick(9)
    assert host.out == []
    host.tick(10)
    assert sent(host, 1) == [f"{ERROR} nothing was asked for within 10 s", "closed"]


@pytest.mark.parametrize("line", ["", "x", "1", "-1 go", "99999999999999999999 go", "session", "ping x"])
def test_a_foreign_line_ends_the_session(line: str) -> None:
    world = begun()
    assert world.connection is not None
    world.host.heard(world.connection, line, world.now_s)
    if line == "1":  # a number that came before, with an empty text
        assert world.host.out == []
    else:
        assert world.host.out[0].text.startswith(ERROR)  # type: ignore[union-attr]
        assert EndEngine(1) in world.host.out


def test_of_much_that_waits_the_course_of_the_search_goes_first() -> None:
    link = Link()
    link.pack("usiok")
    for number in range(1000):
        link.pack(f"info depth {number}")
    link.pack("bestmove 7g7f")
    kept = link.again(0)
    assert len(kept) <= 300
    assert kept[0] == "1 usiok"
    assert kept[-1] == "1002 bestmove 7g7f"
    other = Link()
    assert [other.unpack(line) for line in kept][-1] == "bestmove 7g7f"


@pytest.mark.parametrize(
    ("go", "position", "left"),
    [
        ("go btime 9000 wtime 9000", "position startpos", "go btime 7000 wtime 9000"),
        ("go btime 9000 wtime 9000", "position startpos moves 7g7f", "go btime 9000 wtime 7000"),
        ("go btime 500 wtime 0 byoyomi 5000", "position startpos", "go btime 0 wtime 0 byoyomi 3500"),
        ("go btime 9 wtime 9", "position sfen 9/9/9/9/9/9/9/9/9 w - 1", "go btime 9 wtime 0"),
        ("go movetime 3000", "position startpos", "go movetime 1000"),
        ("go ponder btime 9000 wtime 9000", "position startpos", "go ponder btime 9000 wtime 9000"),
        ("go infinite", "position startpos", "go infinite"),
    ],
)
def test_a_search_that_is_told_again_has_less_time(go: str, position: str, left: str) -> None:
    assert aged(go, 2000.2, position) == left


@pytest.mark.parametrize(("line", "left"), [("ponderhit", 10_000), ("ponderhit btime 0 wtime 0 byoyomi 9000", 9_000)])
def test_a_hit_that_is_told_again_has_less_time(line: str, left: int) -> None:
    world = begun()
    world.say("position startpos moves 7g7f 3c3d", "go ponder btime 0 wtime 0 byoyomi 10000")
    world.wait(30)
    world.say(line)
    world.wait(6)
    world.cut()
    world.host = Host("Gougi", "s", 60)  # started again
    world.wait(1)
    assert world.engines[1][-1] == f"go btime 0 wtime 0 byoyomi {left - 7000}"
