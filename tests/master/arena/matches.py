"""Settings of matches, and games that are over."""

from __future__ import annotations

from master.arena.contestants import Contestant
from master.arena.schedule import PlayedGame
from master.arena.settings import MatchSettings, Pace
from worker.arena.statistics import Sprt


def settings() -> MatchSettings:
    players = (Contestant("A", ("/bin/true",), {"Threads": "1"}, "/"), Contestant("B", ("/bin/true", "-x"), {}, "/"))
    return MatchSettings(players, Pace(nodes=100), games=4, sprt=Sprt(0, 5))


def game(number: int) -> PlayedGame:
    return PlayedGame(number, 1.0, "RESIGN", "", 1)
