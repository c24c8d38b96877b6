"""Settings of matches, and finished games."""

from __future__ import annotations

from lab.match.results import PlayedGame
from lab.match.settings import Contestant, MatchSettings, Pace
from lab.match.statistics import Sprt


def settings() -> MatchSettings:
    players = (Contestant("A", ("/bin/true",), {"Threads": "1"}, "/"), Contestant("B", ("/bin/true", "-x"), {}, "/"))
    return MatchSettings(players, Pace(nodes=100), games=4, sprt=Sprt(0, 5))


def game(number: int) -> PlayedGame:
    return PlayedGame(number, 1.0, "RESIGN", "", 1)
