"""Game records for the laboratory's tests."""

from __future__ import annotations

from lab.strategies.records import FleetFigures, GameResult
from lab.strategies.settings import Point, ScheduledGame


def record(number: int, points: float, strategy: str = "split", nodes: int = 2, **figures: float) -> GameResult:
    """A game of three moves; ``figures`` are A's."""
    a = FleetFigures(**{"moves": 2, "nodes": 800, **figures})  # type: ignore[arg-type]
    return GameResult(
        ScheduledGame(Point(strategy, nodes), number), points, "mate", ("7g7f", "3c3d", "2g2f"), a, FleetFigures(1, 200)
    )
