"""How far an analysis is."""

from __future__ import annotations

import sys
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from master.ui.console import Console
from master.ui.texts import say


class PositionBar:
    """The standing on stderr: a bar at a terminal, else a line for each game. A context manager.

    Args:
        total: how many positions there are.
    """

    def __init__(self, total: int) -> None:
        self._live = sys.stderr.isatty()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn(say("positions")),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not self._live,
            transient=True,
        )
        self._task = self._bar.add_task(say("starting the searcher"), total=total)
        self._game = ""
        self._kept = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def game(self, name: str) -> None:
        """The positions that follow are of this game."""
        self._game, self._kept = name, 0
        self._bar.update(self._task, description=name)

    def found(self, _found: object, kept: bool) -> None:
        """A position is known; ``kept``: it was before."""
        self._kept += kept
        self._bar.advance(self._task)

    def game_done(self) -> None:
        """All positions of the game are known, and its report is written."""
        kept = say(", {count} positions kept from an earlier run", count=self._kept) if self._kept else ""
        if not self._live:
            print(say("{game}: done", game=self._game) + kept, file=sys.stderr, flush=True)

    def on_event(self, name: str, fields: dict[str, object]) -> None:
        """What happens in the fleet, where it should be known."""
        if name == "node_lost":
            words = say("{node} is lost: {reason}", node=fields.get("node"), reason=fields.get("reason"))
            self._bar.console.print(f"gougi: {words}", markup=False)
