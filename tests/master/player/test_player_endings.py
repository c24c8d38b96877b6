"""Ends of a game: by the server, by declaration, by resignation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from master.csa.summary import format_summary
from master.player.events import (
    Conclusion,
)
from master.player.inputs import ConnectionLost, Prepared
from master.player.instructions import PlayerSettings
from tests.master.player.table import BLACK, ENTERED, MATED, WHITE, Table, decision
from worker.rules import EnteringKingRule
from worker.shogi import Position


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


def test_declares_never_where_the_rule_is_not_offered() -> None:
    table = Table().begin(replace(BLACK, start_sfen=ENTERED, declaration=""))
    assert table.requests[-1].entering is EnteringKingRule.NONE
    line = table.decide("win", None)
    assert line != "%KACHI"
    assert "fallback_move" in table.notes()


def test_a_wrong_declaration_is_not_sent() -> None:
    table = Table().begin()
    assert table.decide("win", None)[0] == "+"


# Resigning
