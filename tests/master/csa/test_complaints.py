"""The tournament server's ``##[ERROR]`` lines, in its own words."""

from __future__ import annotations

import pytest

from master.csa.events import Severity, severity_of, with_advice


@pytest.mark.parametrize(
    ("text", "severity", "advice"),
    [
        (
            "You are not allowed to specify TEBAN + for the game floodgate-300-10F",
            Severity.PERMANENT,
            "leave -B or -W out",
        ),
        ("Random turn preference is not allowed for handicapped games", Severity.PERMANENT, "put -B or -W behind"),
        ("bad game name: floodgate300-10F.", Severity.PERMANENT, "NAME-TOTAL-BYOYOMI"),
        ("game name should consist of three parts like game-1500-60.", Severity.PERMANENT, "NAME-TOTAL-BYOYOMI"),
        ("invalid identifiers are found or too many characters are used.", Severity.PERMANENT, "NAME-TOTAL-BYOYOMI"),
        (
            "As the service is going to shutdown shortly, starting new games is not allowed now.",
            Severity.TEMPORARY,
            "",
        ),
        ("unknown command: x", Severity.IGNORABLE, ""),
        ("you are in agree_waiting status. GAME is valid in connected or game_waiting status", Severity.IGNORABLE, ""),
        ("", Severity.IGNORABLE, ""),
    ],
)
def test_what_the_server_says_and_what_it_means(text: str, severity: Severity, advice: str) -> None:
    assert severity_of(text) is severity
    said = with_advice(text)
    assert said.startswith(text.rstrip("."))
    assert advice in said
    assert (";" in said) == bool(advice)
