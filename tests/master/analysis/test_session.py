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
from master.analysis.session import Pace, Session, Store, store_key
from master.analysis.shared import SharedPositions
from tests.answers import make_decision
from tests.master.analysis.records import game
from tests.master.scripted import BrokenSearcher, ScriptedSearcher
from worker.engine import Bound
from worker.score import MATE
from worker.shogi import Position

GAME = game()
POSITIONS = searches(plan(GAME))


def run(searcher: ScriptedSearcher, path: Path, settings: str = "s", pace: Pace | None = None) -> list[bool]:
    """Search the game; returns for each position whether it was kept."""
    store = Store(path)
    store.read()
    kept: list[bool] = []

    async def main() -> None:
        async with Session(searcher, store, pace or Pace(nodes=100), lambda: settings) as session:
            results = await session.search(GAME, POSITIONS, lambda _, known: kept.append(known))
            assert list(results) == POSITIONS

    asyncio.run(main())
    return kept


def test_each_position_is_searched_with_its_history(tmp_path: Path) -> None:
    searcher = ScriptedSearcher()
    assert run(searcher, tmp_path / "new" / "p.jsonl", pace=Pace(ms=700, multipv=3)) == [False] * 5
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
    path = tmp_path / "p.jsonl"
    run(ScriptedSearcher(), path)
    again = ScriptedSearcher()
    assert run(again, path) == [True] * 5
    assert (again.requests, again.games) == ([], 0)
    assert run(ScriptedSearcher(), path, "other") == [False] * 5
    assert run(ScriptedSearcher(), path) == [True] * 5, "the first settings' results are still there"


def test_a_run_that_broke_off_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"

    def breaks(position: Position) -> tuple[str, int | None]:
        return "resign", None if position.move_number == 3 else 5

    with pytest.raises(FleetError, match="no score after 2 moves"):
        run(ScriptedSearcher(breaks), path)
    assert run(ScriptedSearcher(), path) == [True, True, False, False, False]


def test_a_crash_in_the_middle_of_a_line_costs_that_line_only(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    run(ScriptedSearcher(), path)
    path.write_bytes(path.read_bytes()[:-20])
    assert Store(path).read() == 1
    assert run(ScriptedSearcher(), path) == [True] * 4 + [False]
    assert run(ScriptedSearcher(), path) == [True] * 5


def test_a_line_of_an_older_version_or_with_an_impossible_score_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    store = Store(path)
    store.add("one", Evaluation(MATE, "7g7f", ("7g7f",)))
    good = path.read_text()
    old = '{"key":"old","score":5,"best":"","pv":[],"depth":9,"nodes":1,"ms":1,"lines":[],"bound":3,"bounds":[]}\n'
    path.write_text(old + good + good.replace('"one"', '"two"').replace(str(MATE), str(MATE + 1)))
    again = Store(path)
    assert again.read() == 2
    assert [again.get(key) for key in ("one", "two", "old")] == [store.get("one"), None, None]


def test_a_bound_is_kept_as_a_bound(tmp_path: Path) -> None:
    """A search that its limit stopped within a fail-low knows only a bound."""
    searcher = ScriptedSearcher(None)
    store = Store(tmp_path / "p.jsonl")

    async def main() -> Evaluation:
        async with Session(searcher, store, Pace(nodes=100, multipv=2), lambda: "s") as session:
            searching = asyncio.ensure_future(session.search(GAME, [()], lambda *_: None))
            await asyncio.sleep(0)
            lines = (TreeLine(9, -20, Bound.UPPER, ("7g7f", "3c3d")), TreeLine(8, -30, Bound.EXACT, ("2g2f",)))
            searcher.decide(replace(make_decision(1, "7g7f", -20, 9, ("7g7f",), 100, 1, "vote"), lines=lines))
            return (await searching)[()]

    found = asyncio.run(main())
    assert (found.score, found.bound, [line.bound for line in found.alternatives]) == (
        -20, Bound.UPPER, [Bound.UPPER, Bound.EXACT],
    )  # fmt: skip
    again = Store(store.path)
    again.read()
    assert again.get(store_key(GAME.start_sfen, (), "s")) == found


def test_a_second_search_has_several_times_the_effort_and_a_key_of_its_own(tmp_path: Path) -> None:
    searcher = ScriptedSearcher()

    async def main(pace: Pace) -> None:
        async with Session(searcher, Store(tmp_path / "p.jsonl"), pace, lambda: "s") as session:
            for times in (1, 5):
                await session.search(GAME, [()], lambda *_: None, times)

    asyncio.run(main(Pace(nodes=100)))
    assert [request.nodes for request in searcher.requests] == [100, 500]
    searcher.requests.clear()
    asyncio.run(main(Pace(ms=70)))
    assert [(request.soft_ms, request.hard_ms) for request in searcher.requests] == [(70, 70), (350, 350)]


def test_a_fleet_that_does_not_start_is_said(tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="no fleet"):
        run(BrokenSearcher(), tmp_path / "p.jsonl")


def test_another_analysiss_results_are_used_by_position(tmp_path: Path) -> None:
    """In another folder, and by a transposition of the first two moves of a side."""

    async def search(name: str, moves: list[tuple[str, ...]], settings: str = "s") -> int:
        searcher = ScriptedSearcher()
        with SharedPositions(tmp_path / "data" / "positions.db") as shared:
            store = Store(tmp_path / name / "p.jsonl")
            async with Session(searcher, store, Pace(nodes=100), lambda: settings, shared=shared) as session:
                await session.search(GAME, moves, lambda _found, _kept: None)
        return len(searcher.requests)

    one, other = ("7g7f", "3c3d", "2g2f"), ("2g2f", "3c3d", "7g7f")
    assert asyncio.run(search("a", [one])) == 1
    assert asyncio.run(search("b", [other])) == 0
    assert asyncio.run(search("c", [other], "other settings")) == 1
    assert asyncio.run(search("d", [(*other, "8c8d")])) == 1


def test_a_shared_position_keeps_everything_and_a_damaged_one_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "positions.db"
    lines = (Alternative(-20, 9, ("7g7f", "3c3d"), Bound.UPPER), Alternative(-30, 8, ("2g2f",)))
    found = Evaluation(-20, "7g7f", ("7g7f", "3c3d"), 9, 100, 7, lines, Bound.UPPER)
    position = ("s", GAME.start_sfen, ())
    with SharedPositions(path) as shared:
        shared.add(*position, found)
        assert shared.get(*position) == found
    with sqlite3.connect(path) as base:
        base.execute("UPDATE positions SET found = substr(found, 1, 20)")
    with SharedPositions(path) as shared:
        assert shared.get(*position) is None


def test_a_file_that_is_no_store_is_named(tmp_path: Path) -> None:
    path = tmp_path / "positions.db"
    path.write_text("something else, and long enough to be no database" * 20)
    with pytest.raises(OSError, match=f"{path}: file is not a database"), SharedPositions(path):
        pass
