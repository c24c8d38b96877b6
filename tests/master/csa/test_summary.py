from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from master.csa.offer import read_offer
from master.csa.summary import SummaryError, format_summary, parse_summary
from tests.master.csa.transcripts import WITH_SUMMARY, summary_lines
from worker.clock.timecontrol import TimeControl

BUOY = summary_lines("24_buoy.white")[1:-1]


def changed(old: str, *new: str) -> list[str]:
    """The summary of ``24_buoy.white`` with one line replaced."""
    index = BUOY.index(old)
    return [*BUOY[:index], *new, *BUOY[index + 1 :]]


@pytest.mark.parametrize("name", WITH_SUMMARY)
def test_recorded_summaries_are_read_and_written_unchanged(name: str) -> None:
    lines = summary_lines(name)
    assert format_summary(parse_summary(lines[1:-1])) == lines


@pytest.mark.parametrize("to_move", ["To_Move:-", "To_Move:+"])
def test_both_readings_of_who_is_to_move(to_move: str) -> None:
    """To_Move after moves in the position block: the side to move now, as shogi-server has it, or the first mover."""
    summary = parse_summary(changed("To_Move:-", to_move))
    assert summary == parse_summary(BUOY)
    position, moves = read_offer(summary)
    assert (position.turn, summary.to_move, len(moves)) == (1, 1, 3)


@pytest.mark.parametrize("to_move", ["To_Move:-", "To_Move:+"])
def test_both_readings_if_white_begins(to_move: str) -> None:
    handicapped = [line.replace("+KA", " * ").replace("+HI", " * ") for line in changed("To_Move:-", to_move)]
    start = handicapped.index("+")
    handicapped[start : start + 4] = ["-", "-3334FU,T1"]
    summary = parse_summary(handicapped)
    assert summary.start_sfen.split()[1] == "w"
    assert summary.to_move == read_offer(summary)[0].turn == 0


def test_who_is_to_move_may_be_left_out() -> None:
    assert parse_summary(changed("To_Move:-")) == parse_summary(BUOY)


def test_time_per_side_and_units() -> None:
    lines = summary_lines("01_fischer_toryo.black")[1:-1]
    start, end = lines.index("BEGIN Time"), lines.index("END Time")
    black = ["BEGIN Time+", "Time_Unit:1msec", "Total_Time:900000", "Delay:500", "Time_Roundup:YES", "END Time+"]
    white = ["BEGIN Time-", "Time_Unit:1min", "Total_Time:10", "Byoyomi:1", "Least_Time_Per_Move:1", "END Time-"]
    summary = parse_summary([*lines[:start], *black, *white, *lines[end + 1 :]])
    assert summary.time[0] == TimeControl(total_ms=900_000, delay_ms=500, unit_ms=1, roundup=True)
    assert summary.time[1] == TimeControl(total_ms=600_000, byoyomi_ms=60_000, least_ms=60_000, unit_ms=60_000)
    assert parse_summary(format_summary(summary)[1:-1]) == summary


def test_a_common_time_block_holds_for_the_side_without_its_own() -> None:
    lines = [*BUOY, "BEGIN Time+", "Total_Time:1", "END Time+"]
    assert parse_summary(lines).time == (TimeControl(total_ms=1000), TimeControl(total_ms=60_000, increment_ms=5_000))


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (changed("Your_Turn:-"), "Your_Turn is missing"),
        (changed("Your_Turn:-", "Your_Turn:x"), "Your_Turn"),
        (changed("+2726FU,T1"), "contradicts"),  # after two moves the first mover is to move, and To_Move is neither
        ([line for line in BUOY if not re.match(r"[+-][0-9]", line)], "contradicts"),
        (changed("Max_Moves:256", "Max_Moves:many"), "Max_Moves"),
        (changed("Max_Moves:256", "Max_Moves:99999999999999999999"), "Max_Moves"),
        (changed("Total_Time:60", "Total_Time:-1"), "Total_Time"),
        (changed("Time_Unit:1sec", "Time_Unit:1fortnight"), "Time_Unit"),
        (changed("Time_Unit:1sec", "Time_Unit:0sec"), "Time_Unit"),
        (changed("Byoyomi:0", "Time_Roundup:MAYBE"), "Time_Roundup"),
        (changed("END Time"), "not closed"),
        (changed("+"), "no side to move"),
        (changed("P5 *  *  *  *  *  *  *  *  * ", "P5?"), "no piece"),
        (changed("-3334FU,T1", "-3334F,T1"), "no move"),
        (changed("-3334FU,T1", "+3334FU,T1"), "out of turn"),
        (changed("-3334FU,T1", "-3334FU,Tx"), "no time"),
        (BUOY[: BUOY.index("BEGIN Position")], "no position block"),
        ([*BUOY, "BEGIN Time", "END Time"], "stands twice"),
    ],
)
def test_errors_name_the_line(lines: list[str], why: str) -> None:
    with pytest.raises(SummaryError, match=why):
        parse_summary(lines)


@given(st.data())
def test_damaged_summaries_give_a_summary_or_the_error(data: st.DataObject) -> None:
    lines = list(BUOY)
    for _ in range(data.draw(st.integers(1, 4))):
        index = data.draw(st.integers(0, len(lines) - 1))
        lines[index] = data.draw(st.one_of(st.text(max_size=30), st.sampled_from(BUOY)))
    try:
        summary = parse_summary(lines)
    except SummaryError:
        return
    assert parse_summary(format_summary(summary)[1:-1]).moves == summary.moves
