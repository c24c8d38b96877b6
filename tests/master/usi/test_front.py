"""The USI front, line by line, in virtual time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.api import RetimeSearch, StartSearch, StopSearch
from master.usi.options import FleetEvent
from tests.master.usi.bench import PLAN, Bench, decision, thinking
from tests.usi_bench import TIMES
from tests.worker.search.gui import BAD_NUMBERS
from worker.book import BookReply
from worker.mate import MateResult, MateStatus
from worker.score import mate_in
from worker.shogi import STARTPOS
from worker.usi.events import (
    Failed,
    GuiGone,
    GuiLine,
    MateSolved,
    NewGame,
    Prepare,
    Prepared,
    Quit,
    SolveMate,
    StopMate,
)

MATED = "8k/8G/8P/9/9/9/9/9/4K4 w 2r2b3g4s4n4l17p 2"


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

    def test_what_the_gui_says_meanwhile_waits(self) -> None:
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

    def test_only_what_decides_over_the_fleet_opens_it_again(self) -> None:
        bench = Bench()
        bench.send("setoption name MultiPV value 3", "isready")
        bench.feed(Prepared())
        bench.send("setoption name USI_Hash value 64", "isready")
        assert [found.plan for found in bench.of(Prepare)] == [None, replace(PLAN, hash_mb=64)]  # type: ignore[union-attr]

    def test_without_a_fleet_it_ends(self) -> None:
        """A GUI that waits for ``readyok`` would wait for ever."""
        bench = Bench(ready=False)
        bench.send("isready")
        bench.feed(Prepared("no Ray here"))
        assert bench.take() == ["info string error: no Ray here"]
        assert bench.done[-1] == Quit(1, "no Ray here")

    def test_a_network_that_cannot_be_used_ends_it_though_there_is_a_fleet(self) -> None:
        """The one who asked for another network would play on with the old one, and not know it."""
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

    def test_a_book_that_cannot_be_read_is_no_hindrance(self) -> None:
        bench = Bench()
        bench.send("setoption name BookFile value my.db", "isready")
        bench.feed(Prepared(book_error="my.db: line 7"))
        assert bench.take() == ["info string error: my.db: line 7; playing without a book", "readyok"]

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
        bench.send("position startpos moves 7g7f", "go searchmoves 3c3d 8c8d")
        request = bench.request
        assert (request.multipv, request.max_moves, request.draw_black, request.nodes) == (3, 256, -50, 9)
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

    def test_a_second_go_has_the_first_answered_first(self) -> None:
        bench = thinking()
        first = bench.request
        bench.send("go depth 3")
        assert bench.done[1:] == [StopSearch(first.search_id), StartSearch(bench.request)]
        bench.feed(decision(first, "7g7f"))
        bench.decide("2g2f")
        assert bench.moves() == ["bestmove 7g7f", "bestmove 2g2f"]

    def test_a_search_that_is_refused_is_answered_by_some_legal_move(self) -> None:
        bench = thinking("go depth 3")
        bench.feed(Failed(bench.request.search_id, "no fleet"))
        error, move = bench.take()
        assert error == "info string error: no fleet"
        assert len(move.split()[1]) == 4

    def test_moves_to_search_that_are_not_legal_are_left_out(self) -> None:
        bench = thinking("go depth 3 searchmoves 7g7e 1g1f 8h2b 9g9f 1g1f")
        assert bench.request.searchmoves == ("1g1f", "9g9f")
        assert bench.take() == ["info string error: go: searchmoves 7g7e 8h2b: not legal"]
        bench.feed(Failed(bench.request.search_id, "no fleet"))
        assert bench.moves() in (["bestmove 1g1f"], ["bestmove 9g9f"])

    @pytest.mark.parametrize("how", ["go depth 3", "go infinite", f"go ponder {TIMES}"])
    def test_no_move_is_played_outside_the_list(self, how: str) -> None:
        bench = thinking(f"{how} searchmoves 7g7e", "position startpos moves 7g7f 3c3d")
        assert bench.take() == ["info string error: go: no searchmoves 7g7e: not legal"]
        if "ponder" not in how:
            bench.feed(Failed(bench.request.search_id, "7g7e is not legal"))
        bench.send("stop")
        assert bench.moves() == ["bestmove resign"]

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

    def test_where_nothing_is_known_the_move_is_chosen_by_material(self) -> None:
        bench = thinking("go btime 1000", "position sfen 4k4/9/9/4r4/9/9/4R4/9/3K5 b - 1")
        bench.feed(Failed(bench.request.search_id, "no fleet"))
        assert bench.moves() == ["bestmove 5g5d"]

    def test_words_that_mean_nothing_here_leave_nobody_waiting(self) -> None:
        bench = thinking("go btime 60000 wtime 60000 foo 3 depth 7")
        assert bench.take() == ["info string error: go: unknown: foo 3"]
        assert bench.request.depth == 7

    def test_a_lost_position_is_resigned_where_that_is_wanted(self) -> None:
        for value, answer in (("600", "bestmove resign"), ("601", "bestmove 7g7f ponder 3c3d")):
            bench = Bench()
            bench.send(f"setoption name ResignValue value {value}", "position startpos", "go depth 3")
            bench.decide("7g7f", "3c3d", score=-600)
            assert bench.moves() == [answer]

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


class TestInfinite:
    @pytest.mark.parametrize("go", ["go infinite", "go", "go infinite btime 1000 wtime 1000 depth 1"])
    def test_it_ends_by_stop_only(self, go: str) -> None:
        bench = thinking(go)
        request = bench.request
        assert request.soft_ms is request.hard_ms is request.nodes is request.depth is None
        bench.send("stop")
        assert bench.done[-1] == StopSearch(request.search_id)
        bench.decide("7g7f", score=-9999)
        assert bench.moves() == ["bestmove 7g7f"]

    def test_an_answer_before_the_stop_is_held(self) -> None:
        bench = thinking("go infinite", f"position sfen {MATED}")
        bench.feed(decision(bench.request, "resign", score=None))
        bench.tick(5000)
        assert bench.take() == []
        bench.send("stop", "stop")
        assert bench.take() == ["bestmove resign"]

    def test_another_position_to_analyse(self) -> None:
        bench = thinking("go infinite")
        first = bench.request
        bench.send("stop")
        bench.feed(decision(first, "7g7f"))
        bench.send("position startpos moves 7g7f", "go infinite")
        bench.feed(decision(first, "2g2f"))
        assert bench.moves() == ["bestmove 7g7f"]


class TestMate:
    def test_a_mate_is_looked_for_on_this_machine(self) -> None:
        bench = thinking("go mate 3000")
        [order] = bench.done
        assert order == SolveMate(STARTPOS, (), 3000, 16)
        bench.feed(MateSolved(MateResult(MateStatus.UNKNOWN, (), 12, 3000)))
        assert bench.take() == ["info nodes 12 time 3000", "checkmate timeout"]

    def test_stop_ends_it(self) -> None:
        bench = thinking("go mate infinite")
        bench.send("stop")
        assert bench.done[-1] == StopMate()
        bench.feed(MateSolved(MateResult(MateStatus.NO_MATE, (), 1, 1)))
        bench.send("stop")
        assert bench.of(StopMate) == [StopMate()]

    def test_a_search_that_runs_is_answered_before(self) -> None:
        bench = thinking("go infinite")
        first = bench.request
        bench.send("go mate 100")
        bench.feed(decision(first, "7g7f"))
        assert bench.moves() == ["bestmove 7g7f"]


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

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("position sfen 9/9/9 b - 1", "3 ranks"),
            ("position startpos moves 7g7e", "7g7e"),
            ("position nowhere", "expected 'startpos' or 'sfen'"),
            ("setoption name Nodes value 0", "not within 1 to"),
            ("setoption name Mode value chess", "none of auto"),
            ("setoption name Colour value blue", "unknown option 'Colour'"),
            ("setoption Nodes 3", "expected 'name N value V'"),
            ("dance", "unknown command 'dance'"),
        ],
    )
    def test_bad_input_is_answered_and_survived(self, line: str, words: str) -> None:
        bench = Bench()
        bench.send(line)
        [said] = bench.take()
        assert said.startswith("info string error: ")
        assert words in said
        bench.send("position startpos", "go depth 2")
        assert bench.request.depth == 2

    @pytest.mark.parametrize(("go", "words"), BAD_NUMBERS)
    def test_a_go_with_bad_numbers_is_a_search(self, go: str, words: str) -> None:
        bench = thinking(go)
        assert words in bench.take()[0]
        limits = (bench.request.hard_ms, bench.request.nodes, bench.request.depth)
        assert any(limit is not None for limit in limits), "nobody has to say stop"
        bench.decide("7g7f")
        assert len(bench.moves()) == 1

    def test_a_mate_search_with_a_bad_limit_is_answered(self) -> None:
        bench = thinking("go mate soon")
        assert bench.take()[0] == "checkmate timeout"
        assert not bench.of(SolveMate)

    @pytest.mark.parametrize("line", ["usinewgame", "gameover win"])
    def test_a_new_game(self, line: str) -> None:
        """The nodes forget a game when it is over: a large table takes seconds to clear."""
        bench = thinking("go infinite")
        bench.send(line)
        assert bench.done[-1] == NewGame()
        bench.decide("7g7f")
        assert bench.moves() == ["bestmove 7g7f"]

    def test_what_happens_to_nodes_is_told_in_a_game_too(self) -> None:
        bench = thinking()
        bench.feed(FleetEvent("node_lost", {"node": "n2", "reason": "unplugged\nat once", "live": 1}))
        bench.feed(FleetEvent("dealt", {"why": "presearch"}))
        assert bench.take() == ["info string n2 is lost: unplugged; nodes: 1"]

    @pytest.mark.parametrize("how", ["quit", ""])
    def test_the_end(self, how: str) -> None:
        bench = thinking("go infinite")
        if how:
            bench.send(how)
        else:
            bench.feed(GuiGone())
        assert bench.done[-1] == Quit(0)
        bench.send("go")
        assert bench.take() == []

    def test_quit_does_not_wait_for_the_fleet(self) -> None:
        bench = Bench(ready=False)
        bench.send("isready", "go infinite", "quit")
        assert bench.done[-1] == Quit(0)

    def test_mates_are_mates(self) -> None:
        bench = thinking()
        bench.decide("7g7f", score=mate_in(5))
        assert " score mate 5 " in bench.take()[0]
