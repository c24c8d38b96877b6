"""A run of ``gougi lab``: plays what is missing in its folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from master.ui.progress import Bars

if TYPE_CHECKING:
    from lab.strategies.records import GameResult
    from lab.strategies.settings import Plan, Point


class GamesProgress(Bars):
    """A bar for each point at a terminal, else a line after each game.

    Args:
        records: the games that are there; those that are played come to them.
    """

    def __init__(self, plan: Plan, records: list[GameResult]) -> None:
        super().__init__("games")
        self._records = records
        self._games = plan.games
        self._points = {point: self.bar(str(point), plan.games) for point in plan.points}
        for point in plan.points:
            self.show(point, tell=False)

    def show(self, point: Point, *, tell: bool = True) -> None:
        """Show the standing of ``point``; ``tell``: a game of it is over."""
        from lab.strategies.report import summarize

        own = [record for record in self._records if record.game.point == point]
        words = ", ".join(f"Elo {result.strength}" for result in summarize(own))
        self._points[point].show(min(len(own), self._games), words, tell=tell)
