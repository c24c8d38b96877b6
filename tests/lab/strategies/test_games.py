"""One game, and many over processes, with engines that are quick and deterministic."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.engine_spec import EngineSpec
from cluster.machine.side_by_side import side_by_side
from lab.strategies.games import Arena, MakeNode, NodeMaker, NodePool, Task, virtual_workplaces
from lab.strategies.records import GameResult
from lab.strategies.settings import LabError, LabSettings, Plan, Point, ScheduledGame
from lab.strategies.virtual import VirtualNode
from tests.cluster.engines import HashEngine, broken_engine
from worker.engine import EngineError, InfoCallback, Limits, SearchResult
from worker.shogi import STARTPOS, Position

SETTINGS = LabSettings(2500, max_moves=24)
QUICK = LabSettings(2500, max_moves=6)
MATED_SOON = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"


def tasks(games: int = 4) -> list[Task]:
    plan = Plan(("split", "consult"), (1, 3), games)
    sfens = [STARTPOS, STARTPOS.replace(" b ", " w ")]
    return [(game, sfens[game.pair % 2]) for game in plan.left([])]


def play(settings: LabSettings, make_node: MakeNode, games: list[Task], processes: int) -> list[GameResult]:
    return list(side_by_side(virtual_workplaces(settings, make_node, processes), games))


class TestArena:
    def test_a_game_depends_on_nothing_that_was_played_before(self) -> None:
        arena = Arena(QUICK, hash_node)
        found = [arena.play(game, sfen) for game, sfen in tasks()]
        again = [arena.play(game, sfen) for game, sfen in reversed(tasks())]
        assert found == again[::-1]
        assert found == [Arena(QUICK, hash_node).play(game, sfen) for game, sfen in tasks()]

    def test_budgets_and_figures(self) -> None:
        game = Arena(replace(SETTINGS, against="2x"), hash_node).play(ScheduledGame(Point("split", 3), 1), STARTPOS)
        assert not game.game.a_is_black
        assert (game.end, game.points, len(game.moves)) == ("move limit", 0.5, 24)
        assert (game.a.moves, game.b.moves) == (12, 12)
        assert 12 * 3 * 2000 < game.a.nodes <= 12 * 3 * 2500
        assert 12 * 4000 < game.b.nodes <= 12 * 5000
        assert 0 < game.a.wasted < game.a.nodes / 10
        assert (game.a.votes, game.b.votes, game.b.wasted) == (0, 0, 0)
        vote = Arena(SETTINGS, hash_node).play(ScheduledGame(Point("consult", 3), 0), STARTPOS)
        assert (vote.a.votes, vote.a.agreement) == (12, 12.0)

    def test_the_moves_are_legal_and_colours_are_swapped(self) -> None:
        arena = Arena(replace(SETTINGS, against="consult@2"), hash_node)
        for number in (0, 1):
            game = arena.play(ScheduledGame(Point("split", 3), number), STARTPOS)
            position = Position.startpos()
            position.push_all(game.moves)
            first = game.a if game.game.a_is_black else game.b
            assert first.moves == 12

    def test_a_node_that_fails_in_each_split_has_its_leaf_dealt_again(self) -> None:
        class Failing(HashEngine):
            def go(self, limits: Limits, on_info: InfoCallback | None = None) -> SearchResult:
                if limits.searchmoves:
                    raise EngineError("no such move")
                return super().go(limits, on_info)

        engines = [Failing(), HashEngine(), HashEngine(), HashEngine()]
        nodes = iter([VirtualNode(f"n{number}", engine) for number, engine in enumerate(engines)])
        point = Point("split+root_share=0+redeal.last=0", 3)
        game = Arena(QUICK, lambda *_: next(nodes)).play(ScheduledGame(point, 0), STARTPOS)
        assert (game.a.moves, game.a.redeals, game.b.redeals) == (3, 3, 0)

    def test_engines_are_made_when_needed_and_kept_by_side(self) -> None:
        made: list[int] = []

        def make(number: int) -> VirtualNode:
            made.append(number)
            return hash_node(number)

        pool = NodePool(make)
        first = pool.nodes("a", 3, 1000)
        assert [node.nps for node in first] == [1000, 1000, 1000]
        second = pool.nodes("b", 2, 500)
        assert [node.engine for node in pool.nodes("a", 4, 1000)][:3] == [node.engine for node in first]
        assert [node.engine for node in pool.nodes("b", 1, 500)] == [second[0].engine]
        assert made == [0, 1, 2, 0, 1, 3]

    def test_ends(self) -> None:
        def ahead(move: str, _depth: int) -> int:
            return {"G*5b": 5000}.get(move, -3000)

        arena = Arena(SETTINGS, lambda *_: VirtualNode("n1", HashEngine(score=ahead)))
        game = arena.play(ScheduledGame(Point("split", 1), 0), MATED_SOON)
        assert (game.end, game.points, game.moves) == ("mate", 1.0, ("G*5b",))
        game = arena.play(ScheduledGame(Point("split", 1), 1), MATED_SOON)
        assert (game.end, game.points) == ("mate", 0.0)

    @pytest.mark.usefixtures("warm")
    def test_a_pondering_side_searches_on_the_opponents_time(self) -> None:
        settings = LabSettings(400, max_moves=14)
        arena = Arena(settings, NodeMaker(EngineSpec(hash_mb=1)))
        game = ScheduledGame(Point("consult+ponder=1", 2), 1)
        found = arena.play(game, STARTPOS)
        assert len(found.moves) == 14
        assert all(5 <= side.moves <= 7 for side in (found.a, found.b)), "with only one legal move there is no search"
        assert 0 < found.a.hits <= 7
        assert found.b.hits == 0
        assert arena.play(game, STARTPOS) == found
        assert arena.play(ScheduledGame(Point("consult", 2), 1), STARTPOS).a.hits == 0


class TestProcesses:
    def test_the_games_are_the_same_for_any_number_of_processes(self) -> None:
        def key(record: GameResult) -> tuple[Point, int]:
            return record.game.point, record.game.number

        arena = Arena(QUICK, hash_node)
        alone = sorted((arena.play(game, sfen) for game, sfen in tasks()), key=key)
        assert alone == sorted(play(QUICK, hash_node, tasks(), 2), key=key)

    def test_an_engine_that_cannot_be_made(self) -> None:
        with pytest.raises(LabError, match=r"split, 1 node, game 0: EngineError: no such net: x\.bin"):
            play(SETTINGS, broken_engine, tasks(), 1)


def hash_node(number: int) -> VirtualNode:
    """For other processes, which import their engine by name."""
    return VirtualNode(f"n{number + 1}", HashEngine())
