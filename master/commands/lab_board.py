"""The standing of a laboratory on stderr, while it plays."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cluster.lab.records import GameRecord
    from cluster.lab.schedule import Plan, Point


class Board:
    """A bar for each point at a terminal, else a line after each game."""

    def __init__(self, plan: Plan, records: list[GameRecord]) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        from master.ui.console import Console

        self._records = records
        self._games = plan.games
        self._live = sys.stderr.isatty()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not self._live,
        )
        self._tasks = {point: self._bar.add_task(str(point), total=plan.games) for point in plan.points}
        for point in plan.points:
            self._update(point)

    def _update(self, point: Point) -> str:
        from cluster.lab.report import elo_text, summarize

        own = [record for record in self._records if record.game.point == point]
        words = str(point)
        for result in summarize(own):
            elo = result.strength
            words += f": Elo {elo_text(elo.elo)} ({elo_text(elo.low)} to {elo_text(elo.high)})"
        self._bar.update(self._tasks[point], description=words, completed=min(len(own), self._games))
        return f"{len(own)}/{self._games} {words}"

    def show(self, point: Point) -> None:
        """A game of ``point`` is over."""
        words = self._update(point)
        if not self._live:
            print(words, file=sys.stderr, flush=True)

    def __enter__(self) -> Board:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
