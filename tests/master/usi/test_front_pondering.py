"""The USI front on the opponent's time, line by line, in virtual time."""

from __future__ import annotations

from dataclasses import replace

from cluster.api import Pondered, PonderSearch, StartSearch, StopSearch
from master.usi.front import LINGER_MS
from tests.answers import make_known
from tests.master.usi.bench import Bench, thinking
from tests.usi_bench import TIMES
from worker.book import BookReply
from worker.shogi import STARTPOS
from worker.usi.events import BookReplied, Prepare, Prepared, Quit
from worker.usi.thinking import ThinkingState

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
        assert bench.take() == [], "of the reply that the GUI named nothing is known"
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
        assert bench.request.soft_ms < fresh.request.soft_ms, "what is known saves time"
        bench.decide("2g2f")
        assert bench.moves() == ["bestmove 2g2f"]
        assert not bench.of(StopSearch), "the fleet goes on from what it has"

    def test_times_may_come_with_the_hit(self) -> None:
        """ShogiHome's early ponder."""
        bench = self.pondering("go ponder")
        bench.send("ponderhit btime 2000 wtime 2000 byoyomi 0")
        assert bench.request.hard_ms is not None
        assert bench.request.hard_ms < 2000

    def test_what_was_pondered_is_what_is_searched_then(self) -> None:
        """Else it would be no hit."""
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

    def test_what_an_older_pondering_found_counts_for_nothing(self) -> None:
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
        assert len(move.split()[1]) in (4, 5), "a legal move where nothing is known"
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

    def test_a_hit_without_ponder_is_an_error(self) -> None:
        bench = Bench()
        bench.send("ponderhit")
        assert bench.take() == ["info string error: ponderhit: nothing is pondered on"]

    def test_a_first_move_is_nothing_to_ponder_on(self) -> None:
        bench = thinking("go ponder btime 1000 wtime 1000")
        assert not bench.of(PonderSearch)
        bench.tick(1000)
        bench.send("ponderhit")
        assert bench.request.hard_ms is not None

    def test_an_endless_ponder_stays_so_after_the_hit(self) -> None:
        bench = self.pondering("go ponder infinite")
        bench.send("ponderhit")
        bench.decide("2g2f")
        assert bench.moves() == []
        bench.send("stop")
        assert bench.moves() == ["bestmove 2g2f"]

    def test_lines_wait_for_the_book(self) -> None:
        bench = Bench()
        bench.book = None
        bench.send("position startpos", f"go {TIMES}", "stop", "isready")
        assert (bench.take(), bench.done) == ([], [])
        assert bench.front.thinking is ThinkingState.BOOK
        bench.feed(BookReplied(BookReply(None)))
        kinds = [type(found) for found in bench.done]
        assert kinds == [StartSearch, StopSearch, Prepare], "each line in its turn"
        bench.decide("7g7f")
        bench.feed(Prepared())
        assert bench.take() == [
            "info depth 9 multipv 1 score cp 30 nodes 5000 nps 7142 time 700 pv 7g7f",
            "bestmove 7g7f",
            "readyok",
        ]
        [asked] = bench.asked
        assert (asked.position.sfen(), asked.only) == (STARTPOS, ())

    def test_a_gui_that_goes_while_the_book_is_asked(self) -> None:
        bench = Bench()
        bench.book = None
        bench.send("position startpos", "go", "quit")
        assert bench.done == [Quit(0)]
        assert bench.feed(BookReplied(BookReply(None))) == []

    def test_a_hit_that_the_book_answers(self) -> None:
        bench = self.pondering()
        bench.book = BookReply("2g2f")
        bench.send("ponderhit")
        assert bench.moves() == ["bestmove 2g2f"]
        assert bench.of(StopSearch)
        assert not bench.of(StartSearch)
