"""Statistics of a player's moves: rates by score band, and over all moves. Pure.

The bands are the idea of Qhapaq's ELQ (http://qhapaq.hatenablog.com/entry/2017/07/19/232527): a player is described by
how much the moves lose where the position is lost, bad, even, good and won; one average over all would mostly say how
one-sided the games were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from master.analysis.judgement import Judged, Quality, accuracy

EDGES: Final = (-1500, -700, -250, 250, 700, 1500)
"""Between the bands, in centipawns from the mover's side; a score at an edge is in the band nearer to 0."""
BANDS: Final = ("lost", "bad", "worse", "even", "better", "good", "won")


def band(score: int) -> int:
    """The index in `BANDS` of a score, mates among the outermost."""
    return sum(score > edge if edge > 0 else score >= edge for edge in EDGES)


def band_range(index: int) -> str:
    """The band's scores in words: ``-250 to 250``."""
    if index == 0:
        return f"below {EDGES[0]}"
    return f"above {EDGES[-1]}" if index == len(EDGES) else f"{EDGES[index - 1]} to {EDGES[index]}"


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of some moves of a player; the shares are 0 where there are no moves."""

    moves: int
    best: float
    """Share that are the analysis' own first choice."""
    bad: float
    """Share that are dubious or worse."""
    loss: float
    """Mean loss of win probability."""
    loss_cp: float
    """Mean loss in centipawns."""


@dataclass(frozen=True, slots=True)
class PlayerStatistics:
    name: str
    games: int
    total: Rates
    bands: tuple[Rates, ...]
    """As `BANDS`."""
    accuracy: float | None
    """Mean accuracy of the moves, in percent; None: there are none."""
    counts: dict[Quality, int]
    missed_mates: int
    losses: tuple[tuple[int, int], ...]
    """Band and loss in centipawns of each move that counts, by the first search: what `master.analysis.strength` plays
    with, and what its levels were measured by."""


def statistics(name: str, moves: Iterable[Judged], games: int = 1) -> PlayerStatistics:
    """Statistics of one player's moves; forced ones, and those of unknown loss, are left out.

    Args:
        games: how many games they are of.
    """
    own = [move for move in moves if move.counts]
    bands: list[list[Judged]] = [[] for _ in BANDS]
    losses = []
    for move in own:
        assert move.before is not None, "a move that counts has been compared"
        bands[band(move.before.score)].append(move)
        first = move.first or move
        if first.counts and first.before is not None:
            losses.append((band(first.before.score), first.loss_cp))
    return PlayerStatistics(
        name,
        games,
        _rates(own),
        tuple(_rates(part) for part in bands),
        _mean([accuracy(move.loss) for move in own]) if own else None,
        dict(Counter(move.quality for move in own)),
        sum(move.missed_mate for move in own),
        tuple(losses),
    )


def _rates(moves: Sequence[Judged]) -> Rates:
    return Rates(
        len(moves),
        _mean([move.quality is Quality.BEST for move in moves]),
        _mean([move.quality.bad for move in moves]),
        _mean([move.loss for move in moves]),
        _mean([move.loss_cp for move in moves]),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
