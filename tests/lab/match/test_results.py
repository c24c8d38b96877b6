"""The games of a match as values, and impossible settings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab.match.folder import from_line, to_line
from lab.match.results import (
    MOST_FAULTS,
    Faults,
    PlayedGame,
    PlayerFigures,
    colour_of_a,
    games_left,
    pair_of,
    results_of,
)
from lab.match.settings import Pace, SettingsError

GAME = PlayedGame(3, 0.0, "TIME_UP", "no move in 1 s", 40, PlayerFigures(20, 400, 80, 900, 700), PlayerFigures(20))


def test_pairs_have_both_colours() -> None:
    assert [(pair_of(number), colour_of_a(number)) for number in range(1, 5)] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert list(games_left(6, {1, 4, 9})) == [2, 3, 5, 6]


def test_a_game_survives_its_line() -> None:
    assert from_line(to_line(GAME), PlayedGame) == GAME
    assert results_of([GAME]) == [(1, 0.0)]


@pytest.mark.parametrize("line", ["", "{}", "[]", "7", '{"number": 1}', to_line(GAME).replace("0.0", "0.7")])
def test_lines_that_are_no_game(line: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        from_line(line, PlayedGame)


def test_whose_fault_it_was() -> None:
    assert GAME.at_fault == 0
    assert replace(GAME, points=1.0, end="CRASH").at_fault == 1
    assert replace(GAME, end="RESIGN").at_fault is None


def test_faults_in_a_row() -> None:
    fine = replace(GAME, end="RESIGN")
    faults = Faults()
    row = [GAME] * (MOST_FAULTS - 1)
    assert [faults.too_many(game) for game in [*row, fine, *row]] == [None] * (2 * MOST_FAULTS - 1)
    assert faults.too_many(GAME) == 0


def test_pace() -> None:
    assert str(Pace(nodes=5)) == "5 nodes a move"
    assert str(Pace(depth=9)) == "depth 9"
    assert str(Pace(main_ms=60_000, increment_ms=500)) == "60 s main time, 0.5 s increment"
    with pytest.raises(SettingsError, match="byoyomi or an increment"):
        Pace(byoyomi_ms=1, increment_ms=1)
