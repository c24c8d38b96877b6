"""Settings of matches."""

from __future__ import annotations

from master.arena.contestants import Contestant
from master.arena.settings import MatchSettings, Pace
from worker.arena.statistics import Sprt


def settings() -> MatchSettings:
    players = (Contestant("A", ("/bin/true",), {"Threads": "1"}, "/"), Contestant("B", ("/bin/true", "-x"), {}, "/"))
    return MatchSettings(players, Pace(nodes=100), games=4, sprt=Sprt(0, 5))
