"""Whether the game on offer is the one that was asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from master.csa.offer import other_game
from master.csa.summary import parse_summary
from tests.master.csa.summaries import WITH_SUMMARY, summary_lines
from worker.clock.timecontrol import TimeControl

OFFER = parse_summary(summary_lines("01_fischer_toryo.black")[1:-1])
DEFAULT = replace(OFFER, game_id="test+default-1500-0+alice+bob+20261121082246", time=(TimeControl(1_500_000),) * 2)


@pytest.mark.parametrize("name", WITH_SUMMARY)
def test_the_recorded_games_are_what_was_asked_for(name: str) -> None:
    summary = parse_summary(summary_lines(name)[1:-1])
    assert other_game(summary, summary.game_id.split("+")[-4]) == ""


@pytest.mark.parametrize("asked", ["", "test-60-5F", "test-60-5F-B", "issued2026"])
def test_what_may_be_played(asked: str) -> None:
    assert other_game(OFFER, asked) == ""


def test_the_default_game_of_a_misspelt_name() -> None:
    for asked in ("floodgate300-10F", "floodgate-300-10F", "issued2026", "test-1500-0"):
        assert other_game(DEFAULT, asked) == f"asked for the game {asked}, and the server offers default-1500-0"
    namesake = replace(OFFER, game_id="test+test-60-5F+default-1500-0+bob+20261121082246")
    assert other_game(namesake, "test-60-5F") == other_game(DEFAULT, "default-1500-0") == ""
    assert other_game(DEFAULT, "") == ""


@pytest.mark.parametrize(
    ("offered", "words"),
    [
        (TimeControl(1_500_000), "1500 s"),
        (TimeControl(60_000, byoyomi_ms=5_000), "60 s, byoyomi 5 s"),
        (TimeControl(60_500, increment_ms=5_000, unit_ms=1), "60.5 s + 5 s a move"),
        (TimeControl(), "no time limit"),
    ],
)
@pytest.mark.parametrize("side", [0, 1])
def test_other_times_are_told(offered: TimeControl, words: str, side: int) -> None:
    times = (offered, OFFER.time[1]) if side == 0 else (OFFER.time[0], offered)
    said = other_game(replace(OFFER, time=times), "test-60-5F")
    assert said == f"the game test-60-5F is 60 s + 5 s a move, and the server offers {words}"
