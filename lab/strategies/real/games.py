"""Games in real time on the cores of one slot, one after the other; the players stay from game to game."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from cluster.api import Decision, FleetError, SearchRequest
from cluster.coordination.strategies import SINGLE, strategy
from cluster.engine_spec import EngineSpec
from lab.match.adjudication import Adjudicator
from lab.match.game import Choice, Outcome, play_game
from lab.strategies.processes import Task
from lab.strategies.real import machine
from lab.strategies.real.cores import Seating
from lab.strategies.real.side import Side, SideLost, SideSpec
from lab.strategies.real_figures import KINDS, RealFigures, RealGame
from lab.strategies.records import GameRecord, SideFigures
from lab.strategies.schedule import Game
from lab.strategies.settings import LabError, LabSettings

_LATE_MS: Final = 1000
"""Milliseconds beyond its time after which a search without an answer is answered without any node."""
_MOST_VOIDS: Final = 3
"""Games in a row that a dead process made void, before the laboratory gives up."""
_QUIET: Final = 0.1
"""Cores that a player that has just started may still take: Ray's processes go on starting for some seconds."""
_QUIET_S: Final = 20.0
_LOOKED_S: Final = 0.5


OpenSide = Callable[[SideSpec, threading.Event], Side]
"""Starts a player: `Side`."""


class VoidGame(Exception):
    """A process of a player died during the game; the text says which."""


@dataclass(slots=True)
class _Player:
    """One side in one game."""

    name: str
    side: Side
    fleet: bool
    ms: int
    ponders: bool
    figures: SideFigures = field(default_factory=SideFigures)
    real: RealFigures = field(default_factory=RealFigures)
    family: machine.Family = field(default_factory=lambda: machine.Family({}))
    used: dict[str, float] = field(default_factory=dict)
    """CPU seconds by kind when it was last looked."""
    total_s: float = 0.0

    def spent(self) -> dict[str, float]:
        """CPU seconds by kind since it was last asked."""
        now = self.family.cpu_s()
        # A process that has ended took its count with it.
        gone = {kind: max(0.0, now[kind] - self.used[kind]) for kind in KINDS}
        self.used = now
        self.total_s += sum(gone.values())
        return gone


