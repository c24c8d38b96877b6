"""Searchers that fail: the player sends a legal move in time all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from master.player.inputs import SearchFailed, Tick
from master.player.instructions import PlayerSettings
from tests.answers import make_known, root_line
from tests.master.player.table import BLACK, Table, decision, progress
from worker.clock import ClockSettings
from worker.clock.timecontrol import TimeControl
from worker.shogi import Position


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
    """Or a silent searcher would lose on time where nearly nothing is kept back."""
    table = Table(PlayerSettings(clock=ClockSettings(network_margin_ms=20))).begin()
    request = table.requests[0]
    assert request.hard_ms is not None
    assert table.player.deadline_ms == table.now + request.hard_ms + 20


def test_what_pondering_knew_is_played_where_the_search_says_nothing() -> None:
    table = Table().begin()
    table.decide("7g7f")
    table.hear("+7776FU,T0")
    table.ponder("3c3d", make_known("2g2f", 30, 12, 10_000, 4000, 2000))
    table.hear("-3334FU,T0")
    table.tell(Tick(), table.now + 10**6)
    assert table.lines[-1] == "+2726FU"


@pytest.mark.parametrize(("reply", "answer"), [("-3334FU", "+2726FU"), ("-8384FU", None)])
def test_what_the_last_search_expected_is_played_where_this_one_says_nothing(reply: str, answer: str | None) -> None:
    table = Table().begin()
    table.decide("7g7f", 55, ["3c3d", "2g2f", "4c4d"])
    table.hear("+7776FU,T2", after_ms=2_300)
    table.hear(f"{reply},T4", after_ms=4_100)
    table.tell(Tick(), table.now + 10**6)
    assert (table.lines[-1] == "+2726FU") is (answer is not None)


def test_the_deadline_is_in_front_of_the_flag() -> None:
    summary = replace(BLACK, time=(TimeControl(byoyomi_ms=1000),) * 2)
    table = Table().begin(summary)
    assert table.player.deadline_ms is not None
    assert table.player.deadline_ms < table.now + 1000 - 200


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


def test_a_pv_is_cut_where_it_is_not_legal_and_where_it_is_long() -> None:
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
