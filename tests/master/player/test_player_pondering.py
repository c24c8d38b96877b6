"""The player's use of the opponent's time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.api import PonderSearch
from master.player.events import (
    ThinkingBegan,
)
from master.player.inputs import ConnectionLost, GiveUp, Tick
from master.player.instructions import Emit, PlayerSettings, Send
from tests.answers import make_known
from tests.master.player.table import BLACK, Table, decision
from worker.score import MATE


def test_the_opponents_time_is_used() -> None:
    table = Table().begin()
    assert not table.pondered
    out = table.tell(decision(1, "7g7f"))
    assert [type(instruction) for instruction in out if not isinstance(instruction, Emit)] == [Send, PonderSearch]
    request = table.pondered[0]
    assert (request.search_id, request.moves) == (2, ("7g7f",))
    assert (request.soft_ms, request.hard_ms) == (None, None)
    assert table.player.deadline_ms is None
    table.hear("+7776FU,T0", "-3334FU,T0")
    assert table.stopped == []
    assert (table.requests[1].search_id, table.requests[1].moves) == (3, ("7g7f", "3c3d"))


def test_what_pondering_found_saves_time() -> None:
    soft = []
    for known in (None, make_known("2g2f", 30, 12, 10_000, 4000, 2000)):
        table = Table().begin()
        table.decide("7g7f")
        table.hear("+7776FU,T0")
        if known is not None:
            table.ponder("3c3d", known)
        table.hear("-3334FU,T0")
        soft.append(table.requests[1].soft_ms or 0)
        began = [event for event in table.events if isinstance(event, ThinkingBegan)]
        assert began[1].known == known
    assert soft[0] - soft[1] == 2000


def test_what_pondering_found_counts_until_the_reply() -> None:
    """The opponent replies 1.5 s after the last word of pondering, half of whose nodes searched behind the reply."""
    table = Table().begin()
    table.decide("7g7f")
    table.hear("+7776FU,T0")
    table.ponder("3c3d", make_known("2g2f", 30, 12, 10_000, 4000, 2000))
    table.hear("-3334FU,T1", after_ms=1_500)
    began = [event for event in table.events if isinstance(event, ThinkingBegan)]
    assert began[1].known == make_known("2g2f", 30, 12, 10_000, 5500, 2750)


@pytest.mark.parametrize("ending", ["result", "line", "abort"])
def test_pondering_ends_with_the_game(ending: str) -> None:
    table = Table().begin()
    table.decide("7g7f")
    table.hear("+7776FU,T0")
    match ending:
        case "result":
            table.hear("%TORYO", "#RESIGN", "#WIN")
        case "line":
            table.tell(ConnectionLost("gone"))
        case "abort":
            table.tell(GiveUp("Ctrl-C"))
    assert table.stopped == [2]


def test_no_pondering_where_it_is_switched_off_or_the_game_is_over() -> None:
    table = Table(PlayerSettings(ponder=False)).begin()
    table.decide("7g7f")
    assert not table.pondered
    table = Table().begin(replace(BLACK, max_moves=3))
    table.decide("7g7f")
    assert len(table.pondered) == 1
    table.hear("+7776FU,T0", "-3334FU,T0")
    table.decide("2g2f")
    assert len(table.pondered) == 1
    mating = replace(BLACK, start_sfen="4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    table = Table().begin(mating)
    table.decide("G*5b", MATE - 1)
    assert not table.pondered


def test_a_move_that_went_out_at_the_deadline_is_pondered_on_too() -> None:
    table = Table().begin()
    table.tell(Tick(), table.now + 10**6)
    assert table.stopped == [1]
    assert [request.search_id for request in table.pondered] == [2]
