"""Game records for the laboratory's tests."""

from __future__ import annotations

from lab.strategies.records import GameRecord, SideFigures
from lab.strategies.schedule import Game, Point


def record(number: int, points: float, strategy: str = "split", nodes: int = 2, **figures: float) -> GameRecord:
    """A game of three moves; ``figures`` are A's."""
    a = SideFigures(**{"moves": 2, "nodes": 800, **figures})  # type: ignore[arg-type]
    return GameRecord(
        Game(Point(strategy, nodes), number), points, "mate", ("7g7f", "3c3d", "2g2f"), a, SideFigures(1, 200)
    )
