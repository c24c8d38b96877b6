"""Figures of the games by point, as plain values and as a table. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lab.match.statistics import Sprt, Strength, Tally, Verdict, result_facts, strength, tally
from lab.strategies.records import FleetFigures, GameResult
from lab.strategies.settings import LabSettings, Point
from lab.strategies.strategy import strategy


@dataclass(frozen=True, slots=True)
class PointResult:
    """A point's games. ``a`` and ``b`` are sums over them."""

    point: Point
    tally: Tally
    strength: Strength
    plies: int
    a: FleetFigures
    b: FleetFigures

    @property
    def agreement(self) -> float | None:
        """Agreement of A's voters: the mean share of ballots for the move played, 0 to 1; None if nobody voted."""
        return self.a.agreement / self.a.votes if self.a.votes else None

    @property
    def redeals(self) -> float:
        """Redeals of A, per game."""
        return self.a.redeals / max(1, self.tally.games)

    @property
    def wasted(self) -> float:
        """Share of A's nodes that were wasted, 0 to 1."""
        return self.a.wasted / max(1, self.a.nodes)

    @property
    def hits(self) -> float | None:
        """Share of A's moves whose position was being pondered, 0 to 1; None if A does not ponder."""
        return self.a.hits / max(1, self.a.moves) if strategy(self.point.strategy).ponder else None


def summarize(records: Sequence[GameResult]) -> list[PointResult]:
    """The result of every point that has games, by strategy in order of appearance, then by nodes."""
    by_point: dict[Point, list[GameResult]] = {}
    for record in records:
        by_point.setdefault(record.game.point, []).append(record)
    order = list(dict.fromkeys(point.strategy for point in by_point))
    return [
        _result(point, by_point[point])
        for point in sorted(by_point, key=lambda point: (order.index(point.strategy), point.nodes))
    ]


def _result(point: Point, records: Sequence[GameResult]) -> PointResult:
    # In the order of the schedule: the sums are floats, and must not depend on which game ended first.
    records = sorted(records, key=lambda record: record.game.number)
    a, b = FleetFigures(), FleetFigures()
    for record in records:
        a.add(record.a)
        b.add(record.b)
    counted = tally([(record.game.pair, record.points) for record in records])
    plies = sum(len(record.moves) for record in records)
    return PointResult(point, counted, strength(counted), plies, a, b)


def facts(
    settings: LabSettings, results: Sequence[PointResult], finished: bool, sprt: Sprt | None = None
) -> dict[str, Any]:
    """As plain values: JSON has no infinity, so an infinite Elo is null. ``sprt``: a test of each point."""
    return {
        "budget": settings.budget,
        "against_budget": settings.opponent_budget,
        "against": settings.against,
        "seed": settings.seed,
        "finished": finished,
        "points": [
            _facts(result) | ({} if sprt is None else {"sprt": sprt.facts(result.tally.pairs)}) for result in results
        ],
    }


def undecided(records: Sequence[GameResult], point: Point, sprt: Sprt) -> bool:
    """Whether the test of a point is still open."""
    own = [(record.game.pair, record.points) for record in records if record.game.point == point]
    return sprt.verdict(tally(own).pairs) is Verdict.OPEN


def _facts(result: PointResult) -> dict[str, Any]:
    games = max(1, result.tally.games)
    return {
        "strategy": result.point.strategy,
        "nodes": result.point.nodes,
        **result_facts(result.tally),
        "agreement": None if result.agreement is None else round(result.agreement, 4),
        "redeals_per_game": round(result.redeals, 3),
        "wasted": round(result.wasted, 4),
        "ponder_hits": None if result.hits is None else round(result.hits, 4),
        "plies_per_game": round(result.plies / games, 1),
        "nodes_per_move_a": round(result.a.nodes / max(1, result.a.moves)),
        "nodes_per_move_b": round(result.b.nodes / max(1, result.b.moves)),
    }


HEADINGS = (
    *("strategy", "nodes", "games", "won", "drawn", "lost", "score", "Elo", "95 %"),
    *("agree", "re-deals", "wasted", "hits"),
)


def table(results: Sequence[PointResult]) -> str:
    """The table for people; `docs/how-to/lab.md` explains the columns."""
    return _aligned([HEADINGS, *(_row(result) for result in results)])


def sprt_table(results: Sequence[PointResult], sprt: Sprt) -> str:
    """The test of each point, one line each."""
    lower, upper = sprt.bounds
    head = f"SPRT, H0 {sprt.elo0:g} and H1 {sprt.elo1:g} Elo; LLR from {lower:.2f} (H0) to {upper:.2f} (H1)"
    lines = (
        f"  {result.point}: {sprt.llr(result.tally.pairs):.2f}, {sprt.verdict(result.tally.pairs).value}"
        for result in results
    )
    return "\n".join((head, *lines))


def _aligned(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) if column else cell.ljust(width) for column, (cell, width) in enumerate(pairs))
        for pairs in (tuple(zip(row, widths, strict=True)) for row in rows)
    )


def _row(result: PointResult) -> tuple[str, ...]:
    counted, measured = result.tally, result.strength
    return (
        result.point.strategy,
        str(result.point.nodes),
        str(counted.games),
        str(counted.wins),
        str(counted.draws),
        str(counted.losses),
        f"{counted.score:.1%}",
        f"{measured.elo:+.0f}",
        f"{measured.low:+.0f} to {measured.high:+.0f}",
        "-" if result.agreement is None else f"{result.agreement:.0%}",
        f"{result.redeals:.1f}",
        f"{result.wasted:.1%}",
        "-" if result.hits is None else f"{result.hits:.0%}",
    )
