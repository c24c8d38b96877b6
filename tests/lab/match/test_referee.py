"""The referee of a match; and the depth and nodes of a search, from its lines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab.match.match_engine import reached
from lab.match.referee import BestMove, Clock, Referee
from lab.match.settings import Contestant, MatchSettings, Pace
from master.records.record import Ending
from worker.shogi import STARTPOS

SETTINGS = MatchSettings(
    (Contestant("A", ("a",), {}, "/"), Contestant("B", ("b",), {}, "/")),
    Pace(nodes=100),
    2,
    resign_cp=1000,
    resign_moves=2,
)
SHUFFLE = ("2h3h", "8b7b", "3h2h", "7b8b")


def play(referee: Referee, *moves: str, score: int | None = None) -> Ending | None:
    for move in moves:
        assert referee.ending is None, "the game was over before its last move"
        referee.answered(BestMove(move, 10, score))
    return referee.ending


class TestRules:
    def test_the_fourth_occurrence_is_a_draw(self) -> None:
        referee = Referee(SETTINGS, STARTPOS)
        assert play(referee, *SHUFFLE * 2, *SHUFFLE[:3]) is None
        assert play(referee, SHUFFLE[3]) == Ending("SENNICHITE")

    @pytest.mark.parametrize("checker", [0, 1])
    def test_perpetual_check_loses(self, checker: int) -> None:
        if checker:
            sfen, moves = "4k4/9/9/9/9/9/3r5/9/4K4 w - 1", ("6g5g", "5i4i", "5g4g", "4i5i", "4g5g")
        else:
            sfen, moves = "4k4/9/3R5/9/9/9/9/9/4K4 b - 1", ("6c5c", "5a4a", "5c4c", "4a5a", "4c5c")
        referee = Referee(SETTINGS, sfen)
        ending = play(referee, *moves, *moves[1:] * 2)
        assert ending is not None
        assert (ending.reason, ending.winner) == ("OUTE_SENNICHITE", 1 - checker)

    def test_mate(self) -> None:
        ending = play(Referee(SETTINGS, "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"), "G*5b")
        assert ending == Ending("RESIGN", 0, "no legal move")

    def test_the_move_limit_counts_the_opening_and_mate_comes_first(self) -> None:
        short = replace(SETTINGS, max_moves=3)
        assert play(Referee(short, STARTPOS), *SHUFFLE[:3]) == Ending("MAX_MOVES")
        assert play(Referee(short, STARTPOS.replace(" 1", " 3")), SHUFFLE[0]) == Ending("MAX_MOVES")
        mate = play(Referee(short, "4k4/9/4P4/9/9/9/9/9/4K4 b G 3"), "G*5b")
        assert mate is not None
        assert mate.winner == 0

    def test_a_side_that_may_declare_has_won(self) -> None:
        entered = "K8/PPPPPPPPP/R1R1B4/9/9/9/9/9/8k w B4G4S4N4L 100"
        ending = play(Referee(SETTINGS, entered), "1i2i")
        assert ending is not None
        assert (ending.reason, ending.winner) == ("JISHOGI", 0)

    def test_faults_lose(self) -> None:
        illegal = play(Referee(SETTINGS, STARTPOS), SHUFFLE[0], "1a9i")
        assert illegal is not None
        assert (illegal.reason, illegal.winner) == ("ILLEGAL_MOVE", 0)
        assert "1a9i is not legal" in illegal.comment
        false_win = play(Referee(SETTINGS, STARTPOS), "win")
        assert false_win is not None
        assert (false_win.reason, false_win.winner) == ("ILLEGAL_MOVE", 1)
        referee = Referee(SETTINGS, STARTPOS)
        referee.crashed("gone")
        assert referee.ending == Ending("CRASH", 1, "gone")

    def test_resignation(self) -> None:
        assert play(Referee(SETTINGS, STARTPOS), SHUFFLE[0], "resign") == Ending("RESIGN", 0)


class TestScores:
    def test_both_sides_see_it_and_the_lost_one_resigns_on_its_turn(self) -> None:
        referee = Referee(SETTINGS, STARTPOS)
        for ply, score in enumerate((1500, -1500, 1500, -1500)):
            play(referee, SHUFFLE[ply], score=score)
        # White has reported its second score with its move: it is black's turn, and black has won.
        assert referee.ending is None
        ending = play(referee, SHUFFLE[0], score=1500)
        assert ending == Ending("RESIGN", 0, "both see black far ahead")


class TestTold:
    def test_position_and_record(self) -> None:
        referee = Referee(SETTINGS, STARTPOS)
        assert referee.position_line == "position startpos"
        assert referee.go_line == "go nodes 100"
        referee.answered(BestMove("2h3h", 12, 34, 100, 5))
        referee.answered(BestMove("8b7b", 13, 56))
        assert referee.position_line == "position startpos moves 2h3h 8b7b"
        assert [(move.usi, move.consumed_ms, move.score, move.nodes) for move in referee.moves] == [
            ("2h3h", 12, 34, 100),
            ("8b7b", 13, -56, None),
        ], "scores are kept from black's view"
        other = Referee(replace(SETTINGS, pace=Pace(depth=7)), "4k4/9/9/9/9/9/9/9/4K4 b G 5")
        assert other.position_line == "position sfen 4k4/9/9/9/9/9/9/9/4K4 b G 5"
        assert other.go_line == "go depth 7"

    def test_byoyomi(self) -> None:
        clock = Clock(Pace(main_ms=1000, byoyomi_ms=500, margin_ms=100))
        assert clock.words() == "btime 1000 wtime 1000 byoyomi 500"
        assert clock.allowed_ms(0) == 1600
        assert clock.charge(0, 1200)
        assert clock.words() == "btime 0 wtime 1000 byoyomi 500"
        assert clock.charge(0, 599), "within the margin"
        assert not clock.charge(0, 600)
        assert clock.charge(1, 400)
        assert clock.remaining_ms == [0, 600]

    def test_increment(self) -> None:
        clock = Clock(Pace(main_ms=1000, increment_ms=200, margin_ms=0))
        assert clock.words() == "btime 1000 wtime 1000 binc 200 winc 200"
        assert clock.charge(1, 50)
        assert clock.words() == "btime 1000 wtime 1150 binc 200 winc 200"
        assert clock.allowed_ms(1) == 1350
        assert not clock.charge(1, 1350)

    def test_late(self) -> None:
        referee = Referee(replace(SETTINGS, pace=Pace(byoyomi_ms=100, margin_ms=50)), STARTPOS)
        referee.answered(BestMove("2h3h", 149))
        assert referee.ending is None
        referee.silent(150)
        assert referee.ending == Ending("TIME_UP", 0, "no move in 0.15 s")
        late = Referee(replace(SETTINGS, pace=Pace(byoyomi_ms=100, margin_ms=50)), STARTPOS)
        late.answered(BestMove("2h3h", 150))
        assert late.ending is not None
        assert late.ending.reason == "TIME_UP"


EXACT = "info depth 3 score cp 10 nodes 100 pv 2g2f"


@pytest.mark.parametrize(
    ("exact", "last", "score", "depth"),
    [
        ("", "", None, 0),
        (EXACT, EXACT, 10, 3),
        (EXACT, "info depth 4 score cp 9999 lowerbound nodes 120 pv 1g1f", 10, 3),
        (EXACT, "info depth 14 score cp 46 lowerbound nodes 100000 pv 6g6f", 46, 13),
        ("", "info depth 2 score cp -70 upperbound nodes 90 pv 6g6f", -70, 1),
    ],
)
def test_a_bound_counts_as_the_depth_before_it(exact: str, last: str, score: int | None, depth: int) -> None:
    assert reached(exact, last) == (score, depth)
