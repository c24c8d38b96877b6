"""The terminal of a player: its live screen or lines, and a game's result."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from master.player.events import GameOutcome
    from master.ui.show import Show


def open_show(plain: bool, games: int) -> Show:
    """The view on this terminal; ``games`` of the series, 0: without end."""
    from master.ui.console import Console
    from master.ui.show import Show

    return Show(Console(), Console(file=sys.stderr), plain=plain, games=games or None)


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
