"""The player, event by event: no network, no clock, no engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.api import Decision, Progress, RetimeSearch
from master.csa.summary import GameSummary, format_summary, parse_summary
from master.player.events import (
    Conclusion,
    GameBegan,
    GameEnded,
    GameFound,
    GameOutcome,
    GameRefused,
    LoggedIn,
    MovePlayed,
    ThinkingBegan,
)
from master.player.inputs import GiveUp, Prepared
from master.player.instructions import PrepareSearcher, Send
from tests.master.csa.transcripts import NAMES, server_lines, summary_lines
from tests.master.player.table import BLACK, WHITE, Table, progress
from worker.clock.timecontrol import TimeControl
from worker.shogi import Position, move_to_usi


def test_voters_that_do_not_agree_get_more_time() -> None:
    table = Table().begin()
    for agreement in (1.0, 0.5, 0.5, 1.0):
        table.tell(replace(progress(1, "7g7f"), agreement=agreement))
    table.tell(replace(progress(9, "7g7f"), agreement=0.3))
    retimed = [instruction for instruction in table.all if isinstance(instruction, RetimeSearch)]
    assert [instruction.search_id for instruction in retimed] == [1, 1, 1]
    assert retimed[1].soft_ms > retimed[0].soft_ms == retimed[2].soft_ms


def test_a_game_from_login_to_logout() -> None:
    table = Table().begin()
    assert table.lines == ["LOGIN alice test-60-5F-B,pwa", f"AGREE {BLACK.game_id}"]
    request = table.requests[0]
    assert (request.search_id, request.sfen, request.moves) == (1, BLACK.start_sfen, ())
    assert request.soft_ms is not None
    assert request.hard_ms is not None
    assert request.soft_ms <= request.hard_ms < 65_000
    table.tell(progress(1, "7g7f"))
    assert table.decide("7g7f", 55, ["3c3d", "2g2f"]) == "+7776FU,'* 55 -3334FU +2726FU"
    table.hear("+7776FU,T2", after_ms=2_300)
    assert len(table.requests) == 1
    table.hear("-3334FU,T4", after_ms=4_100)
    assert table.requests[1].search_id == 3
    assert table.requests[1].moves == ("7g7f", "3c3d")
    assert table.decide("2g2f", None) == "+2726FU"
    table.hear("+2726FU,T0", "%TORYO", "#RESIGN", "#WIN")
    assert table.lines[-1] == "LOGOUT"
    assert table.outcome == GameOutcome(Conclusion.WIN, "RESIGN", BLACK, winner=0, plies=3, sfen=table.outcome.sfen)
    assert [type(event) for event in table.events] == [
        LoggedIn, GameFound, GameBegan, ThinkingBegan, Progress, Decision, MovePlayed, MovePlayed,
        ThinkingBegan, Decision, MovePlayed, GameEnded,
    ]  # fmt: skip
    moves = [event for event in table.events if isinstance(event, MovePlayed)]
    assert [(move.ply, move.mine, move.usi, move.consumed_ms, move.comment.score) for move in moves] == [
        (1, True, "7g7f", 2000, 55),
        (2, False, "3c3d", 4000, None),
        (3, True, "2g2f", 0, None),
    ]
    assert moves[0].comment.pv == ("-3334FU", "+2726FU")
    assert [move.clocks.left_ms for move in moves] == [(63_000, 60_000), (63_000, 61_000), (68_000, 61_000)]


def test_the_game_is_agreed_to_once_the_searcher_is_ready() -> None:
    table = Table()
    table.hear("LOGIN:alice OK")
    found = table.hear(*format_summary(BLACK))
    assert found[-1] == PrepareSearcher()
    assert len(table.lines) == 1
    assert table.tell(Prepared()) == [Send(f"AGREE {BLACK.game_id}", f"AGREE {BLACK.game_id}")]
    assert table.tell(Prepared()) == []


def test_a_start_in_the_middle_of_a_game() -> None:
    buoy = parse_summary(summary_lines("24_buoy.white")[1:-1])
    table = Table().begin(buoy)
    assert table.requests[0].moves == ("7g7f", "3c3d", "2g2f")
    began = next(event for event in table.events if isinstance(event, GameBegan))
    assert began.sfen.endswith(" w - 4")
    assert began.clocks.left_ms == (60_000, 60_000)
    assert table.decide("8c8d") == "-8384FU,'* 0"


# Offers that cannot be played


@pytest.mark.parametrize(
    ("summary", "why"),
    [
        (replace(BLACK, format="Go 1.0"), "unknown game"),
        (replace(BLACK, declaration="Jishogi 9.9"), "unknown rule"),
        (replace(BLACK, time=(TimeControl(total_ms=1000, least_ms=1000),) * 2), "no move"),
        (replace(BLACK, start_sfen="9/9/9/9/9/9/9/9/4K4 b - 1"), "king is missing"),
        (replace(BLACK, start_sfen="4k4/4P4/9/9/9/9/9/9/4K4 b - 1"), "take the king"),
        (replace(BLACK, max_moves=1, moves=parse_summary(summary_lines("24_buoy.white")[1:-1]).moves[:1]), "limit"),
    ],
)
def test_refuses_games_that_it_cannot_play(summary: GameSummary, why: str) -> None:
    if summary.moves:
        summary = replace(summary, to_move=1)
    table = Table()
    table.hear("LOGIN:alice OK", *format_summary(summary))
    assert table.lines[-1] == f"REJECT {summary.game_id}"
    (refused,) = [event for event in table.events if isinstance(event, GameRefused)]
    assert why in refused.why
    assert table.player.outcome is None
    table.hear(f"REJECT:{summary.game_id} by alice")
    assert (table.outcome.conclusion, table.outcome.reason) == (Conclusion.NOT_PLAYED, "rejected by alice")


def test_refuses_moves_that_are_not_legal() -> None:
    buoy = parse_summary(summary_lines("24_buoy.white")[1:-1])
    table = Table()
    table.hear("LOGIN:alice OK", *[line.replace("-3334FU", "-3335FU") for line in format_summary(buoy)])
    assert table.lines[-1].startswith("REJECT")


# The server's board


def test_the_servers_echo_counts() -> None:
    table = Table().begin()
    table.hear("+2726FU,T0")  # not ours: the search is for a position that is gone
    assert table.stopped == [1]
    assert "unexpected_line" in table.notes()
    table.hear("-3334FU,T0")
    assert table.requests[-1].moves == ("2g2f", "3c3d")


def test_a_move_that_is_not_legal_here_ends_the_game() -> None:
    table = Table().begin(WHITE)
    table.hear("+7775FU,T0")
    assert table.lines[-1] == "%TORYO"
    assert "lost_track" in table.notes()
    table.hear("%TORYO", "#RESIGN", "#LOSE")
    assert table.outcome.conclusion is Conclusion.LOSE


def test_surprising_lines_are_noted_and_change_nothing() -> None:
    table = Table().begin()
    table.hear("what?", "", "##[CHAT] hello")
    assert table.notes() == ["unexpected_line", "server_notice"]
    assert table.decide("7g7f").startswith("+7776FU")


# Giving up


@pytest.mark.parametrize("heard", [0, 1, 20, 45])
def test_abort_before_the_game(heard: int) -> None:
    table = Table()
    table.hear(*["LOGIN:alice OK", *format_summary(BLACK)][:heard])
    table.tell(GiveUp("Ctrl-C"))
    assert table.outcome.conclusion is Conclusion.ABORTED
    assert table.lines[1:] == ["LOGOUT"] * (heard > 0)
    assert table.tell(Prepared()) == []


# Everything at once


@pytest.mark.parametrize("name", [name for name in NAMES if "BEGIN Game_Summary" in server_lines(name)])
def test_replays_every_recorded_game(name: str) -> None:
    """The recorded server against this player: on our turns, our moves are those of the recording."""
    table = Table()
    lines = list(server_lines(name))
    answered = 0
    for index, line in enumerate(lines):
        if len(table.requests) > answered and table.player.outcome is None:
            answered = len(table.requests)
            mine = next((text for text in lines[index:] if text[:1] in ("+", "-") and "," in text), None)
            if mine is not None and line == mine:
                board = Position.from_sfen(table.requests[-1].sfen)
                board.push_all(table.requests[-1].moves)
                assert table.decide(move_to_usi(board.parse_csa(mine[:7]))).startswith(mine[:7])
        table.hear(line)
        if line == "END Game_Summary" and table.player.outcome is None:
            table.tell(Prepared())
    results = [line[1:] for line in lines if line in ("#WIN", "#LOSE", "#DRAW", "#CENSORED")]
    if results:
        assert table.outcome.conclusion.value == results[0]
