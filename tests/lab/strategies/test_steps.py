"""A search that is driven by node counts gives the same result as a search in one go."""

from __future__ import annotations

import pytest

from lab.strategies.steps import Steps
from worker.engine import EngineError, Limits, SearchInfo
from worker.search import engine as engine_module
from worker.search.engine import NumbaEngine
from worker.shogi import STARTPOS

MOVES = ("7g7f", "3c3d", "2g2f")


def told(info: SearchInfo) -> tuple[object, ...]:
    return info.depth, info.score, info.nodes, info.pv


@pytest.mark.parametrize("step", [1, 137, 5000])
def test_the_same_lines_as_at_one_go(step: int) -> None:
    engine = NumbaEngine(8)
    whole: list[SearchInfo] = []
    engine.set_position(STARTPOS, MOVES)
    expected = engine.go(Limits(nodes=9000), whole.append)
    engine.new_game()
    engine.set_position(STARTPOS, MOVES)
    found: list[SearchInfo] = []
    search = Steps(engine, Limits(nodes=9000), found.append)
    at = 0
    while not search.run_to(at := at + step):
        assert engine.nodes >= at
        assert all(info.nodes <= engine.nodes for info in found)
    result = search.result()
    search.close()
    assert [told(info) for info in found] == [told(info) for info in whole]
    assert (result.bestmove, result.nodes) == (expected.bestmove, expected.nodes)


def test_it_runs_so_far_and_no_further() -> None:
    engine = NumbaEngine(8)
    engine.set_position(STARTPOS)
    search = Steps(engine, Limits(nodes=50_000))
    assert not search.run_to(1000)
    assert 1000 <= engine.nodes < 1100
    assert not search.run_to(20_000)
    assert 20_000 <= engine.nodes < 20_100
    search.close()


def test_closed_early_the_engine_is_as_before() -> None:
    engine = NumbaEngine(8)
    engine.set_position(STARTPOS)
    for nodes in (0, 1, 3000):
        search = Steps(engine, Limits(depth=60))
        search.run_to(nodes)
        search.close()
        search.close()
        engine.set_position(STARTPOS)
    assert engine.go(Limits(nodes=5000)).nodes >= 5000


def test_an_error_of_the_search_comes_out_of_the_step() -> None:
    engine = NumbaEngine(8)
    engine.set_position("4k4/9/9/9/9/9/9/9/4K4 b - 1")
    search = Steps(engine, Limits(nodes=100, searchmoves=("1a1b",)))
    with pytest.raises(EngineError):
        search.run_to(50)
    search.close()


def test_several_threads_cannot_be_driven() -> None:
    engine = NumbaEngine(8, threads=2)
    with pytest.raises(EngineError, match="threads"):
        Steps(engine, Limits(nodes=100))


def test_reports_do_not_depend_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = NumbaEngine(8)

    def reported() -> list[tuple[object, ...]]:
        found = list[SearchInfo]()
        engine.new_game()
        engine.set_position(STARTPOS, MOVES)
        search = Steps(engine, Limits(nodes=60_000), found.append)
        at = 0
        while not search.run_to(at := at + 10_000):
            pass
        return [(*told(info), info.bound) for info in found]

    first = reported()
    monkeypatch.setattr(engine_module, "_BOUNDS_FROM_MS", 0)
    assert reported() == first
