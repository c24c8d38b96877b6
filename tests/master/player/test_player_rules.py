"""The rules of a game as the player plays it, and its endings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.api import RetimeSearch
from master.csa.summary import format_summary
from master.player.events import Conclusion
from master.player.inputs import ConnectionLost, LineSent, Prepared, Tick
from master.player.instructions import PlayerSettings
from tests.answers import make_progress
from tests.master.player.table import BLACK, ENTERED, MATED, WHITE, Table, decision, progress
from worker.clock.timecontrol import TimeControl
from worker.rules import EnteringKingRule
from worker.shogi import Position

# Time


def test_a_move_that_stays_is_played_early_and_one_that_changes_late() -> None:
    soft = []
    for moves in (["7g7f"] * 8, ["7g7f"] * 7 + ["2g2f"]):
        table = Table().begin()
        for number, move in enumerate(moves, start=1):
            table.tell(replace(progress(1, move), elapsed_ms=100 * number))
        asked = table.requests[0].soft_ms
        told = [asked] + [instruction.soft_ms for instruction in table.all if isinstance(instruction, RetimeSearch)]
        soft.append((asked, told[-1]))
    (asked, easy), (_, hard) = soft
    assert easy < asked < hard


def test_a_score_that_falls_buys_time() -> None:
    soft = []
    for score in (0, -300):
        table = Table().begin()
        table.decide("7g7f", 10)
        table.hear("+7776FU,T0", "-3334FU,T0")
        table.tell(make_progress(3, 5, 3, score, ("2g2f",), 100))
        asked = table.requests[-1].soft_ms
        assert asked is not None
        soft.append([asked, *(item.soft_ms for item in table.all if isinstance(item, RetimeSearch))][-1])
    assert soft[0] < soft[1]


def test_the_line_is_measured() -> None:
    """Every echo comes 700 ms after our line: whole seconds are the target, with that margin."""
    table = Table().begin(replace(BLACK, max_moves=None))
    for number in range(20):
        table.decide(("2h3h", "3h2h")[number % 2])
        table.player.handle(LineSent(), table.now)
        table.hear(f"{('+2838HI', '+3828HI')[number % 2]},T0", after_ms=700)
        table.hear(("-8272HI", "-7282HI")[number % 2] + ",T0")
    soft_ms = table.requests[-1].soft_ms
    assert soft_ms is not None
    assert soft_ms % 1000 == 300


# The rules


def test_the_searchs_rules() -> None:
    settings_ = PlayerSettings(draw_black=-50, draw_white=70, mate_at_limit=True)
    for summary, limit in (
        (BLACK, BLACK.max_moves),
        (replace(BLACK, max_moves=320), 320),
        (replace(BLACK, max_moves=None), None),
    ):
        table = Table(settings_).begin(summary)
        table.decide("7g7f")
        for request in (*table.requests, *table.pondered):
            assert (request.draw_black, request.draw_white) == (-50, 70)
            assert request.max_moves == (limit + 1 if limit else 0)
    assert Table().begin(replace(BLACK, max_moves=256)).requests[0].max_moves == 256


def at_the_limit() -> Table:
    """White's move is the last one before the limit, and black is we."""
    table = Table().begin(replace(BLACK, max_moves=2, time=(TimeControl(total_ms=60_000),) * 2))
    table.decide("7g7f")
    assert not any(request.moves[:1] == ("7g7f",) for request in table.requests)
    table.hear("+7776FU,T0", "-3334FU,T0")
    return table


def test_a_server_that_does_not_keep_to_its_limit_is_answered() -> None:
    table = at_the_limit()
    assert table.player.deadline_ms == table.now + 2000
    table.now += 2000
    assert table.tell(Tick(), table.now - 1) == []
    table.tell(Tick())
    assert "move_limit_passed" in table.notes()
    request = table.requests[-1]
    assert (request.moves, request.max_moves) == (("7g7f", "3c3d"), 0)
    assert table.decide("2g2f").startswith("+2726FU")
    table.hear("+2726FU,T2", "-8384FU,T0")
    assert len(table.requests) == 3


def test_a_server_that_plays_for_us_at_the_limit_leaves_nothing_to_wait_for() -> None:
    table = at_the_limit()
    table.hear("+2726FU,T0")
    assert table.player.deadline_ms is None
    table.now += 2000
    assert table.tell(Tick()) == []
    table.hear("-8384FU,T0")
    assert len(table.requests) == 1  # the search from before the limit: the player waits for it again
    assert table.player.deadline_ms is not None


