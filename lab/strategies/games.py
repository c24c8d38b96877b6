"""Games between virtual fleets: one at a time in each of several processes.

A game does not depend on its process or on earlier games, so the results are the same for any number of processes; only
the order in which they arrive differs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from cluster.api import Decision, SearchRequest
from cluster.engine_spec import EngineSpec, FleetSpec, Networks
from cluster.machine.side_by_side import ProcessWorkplace
from lab.match.game import Adjudicator, Choice, play_game
from lab.strategies.records import FleetFigures, GameResult
from lab.strategies.settings import LabError, LabSettings, ScheduledGame
from lab.strategies.strategy import SINGLE, Strategy, strategy
from lab.strategies.virtual import VirtualFleet, VirtualNode

MakeNode = Callable[[int], VirtualNode]
"""Makes the virtual node with a number, from 0 on, of any speed. Its engine gives the same answers after every
`new_game`. It is sent to other processes, so it must be picklable."""

SEARCH_MS: Final = 1000
"""Virtual time of a search."""


class NodeMaker:
    """`MakeNode` for our own searcher; engines of one process share the network."""

    def __init__(self, kind: EngineSpec) -> None:
        self._fleet = FleetSpec((kind,))
        self._networks = Networks()

    def __call__(self, number: int) -> VirtualNode:
        """Make it. Raises EngineError."""
        kind = self._fleet.spec_of(number)
        assert isinstance(kind, EngineSpec)
        engine = kind.build(self._networks)
        engine.name = self._fleet.name_of(number)
        return VirtualNode(f"n{number + 1}", engine)


class NodePool:
    """The nodes of both sides of a game, made on first use."""

    def __init__(self, make_node: MakeNode) -> None:
        self._make_node = make_node
        self._kept: defaultdict[str, list[VirtualNode]] = defaultdict(list)
        """By side."""

    def nodes(self, side: str, count: int, budget: int) -> Sequence[VirtualNode]:
        """Nodes 0 to ``count`` - 1 of ``side``, their engines in the state after earlier games.

        Args:
            budget: nodes in a search of `SEARCH_MS`.
        """
        own = self._kept[side]
        own += [self._make_node(number) for number in range(len(own), count)]
        return [replace(node, nps=budget * 1000 // SEARCH_MS) for node in own[:count]]


@dataclass(slots=True)
class Side:
    """A fleet, its budget in nodes per move of each node, and its statistics."""

    fleet: VirtualFleet
    budget: int
    ponders: bool = False
    """Whether it searches on the opponent's time. Its own searches then take `SEARCH_MS`, in which its nodes search the
    budget: a node limit would include pondered nodes."""
    figures: FleetFigures = field(default_factory=FleetFigures)

    def move(self, number: int, sfen: str, moves: tuple[str, ...]) -> Decision:
        """Search the position after ``moves``; ``number`` rises from turn to turn."""
        limited = SearchRequest(number, sfen, moves, nodes=self.budget)
        if self.ponders:
            limited = SearchRequest(number, sfen, moves, soft_ms=SEARCH_MS, hard_ms=2 * SEARCH_MS)
        decision = self.fleet.search(limited)
        if decision.source != "forced":
            dealt = [str(event.fields["why"]) for _, event in self.fleet.log if event.name == "dealt"]
            self.figures.add(FleetFigures.of(decision, dealt))
        return decision

    def ponder(self, number: int, sfen: str, moves: tuple[str, ...], for_ms: int) -> None:
        """Ponder as this side did while the opponent searched the position after ``moves``."""
        if self.ponders:
            self.fleet.ponder(SearchRequest(number, sfen, moves), for_ms)


class Arena:
    """Plays games one after another with the same engines, which are created on first use."""

    def __init__(self, settings: LabSettings, make_node: MakeNode) -> None:
        self._settings = settings
        self._pool = NodePool(make_node)

    def play(self, game: ScheduledGame, sfen: str) -> GameResult:
        """Play ``game`` from the opening ``sfen``. Does not depend on earlier games."""
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
        return GameResult(game, points, end, moves, a.figures, b.figures)

    def _side(self, name: str, count: int, budget: int, how: Strategy) -> Side:
        """A fleet whose engines are reset."""
        fleet = VirtualFleet.of(self._pool.nodes(name, count, budget), how)
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


Task = tuple[ScheduledGame, str]
"""A game and the SFEN of its opening."""


def virtual_workplaces(
    settings: LabSettings, make_node: MakeNode, count: int
) -> list[ProcessWorkplace[Task, GameResult]]:
    """Processes that play, as workplaces of `cluster.machine.side_by_side`. A game that cannot be played: LabError."""

    def refused(task: Task, error: Exception) -> LabError:
        return LabError(f"{task[0]}: {error}")

    return [ProcessWorkplace(partial(_play, Arena(settings, make_node)), refused) for _ in range(count)]


def _play(arena: Arena, _tell: object, task: Task) -> GameResult:
    return arena.play(*task)
