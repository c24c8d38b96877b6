"""The USI front of a fleet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.api import Pondered, PonderSearch, RetimeSearch, StartSearch, StopSearch
from master.usi.front import LINGER_MS
from master.usi.options import FleetEvent
from tests.answers import make_known
from tests.master.usi.bench import PLAN, Bench, decision, thinking
from tests.usi_bench import TIMES
from worker.book import BookReply
from worker.shogi import STARTPOS
from worker.usi.events import Failed, GuiLine, NewGame, Prepare, Prepared, Quit


class TestReady:
    def test_the_fleet_is_opened_when_the_gui_is_ready(self) -> None:
        bench = Bench(ready=False)
        bench.send("setoption name Nodes value 3", "setoption name Mode value split", "isready")
        [prepare] = bench.done
        assert isinstance(prepare, Prepare)
        assert prepare.plan == replace(PLAN, nodes=3, mode="split")
        assert bench.take() == []
        bench.feed(Prepared())
        assert bench.take() == ["readyok"]

    def test_the_gui_hears_that_something_goes_on(self) -> None:
        bench = Bench(ready=False)
        bench.send("isready")
        bench.feed(FleetEvent("compiling", {"stage": "search", "number": 3}))
        bench.feed(FleetEvent("dealt", {}))
        assert bench.take() == ["info string compiling: search"]
        bench.tick(16_000)
        assert bench.take() == ["", "", ""]
        bench.feed(Prepared())
        bench.tick(60_000)
        assert bench.take() == ["readyok"]

    def test_lines_of_the_gui_wait_meanwhile(self) -> None:
        bench = Bench(ready=False)
        bench.send("isready", "position startpos", "go nodes 500", "isready", "go depth 3")
        assert [type(found) for found in bench.done] == [Prepare]
        bench.feed(Prepared())
        assert bench.take() == ["readyok"]
        assert [type(found) for found in bench.done] == [Prepare, StartSearch, Prepare]
        bench.decide("7g7f")
        bench.feed(Prepared())
        assert [line.split()[0] for line in bench.take()] == ["info", "bestmove", "readyok"]
        assert bench.request.depth == 3

    def test_only_options_of_the_fleet_reopen_it(self) -> None:
        bench = Bench()
        bench.send("setoption name MultiPV value 3", "isready")
        bench.feed(Prepared())
        bench.send("setoption name USI_Hash value 64", "isready")
        assert [found.plan for found in bench.of(Prepare)] == [None, replace(PLAN, hash_mb=64)]  # type: ignore[union-attr]

    def test_a_network_that_cannot_be_used_ends_it_though_there_is_a_fleet(self) -> None:
        """The user asked for another network; the fleet would play on with the old one, unnoticed."""
        bench = Bench()
        bench.send("setoption name EvalFile value /no/such", "isready")
        bench.feed(Prepared("EvalFile: /no/such: no such file", stays=True, final=True))
        assert bench.take() == ["info string error: EvalFile: /no/such: no such file"]
        assert bench.done[-1] == Quit(1, "EvalFile: /no/such: no such file")

    @pytest.mark.parametrize("stays", [True, False])
    def test_a_fleet_that_cannot_be_had_leaves_the_one_before(self, stays: bool) -> None:
        bench = Bench()
        bench.send("setoption name EvalFile value /no/such", "isready")
        bench.feed(Prepared("no such file", stays))
        if not stays:
            assert "readyok" not in bench.take()
            assert bench.done[-1].plan == PLAN  # type: ignore[union-attr]
            bench.feed(Prepared())
        assert bench.take()[-1] == "readyok"
        bench.done.clear()
        bench.send("isready")
        assert bench.done[0].plan is None, "it is not tried again"  # type: ignore[union-attr]
        bench.feed(Prepared())
        bench.send("setoption name EvalFile value /another", "isready")
        assert bench.done[-1].plan.eval_file == "/another"  # type: ignore[union-attr]

    def test_a_search_that_goes_with_its_fleet_is_answered(self) -> None:
        bench = thinking("go infinite")
        bench.send("setoption name Nodes value 4", "isready")
        bench.feed(Prepared())
        move, ready = bench.take()
        assert len(move.removeprefix("bestmove ")) == 4
        assert ready == "readyok"
        bench.decide("7g7f")
        assert bench.take() == [], "once is enough"

    def test_neither_the_new_fleet_nor_the_old_one(self) -> None:
        bench = Bench()
        bench.send("setoption name Threads value 500", "isready")
        bench.feed(Prepared("no memory"))
        bench.feed(Prepared("no Ray"))
        assert bench.done[-1] == Quit(1, "no Ray")

    @pytest.mark.parametrize(("line", "answer"), [("go", "bestmove resign"), ("go mate infinite", "checkmate timeout")])
    def test_a_go_without_a_fleet_or_a_position_is_answered(self, line: str, answer: str) -> None:
        bench = Bench(ready=False)
        bench.send("position startpos", line)
        assert bench.take() == ["info string error: go: isready comes first", answer]
        bench = Bench()
        bench.send("position startpos moves 7g7e", line)
        assert bench.take()[-1] == answer
        assert bench.done == []


class TestGo:
    def test_a_search_is_shown_and_answered(self) -> None:
        bench = thinking()
        request = bench.request
        assert (request.sfen, request.moves, request.multipv) == (STARTPOS, (), 1)
        assert request.soft_ms is not None
        assert request.hard_ms is not None
        assert 0 < request.soft_ms <= request.hard_ms < 61_000
        bench.progress(25, "7g7f", "3c3d")
        bench.decide("2g2f", "8c8d")
        assert [line.split(" score ")[-1] for line in bench.take()] == [
            "cp 25 nodes 4000 nps 10000 time 400 pv 7g7f 3c3d",
            "cp 30 nodes 5000 nps 7142 time 700 pv 2g2f 8c8d",
            "bestmove 2g2f ponder 8c8d",
        ]

    def test_limits(self) -> None:
        for go, wanted in (
            ("go nodes 5001", (None, None, 2500, None)),
            ("go depth 7", (None, None, None, 7)),
            ("go movetime 900", (900, 910, None, None)),  # the decision leaves 10 ms before the latter
            ("go depth 999999 nodes 1", (None, None, 1, 500)),
        ):
            bench = Bench()
            bench.feed(FleetEvent("node_joined", {"node": "n", "live": 2}))
            bench.send("position startpos", go)
            request = bench.request
            assert (request.soft_ms, request.hard_ms, request.nodes, request.depth) == wanted, go

    @pytest.mark.parametrize(
        ("options", "go", "nodes", "depth"),
        [
            (("900", "9"), "go", 300, 9),
            (("900", "9"), "go nodes 10 depth 3", 3, 3),
            (("0", "0"), "go", None, None),
            (("0", "0"), "go nodes 2", 1, None),
        ],
    )
    def test_the_order_goes_before_the_options(
        self, options: tuple[str, str], go: str, nodes: int | None, depth: int | None
    ) -> None:
        bench = Bench()
        bench.feed(FleetEvent("node_joined", {"node": "n", "live": 3}))
        for name, value in zip(("NodesLimit", "DepthLimit"), options, strict=True):
            bench.send(f"setoption name {name} value {value}")
        bench.send("position startpos", go)
        assert (bench.request.nodes, bench.request.depth) == (nodes, depth)

    def test_the_rules_and_lines_that_are_set(self) -> None:
        bench = Bench()
        for option in ("MultiPV value 3", "MaxMovesToDraw value 256", "DrawValueBlack value -50", "NodesLimit value 9"):
            bench.send(f"setoption name {option}")
        bench.send("position startpos moves 7g7f", "go searchmoves 3c3d 8c8d nodes 7")
        request = bench.request
        assert (request.multipv, request.max_moves, request.draw_black, request.nodes) == (3, 256, -50, 7)
        assert (request.moves, request.searchmoves) == (("7g7f",), ("3c3d", "8c8d"))

    def test_time_that_passed_before_it_was_read_is_taken_off(self) -> None:
        bench = thinking("go movetime 1000")
        late = Bench()
        late.send("position startpos")
        late.now += 300
        late.feed(GuiLine("go movetime 1000", late.now - 300))
        assert bench.request.soft_ms == 1000
        assert late.request.soft_ms == 700

    def test_disagreement_buys_time(self) -> None:
        bench = thinking()
        soft = bench.request.soft_ms
        bench.progress(10, "7g7f", agreement=0.2)
        [retimed] = bench.of(RetimeSearch)
        assert isinstance(retimed, RetimeSearch)
        assert soft is not None
        assert soft < retimed.soft_ms <= (bench.request.hard_ms or 0)

    def test_an_answer_of_a_search_that_nobody_waits_for_is_passed_over(self) -> None:
        bench = thinking()
        bench.feed(replace(decision(bench.request, "7g7f"), search_id=77))
        assert bench.take() == []

    def test_pondering_answers_by_a_move_of_the_list(self) -> None:
        bench = thinking(f"go ponder {TIMES} searchmoves 1g1f 9g9f", "position startpos moves 7g7f 3c3d")
        bench.send("stop")
        assert bench.moves() in (["bestmove 1g1f"], ["bestmove 9g9f"])

    def test_a_refused_search_without_end_is_answered_at_stop(self) -> None:
        bench = thinking("go infinite")
        bench.feed(Failed(bench.request.search_id, "no fleet"))
        assert bench.take() == ["info string error: no fleet"]
        bench.send("stop")
        assert len(bench.moves()) == 1

    def test_a_declaration_and_a_lost_game(self) -> None:
        for move in ("win", "resign"):
            bench = thinking()
            bench.feed(decision(bench.request, move, score=None))
            assert bench.take() == [f"bestmove {move}"]

    def test_the_book_answers_at_once_but_not_in_an_analysis(self) -> None:
        bench = Bench()
        bench.book = BookReply("7g7f", "3c3d", notes=("book: a note",))
        bench.send("position startpos", f"go {TIMES}")
        assert bench.take() == ["info string book: a note", "bestmove 7g7f ponder 3c3d"]
        assert bench.done == []
        bench.send("go infinite")
        assert bench.take() == []
        assert bench.of(StartSearch)


class TestLines:
    @pytest.mark.parametrize("rule", ["NoEnteringKing", "CSARule24", "CSARule24H", "CSARule27", "CSARule27H"])
    def test_the_rule_of_declaration_is_the_request_s(self, rule: str) -> None:
        bench = Bench()
        bench.send(f"setoption name EnteringKingRule value {rule}", "position startpos", "go nodes 9")
        assert bench.request.entering == rule

    def test_a_try_is_not_for_a_fleet(self) -> None:
        bench = Bench()
        bench.send("setoption name EnteringKingRule value TryRule")
        assert "is none of NoEnteringKing" in bench.take()[0]

    @pytest.mark.parametrize("line", ["usinewgame", "gameover win"])
    def test_a_new_game(self, line: str) -> None:
        """The nodes forget a game when it is over: a large table takes seconds to clear."""
        bench = thinking("go infinite")
        bench.send(line)
        assert bench.done[-1] == NewGame()
        bench.decide("7g7f")
        assert bench.moves() == ["bestmove 7g7f"]

    def test_events_of_nodes_are_reported_in_a_game_too(self) -> None:
        bench = thinking()
        bench.feed(FleetEvent("node_lost", {"node": "n2", "reason": "unplugged\nat once", "live": 1}))
        bench.feed(FleetEvent("dealt", {"why": "presearch"}))
        assert bench.take() == ["info string n2 is lost: unplugged; nodes: 1"]


KNOWN = make_known("2g2f", 20, 7, 900, 3000, 3000, ("2g2f", "8c8d"))


class TestPonder:
    def pondering(self, go: str = f"go ponder {TIMES}") -> Bench:
        return thinking(go, "position startpos moves 7g7f 3c3d")

    def test_the_fleet_ponders_on_all_replies_and_nothing_is_answered(self) -> None:
        bench = self.pondering()
        request = bench.pondered
        assert (request.moves, request.soft_ms, request.hard_ms) == (("7g7f",), None, None)
        assert bench.done[-1] == PonderSearch(request, "3c3d")
        bench.tick(10_000)
        assert bench.take() == [], "nothing is known yet"
        bench.find(KNOWN, "8c8d")
        assert bench.take() == [], "nothing is known of the reply that the GUI named"
        bench.find(KNOWN, "3c3d", "8c8d")
        assert bench.take() == ["info depth 7 multipv 1 score cp 20 nodes 900 nps 300 time 3000 pv 2g2f 8c8d"]
        assert bench.moves() == []

    def test_a_hit_starts_the_time(self) -> None:
        bench = self.pondering()
        bench.tick(30_000)
        bench.find(KNOWN, "3c3d")
        bench.send("ponderhit")
        assert bench.request.moves == ("7g7f", "3c3d")
        assert bench.request.soft_ms is not None
        fresh = thinking(f"go {TIMES}", "position startpos moves 7g7f 3c3d")
        assert fresh.request.soft_ms is not None
        assert bench.request.soft_ms < fresh.request.soft_ms, "known results save time"
        bench.decide("2g2f")
        assert bench.moves() == ["bestmove 2g2f"]
        assert not bench.of(StopSearch), "the fleet continues from its results"

    def test_the_pondered_position_is_the_searched_one(self) -> None:
        """Otherwise it would be no hit."""
        bench = Bench()
        bench.send("setoption name MultiPV value 2", "setoption name DepthLimit value 9")
        bench.send("position startpos moves 7g7f 3c3d", "go ponder byoyomi 1000", "ponderhit")
        times = {"soft_ms": None, "hard_ms": None, "search_id": 0}
        assert replace(bench.request, **times) == replace(bench.pondered, moves=("7g7f", "3c3d"), **times)  # type: ignore[arg-type]

    def test_a_miss_is_answered_at_once_and_the_fleet_goes_on_for_the_real_reply(self) -> None:
        bench = self.pondering()
        bench.find(KNOWN, "3c3d", "8c8d")
        bench.take()
        bench.send("stop")
        assert bench.take() == ["bestmove 2g2f ponder 8c8d"]
        bench.send("position startpos moves 7g7f 8c8d", f"go {TIMES}", after=50)
        assert not bench.of(StopSearch)
        assert bench.request.moves == ("7g7f", "8c8d")
        fresh = thinking(f"go {TIMES}", "position startpos moves 7g7f 8c8d")
        assert bench.request.soft_ms is not None
        assert fresh.request.soft_ms is not None
        assert bench.request.soft_ms < fresh.request.soft_ms, "the reply was among the others that were pondered on"

    def test_results_of_an_older_ponder_search_do_not_count(self) -> None:
        bench = self.pondering()
        found = Pondered(bench.pondered.search_id, {"3c3d": KNOWN})
        bench.send("stop", f"go ponder {TIMES}")
        bench.take()
        bench.feed(found)
        assert bench.take() == []
        bench.send("ponderhit")
        fresh = thinking(f"go {TIMES}", "position startpos moves 7g7f 3c3d")
        assert bench.request.soft_ms == fresh.request.soft_ms

    def test_after_a_stop_that_nothing_follows_the_fleet_rests(self) -> None:
        bench = self.pondering()
        bench.send("stop")
        [move] = bench.moves()
        assert len(move.split()[1]) in (4, 5), "a legal move if nothing is known"
        bench.tick(LINGER_MS + 1)
        assert bench.of(StopSearch) == [StopSearch(bench.pondered.search_id)]
        bench.tick(60_000)
        assert bench.front.wake_ms() is None

    def test_the_end_of_the_game(self) -> None:
        bench = self.pondering()
        bench.send("stop", "gameover win")
        assert len(bench.moves()) == 1
        assert bench.of(StopSearch) == [StopSearch(bench.pondered.search_id)]
        bench = self.pondering()
        bench.send("gameover win")
        assert len(bench.moves()) == 1
        assert bench.of(StopSearch)

    def test_a_first_move_is_nothing_to_ponder_on(self) -> None:
        bench = thinking("go ponder btime 1000 wtime 1000")
        assert not bench.of(PonderSearch)
        bench.tick(1000)
        bench.send("ponderhit")
        assert bench.request.hard_ms is not None
