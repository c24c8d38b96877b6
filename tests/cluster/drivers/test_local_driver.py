"""The local driver: real threads, a real loop, a real clock."""

from __future__ import annotations

import asyncio
import time

import pytest

from cluster.api import FleetError, SearchRequest
from cluster.coordination.settings import Settings
from cluster.drivers.local_driver import LocalSearcher
from tests.cluster.engines import DeafEngine, HashEngine
from tests.cluster.heard import Heard
from worker.engine import EngineError
from worker.score import mate_in
from worker.search.engine import NumbaEngine
from worker.shogi import STARTPOS, Position

pytestmark = pytest.mark.usefixtures("warm")


async def opened(engine: HashEngine) -> tuple[LocalSearcher, Heard]:
    searcher, heard = LocalSearcher(lambda: engine, Settings(validate=True)), Heard()
    await searcher.open(heard.listener())
    return searcher, heard


async def test_search_by_time_ends_at_the_soft_time() -> None:
    searcher, heard = await opened(HashEngine(pace_s=0.005))
    began = time.monotonic()
    searcher.start(SearchRequest(1, STARTPOS, ("7g7f",), soft_ms=200, hard_ms=30_000))
    decision = await heard.decision()
    assert 0.19 <= time.monotonic() - began < 20
    assert decision.source == "vote"
    assert decision.depth > 5
    assert decision.pv[0] == decision.move
    assert heard.progress
    assert heard.progress[-1].fleet[0].node_id == "local"
    await searcher.close()


async def test_searches_follow_one_another_and_a_new_game_is_passed_on() -> None:
    engine = HashEngine()
    searcher, heard = await opened(engine)
    await searcher.new_game()
    for number in range(1, 6):
        searcher.start(SearchRequest(number, STARTPOS, nodes=3000))
        decision = await heard.decision(number)
        assert (decision.search_id, decision.nodes) == (number, 3000)
    assert engine.games == 1
    assert len({decision.move for decision in heard.decisions}) == 1
    await searcher.close()
    assert engine.closed


async def test_stop_brings_the_decision_at_once() -> None:
    searcher, heard = await opened(HashEngine(pace_s=0.005))
    searcher.start(SearchRequest(1, STARTPOS))
    await asyncio.sleep(0.1)
    assert not heard.decisions
    searcher.stop(7)
    assert not heard.decisions
    searcher.stop(1)
    assert len(heard.decisions) == 1
    searcher.stop(1)
    await asyncio.sleep(0.05)
    assert len(heard.decisions) == 1
    await searcher.close()


async def test_an_engine_that_says_nothing_cannot_delay_the_move() -> None:
    searcher, heard = await opened(DeafEngine())
    searcher.start(SearchRequest(1, STARTPOS, soft_ms=50, hard_ms=200))
    decision = await heard.decision()
    assert decision.source == "none"
    Position.startpos().parse_usi(decision.move)
    await searcher.close()


async def test_wrong_use_is_refused() -> None:
    searcher, heard = LocalSearcher(HashEngine), Heard()
    with pytest.raises(FleetError, match="not open"):
        searcher.start(SearchRequest(1, STARTPOS, nodes=100))
    await searcher.open(heard.listener())
    with pytest.raises(FleetError, match="open already"):
        await searcher.open(heard.listener())
    with pytest.raises(ValueError, match="7g7e"):
        searcher.start(SearchRequest(1, STARTPOS, ("7g7e",), nodes=100))
    searcher.start(SearchRequest(1, STARTPOS, nodes=100))
    await heard.decision()
    await searcher.close()
    await searcher.close()


async def test_an_engine_that_cannot_be_made_says_why() -> None:
    def broken() -> HashEngine:
        raise EngineError("no such net: x.bin")

    with pytest.raises(FleetError, match=r"no such net: x\.bin"):
        await LocalSearcher(broken).open(Heard().listener())


async def test_close_in_the_middle_of_a_search() -> None:
    searcher, heard = await opened(HashEngine(pace_s=0.005))
    searcher.start(SearchRequest(1, STARTPOS))
    await asyncio.sleep(0.02)
    await searcher.close()
    assert not heard.decisions


async def test_a_ponder_hit_keeps_the_search() -> None:
    engine = HashEngine(pace_s=0.005, max_depth=10_000)
    searcher, heard = await opened(engine)
    searcher.start(SearchRequest(1, STARTPOS, soft_ms=50, hard_ms=5000))
    ours = await heard.decision()
    assert len(ours.pv) > 1
    searcher.ponder(SearchRequest(2, STARTPOS, ours.pv[:1]))
    ask = SearchRequest(3, STARTPOS, ours.pv[:2], soft_ms=20, hard_ms=5000)
    reply = ours.pv[1]
    await heard.until(
        lambda: any(reply in found.replies and found.replies[reply].depth >= 20 for found in heard.pondered)
    )
    known = heard.pondered[-1].replies[reply]
    assert len(heard.decisions) == 1
    jobs = list(engine.jobs)
    searcher.start(ask)
    hit = await heard.decision(2)
    assert engine.jobs == jobs, "the node was given another job"
    assert hit.search_id == 3
    assert hit.depth >= known.depth
    assert hit.nodes >= known.nodes
    assert hit.pondered_ms >= known.pondered_ms > 0
    searcher.ponder(SearchRequest(4, STARTPOS, ours.pv[:1]))
    searcher.start(SearchRequest(5, STARTPOS, (ours.pv[0], "9c9d"), nodes=3000))
    miss = await heard.decision(3)
    assert (miss.nodes, miss.pondered_ms) == (3000, 0)
    searcher.ponder(SearchRequest(6, STARTPOS, ours.pv[:1]))
    assert searcher._host.coordinator.pondering
    searcher.stop(6)
    assert not searcher._host.coordinator.pondering
    assert len(heard.decisions) == 3
    await searcher.close()


async def test_a_job_without_a_limit_that_has_searched_all_there_is_is_done() -> None:
    """An analysis of a mate: no node searches on, none is asked again, and the answer comes with the stop."""
    mate_in_one = "8k/9/6G1P/9/9/9/9/9/4K4 b G2r2b2g4s4n4l17p 1"
    searcher, heard = LocalSearcher(lambda: NumbaEngine(hash_mb=4), Settings(validate=True)), Heard()
    await searcher.open(heard.listener())
    searcher.start(SearchRequest(1, mate_in_one))
    await heard.until(lambda: bool(heard.progress) and heard.progress[-1].fleet[0].job == "idle", 60)
    nodes = heard.progress[-1].nodes
    assert not heard.decisions
    searcher.stop(1)
    decision = await heard.decision()
    assert (decision.score, decision.nodes) == (mate_in(1), nodes)
    await searcher.close()
