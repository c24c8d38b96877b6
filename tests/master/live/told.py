"""Facts of a small game, as `master.live` tells them."""

from __future__ import annotations

from master.live.facts import Fact, Teller
from master.live.page import Site
from master.player.events import GameEvent
from tests.master.ui.shown import GAME

HEAD = {"command": "play", "version": "0"}


def facts(events: tuple[GameEvent, ...] = GAME, begin: float = 1000.0) -> list[Fact]:
    """One fact a second."""
    teller = Teller()
    told = [teller.tell(event, begin + number) for number, event in enumerate(events)]
    return [fact for fact in told if fact is not None]


def site(*events: GameEvent) -> Site:
    found = Site(HEAD)
    for fact in facts(events or GAME):
        found.take(fact)
    return found
