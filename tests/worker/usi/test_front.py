"""The USI front of a single engine, line by line, in virtual time."""

from __future__ import annotations

import pytest

from tests.usi_bench import TIMES
from tests.worker.usi.bench import Bench, info, thinking
from worker.book import BookReply
from worker.clock import Signs
from worker.engine import SearchResult
from worker.mate import MateResult, MateStatus
from worker.usi.events import Failed, GuiGone, MateSolved, NewGame, Prepare, Prepared, Quit, SolveMate, StopMate
from worker.usi.front import FrontState
from worker.usi.single import BeginSearch, EndSearch, Iterated, Searched
from worker.usi.thinking import ThinkingState

PONDER = f"go ponder {TIMES}"
GAME = "position startpos moves 7g7f 3c3d"


class TestValues:
    @pytest.mark.parametrize("value", ["./my  books", " my books", "books ", "a\tb", "value name x"])
    def test_a_text_is_taken_as_it_was_sent(self, value: str) -> None:
        bench = Bench(ready=False)
        bench.send(f"setoption name BookDir value {value}", "setoption name EvalDir value x")
        bench.send("setoption name EvalDir value")
        assert (bench.options.text("BookDir"), bench.options.text("EvalDir")) == (value, "")
        assert bench.take() == []

    @pytest.mark.parametrize("line", ["setoption name USI_Hash value  7 ", " setoption  name USI_Hash  value 7\t"])
    def test_blanks_around_a_number_do_not_count(self, line: str) -> None:
        bench = Bench(ready=False)
        bench.send(line)
        assert bench.options.number("USI_Hash") == 7


class TestPositions:
    @pytest.mark.parametrize("hands", ["2P2bP2p", "Pp2Pp2b", "2b3P2p", "PPPbbpp"])
    def test_hands_are_added_up_in_any_order(self, hands: str) -> None:
        bench = thinking(position=f"position sfen 4k4/9/9/9/9/9/9/9/4K4 w {hands}")
        assert bench.search.sfen == "4k4/9/9/9/9/9/9/9/4K4 w 3P2b2p 1", "the next user need not read more than usual"

    @pytest.mark.parametrize(
        "fault", ["sfen 9/9/9 b - 1", "startpos moves 7g7e", "sfen 4k4/9/9/9/9/9/9/9/4K4 b 10P9P 1"]
    )
    def test_a_go_after_a_position_that_is_refused_says_why(self, fault: str) -> None:
        bench = Bench()
        bench.send(f"position {fault}")
        why = bench.take()[0].removeprefix("info string error: ")
        bench.send("go nodes 9")
        assert bench.take() == [f"info string error: go: the last position was wrong: {why}", "bestmove resign"]


class TestMovesToSearch:
    def test_those_that_are_not_legal_are_left_out(self) -> None:
        bench = thinking("go nodes 9 searchmoves 7g7e 1g1f nonsense 9g9f")
        assert bench.search.limits.searchmoves == ("1g1f", "9g9f")
        assert bench.take() == ["info string error: go: searchmoves 7g7e nonsense: not legal"]

    @pytest.mark.parametrize("how", ["go nodes 9", "go infinite", PONDER])
    def test_nothing_else_is_played(self, how: str) -> None:
        bench = thinking(f"{how} searchmoves 7g7e")
        assert bench.take() == ["info string error: go: no searchmoves 7g7e: not legal"]
        bench.feed(Failed(bench.search.search_id, "7g7e is not legal"))
        bench.send("stop")
        assert bench.moves() == ["bestmove resign"]


