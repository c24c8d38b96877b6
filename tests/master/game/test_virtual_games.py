"""Whole games of two players against the practice server's rules, in virtual time, with late links and with searchers
that are late or silent. They test that all parts of the clock are connected."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable

import pytest

from benchmarks.clock import LINKS, Link
from cluster.api import RetimeSearch, SearchRequest, StartSearch, StopSearch
from master.player.events import Conclusion, MovePlayed
from master.player.inputs import Connected, Input, LineSent, Prepared, ServerLine, Tick
from master.player.instructions import Emit, Login, PlayerSettings, PrepareSearcher, Send
from master.player.player import Player
from master.practice.server_game import GameRules, SendToSide, ServerGame, StartPosition
from tests.answers import make_decision, make_progress
from worker.clock.timecontrol import TimeControl
from worker.shogi import STARTPOS, Position, move_to_usi

MAX_MOVES = 80


class Seat:
    """One player, its link, and its searcher: random moves, when the soft time is over or a little later."""

    def __init__(self, world: World, colour: int, link: Link) -> None:
        self.world = world
        self.colour = colour
        self.link = link
        self.player = Player(Login("alice", "x"), PlayerSettings(ponder=False, validate=True))
        self.request: SearchRequest | None = None
        self.began_ms = 0.0
        self.soft_ms = 0
        self.searched = 0
        self.played: list[MovePlayed] = []
        self.arrived_ms = [0.0, 0.0]
        """The arrival time of the last line here and there: lines do not overtake one another."""

    def tell(self, event: Input) -> None:
        now = self.world.now_ms
        for instruction in self.player.handle(event, now):
            match instruction:
                case Send(line, _):
                    self.player.handle(LineSent(), now)
                    if not line.startswith(("LOGIN", "LOGOUT")):
                        self.arrived_ms[1] = max(self.arrived_ms[1], now + self.link.way_ms(self.world.rng))
                        self.world.at(self.arrived_ms[1], lambda line=line: self.world.receive(self.colour, line))
                case PrepareSearcher():
                    self.world.at(now, lambda: self.tell(Prepared()))
                case StartSearch(request):
                    assert request.soft_ms is not None
                    self.request, self.began_ms, self.soft_ms = request, now, request.soft_ms
                    self.searched += 1
                    if self.world.rng.random() > 0.03:  # else it never answers
                        self.world.at(now + self.soft_ms / 2, lambda: self.report(request))
                case RetimeSearch(_, soft_ms):
                    self.soft_ms = soft_ms
                case StopSearch(_):
                    self.request = None
                case Emit(MovePlayed() as event) if event.mine:
                    self.played.append(event)
        if self.player.deadline_ms is not None:
            self.world.at(self.player.deadline_ms, lambda: self.tell(Tick()))

    def hear(self, line: str) -> None:
        self.arrived_ms[0] = max(self.arrived_ms[0], self.world.now_ms + self.link.way_ms(self.world.rng))
        self.world.at(self.arrived_ms[0], lambda: self.tell(ServerLine(line)))

    def report(self, request: SearchRequest) -> None:
        if self.request is not request:
            return
        rng, now = self.world.rng, self.world.now_ms
        board = Position.from_sfen(request.sfen)
        board.push_all(request.moves)
        move, elapsed = move_to_usi(rng.choice(board.legal_moves())), now - self.began_ms
        if elapsed >= self.soft_ms:
            self.request = None
            decision = make_decision(request.search_id, move, 10, 5, (move,), 100, int(elapsed), "vote")
            self.tell(decision)
            return
        agreement = rng.choice([1.0, 0.6])
        progress = make_progress(
            request.search_id, int(elapsed), 5, rng.randint(-200, 200), (move,), 100, (), agreement
        )
        self.tell(progress)
        late = self.began_ms + self.soft_ms + rng.expovariate(1 / 10)
        self.world.at(max(now, late), lambda: self.report(request))


class World:
    """The server, both seats, and the scheduled events."""

    def __init__(self, time: TimeControl, link: Link, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now_ms = 0.0
        self.game = ServerGame("g", ("alice", "bob"), GameRules(time, StartPosition(STARTPOS), MAX_MOVES), 0.0)
        self.seats = [Seat(self, colour, link) for colour in (0, 1)]
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = itertools.count()

    def at(self, ms: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._events, (max(ms, self.now_ms), next(self._number), what))

    def receive(self, colour: int, line: str) -> None:
        self.say(self.game.receive(colour, line, self.now_ms))
        if self.game.deadline_ms is not None:
            self.at(self.game.deadline_ms, lambda: self.say(self.game.tick(self.now_ms)))

    def say(self, said: list[SendToSide]) -> None:
        for word in said:
            self.seats[word.colour].hear(word.line)

    def run(self) -> None:
        for seat in self.seats:
            seat.tell(Connected())
            seat.tell(ServerLine("LOGIN:alice OK"))
        self.say(self.game.offer())
        while self._events:
            self.now_ms, _, what = heapq.heappop(self._events)
            what()


CONTROLS = {
    "5s+1F": TimeControl(total_ms=5_000, increment_ms=1_000),
    "byoyomi 1s": TimeControl(byoyomi_ms=1_000),
    "20s": TimeControl(total_ms=20_000),
    "100s, rounded up": TimeControl(total_ms=100_000, roundup=True),
}


@pytest.mark.parametrize("name", CONTROLS)
@pytest.mark.parametrize("link", ["near", "far"])
def test_no_flag_falls_and_nobody_searches_at_the_limit(name: str, link: str) -> None:
    world = World(CONTROLS[name], LINKS[link], seed=len(name))
    world.run()
    ending = world.game.record.ending
    assert ending is not None
    assert ending.reason in ("MAX_MOVES", "RESIGN", "SENNICHITE", "OUTE_SENNICHITE")
    for seat in world.seats:
        outcome = seat.player.outcome
        assert outcome is not None
        assert outcome.conclusion in (Conclusion.CENSORED, Conclusion.WIN, Conclusion.LOSE, Conclusion.DRAW)
        assert outcome.plies == world.game.plies
        assert seat.searched <= len(seat.played)
        clock = seat.player._game.clock
        assert clock is not None
        assert len(clock.delays._recent) == min(48, len(seat.played))
        assert min(clock.delays._recent) > 2 * LINKS[link].least_ms
        assert clock.delays._worst_ms <= 2 * LINKS[link].worst_ms + PlayerSettings().guard_ms
