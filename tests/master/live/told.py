"""Facts of a small game, as `master.live` tells them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from master.live.facts import Fact, Teller
from master.live.page import Site
from master.live.sources import LogReader
from master.player.events import GameEvent
from tests.master.ui.shown import GAME

HEAD = {"command": "play", "version": "0"}


def facts(events: tuple[GameEvent, ...] = GAME, begin: float = 1000.0) -> list[Fact]:
    """One fact a second."""
    teller = Teller()
    told = [teller.tell(event, begin + number) for number, event in enumerate(events)]
    return [fact for fact in told if fact is not None]


def shows(facts: Iterable[Fact], on: Site | None = None) -> Site:
    """A page that has heard these facts."""
    page = on or Site(HEAD)
    for fact in facts:
        page.take(fact)
    return page


def site(*events: GameEvent) -> Site:
    return shows(facts(events or GAME))


def read_whole(log: Path) -> Site:
    """The page of a log without faults."""
    reader, page = LogReader(log), Site(HEAD)
    while True:
        shows(reader.poll(), page)
        if not reader.more:
            assert reader.trouble == ""
            return page
