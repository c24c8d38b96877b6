"""Settings of matches."""

from __future__ import annotations

from master.arena.contestants import Player
from master.arena.settings import MatchSettings, Pace
from worker.arena.statistics import Sprt


def settings() -> MatchSettings:
    players = (Player("A", ("/bin/true",), {"Threads": "1"}, "/"), Player("B", ("/bin/true", "-x"), {}, "/"))
    return MatchSettings(players, Pace(nodes=100), games=4, sprt=Sprt(0, 5))
