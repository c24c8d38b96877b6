"""Reports of games in real time besides their results: by point, as plain values and as a table. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from lab.strategies.real.cores import Seating, words
from lab.strategies.real_figures import KINDS, RealFigures, RealGame
from lab.strategies.records import GameRecord
from lab.strategies.settings import LabError

_BUSY: Final = 0.05
"""Share of a game's cores that others may take before it is told."""
_LATE: Final = 0.1
"""Share of the time asked by which the mean time may be over it before it is told."""
_IDLE: Final = 0.05
"""Share of a game's cores that a side may take while the other one searches."""


@dataclass(frozen=True, slots=True)
class RealResult:
    """A point's games: sums over them."""

    games: Sequence[RealGame]
    a: RealFigures
    b: RealFigures

    @property
    def others(self) -> float:
        """Cores' worth of work of others on the games' cores, on average."""
        return sum(game.others * game.seconds for game in self.games) / sum(game.seconds for game in self.games)

    @property
    def cores(self) -> int:
        """Number of cores of a game."""
        return len({*self.games[0].cores, *self.games[0].cores_b})

    @property
    def loads(self) -> tuple[float, float]:
        """Mean load at the start of a game, and at its end."""
        many = len(self.games)
        return sum(game.load_start for game in self.games) / many, sum(game.load_end for game in self.games) / many


def summarize_real(records: Sequence[GameRecord]) -> RealResult | None:
    """Sum up one point's records; None where none was in real time."""
    games = [record.real for record in records if record.real is not None]
    if not games:
        return None
    a, b = RealFigures(), RealFigures()
    for game in games:
        a.add(game.a)
        b.add(game.b)
    return RealResult(games, a, b)


def check_cores(records: Sequence[GameRecord], seating: Seating) -> None:
    """Raises LabError: games of a point were played on another number of cores than its next ones would be."""
    for record in records:
        if record.real is None or record.game.point not in seating.points:
            continue
        seat = seating.seat(0, record.game.point)
        before, now = (len(record.real.cores), len(record.real.cores_b)), (len(seat.a), len(seat.b))
        if before != now:
            raise LabError(
                f"{record.game.point}: game {record.game.number} had {before[0]} cores for A and {before[1]} for B, "
                f"the next would have {now[0]} and {now[1]}: give it as many (--cores, --concurrency), or choose "
                "another folder"
            )


def facts(result: RealResult) -> dict[str, Any]:
    """As plain values."""
    start, end = result.loads
    return {
        "cores_per_game": result.cores,
        "a": _side(result.a, result.b),
        "b": _side(result.b, result.a),
        "load_start": round(start, 2),
        "load_end": round(end, 2),
        "others": round(result.others, 3),
        "voids": sum(game.voids for game in result.games),
    }


def _side(own: RealFigures, other: RealFigures) -> dict[str, Any]:
    return {
        "used": round(own.used_ms / max(1, own.asked_ms), 4),
        "late_ms": round(own.late_ms, 1),
        "cpu_s_per_s": {kind: round(share, 4) for kind, share in own.cpu_s.items()},
        "idle_cpu_s_per_s": round(_idle(own, other), 4),
        "without_nodes": own.without_nodes,
        "starved": own.starved,
    }


def _idle(own: RealFigures, other: RealFigures) -> float:
    """CPU seconds of a side in a second of the other's searches."""
    return own.idle_s / max(1e-9, other.used_ms / 1000)


HEADINGS: Final = ("", "nodes a move", "time", "latest", *(f"CPU s/s {kind}" for kind in KINDS), "idle")


def rows(result: RealResult, moves: tuple[int, int], nodes: tuple[int, int]) -> list[tuple[str, ...]]:
    """The two lines of a point in the table, as `HEADINGS` has them.

    Args:
        moves: that A searched, and B.
        nodes: that they searched in them.
    """
    return [
        (
            name,
            f"{searched / max(1, many):,.0f}",
            f"{own.used_ms / max(1, own.asked_ms):.1%}",
            f"+{own.late_ms:.0f} ms",
            *(f"{share:.3f}" for share in own.cpu_s.values()),
            f"{_idle(own, other):.3f}",
        )
        for name, own, other, many, searched in (
            ("A", result.a, result.b, moves[0], nodes[0]),
            ("B", result.b, result.a, moves[1], nodes[1]),
        )
    ]


def line(result: RealResult) -> str:
    """The machine under a point's games, in words."""
    start, end = result.loads
    voids = sum(game.voids for game in result.games)
    return (
        f"{_cores(result.cores)} a game; load {start:.1f} when a game began, {end:.1f} "
        f"at its end; others took {result.others:.2f} cores of it"
        + (f"; {voids} void game{'s' if voids > 1 else ''}" if voids else "")
    )


def _cores(many: int) -> str:
    return f"{many} core{'s' if many > 1 else ''}"


def doubts(result: RealResult) -> list[str]:
    """Reasons why these games may not be a measurement, a line each."""
    found: list[str] = []
    if result.others > _BUSY * result.cores:
        found.append(f"the machine was not idle: others took {result.others:.2f} of a game's {_cores(result.cores)}")
    for name, own, other in (("A", result.a, result.b), ("B", result.b, result.a)):
        if own.used_ms > (1 + _LATE) * own.asked_ms:
            found.append(f"{name} took {own.used_ms / max(1, own.asked_ms):.0%} of the time that it was given")
        if own.without_nodes:
            found.append(f"{name} played {own.without_nodes} moves for which no node had an answer in time")
        if own.starved:
            found.append(f"nodes of {name} did not get their cores, and said so: {own.starved}")
        ponders = result.games[0].cores != result.games[0].cores_b
        if (idle := _idle(own, other)) > _IDLE * result.cores and not ponders:
            found.append(f"{name} took {idle:.2f} CPU seconds a second while the other side searched")
    return found


def crowded(seating: Seating) -> str:
    """A warning where games have more nodes than cores; else empty."""
    if not seating.crowded:
        return ""
    largest = max(seating.crowded, key=seating.need)
    own = words(seating.cores[: seating.size])
    return (
        f"{largest}: {seating.need(largest)} nodes on {_cores(seating.size)} ({own}): "
        "what more nodes are worth cannot be seen so"
    )
