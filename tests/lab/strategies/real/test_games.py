"""Games in real time with players that are no processes: what is asked of them, and games that are void."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.api import FleetError
from cluster.engine_spec import EngineSpec
from cluster.machine.side_by_side import side_by_side
from lab.strategies.real.cores import Seating
from lab.strategies.real.games import RealWorkplace
from lab.strategies.real.side import SideLost
from lab.strategies.schedule import Game, Plan, Point
from lab.strategies.settings import LabError, LabSettings
from tests.lab.strategies.real.games import FakeSides
from worker.shogi import STARTPOS

SETTINGS = LabSettings(ms=20, max_moves=6)
TWO = Point("consult:majority", 2)
PONDERS = Point("consult:majority+ponder=1", 2)


class Lab:
    """A workplace with its players, and what was told."""

    def __init__(self, sides: FakeSides, settings: LabSettings = SETTINGS, *points: Point) -> None:
        self.sides = sides
        self.told: list[str] = []
        seating = Seating(tuple(range(8)), 1, points or (TWO,), settings.opponent)
        self.workplace = RealWorkplace(settings, EngineSpec(), seating, 0, self.told.append, sides)


@pytest.fixture(autouse=True)
def _no_settling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.strategies.real.games._QUIET_S", 0.0)


def test_a_game_and_its_figures() -> None:
    sides = FakeSides()
    game = Lab(sides).workplace.do((Game(TWO, 1), STARTPOS))
    a, b = sides.opened
    assert (game.end, game.points, len(game.moves)) == ("move limit", 0.5, 6)
    assert (a.spec.nodes, a.spec.cores, a.spec.strategy.name) == (2, (0, 1), "consult:majority")
    assert (b.spec.nodes, b.spec.cores, b.spec.strategy.name) == (0, (0, 1), "single")
    assert (game.a.moves, game.a.nodes, game.a.votes, game.b.nodes, game.b.votes) == (3, 600, 3, 300, 0)
    assert game.real is not None
    assert (game.real.a.asked_ms, game.real.b.asked_ms, game.real.voids) == (60, 60, 0)
    assert 0 < game.real.a.used_ms < 60_000
    assert (game.real.cores, game.real.cores_b) == ((0, 1), (0, 1))
    assert a.orders == ["new game", "search", "search", "search"], "who does not ponder is left alone"


def test_the_opponent_has_so_many_times_the_time() -> None:
    game = Lab(FakeSides(), replace(SETTINGS, against="4x")).workplace.do((Game(TWO, 0), STARTPOS))
    assert game.real is not None
    assert (game.real.a.asked_ms, game.real.b.asked_ms) == (60, 240)


def test_the_opponent_has_so_many_threads_on_as_many_cores() -> None:
    sides = FakeSides()
    Lab(sides, replace(SETTINGS, against="4t")).workplace.do((Game(TWO, 0), STARTPOS))
    a, b = sides.opened
    assert (a.spec.engine.threads, b.spec.engine.threads) == (1, 4)
    assert (a.spec.cores, b.spec.cores) == ((0, 1, 2, 3), (0, 1, 2, 3))


def test_players_stay_from_game_to_game_and_request_ids_rise() -> None:
    sides = FakeSides()
    lab = Lab(sides, SETTINGS, TWO, Point("split", 4))
    lab.workplace.do((Game(TWO, 0), STARTPOS))
    lab.workplace.do((Game(TWO, 1), STARTPOS))
    assert len(sides.opened) == 2
    lab.workplace.do((Game(Point("split", 4), 0), STARTPOS))
    a, b, other, b_on_more = sides.opened
    assert (a.closed, b.closed, other.closed) == (True, True, False)
    assert b_on_more.spec.cores == (0, 1, 2, 3)
    assert all(side.ids == sorted(set(side.ids)) for side in sides.opened)
    lab.workplace.close()
    assert all(side.closed for side in sides.opened)


def test_who_ponders_does_so_while_the_other_searches_and_rests_after_the_game() -> None:
    sides = FakeSides()
    Lab(sides, SETTINGS, PONDERS).workplace.do((Game(PONDERS, 0), STARTPOS))
    a, b = sides.opened
    assert a.orders == ["new game", *["search", "ponder"] * 3, "rest"]
    assert "ponder" not in b.orders
    assert not set(a.spec.cores) & set(b.spec.cores)


def test_a_game_in_which_a_node_died_is_void_and_played_again() -> None:
    sides = FakeSides(["", "node lost (node node-1)"])
    lab = Lab(sides)
    game = lab.workplace.do((Game(TWO, 0), STARTPOS))
    assert lab.told == [
        "consult:majority, 2 nodes, game 0 is void and played again: A: node lost (node node-1)",
    ]
    assert game.real is not None
    assert (game.real.voids, game.a.moves, len(game.moves)) == (1, 3, 6)
    assert len(sides.opened) == 2, "the fleet makes its nodes anew itself"
    assert sides.opened[0].orders.count("new game") == 2


def test_a_player_whose_process_died_is_started_again() -> None:
    sides = FakeSides([], [SideLost("the player's process died (-9)")])
    lab = Lab(sides)
    game = lab.workplace.do((Game(TWO, 0), STARTPOS))
    assert "the player's process died (-9)" in lab.told[0]
    assert game.real is not None
    assert game.real.voids == 1
    assert [side.closed for side in sides.opened] == [True, True, False, False]


def test_a_game_that_is_void_again_and_again_ends_the_laboratory() -> None:
    lab = Lab(FakeSides(["node lost"] * 3))
    with pytest.raises(LabError, match="game 0: void 3 times in a row, now because A: node lost"):
        lab.workplace.do((Game(TWO, 0), STARTPOS))


def places(seating: Seating, sides: FakeSides) -> list[RealWorkplace]:
    return [
        RealWorkplace(SETTINGS, EngineSpec(), seating, slot, lambda _: None, sides) for slot in range(seating.slots)
    ]


class TestSlots:
    def play(self, sides: FakeSides, slots: int, games: int = 8) -> list[tuple[Game, tuple[int, ...]]]:
        plan = Plan(("consult",), (2,), games)
        seating = Seating(tuple(range(8)), slots, plan.points, SETTINGS.opponent)
        tasks = [(game, STARTPOS) for game in plan.left([])]
        found = list(side_by_side(places(seating, sides), tasks))
        assert all(side.closed for side in sides.opened)
        return [(record.game, record.real.cores) for record in found if record.real is not None]

    def test_games_side_by_side_each_on_its_cores(self) -> None:
        sides = FakeSides()
        found = self.play(sides, 3)
        assert sorted(game.number for game, _ in found) == list(range(8))
        assert {side.spec.cores for side in sides.opened} == {(0, 1), (2, 3), (4, 5)}

    def test_what_goes_wrong_ends_all(self) -> None:
        sides = FakeSides([], [], [FleetError("no such net")])
        with pytest.raises(LabError, match=r"consult:majority, 2 nodes, game \d: no such net"):
            self.play(sides, 2, 40)
        assert all(side.closed for side in sides.opened)

    def test_closing_it_ends_the_games_in_progress(self) -> None:
        sides = FakeSides()
        plan = Plan(("consult",), (2,), 1000)
        seating = Seating((0, 1), 1, plan.points, SETTINGS.opponent)
        tasks = [(game, STARTPOS) for game in plan.left([])]
        playing = side_by_side(places(seating, sides), tasks)
        assert next(playing).game.number == 0
        playing.close()
        assert all(side.closed for side in sides.opened)
        assert sides.opened[0].orders.count("new game") < 1000
