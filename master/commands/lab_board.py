"""The standing of a laboratory on stderr, while it plays."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cluster.lab.records import GameRecord
    from cluster.lab.schedule import Plan, Point


class Board:
    """A bar for each point at a terminal, else a line after each game. A context manager.

    Args:
        records: the games that are there; those that are played come to them.
    """

    def __init__(self, plan: Plan, records: list[GameRecord]) -> None:
        from master.ui.progress import Bars

        self._records = records
        self._games = plan.games
        self._bars = Bars("games")
        self._of = {point: self._bars.bar(str(point), plan.games) for point in plan.points}
        for point in plan.points:
            self._show(point, tell=False)

    def show(self, point: Point) -> None:
        """A game of ``point`` is over."""
        self._show(point, tell=True)

    def _show(self, point: Point, *, tell: bool) -> None:
        from cluster.lab.report import elo_text, summarize

        own = [record for record in self._records if record.game.point == point]
        words = ", ".join(
            f"Elo {elo_text(elo.elo)} ({elo_text(elo.low)} to {elo_text(elo.high)})"
            for elo in (result.strength for result in summarize(own))
        )
        self._of[point].show(min(len(own), self._games), words, tell=tell)

    def __enter__(self) -> Board:
        self._bars.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.__exit__()
