"""The player's time, and the rules of the game around its searches."""

from __future__ import annotations

from dataclasses import replace

from cluster.api import RetimeSearch
from master.player.inputs import LineSent, Tick
from master.player.instructions import PlayerSettings
from tests.answers import make_progress
from tests.master.player.table import BLACK, Table, progress
from worker.clock.timecontrol import TimeControl

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
    """Every echo comes 700 ms behind our line: whole seconds are aimed at with that margin."""
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


def test_what_the_search_is_told_of_the_rules() -> None:
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
    assert len(table.requests) == 1  # the search from before the limit: this one is waited at again
    assert table.player.deadline_ms is not None


def test_a_mate_by_the_last_move_is_played_without_a_search() -> None:
    mating = replace(BLACK, start_sfen="4k4/9/4P4/9/9/9/9/9/4K4 b G 1", max_moves=1)
    table = Table().begin(mating)
    assert table.lines[-1] == "+0052KI"
    assert not table.requests
    assert not table.pondered


def test_where_no_move_was_reported_by_the_deadline_one_is_chosen_by_material() -> None:
    table = Table().begin(replace(BLACK, start_sfen="4k4/9/9/4r4/9/9/4R4/9/3K5 b - 1"))
    table.tell(Tick(), table.now + 10**6)
    assert table.lines[-1].startswith("+5754HI")
    assert table.notes() == ["fallback_move"]