class TestReady:
    @pytest.mark.parametrize(
        ("line", "does"),
        [
            ("position startpos", []),
            ("go nodes 9", [BeginSearch]),
            ("go mate 9", [SolveMate]),
            ("usinewgame", [NewGame]),
        ],
    )
    def test_any_use_of_the_engine_builds_it(self, line: str, does: list[type]) -> None:
        bench = Bench(ready=False)
        bench.send(line)
        assert [type(found) for found in bench.done] == [Prepare]
        bench.feed(Prepared())
        assert bench.take() == [], "nobody asked whether it is ready"
        assert [type(found) for found in bench.done[1:]] == does

    def test_another_engine_is_built_if_an_option_asks_for_it(self) -> None:
        bench = Bench()
        bench.send("setoption name MultiPV value 2", "isready")
        bench.feed(Prepared())
        bench.send("setoption name USI_Hash value 7", "position startpos", "go nodes 9")
        plans = [found.plan for found in bench.done if isinstance(found, Prepare)]
        assert plans == [None, (7, 1, None, None, "")]
        bench.feed(Prepared())
        assert bench.take() == ["readyok"]
        assert bench.search.limits.nodes == 9

    def test_a_search_ends_for_another_engine(self) -> None:
        bench = thinking("go infinite")
        bench.send("setoption name Threads value 2", "isready")
        assert bench.ended == [bench.search.search_id]
        bench.find("7g7f")
        bench.feed(Prepared())
        assert [line.split()[0] for line in bench.take()] == ["info", "bestmove", "readyok"]

    def test_the_gui_hears_that_something_goes_on(self) -> None:
        bench = Bench(ready=False)
        bench.send("isready")
        bench.tick(11_000)
        assert bench.take() == ["", ""]

    def test_without_an_engine_it_ends(self) -> None:
        """A GUI that waits for ``readyok`` would wait for ever."""
        bench = Bench()
        bench.send("setoption name EvalFile value /no/such", "isready")
        bench.feed(Prepared("/no/such: no such file", final=True))
        assert bench.take() == ["info string error: /no/such: no such file"]
        assert bench.done[-1] == Quit(1, "/no/such: no such file")

    @pytest.mark.parametrize("end", ["quit", ""])
    def test_lines_before_the_end_are_handled(self, end: str) -> None:
        bench = Bench(ready=False)
        bench.send("isready", "go nodes 9")
        bench.send(end) if end else bench.feed(GuiGone())
        assert [type(found) for found in bench.done] == [Prepare]
        bench.feed(Prepared())
        assert [type(found) for found in bench.done[1:]] == [BeginSearch, EndSearch, Quit]
        assert bench.front.state is FrontState.OVER
        bench.find("7g7f")
        assert bench.take()[-1] == "bestmove 7g7f", "it is answered all the same"
        bench.send("go nodes 9", "hello")
        assert bench.take() == []


