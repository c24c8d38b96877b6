"""The terminal of a player: its live screen or lines, each game's result, and those of all in the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio

    from master.config import Config
    from master.player.events import GameOutcome
    from master.ui.show import Show

_DRAIN_S: Final = 2.0
"""Seconds in which a terminal must take the last lines."""


@contextmanager
def open_show(settings: Config, plain: bool) -> Iterator[Show]:
    """The view on this terminal, which never waits for it."""
    from master.records.notation import Notation
    from master.ui.console import Console
    from master.ui.outlet import Outlet
    from master.ui.show import Show

    outlet = Outlet()
    out, err = outlet.stream(sys.stdout), outlet.stream(sys.stderr)
    games, notation = settings.csa.games or None, Notation(settings.play.notation)

    def drain() -> None:
        outlet.drain(_DRAIN_S)
        out.raise_trouble()

    try:
        yield Show(Console(file=out), Console(file=err), plain=plain, games=games, notation=notation, drain=drain)
    finally:
        outlet.drain(_DRAIN_S)


def stop_after_this_game(show: Show, last_game: asyncio.Event) -> None:
    """Let SIGUSR1, which `gougi stop` sends, set ``last_game``."""
    import asyncio
    import signal

    from master.ui.texts import say

    def on_signal() -> None:
        show.say(say("this game is the last one"))
        last_game.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, on_signal)


class Results:
    """Tells the result of each game on a screen, and counts them."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._outcomes: list[GameOutcome] = []

    def tell(self, outcome: GameOutcome) -> None:
        """Say how a game has ended, and where its record lies."""
        from master.ui.endings import own_result_words
        from master.ui.texts import say

        self._outcomes.append(outcome)
        if outcome.summary is not None:
            name = outcome.summary.names[outcome.summary.my_colour]
            how, plies = own_result_words(outcome), outcome.plies
            self._show.say(say("result for {name}: {how}, {plies} moves", name=name, how=how, plies=plies))
        if outcome.record_path is not None:
            self._show.say(say("record: {record}", record=outcome.record_path))

    def tell_all(self) -> None:
        """Say how the games have ended, if there were several."""
        from master.ui.endings import tally_words

        if len(self._outcomes) > 1:
            self._show.say(tally_words(self._outcomes))
