"""The tournament server's ``##[ERROR]`` lines, in its own words."""

from __future__ import annotations

import pytest

from master.csa.complaints import Hope, hope_after, with_advice


@pytest.mark.parametrize(
    ("text", "hope", "advice"),
    [
        ("You are not allowed to specify TEBAN + for the game floodgate-300-10F", Hope.NONE, "leave -B or -W out"),
        ("Random turn preference is not allowed for handicapped games", Hope.NONE, "put -B or -W behind"),
        ("bad game name: floodgate300-10F.", Hope.NONE, "NAME-TOTAL-BYOYOMI"),
        ("game name should consist of three parts like game-1500-60.", Hope.NONE, "NAME-TOTAL-BYOYOMI"),
        ("invalid identifiers are found or too many characters are used.", Hope.NONE, "NAME-TOTAL-BYOYOMI"),
        (
            "As the service is going to shutdown shortly, starting new games is not allowed now.",
            Hope.LATER_LOGIN,
            "",
        ),
        ("unknown command: x", Hope.THIS_LOGIN, ""),
        ("you are in agree_waiting status. GAME is valid in connected or game_waiting status", Hope.THIS_LOGIN, ""),
        ("", Hope.THIS_LOGIN, ""),
    ],
)
def test_what_the_server_says_and_what_it_means(text: str, hope: Hope, advice: str) -> None:
    assert hope_after(text) is hope
    said = with_advice(text)
    assert said.startswith(text.rstrip("."))
    assert advice in said
    assert (";" in said) == bool(advice)