class RealWorkplace:
    """Plays games on the cores of one slot, as a workplace of `cluster.machine.side_by_side`.

    Args:
        engine: of every player's first node.
        tell: called from any thread with what the user should know, a line each.
    """

    def __init__(
        self,
        settings: LabSettings,
        engine: EngineSpec,
        seating: Seating,
        slot: int,
        tell: Callable[[str], None],
        open_side: OpenSide = Side,
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._seating = seating
        self._slot = slot
        self._ended = threading.Event()
        self._tell = tell
        self._open_side = open_side
        self._sides: dict[str, tuple[SideSpec, Side]] = {}
        self._last_id = 0
        """The last request's id: ids rise through all games of a player."""

    def do(self, task: Task) -> GameRecord:
        """Play a game, again where it was void.

        Raises:
            LabError: it was void three times, or a player cannot be opened.
            VoidGame, SideLost: the laboratory ends.
        """
        game, sfen = task
        voids = 0
        while True:
            try:
                return self._play(game, sfen, voids)
            except (VoidGame, SideLost) as error:
                if self._ended.is_set():
                    raise
                voids += 1
                if voids == _MOST_VOIDS:
                    raise LabError(f"{game}: void {voids} times in a row, now because {error}") from None
                self._tell(f"{game} is void and played again: {error}")
                if isinstance(error, SideLost):
                    self.close()
            except FleetError as error:
                raise LabError(f"{game}: {error}") from error

    def end(self) -> None:
        """End what is being played, with `SideLost`."""
        self._ended.set()

    def close(self) -> None:
        """End the players."""
        sides, self._sides = self._sides, {}
        for _, side in sides.values():
            side.close()

    def _play(self, game: Game, sfen: str, voids: int) -> GameRecord:
        settings, point, opponent = self._settings, game.point, self._settings.opponent
        seat = self._seating.seat(self._slot, point)
        a_spec = SideSpec(strategy(point.strategy), point.nodes, self._engine, seat.a)
        b_spec = SideSpec(SINGLE, 0, replace(self._engine, threads=opponent.threads), seat.b)
        if opponent.strategy is not None:
            b_spec = SideSpec(strategy(opponent.strategy), opponent.fleet(point.nodes), self._engine, seat.b)
        a = self._player("a", a_spec, settings.ms)
        b = self._player("b", b_spec, settings.opponent_ms)
        for player in (a, b):
            player.side.new_game()
            player.family = machine.Family.of(player.side.pid, player.fleet)
            player.used = player.family.cpu_s()
        load, busy_s, began = machine.load(), machine.busy_s(seat.all), time.monotonic()
        players = (a, b) if game.a_is_black else (b, a)
        outcome = self._moves(players, sfen)
        seconds = time.monotonic() - began
        others_s = machine.busy_s(seat.all) - busy_s - a.total_s - b.total_s
        points = 0.5 if outcome.winner is None else float(players[outcome.winner] is a)
        others = max(0.0, others_s) / seconds
        real = RealGame(seat.a, seat.b, seconds, load, machine.load(), others, voids, a.real, b.real)
        for player in (a, b):
            player.figures.agreement = round(player.figures.agreement, 6)
        return GameRecord(game, points, outcome.end, outcome.moves, a.figures, b.figures, real)

    def _player(self, name: str, spec: SideSpec, ms: int) -> _Player:
        """A side for one game; its process is the one of the game before where that was the same."""
        fleet = spec.nodes > 0
        before = self._sides.get(name)
        if before is None or before[0] != spec:
            if before is not None:
                del self._sides[name]
                before[1].close()
            self._sides[name] = spec, self._open_side(spec, self._ended)
            self._settle(machine.Family.of(self._sides[name][1].pid, fleet))
        return _Player(name.upper(), self._sides[name][1], fleet, ms, spec.strategy.ponder)

    def _settle(self, family: machine.Family) -> None:
        """Wait until what was started for a player has come to rest."""
        deadline = time.monotonic() + _QUIET_S
        used_s = sum(family.cpu_s().values())
        while time.monotonic() < deadline and not self._ended.wait(_LOOKED_S):
            before_s, used_s = used_s, sum(family.cpu_s().values())
            if used_s - before_s < _QUIET * _LOOKED_S:
                return

    def _moves(self, players: tuple[_Player, _Player], sfen: str) -> Outcome:
        def think(mover: int, moves: tuple[str, ...]) -> Choice:
            player, other = players[mover], players[1 - mover]
            self._last_id += 1
            if other.ponders:
                other.side.ponder(SearchRequest(self._last_id, sfen, moves))
            limited = SearchRequest(self._last_id, sfen, moves, player.ms, player.ms + _LATE_MS)
            decision = _ask(player, limited, other)
            return Choice(decision.move, decision.score)

        adjudicator = Adjudicator(self._settings.resign_cp, self._settings.resign_moves)
        try:
            return play_game(sfen, think, adjudicator, self._settings.max_moves)
        finally:
            for player in players:
                if player.ponders:
                    player.side.rest()


def _ask(player: _Player, request: SearchRequest, other: _Player) -> Decision:
    """One move. Raises VoidGame: a process of the player has died since its last move."""
    assert request.soft_ms is not None
    began = time.monotonic()
    found = player.side.search(request)
    used_ms = (time.monotonic() - began) * 1000
    if found.lost:
        raise VoidGame(f"{player.name}: {'; '.join(found.lost)}")
    decision, real, spent = found.decision, player.real, player.spent()
    assert decision is not None
    other.real.idle_s += sum(other.spent().values())
    real.starved += found.starved
    if decision.source == "forced":
        real.idle_s += sum(spent.values())
        return decision
    player.figures.add(SideFigures.of(decision, found.dealt))
    real.asked_ms += request.soft_ms
    real.used_ms += used_ms
    real.late_ms = max(real.late_ms, used_ms - request.soft_ms)
    real.without_nodes += not decision.is_of_nodes
    for kind in KINDS:
        name = f"{kind}_s"
        setattr(real, name, getattr(real, name) + spent[kind])
    return decision
