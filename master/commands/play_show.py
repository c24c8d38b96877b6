"""The terminal of a player: its live screen or lines, and a game's result."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from master.player.events import GameOutcome
    from master.ui.show import Show

_DRAIN_S: Final = 2.0
"""Seconds in which a terminal must take the last lines."""


@contextmanager
def open_show(plain: bool, games: int) -> Iterator[Show]:
    """The view on this terminal, which never waits for it; ``games`` of the series, 0: without end."""
    from master.ui.console import Console
    from master.ui.outlet import Outlet
    from master.ui.show import Show

    outlet = Outlet()
    out, err = outlet.stream(sys.stdout), outlet.stream(sys.stderr)

    def drain() -> None:
        outlet.drain(_DRAIN_S)
        out.raise_trouble()

    try:
        yield Show(Console(file=out), Console(file=err), plain=plain, games=games or None, drain=drain)
    finally:
        outlet.drain(_DRAIN_S)


def tell_result(show: Show, outcome: GameOutcome) -> None:
    """Say how a game has ended, and where its record lies."""
    from master.ui.endings import own_result_words
    from master.ui.texts import say

    if outcome.summary is not None:
        name = outcome.summary.names[outcome.summary.my_colour]
        how, plies = own_result_words(outcome), outcome.plies
        show.say(say("result for {name}: {how}, {plies} moves", name=name, how=how, plies=plies))
    if outcome.record_path is not None:
        show.say(say("record: {record}", record=outcome.record_path))