class TestGo:
    def test_a_search_is_shown_and_answered(self) -> None:
        bench = thinking()
        search = bench.search
        assert search.asks
        assert search.limits.movetime_ms is not None
        assert 0 < search.limits.movetime_ms < 61_000
        bench.show(info("2g2f"))
        bench.find("7g7f", "3c3d")
        assert bench.take() == [
            "info depth 9 seldepth 11 multipv 1 score cp 30 nodes 5000 nps 7142 hashfull 100 time 700 pv 2g2f",
            "info depth 9 seldepth 11 multipv 1 score cp 30 nodes 5000 nps 7142 hashfull 100 time 700 pv 7g7f 3c3d",
            "bestmove 7g7f ponder 3c3d",
        ]

    def test_a_line_is_said_once(self) -> None:
        bench = thinking("go nodes 9")
        bench.show(info("7g7f"))
        assert len(bench.take()) == 1
        bench.find("7g7f")
        assert bench.take() == ["bestmove 7g7f"]

    def test_iterations_come_at_intervals_and_whole(self) -> None:
        bench = thinking("go infinite")
        for depth, time_ms in ((1, 0), (2, 299), (3, 300), (4, 599)):
            for number in (1, 2):
                bench.show(info("7g7f", depth=depth, time_ms=time_ms, multipv=number))
        assert [line.split()[2] for line in bench.take()] == ["1", "1", "3", "3"]

    def test_limits(self) -> None:
        for go, wanted in (
            ("go nodes 5001", (None, 5001, None)),
            ("go depth 7", (None, None, 7)),
            ("go movetime 900", (900, None, None)),
            ("go infinite depth 3", (None, None, None)),
        ):
            limits = thinking(go).search.limits
            assert (limits.movetime_ms, limits.nodes, limits.depth) == wanted, go
            assert not thinking(go).search.asks

    def test_it_ends_between_iterations_when_the_time_is_up(self) -> None:
        bench = thinking()
        assert bench.iterate(1)
        assert not bench.iterate(50_000)

    def test_the_rest_of_a_second_is_used_before_it_ends(self) -> None:
        bench = thinking("go btime 600000 wtime 600000")
        assert bench.iterate(5_000), "not at once"
        wake = bench.front.wake_ms()
        assert wake is not None
        assert bench.now < wake < bench.now + 1000
        bench.tick(wake - bench.now)
        assert bench.ended == [bench.search.search_id]

    def test_a_move_that_changes_in_the_rest_of_a_second_has_its_time_after_all(self) -> None:
        bench = thinking("go btime 600000 wtime 600000")
        began, limit_ms = bench.now, bench.search.limits.movetime_ms
        assert limit_ms is not None
        assert bench.iterate(5_000)
        wake = bench.front.wake_ms()
        assert wake is not None and wake < began + 6_000
        bench.now = began + 5_500
        assert not bench.front.handle(Iterated(bench.search.search_id, Signs(5_500, "2g2f", 30)), bench.now)
        assert bench.front.wake_ms() == began + limit_ms

    def test_a_search_that_fails_is_answered_by_a_careful_move(self) -> None:
        bench = thinking("go depth 3", "position sfen 4k4/9/9/4r4/9/9/4R4/9/3K5 b - 1")
        bench.feed(Failed(bench.search.search_id, "no memory"))
        assert bench.take() == ["info string error: no memory", "bestmove 5g5d"], "the rook is taken"

    def test_a_second_go_has_the_first_answered_first(self) -> None:
        bench = thinking("go infinite")
        first = bench.search
        bench.send("go depth 3")
        assert bench.ended == [first.search_id]
        bench.find("7g7f", search=first)
        bench.find("2g2f")
        assert bench.moves() == ["bestmove 7g7f", "bestmove 2g2f"]

    @pytest.mark.parametrize("first", ["go infinite", "go ponder btime 9000 wtime 9000"])
    def test_the_books_move_does_not_overtake_the_first_answer(self, first: str) -> None:
        bench = thinking(first)
        before, bench.book = bench.search, BookReply("2g2f")
        bench.send("stop", "position startpos", "go btime 9000 wtime 9000")
        assert bench.take() == []
        bench.find("7g7f", search=before)
        bench.find("9g9f")
        assert bench.moves() == ["bestmove 7g7f", "bestmove 9g9f"]
        bench.send("go btime 9000 wtime 9000")
        assert bench.moves() == ["bestmove 2g2f"]

    def test_a_lost_position_is_resigned_but_not_in_an_analysis(self) -> None:
        for value, go, answer in (
            (600, "go depth 3", "bestmove resign"),
            (601, "go depth 3", "bestmove 7g7f"),
            (600, "go infinite", "bestmove 7g7f"),
        ):
            bench = Bench()
            bench.send(f"setoption name ResignValue value {value}", "position startpos", go, "stop")
            bench.find("7g7f", score=-600)
            assert bench.moves() == [answer]

    @pytest.mark.parametrize("go", ["go infinite", "go"])
    def test_an_answer_before_the_stop_is_held(self, go: str) -> None:
        bench = thinking(go)
        bench.feed(Searched(bench.search.search_id, SearchResult("resign", None, 0, 0)))
        assert bench.front.thinking is ThinkingState.HELD
        assert bench.take() == []
        bench.send("stop", "stop")
        assert bench.take() == ["bestmove resign"]


