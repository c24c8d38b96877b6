"""The driver and its store: an interrupted analysis resumes at the same place."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.api import FleetError
from cluster.split.tree import TreeLine
from master.analysis.plan import Alternative, Evaluation, plan, searches
from master.analysis.session import Pace, Session
from master.analysis.store import PositionStore
from tests.answers import make_decision
from tests.master.analysis.records import game
from tests.master.scripted import BrokenSearcher, ScriptedSearcher
from worker.engine import Bound
from worker.shogi import Position

GAME = game()
POSITIONS = searches(plan(GAME))


def run(searcher: ScriptedSearcher, path: Path, settings: str = "s", pace: Pace | None = None) -> list[bool]:
    """Search the game; returns for each position whether it was kept."""
    kept: list[bool] = []

    async def main() -> None:
        with PositionStore(path) as store:
            async with Session(searcher, [store], pace or Pace(nodes=100), lambda: settings) as session:
                results = await session.search(GAME, POSITIONS, lambda _, known: kept.append(known))
        assert list(results) == POSITIONS

    asyncio.run(main())
    return kept


def test_each_position_is_searched_with_its_history(tmp_path: Path) -> None:
    searcher = ScriptedSearcher()
    assert run(searcher, tmp_path / "new" / "p.db", pace=Pace(ms=700, multipv=3)) == [False] * 5
    assert [request.moves for request in searcher.requests] == POSITIONS
    first = searcher.requests[0]
    assert (first.sfen, first.nodes, first.soft_ms, first.hard_ms, first.multipv) == (
        GAME.start_sfen,
        None,
        700,
        700,
        3,
    )
    assert searcher.games == 1


def test_nothing_is_searched_twice_and_other_settings_find_nothing(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    run(ScriptedSearcher(), path)
    again = ScriptedSearcher()
    assert run(again, path) == [True] * 5
    assert (again.requests, again.games) == ([], 0)
    assert run(ScriptedSearcher(), path, "other") == [False] * 5
    assert run(ScriptedSearcher(), path) == [True] * 5, "the first settings' results are still there"


def test_a_run_that_broke_off_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "p.db"

    def breaks(position: Position) -> tuple[str, int | None]:
        return "resign", None if position.move_number == 3 else 5

    with pytest.raises(FleetError, match="no score after 2 moves"):
        run(ScriptedSearcher(breaks), path)
    assert run(ScriptedSearcher(), path) == [True, True, False, False, False]


async def test_a_bound_is_kept_as_a_bound(tmp_path: Path) -> None:
    """A search that its limit stopped within a fail-low knows only a bound."""
    searcher = ScriptedSearcher(None)

    with PositionStore(tmp_path / "p.db") as store:
        async with Session(searcher, [store], Pace(nodes=100, multipv=2), lambda: "s") as session:
            searching = asyncio.ensure_future(session.search(GAME, [()], lambda *_: None))
            await asyncio.sleep(0)
            lines = (TreeLine(9, -20, Bound.UPPER, ("7g7f", "3c3d")), TreeLine(8, -30, Bound.EXACT, ("2g2f",)))
            searcher.decide(replace(make_decision(1, "7g7f", -20, 9, ("7g7f",), 100, 1, "vote"), lines=lines))
            found = (await searching)[()]
    assert (found.score, found.bound, [line.bound for line in found.alternatives]) == (
        -20, Bound.UPPER, [Bound.UPPER, Bound.EXACT],
    )  # fmt: skip
    with PositionStore(store.path) as again:
        assert again.get("s", GAME.start_sfen, ()) == found


async def test_a_second_search_has_several_times_the_effort_and_a_key_of_its_own(tmp_path: Path) -> None:
    searcher = ScriptedSearcher()

    async def main(pace: Pace) -> None:
        with PositionStore(tmp_path / "p.db") as store:
            async with Session(searcher, [store], pace, lambda: str(pace)) as session:
                for times in (1, 5):
                    await session.search(GAME, [()], lambda *_: None, times)

    await main(Pace(nodes=100))
    assert [request.nodes for request in searcher.requests] == [100, 500]
    searcher.requests.clear()
    await main(Pace(ms=70))
    assert [(request.soft_ms, request.hard_ms) for request in searcher.requests] == [(70, 70), (350, 350)]


def test_a_fleet_that_does_not_start_is_said(tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="no fleet"):
        run(BrokenSearcher(), tmp_path / "p.db")


async def test_another_analysiss_results_are_used_by_position(tmp_path: Path) -> None:
    """In another folder, and by a transposition of the first two moves of a side."""

    async def search(name: str, moves: list[tuple[str, ...]], settings: str = "s") -> int:
        searcher = ScriptedSearcher()
        of_all = PositionStore(tmp_path / "data" / "positions.db", histories=False)
        with PositionStore(tmp_path / name / "p.db") as own, of_all as shared:
            async with Session(searcher, [own, shared], Pace(nodes=100), lambda: settings) as session:
                await session.search(GAME, moves, lambda _found, _kept: None)
        return len(searcher.requests)

    one, other = ("7g7f", "3c3d", "2g2f"), ("2g2f", "3c3d", "7g7f")
    assert await search("a", [one]) == 1
    assert await search("b", [other]) == 0
    assert await search("c", [other], "other settings") == 1
    assert await search("d", [(*other, "8c8d")]) == 1


def test_a_stored_position_keeps_everything_and_a_damaged_one_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "positions.db"
    lines = (Alternative(-20, 9, ("7g7f", "3c3d"), Bound.UPPER), Alternative(-30, 8, ("2g2f",)))
    found = Evaluation(-20, "7g7f", ("7g7f", "3c3d"), 9, 100, 7, lines, Bound.UPPER)
    position = ("s", GAME.start_sfen, ())
    with PositionStore(path) as store:
        store.add(*position, found)
        assert store.get(*position) == found
    with sqlite3.connect(path) as base:
        base.execute("UPDATE positions SET found = substr(found, 1, 20)")
    with PositionStore(path) as store:
        assert store.get(*position) is None


def test_a_file_that_is_no_store_is_named(tmp_path: Path) -> None:
    path = tmp_path / "positions.db"
    path.write_text("something else, and long enough to be no database" * 20)
    with pytest.raises(OSError, match=f"{path}: file is not a database"), PositionStore(path):
        pass
