"""A server with unexpected answers, a player that gives up, and searchers that fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from master.csa.summary import format_summary
from master.player.events import Conclusion, GameFound, GameRefused, MovePlayed, Note
from master.player.inputs import ConnectionLost, GiveUp, Leave, Prepared, SearchFailed, Tick
from master.player.instructions import PlayerSettings
from tests.answers import make_known, root_line
from tests.master.player.table import BLACK, WHITE, Table, decision, progress
from worker.clock import ClockSettings
from worker.clock.timecontrol import TimeControl
from worker.shogi import Position

TEBAN = "You are not allowed to specify TEBAN + for the game floodgate-300-10F"
CLOSING = "As the service is going to shutdown shortly, starting new games is not allowed now."


# A wish that is refused


@pytest.mark.parametrize(
    ("text", "conclusion", "reason"),
    [
        (TEBAN, Conclusion.WRONG_GAME, f"the server says: {TEBAN}; leave -B or -W out of the game name"),
        (CLOSING, Conclusion.NO_NEW_GAMES, f"the server says: {CLOSING.rstrip('.')}"),
    ],
)
def test_nobody_waits_for_a_game_that_cannot_come(text: str, conclusion: Conclusion, reason: str) -> None:
    table = Table()
    table.hear("LOGIN:alice OK", f"##[ERROR] {text}")
    (note,) = [event for event in table.events if isinstance(event, Note)]
    assert (note.event, note.fields, note.warning) == ("server_complains", {"text": text}, True)
    assert (table.outcome.conclusion, table.outcome.reason) == (conclusion, reason)
    assert not table.outcome.played
    assert table.lines[-1] == "LOGOUT"


# Another game than the requested one


def asking(game: str) -> Table:
    table = Table(PlayerSettings(game=game))
    table.hear("LOGIN:alice OK")
    return table


def test_another_time_than_the_name_says_is_rejected() -> None:
    offer = replace(BLACK, time=(TimeControl(1_500_000),) * 2)
    table = asking("test-60-5F-B")
    table.hear(*format_summary(offer))
    assert table.lines[-1] == f"REJECT {offer.game_id}"
    why = "the game test-60-5F-B is 60 s + 5 s a move, and the server offers 1500 s"
    assert [event for event in table.events if isinstance(event, GameRefused | GameFound)] == [GameRefused(why)]
    assert table.tell(Prepared()) == []
    table.hear(f"REJECT:{offer.game_id} by alice")
    assert (table.outcome.conclusion, table.outcome.reason) == (Conclusion.WRONG_GAME, why)


def test_the_default_game_is_rejected_and_the_connection_may_drop_after_that() -> None:
    offer = replace(BLACK, game_id="test+default-1500-0+alice+bob+20261121082246", time=(TimeControl(1_500_000),) * 2)
    table = asking("floodgate300-10F")
    table.hear(*format_summary(offer))
    table.tell(ConnectionLost("closed"))
    assert table.outcome.conclusion is Conclusion.WRONG_GAME
    assert table.outcome.reason == "asked for the game floodgate300-10F, and the server offers default-1500-0"


@pytest.mark.parametrize("game", ["", "test-60-5F", "test-60-5F-B", "issued"])
def test_the_game_that_was_asked_for_is_played(game: str) -> None:
    table = asking(game)
    table.hear(*format_summary(BLACK))
    assert table.tell(Prepared())
    table.hear(f"START:{BLACK.game_id}")
    assert len(table.requests) == 1


# Leaving


def test_abort_on_turn_resigns_and_waits_for_the_result() -> None:
    table = Table().begin()
    table.tell(GiveUp("Ctrl-C"))
    assert table.lines[-1] == "%TORYO"
    assert table.stopped == [1]
    assert table.tell(GiveUp("again")) == []
    assert table.tell(decision(1, "7g7f")) == []
    assert table.tell(Leave()) == []
    table.hear("%TORYO", "#RESIGN", "#LOSE")
    assert (table.outcome.conclusion, table.outcome.reason, table.outcome.comment) == (Conclusion.LOSE, "RESIGN", "")


def test_abort_off_turn_resigns_when_the_opponent_has_moved() -> None:
    table = Table().begin(WHITE)
    before = len(table.lines)
    table.tell(GiveUp("Ctrl-C"))
    assert table.lines[before:] == []
    table.hear("+7776FU,T0")
    assert table.lines[before:] == ["%TORYO"]
    assert table.requests == []
    table.hear("%TORYO", "#RESIGN", "#LOSE")
    assert (table.outcome.conclusion, table.outcome.winner, table.outcome.plies) == (Conclusion.LOSE, 0, 1)
    assert [event.usi for event in table.events if isinstance(event, MovePlayed)] == ["7g7f"]


@pytest.mark.parametrize("ending", [["%TORYO", "#RESIGN", "#WIN"], ["#TIME_UP", "#WIN"]])
def test_a_player_that_waits_before_leaving_gets_the_opponents_end(ending: list[str]) -> None:
    table = Table().begin(WHITE)
    table.tell(GiveUp("Ctrl-C"))
    table.hear(*ending)
    assert table.outcome.conclusion is Conclusion.WIN


def test_leaving_on_the_opponents_turn_is_a_loss() -> None:
    """No more lines of the game come: the server resigns for us when the opponent has moved."""
    table = Table().begin(WHITE)
    assert table.tell(Leave()) != []  # a driver that does not wait
    table = Table().begin(WHITE)
    table.tell(GiveUp("Ctrl-C"))
    table.tell(Leave())
    assert table.lines[-1] == "LOGOUT"
    assert table.tell(Leave()) == []
    table.hear("LOGOUT:completed")
    assert (table.outcome.conclusion, table.outcome.reason, table.outcome.winner) == (Conclusion.LOSE, "RESIGN", 0)
    assert table.outcome.comment == "Ctrl-C, left on the opponent's turn"


def test_an_opponent_who_moves_while_we_log_out() -> None:
    table = Table().begin(WHITE)
    table.tell(GiveUp("Ctrl-C"))
    table.tell(Leave())
    table.hear("+7776FU,T0", "LOGOUT:completed")
    assert (table.outcome.conclusion, table.outcome.plies) == (Conclusion.LOSE, 1)
    assert table.requests == []


@pytest.mark.parametrize("last", [[], ["#RESIGN"]])
def test_a_connection_lost_after_the_resignation_is_a_loss(last: list[str]) -> None:
    table = Table().begin()
    table.tell(GiveUp("Ctrl-C"))
    table.hear(*last)
    table.tell(ConnectionLost("closed"))
    assert (table.outcome.conclusion, table.outcome.reason) == (Conclusion.LOSE, "RESIGN")
    assert table.outcome.comment == "Ctrl-C, %TORYO was not answered"


def test_an_ending_whose_result_was_not_heard_is_not_made_up() -> None:
    table = Table().begin(WHITE)
    table.tell(GiveUp("Ctrl-C"))
    table.hear("#SENNICHITE")
    table.tell(ConnectionLost("closed"))
    assert table.outcome.conclusion is Conclusion.ABORTED
    assert table.outcome.reason == "Ctrl-C (the server had said #SENNICHITE)"


def test_leaving_with_our_move_not_echoed() -> None:
    table = Table().begin()
    table.decide("7g7f")
    table.tell(GiveUp("Ctrl-C"))
    assert table.tell(Leave()) == []  # the line is dead or slow; more on it would not help
    table.tell(ConnectionLost("stopped by us"))
    assert (table.outcome.conclusion, table.outcome.comment) == (Conclusion.LOSE, "Ctrl-C, +7776FU was not answered")


def test_an_illegal_decision_is_never_sent() -> None:
    table = Table().begin()
    table.tell(progress(1, "2g2f"))
    assert table.decide("7g7e", 30) == "+2726FU"
    assert table.notes() == ["fallback_move"]


@pytest.mark.parametrize("move", ["", "0000", "resign", "win", "7g7f+", "P*5e", "５五", "x" * 1000])
def test_nonsense_ends_in_a_legal_move(move: str) -> None:
    table = Table().begin()
    table.tell(progress(1, "7g7z"))
    line = table.decide(move, None)
    Position.startpos().push_csa(line)


def test_the_hard_deadline_ends_the_turn_with_the_best_that_is_known() -> None:
    table = Table().begin()
    request = table.requests[0]
    assert request.hard_ms is not None
    deadline = table.player.deadline_ms
    assert deadline == table.now + request.hard_ms + PlayerSettings().guard_ms
    table.tell(progress(1, "2g2f", "8c8d"))
    assert table.tell(Tick(), deadline - 1) == []
    table.tell(Tick(), deadline)
    assert table.lines[-1] == "+2726FU"
    assert table.stopped == [1]
    assert table.player.deadline_ms is None
    assert table.tell(decision(1, "7g7f")) == []
    assert table.tell(progress(1, "7g7f")) == []


def test_the_guard_never_goes_beyond_the_margin() -> None:
    """Otherwise a silent searcher would lose on time when almost nothing is reserved."""
    table = Table(PlayerSettings(clock=ClockSettings(network_margin_ms=20))).begin()
    request = table.requests[0]
    assert request.hard_ms is not None
    assert table.player.deadline_ms == table.now + request.hard_ms + 20


def test_the_ponder_result_is_played_if_the_search_is_silent() -> None:
    table = Table().begin()
    table.decide("7g7f")
    table.hear("+7776FU,T0")
    table.ponder("3c3d", make_known("2g2f", 30, 12, 10_000, 4000, 2000))
    table.hear("-3334FU,T0")
    table.tell(Tick(), table.now + 10**6)
    assert table.lines[-1] == "+2726FU"


@pytest.mark.parametrize(("reply", "answer"), [("-3334FU", "+2726FU"), ("-8384FU", None)])
def test_the_last_searchs_line_is_played_if_this_one_is_silent(reply: str, answer: str | None) -> None:
    table = Table().begin()
    table.decide("7g7f", 55, ["3c3d", "2g2f", "4c4d"])
    table.hear("+7776FU,T2", after_ms=2_300)
    table.hear(f"{reply},T4", after_ms=4_100)
    table.tell(Tick(), table.now + 10**6)
    assert (table.lines[-1] == "+2726FU") is (answer is not None)


def test_a_search_that_cannot_begin() -> None:
    table = Table().begin()
    table.tell(SearchFailed(7, "another"))
    assert len(table.lines) == 2
    table.tell(SearchFailed(1, "no fleet"))
    Position.startpos().push_csa(table.lines[-1])


def test_decisions_of_earlier_searches_are_ignored() -> None:
    table = Table().begin()
    table.decide("7g7f")
    table.hear("+7776FU,T0", "-3334FU,T0")
    assert table.tell(decision(1, "2g2f")) == []
    assert table.decide("2g2f").startswith("+2726FU")


def test_a_pv_is_cut_at_an_illegal_move_and_at_its_maximum_length() -> None:
    table = Table().begin()
    assert table.decide("7g7f", 1, ["3c3d", "3c3d", "2g2f"]) == "+7776FU,'* 1 -3334FU"
    table.hear("+7776FU,T0", "-3334FU,T0")
    shuffle = ["8b7b", "2h3h", "7b8b", "3h2h"] * 20
    line = table.decide("6i7h", 1, shuffle)
    assert len(line) < 256
    assert line.count(" ") == 25


def test_a_pv_that_begins_elsewhere_is_left_out() -> None:
    table = Table().begin()
    table.tell(replace(decision(1, "7g7f"), lines=(root_line(3, 10, ("2g2f", "8c8d")),)))
    assert table.lines[-1] == "+7776FU,'* 3"