def test_a_mate_by_the_last_move_is_played_without_a_search() -> None:
    mating = replace(BLACK, start_sfen="4k4/9/4P4/9/9/9/9/9/4K4 b G 1", max_moves=1)
    table = Table().begin(mating)
    assert table.lines[-1] == "+0052KI"
    assert not table.requests
    assert not table.pondered


def test_if_no_move_was_reported_by_the_deadline_one_is_chosen_by_material() -> None:
    table = Table().begin(replace(BLACK, start_sfen="4k4/9/9/4r4/9/9/4R4/9/3K5 b - 1"))
    table.tell(Tick(), table.now + 10**6)
    assert table.lines[-1].startswith("+5754HI")
    assert table.notes() == ["fallback_move"]


def test_login_refused() -> None:
    table = Table()
    table.hear("LOGIN:incorrect")
    assert table.outcome.conclusion is Conclusion.LOGIN_REFUSED
    assert len(table.lines) == 1


def test_the_opponent_rejects() -> None:
    table = Table()
    table.hear("LOGIN:alice OK", *format_summary(BLACK), f"REJECT:{BLACK.game_id} by bob")
    assert table.outcome.conclusion is Conclusion.NOT_PLAYED
    assert not table.outcome.played
    assert table.tell(Prepared()) == []


@pytest.mark.parametrize(
    ("lines", "conclusion", "winner"),
    [
        (["#TIME_UP", "#WIN"], Conclusion.WIN, 0),
        (["#TIME_UP", "#LOSE"], Conclusion.LOSE, 1),
        (["#SENNICHITE", "#DRAW"], Conclusion.DRAW, None),
        (["#MAX_MOVES", "#CENSORED"], Conclusion.CENSORED, None),
        (["#CHUDAN"], Conclusion.INTERRUPTED, None),
        (["%KACHI,T0", "%KACHI", "#JISHOGI", "#LOSE"], Conclusion.LOSE, 1),
    ],
)
def test_an_end_stops_the_search(lines: list[str], conclusion: Conclusion, winner: int | None) -> None:
    table = Table().begin()
    table.hear(*lines)
    assert table.stopped == [1]
    assert (table.outcome.conclusion, table.outcome.winner) == (conclusion, winner)
    assert table.tell(decision(1, "7g7f")) == []
    assert table.hear("+7776FU,T0", "#WIN") == []


def test_a_line_that_drops() -> None:
    table = Table().begin()
    table.hear("#TIME_UP")
    table.tell(ConnectionLost("server:4081 closed the connection"))
    assert table.outcome.conclusion is Conclusion.DISCONNECTED
    assert table.outcome.played
    assert "playing" in table.outcome.reason
    assert "#TIME_UP" in table.outcome.reason
    assert table.stopped == [1]
    assert table.tell(ConnectionLost("again")) == []


def test_a_mated_player_resigns() -> None:
    table = Table().begin(replace(WHITE, to_move=1, start_sfen=MATED))
    assert table.lines[-1] == "%TORYO"
    assert table.requests == []


# Declaring


def test_declares_when_it_can_without_searching() -> None:
    assert Position.from_sfen(ENTERED).can_declare()
    table = Table().begin(replace(BLACK, start_sfen=ENTERED))
    assert table.lines[-1] == "%KACHI"
    assert table.requests == []


def test_declares_in_a_handicap_game_by_the_rule_that_is_set() -> None:
    """We are white, play without a rook and a bishop, and have 17 points."""
    summary = replace(WHITE, to_move=1, start_sfen="4K4/9/9/9/9/9/pppppp3/9/2sgkgs2 w RB2G2S4N4L5P7p 1")
    declares = replace(summary, declaration="Jishogi 1.1")
    table = Table(PlayerSettings(entering=EnteringKingRule.CSA_27H)).begin(declares)
    assert table.lines[-1] == "%KACHI"
    for settings, game in (
        (PlayerSettings(entering=EnteringKingRule.CSA_27H), replace(summary, declaration="")),
        (PlayerSettings(), declares),
    ):
        table = Table(settings).begin(game)
        expected = settings.entering if game.declaration else EnteringKingRule.NONE
        assert table.lines[-1] != "%KACHI" and table.requests[-1].entering is expected


def test_declares_never_if_the_rule_is_not_offered() -> None:
    table = Table().begin(replace(BLACK, start_sfen=ENTERED, declaration=""))
    assert table.requests[-1].entering is EnteringKingRule.NONE
    line = table.decide("win", None)
    assert line != "%KACHI"
    assert "fallback_move" in table.notes()


def test_a_wrong_declaration_is_not_sent() -> None:
    table = Table().begin()
    assert table.decide("win", None)[0] == "+"