class TestPonder:
    def test_nothing_is_answered_before_the_hit(self) -> None:
        bench = thinking(PONDER, GAME)
        assert (bench.search.moves, bench.search.limits.movetime_ms) == (("7g7f", "3c3d"), None)
        assert bench.iterate(50_000), "its clock does not run"
        bench.find("2g2f")
        assert bench.take() == []
        bench.send("ponderhit")
        assert bench.moves() == ["bestmove 2g2f"]

    def test_a_hit_gives_the_search_its_time(self) -> None:
        bench = thinking(PONDER, GAME)
        bench.tick(30_000)
        bench.send("ponderhit")
        assert bench.ended == []
        bench.tick(60_000)
        assert bench.ended == [bench.search.search_id]
        bench.find("2g2f")
        assert bench.moves() == ["bestmove 2g2f"]
        assert bench.front.wake_ms() is None

    def test_a_search_that_begins_late_ends_in_time(self) -> None:
        """Its own limit counts from its beginning, and a large table may still be cleared then."""
        bench = thinking("go btime 0 wtime 0 byoyomi 10000")
        limit_ms = bench.search.limits.movetime_ms
        assert limit_ms is not None
        bench.tick(limit_ms - 1)
        assert bench.ended == []
        bench.tick(1)
        assert bench.ended == [bench.search.search_id]
        bench.find("2g2f")
        assert bench.moves() == ["bestmove 2g2f"]
        assert bench.front.wake_ms() is None

    def test_deadlines_hold_while_the_gui_waits_for_a_book(self) -> None:
        bench = thinking(PONDER, GAME)
        bench.send("ponderhit", "isready")
        bench.tick(60_000)
        assert bench.ended == [bench.search.search_id]

    def test_times_may_come_with_the_hit(self) -> None:
        """ShogiHome's early ponder."""
        bench = thinking("go ponder", GAME)
        assert bench.search.asks
        bench.send("ponderhit btime 2000 wtime 2000 byoyomi 0")
        bench.tick(2000)
        assert bench.ended == [bench.search.search_id]

    def test_a_miss_is_answered_too(self) -> None:
        bench = thinking(PONDER, GAME)
        bench.send("stop")
        assert bench.ended == [bench.search.search_id]
        bench.send("ponderhit")
        assert bench.take() == ["info string error: ponderhit: nothing is pondered on"]
        bench.find("2g2f")
        assert bench.moves() == ["bestmove 2g2f"]

    @pytest.mark.parametrize("found", [False, True])
    def test_an_endless_ponder_stays_so_after_the_hit(self, found: bool) -> None:
        bench = thinking("go ponder infinite", GAME)
        if found:
            bench.find("2g2f")
        bench.send("ponderhit")
        if not found:
            bench.find("2g2f")
        assert bench.moves() == []
        bench.send("stop")
        assert bench.moves() == ["bestmove 2g2f"]

    def test_stochastic_pondering_leaves_the_reply_open(self) -> None:
        bench = Bench()
        bench.send("setoption name DrawValueBlack value -300", "setoption name DrawValueWhite value 50")
        bench.send("setoption name Stochastic_Ponder value true", GAME, PONDER)
        blind = bench.search
        assert blind.moves == ("7g7f",)
        bench.show(info("8c8d", "2g2f"))
        assert bench.take() == [], "the GUI's position has 3c3d, and black to move"
        bench.send("ponderhit")
        # We are black, after the hit and, though white is to move, before it.
        assert bench.search.rules.draw_values(0)[0] == blind.rules.draw_values(1)[0] == -300
        assert bench.ended == [blind.search_id]
        assert bench.search.moves == ("7g7f", "3c3d")
        assert bench.search.limits.movetime_ms is not None
        bench.find("8c8d", search=blind)
        assert bench.take() == [], "it is neither side's move"
        bench.find("2g2f")
        assert bench.moves() == ["bestmove 2g2f"]

    def test_stochastic_pondering_is_not_of_the_moves_to_search(self) -> None:
        bench = Bench()
        bench.send("setoption name Stochastic_Ponder value true", GAME, f"{PONDER} searchmoves 2g2f")
        assert bench.search.limits.searchmoves == (), "they are black's, and white is to move"
        bench.send("ponderhit")
        assert bench.search.limits.searchmoves == ("2g2f",)

    def test_a_miss_of_stochastic_pondering_shows_no_line(self) -> None:
        bench = Bench()
        bench.send("setoption name Stochastic_Ponder value true", GAME, PONDER, "stop")
        bench.find("8c8d", "2g2f")
        assert bench.take() == ["bestmove 8c8d ponder 2g2f"]


class TestMate:
    def test_one_mate_after_the_other(self) -> None:
        bench = thinking("go mate infinite")
        bench.send("go mate 3000")
        assert [type(found) for found in bench.done] == [SolveMate, StopMate, SolveMate]
        for _ in range(2):
            bench.feed(MateSolved(MateResult(MateStatus.NO_MATE, (), 1, 1)))
        assert bench.take() == ["info nodes 1 time 1", "checkmate nomate"] * 2

    def test_a_mate_is_answered_at_the_end(self) -> None:
        bench = thinking("go mate infinite")
        bench.send("quit")
        assert [type(found) for found in bench.done] == [SolveMate, StopMate, Quit]
        bench.feed(MateSolved(MateResult(MateStatus.UNKNOWN, (), 1, 1)))
        assert bench.take()[-1] == "checkmate timeout"
