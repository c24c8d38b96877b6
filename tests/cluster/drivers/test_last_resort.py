"""The move that is played where neither node nor fallback has an answer: one that a search has chosen."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from cluster.api import Decision, PonderSearch, Progress, SearchRequest, StartSearch, StopSearch
from cluster.coordination.events import FALLBACK, AskLastResort, Event, Instruction, LastWord, NodeLost, Tick
from cluster.coordination.root import Root
from cluster.coordination.settings import Settings
from cluster.drivers import fallback as last_resort
from cluster.drivers.fallback import LAST_RESORT, LastResort
from cluster.drivers.local_driver import LocalSearcher
from cluster.network.messages import Job
from tests.cluster.coordination.bench import TIMED, Bench
from tests.cluster.engines import HashEngine
from tests.cluster.heard import Heard
from worker.engine import Bound, InfoCallback, Limits, SearchInfo, SearchResult
from worker.search.engine import NumbaEngine
from worker.shogi import STARTPOS, Position

ROOK_TO_TAKE = "4k4/9/9/4r4/9/9/4R4/9/3K5 b - 1"
"""The rook on 5d can be taken by the one on 5g, with check; the first legal move is another."""
TAKES = "5g5d"


def found(*pv: str, score: int = 77, depth: int = 3) -> SearchInfo:
    return SearchInfo(depth, depth, score, Bound.EXACT, 500, 1, 0, pv)


class Asked(Bench):
    """A coordinator with a last resort that answers at once, as a driver does. ``asked``: the jobs it was asked."""

    def __init__(self, answer: SearchInfo | None, nodes: int = 2, fallback: bool = False) -> None:
        super().__init__(nodes, fallback=fallback)
        self.asked: list[Job] = []
        self.answer = answer
        self.coordinator._has_last_resort = True

    def feed(self, event: Event, after: int = 0) -> list[Instruction]:
        out = super().feed(event, after)
        for instruction in out:
            if isinstance(instruction, AskLastResort):
                self.asked.append(instruction.job)
                self.feed(LastWord(instruction.job.search_id, self.answer))
        return out


class Waiting(Bench):
    """A coordinator that has asked its last resort, and waits for the answer."""

    def __init__(self) -> None:
        super().__init__(1)
        self.coordinator._has_last_resort = True
        self.feed(StartSearch(TIMED))
        self.tick(2990)
        [*others, asked] = self.out
        assert isinstance(asked, AskLastResort)
        assert not [found for found in others if isinstance(found, Progress | Decision)]
        assert not self.decisions
        assert self.coordinator.wake_ms(self.now) == self.now + 1


class TestCoordinator:
    def test_where_nobody_answers_the_last_resort_is_asked_and_only_then(self) -> None:
        bench = Asked(found("2g2f", "8c8d"))
        bench.feed(StartSearch(replace(TIMED, moves=("7g7f", "3c3d"), searchmoves=("2g2f", "6g6f"), max_moves=99)))
        bench.tick(2989)
        assert not bench.asked
        bench.tick(1)
        [job], [decision] = bench.asked, bench.decisions
        assert (job.moves, job.searchmoves, job.max_moves) == (("7g7f", "3c3d"), ("2g2f", "6g6f"), 99)
        assert (decision.move, decision.pv, decision.score) == ("2g2f", ("2g2f", "8c8d"), 77)
        assert (decision.depth, decision.source) == (3, "last_resort")

    @pytest.mark.parametrize("who", ["n1", FALLBACK])
    def test_whoever_has_spoken_goes_before_it_though_he_is_gone(self, who: str) -> None:
        bench = Asked(found("2g2f"), 1, fallback=True)
        bench.feed(StartSearch(TIMED))
        bench.report(who, 1, -50, "6g6f")
        bench.feed(NodeLost(who, "test"))
        bench.tick(2990)
        assert bench.decisions[0].move == "6g6f"
        assert not bench.asked

    @pytest.mark.parametrize("answer", [None, found("7g7e"), found("3c3d")])
    def test_without_a_legal_move_of_it_there_is_any_legal_one(self, answer: SearchInfo | None) -> None:
        bench = Asked(answer)
        bench.feed(StartSearch(TIMED))
        bench.tick(2990)
        [decision] = bench.decisions
        assert Position.startpos().parse_usi(decision.move)
        assert (decision.source, decision.score, decision.pv) == ("none", None, ())

    def test_and_that_is_chosen_by_material(self) -> None:
        bench = Asked(None)
        bench.feed(StartSearch(replace(TIMED, sfen=ROOK_TO_TAKE)))
        bench.tick(2990)
        assert (bench.decisions[0].move, bench.decisions[0].source) == (TAKES, "none")
        bench.feed(StartSearch(replace(TIMED, search_id=2, sfen=ROOK_TO_TAKE, searchmoves=("6i6h", "6i7h"))))
        bench.tick(2990)
        assert bench.decisions[1].move in ("6i6h", "6i7h")

    def test_a_variation_is_cut_where_it_is_not_legal(self) -> None:
        bench = Asked(found("2g2f", "2f2e"))
        bench.feed(StartSearch(TIMED))
        bench.tick(2990)
        assert bench.decisions[0].pv == ("2g2f",)

    def test_what_the_last_search_expected_here_goes_before_it(self) -> None:
        bench = Asked(found("9g9f"), 1)
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 12, 40, "7g7f", "3c3d", "2g2f", "8c8d")
        bench.tick(1000)
        assert bench.decisions[0].move == "7g7f"
        bench.feed(StartSearch(replace(TIMED, search_id=2, moves=("7g7f", "3c3d"))))
        bench.tick(2990)
        decision = bench.decisions[1]
        assert (decision.move, decision.pv, decision.source) == ("2g2f", ("2g2f", "8c8d"), "earlier")
        assert (decision.depth, decision.score) == (10, 40)
        assert not bench.asked

    def test_it_is_remembered_over_a_search_that_found_nothing_and_while_pondering(self) -> None:
        bench = Asked(None, 1)
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 12, 40, "7g7f", "3c3d", "2g2f", "8c8d", "2f2e")
        bench.tick(1000)
        bench.feed(PonderSearch(SearchRequest(2, STARTPOS, ("7g7f",))))
        bench.feed(StartSearch(replace(TIMED, search_id=3, moves=("7g7f", "3c3d"))))
        bench.tick(2990)
        bench.feed(StartSearch(replace(TIMED, search_id=4, moves=("7g7f", "3c3d", "2g2f", "8c8d"))))
        bench.tick(2990)
        assert [decision.move for decision in bench.decisions] == ["7g7f", "2g2f", "2f2e"]

    @pytest.mark.parametrize(
        "next_request",
        [
            replace(TIMED, search_id=2, moves=("7g7f", "8c8d")),
            replace(TIMED, search_id=2, moves=("7g7f", "3c3d"), searchmoves=("6g6f", "9g9f")),
            replace(TIMED, search_id=2, moves=("2g2f", "3c3d")),
            replace(TIMED, search_id=2, sfen="4k4/9/9/9/9/9/2P6/9/4K2R1 b - 1"),
        ],
        ids=["another reply", "not to choose from", "another move", "another game"],
    )
    def test_what_was_expected_elsewhere_says_nothing(self, next_request: SearchRequest) -> None:
        bench = Asked(None, 1)
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 12, 40, "7g7f", "3c3d", "2g2f", "8c8d")
        bench.tick(1000)
        bench.feed(StartSearch(next_request))
        bench.tick(2990)
        assert bench.decisions[1].source == "none"

    @pytest.mark.parametrize(
        "event",
        [
            Tick(),
            NodeLost("n1", "test"),
            StopSearch(1),
            LastWord(1, None),
            StartSearch(replace(TIMED, search_id=2)),
            PonderSearch(SearchRequest(2, STARTPOS)),
        ],
        ids=lambda event: type(event).__name__,
    )
    def test_whatever_comes_before_its_word_decides(self, event: Event) -> None:
        bench = Waiting()
        bench.feed(event)
        [decision] = bench.decisions
        assert (decision.search_id, decision.source) == (1, "none")
        bench.feed(LastWord(1, found("2g2f")))
        assert len(bench.decisions) == 1

    def test_a_node_that_speaks_before_it_is_heard(self) -> None:
        bench = Waiting()
        bench.report("n1", 1, -50, "6g6f")
        assert [(decision.move, decision.source) for decision in bench.decisions] == [("6g6f", "vote")]

    def test_its_word_for_another_search_says_nothing(self) -> None:
        bench = Waiting()
        bench.feed(LastWord(7, found("2g2f")))
        assert [decision.source for decision in bench.decisions] == ["none"]

    def test_a_search_whose_place_is_taken_does_not_ask(self) -> None:
        bench = Asked(found("2g2f"))
        bench.feed(StartSearch(TIMED))
        bench.feed(StartSearch(replace(TIMED, search_id=2)))
        assert [(decision.search_id, decision.source) for decision in bench.decisions] == [(1, "none")]
        assert not bench.asked

    def test_a_stop_brings_it_too(self) -> None:
        bench = Asked(found("2g2f"))
        bench.feed(StartSearch(SearchRequest(1, STARTPOS)))
        bench.feed(StopSearch(1))
        bench.tick(100)
        assert bench.decisions[0].move == "2g2f"


@pytest.mark.usefixtures("warm")
class TestSearch:
    @pytest.fixture
    def unhurried(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """All of its nodes are searched, however busy the machine is."""
        monkeypatch.setattr(last_resort, "_MOST_MS", 60_000)

    def test_it_is_bounded_by_nodes_and_by_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[Limits] = []
        go = NumbaEngine.go
        monkeypatch.setattr(NumbaEngine, "go", lambda self, limits: asked.append(limits) or go(self, limits))
        resort = LastResort()
        resort.load()
        resort.search(Job(1, 1, STARTPOS))
        [limits] = asked
        assert (limits.nodes, limits.movetime_ms, limits.depth) == (2000, 20, None)

    @pytest.mark.usefixtures("unhurried")
    def test_it_sees_what_hangs(self) -> None:
        resort = LastResort()
        resort.load()
        info = resort.search(Job(1, 1, ROOK_TO_TAKE))
        assert info is not None
        assert info.pv[0] == TAKES
        assert Root(SearchRequest(1, ROOK_TO_TAKE)).legal[0] != TAKES, "or this shows nothing"
        only = resort.search(Job(1, 1, STARTPOS, ("7g7f",), searchmoves=("8c8d", "3c3d")))
        assert only is not None
        assert only.pv[0] in ("8c8d", "3c3d")

    @pytest.mark.usefixtures("unhurried")
    def test_it_raises_nothing(self) -> None:
        resort = LastResort()
        assert resort.search(Job(1, 1, STARTPOS)) is None, "it is not loaded"
        resort.load()
        assert resort.search(Job(1, 1, "no position")) is None
        assert resort.search(Job(1, 1, STARTPOS)) is not None

    @pytest.mark.usefixtures("unhurried")
    def test_a_driver_has_it_loaded(self) -> None:
        """An engine that searches and never says a word, in a real driver."""

        class Silent(HashEngine):
            def go(self, limits: Limits, on_info: InfoCallback | None = None) -> SearchResult:
                return replace(super().go(limits, None), lines=())

        async def play() -> Decision:
            heard = Heard()
            searcher = LocalSearcher(lambda: Silent(pace_s=0.01, max_depth=10_000), Settings(validate=True))
            await searcher.open(heard.listener())
            searcher.start(SearchRequest(1, ROOK_TO_TAKE, soft_ms=100, hard_ms=300))
            decision = await heard.decision(timeout_s=30)
            await searcher.close()
            return decision

        decision = asyncio.run(play())
        assert (decision.move, decision.source) == (TAKES, "last_resort")
        assert decision.score is not None
        assert decision.score > 300
        assert LAST_RESORT.search(Job(1, 1, STARTPOS)) is not None
