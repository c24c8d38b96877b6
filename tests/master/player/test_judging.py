"""The player's decisions by the rules: declaration, resignation, move limit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.api import Decision
from cluster.network.messages import LONGEST_GAME
from master.csa.summary import parse_summary
from master.player.instructions import PlayerSettings
from master.player.judging import Judge, Judgement, Verdict
from tests.answers import make_decision
from tests.master.csa.transcripts import summary_lines
from worker.score import MATE, mated_in
from worker.shogi import Position, move_to_usi

SUMMARY = replace(parse_summary(summary_lines("01_fischer_toryo.black")[1:-1]), max_moves=320)
SETTINGS = PlayerSettings(resign_score=2000, resign_moves=3, last_plies=30)
START = Position.startpos()
MATED = "4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"
MATES = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
"""G*5b mates."""
ENTERED = "K1RRBB3/GGSS5/NNL6/9/9/9/9/9/8k b 8P 1"


def decision(move: str = "7g7f", score: int | None = 0) -> Decision:
    return make_decision(1, move, score, depth=10, pv=(move,), nodes=1, elapsed_ms=5, source="split")


def judge(settings: PlayerSettings = SETTINGS, **summary: object) -> Judge:
    return Judge(settings, replace(SUMMARY, **summary))  # type: ignore[arg-type]


def verdicts(judge: Judge, *scores: int | None, plies: int = 100) -> list[Verdict]:
    return [judge.after_search(decision(score=score), START, plies) for score in scores]


# Declaring


@pytest.mark.parametrize(
    ("sfen", "right"),
    [
        (ENTERED, True),
        ("2SGKGS2/1R5B1/PPPP5/9/9/9/9/9/4k4 b R5P 1", True),
        ("2SGKGS2/1R5B1/PPPP5/9/9/9/9/9/4k4 b R4P 1", False),  # 27 points
        ("4K4/9/9/9/9/9/pppp5/1r5b1/2sgkgs2 w r4p 1", True),  # white needs no more
        ("4K4/9/9/9/9/9/pppp5/1r5b1/2sgkgs2 w r3p 1", False),
    ],
)
def test_it_declares_exactly_if_the_rule_allows_it(sfen: str, right: bool) -> None:
    """`tests.worker.shogi.test_position` has the rule itself."""
    position = Position.from_sfen(sfen)
    referee = judge(my_colour=position.turn)
    assert (referee.before_search(position, 100).verdict is Verdict.DECLARE) == right
    expected = Verdict.DECLARE if right else Verdict.DISBELIEVE
    assert referee.after_search(decision("win"), position, 100) is expected


# Resigning


def test_it_resigns_at_the_last_of_several_bad_scores_in_a_row() -> None:
    assert verdicts(judge(), -2000, -2000, -1999, -2000, -2500, -9000) == [Verdict.PLAY] * 5 + [Verdict.RESIGN]


def test_a_move_without_a_score_neither_counts_nor_breaks_the_row() -> None:
    assert verdicts(judge(), -3000, None, -3000, None, None, -3000) == [Verdict.PLAY] * 5 + [Verdict.RESIGN]


def test_nobody_resigns_at_a_move_without_a_score() -> None:
    referee = judge(max_moves=None)
    assert verdicts(referee, -3000, -3000) == [Verdict.PLAY] * 2
    near = judge()
    assert verdicts(near, -3000, -3000, -3000, plies=300) == [Verdict.PLAY] * 3
    near.plays_on()  # four bad scores, and no limit any more
    assert verdicts(near, None, plies=302) == [Verdict.PLAY]
    assert verdicts(near, -3000, plies=304) == [Verdict.RESIGN]


def test_being_mated_counts_as_a_bad_score_and_mating_does_not() -> None:
    assert verdicts(judge(), mated_in(3), mated_in(30), mated_in(1))[-1] is Verdict.RESIGN
    assert set(verdicts(judge(), *[MATE - 3] * 9)) == {Verdict.PLAY}


def test_never_by_score_if_that_is_switched_off() -> None:
    assert set(verdicts(judge(replace(SETTINGS, resign_score=None)), *[mated_in(2)] * 9)) == {Verdict.PLAY}


def test_nobody_resigns_near_the_limit() -> None:
    assert set(verdicts(judge(), *[-9000] * 9, plies=290)) == {Verdict.PLAY}
    assert verdicts(judge(), *[-9000] * 3, plies=289)[-1] is Verdict.RESIGN
    assert verdicts(judge(max_moves=None), *[-9000] * 3, plies=290)[-1] is Verdict.RESIGN


@pytest.mark.parametrize(
    ("score", "plies", "expected"),
    [
        (None, 100, Verdict.DISBELIEVE),
        (-1999, 100, Verdict.DISBELIEVE),
        (-2000, 100, Verdict.RESIGN),
        (mated_in(4), 100, Verdict.RESIGN),
        (mated_in(4), 300, Verdict.DISBELIEVE),
    ],
)
def test_a_resignation_needs_a_score_that_says_why(score: int | None, plies: int, expected: Verdict) -> None:
    referee = judge()
    referee.after_search(decision(score=-3000), START, 90)  # earlier scores are no reason
    assert referee.after_search(decision("resign", score), START, plies) is expected


# The move limit


@pytest.mark.parametrize("sfen", [START.sfen(), MATED, ENTERED])
def test_at_the_limit_the_server_decides_in_any_position(sfen: str) -> None:
    referee, position = judge(), Position.from_sfen(sfen)
    assert referee.before_search(position, 320) == Judgement(Verdict.WAIT)
    assert referee.before_search(position, 321) == Judgement(Verdict.WAIT)
    assert referee.before_search(position, 318).verdict is not Verdict.WAIT
    referee.plays_on()
    assert referee.before_search(position, 320).verdict is not Verdict.WAIT


def test_the_very_last_move_mates_if_it_can() -> None:
    referee, position = judge(), Position.from_sfen(MATES)
    assert referee.before_search(position, 318).verdict is Verdict.SEARCH
    last = referee.before_search(position, 319)
    assert (last.verdict, move_to_usi(last.move)) == (Verdict.PLAY, "G*5b")
    assert referee.before_search(START, 319).verdict is Verdict.SEARCH
    assert position.sfen() == Position.from_sfen(MATES).sfen()


def test_the_searchs_move_limit() -> None:
    assert judge().search_limit == 320
    assert judge(max_moves=None).search_limit == 0
    wcsc = judge(replace(SETTINGS, mate_at_limit=True))
    assert wcsc.search_limit == 321
    assert wcsc.at_limit(320)
    assert not wcsc.at_limit(319)
    wcsc.plays_on()
    assert wcsc.search_limit == 0
    assert [judge(max_moves=LONGEST_GAME + more).search_limit for more in (0, 1)] == [LONGEST_GAME, 0]
