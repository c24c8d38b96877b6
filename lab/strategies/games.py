"""One game between two virtual fleets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from cluster.api import Decision, SearchRequest
from cluster.coordination.strategies import SINGLE, Strategy, strategy
from lab.match.adjudication import Adjudicator
from lab.match.game import Choice, play_game
from lab.strategies.engines import EnginePool, MakeEngine
from lab.strategies.records import GameRecord, SideFigures
from lab.strategies.schedule import Game
from lab.strategies.settings import LabSettings
from lab.strategies.virtual.driver import VirtualFleet
from lab.strategies.virtual.node import VirtualNode

SEARCH_MS: Final = 1000
"""Virtual time of a search."""


@dataclass(slots=True)
class Side:
    """A fleet, its budget in nodes a move of each node, and what it did."""

    fleet: VirtualFleet
    budget: int
    ponders: bool = False
    figures: SideFigures = field(default_factory=SideFigures)

    def move(self, number: int, sfen: str, moves: tuple[str, ...]) -> Decision:
        """Search the position after ``moves``; ``number`` rises from turn to turn.

        Who ponders searches for as long as its nodes take for the budget: a limit of nodes would count what was
        pondered.
        """
        limited = SearchRequest(number, sfen, moves, nodes=self.budget)
        if self.ponders:
            limited = SearchRequest(number, sfen, moves, soft_ms=SEARCH_MS, hard_ms=2 * SEARCH_MS)
        decision = self.fleet.search(limited)
        if decision.source != "forced":
            dealt = [str(event.fields["why"]) for _, event in self.fleet.log if event.name == "dealt"]
            self.figures.add(SideFigures.of(decision, dealt))
        return decision

    def ponder(self, number: int, sfen: str, moves: tuple[str, ...], for_ms: int) -> None:
        """Ponder as this side did while the opponent searched the position after ``moves``."""
        if self.ponders:
            self.fleet.ponder(SearchRequest(number, sfen, moves), for_ms)


class Arena:
    """Plays games one after the other; its engines, made when they are first needed, serve all of them."""

    def __init__(self, settings: LabSettings, make_engine: MakeEngine) -> None:
        self._settings = settings
        self._pool = EnginePool(make_engine)

    def play(self, game: Game, sfen: str) -> GameRecord:
        """Play ``game`` from the opening ``sfen``. Depends on nothing that was played before."""
        settings, point, opponent = self._settings, game.point, self._settings.opponent
        theirs = strategy(opponent.strategy) if opponent.strategy else SINGLE
        a = self._side("a", point.nodes, settings.budget, strategy(point.strategy))
        b = self._side("b", opponent.fleet(point.nodes), settings.opponent_budget, theirs)
        players = (a, b) if game.a_is_black else (b, a)
        try:
            winner, end, moves = self._moves(players, sfen)
        finally:
            a.fleet.rest()
            b.fleet.rest()
        points = 0.5 if winner is None else float(players[winner] is a)
        a.figures.agreement, b.figures.agreement = (round(side.figures.agreement, 6) for side in (a, b))
        return GameRecord(game, points, end, moves, a.figures, b.figures)

    def _side(self, name: str, count: int, budget: int, how: Strategy) -> Side:
        """A fleet whose engines forget what they knew; its searches take `SEARCH_MS`."""
        engines = self._pool.engines(name, how.variety, count)
        nps = budget * 1000 // SEARCH_MS
        nodes = [VirtualNode(f"n{number}", engine, nps) for number, engine in enumerate(engines, start=1)]
        fleet = VirtualFleet(nodes, how.settings, how.share_depth)
        fleet.new_game()
        return Side(fleet, budget, how.ponder)

    def _moves(self, players: tuple[Side, Side], sfen: str) -> tuple[int | None, str, tuple[str, ...]]:
        """The winner's colour (None: a draw), how the game ended, and its moves."""
        decision: Decision | None = None

        def think(mover: int, moves: tuple[str, ...]) -> Choice:
            nonlocal decision
            if decision is not None:
                players[mover].ponder(len(moves), sfen, moves[:-1], decision.elapsed_ms)
            decision = players[mover].move(len(moves) + 1, sfen, moves)
            return Choice(decision.move, decision.score)

        adjudicator = Adjudicator(self._settings.resign_cp, self._settings.resign_moves)
        outcome = play_game(sfen, think, adjudicator, self._settings.max_moves)
        return outcome.winner, outcome.end, outcome.moves
