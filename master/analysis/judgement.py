"""The loss of a move: in win probability, which decides its class, and in centipawns. Pure.

The classes and their limits are those of ShogiHome's default settings (5, 10, 20 and 50 % of win probability lost, and
600 centipawns as the logistic's scale), so that a move is called here what it is called there.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from master.analysis.game import Game
from master.analysis.plan import Evaluation, Point
from worker.score import from_child, is_mate, winning_probability

_SCALE: Final = 600.0
"""Centipawns at which the side ahead wins e to 1: ``p = 1 / (1 + exp(-cp / 600))``. The field's convention (Ponanza's
constant), by which the classes and the calibration are; it is not fitted to a network, as the clock's
(`worker.score.WIN_SCALE`) is."""
MOST_CP: Final = 2000
"""Scores beyond it count as it where centipawns are subtracted: mates, and what no longer changes the outcome."""


TOLD_LOSS: Final = 0.005
"""Win probability: less than that is noise, and not told."""


class Quality(enum.Enum):
    """The class of a move, with its Japanese name and the win probability that it loses at least."""

    BEST = ("best", "最善手", 0.0)
    GOOD = ("good", "", 0.0)
    INACCURACY = ("inaccuracy", "緩手", 0.05)
    DUBIOUS = ("dubious", "疑問手", 0.10)
    MISTAKE = ("mistake", "悪手", 0.20)
    BLUNDER = ("blunder", "大悪手", 0.50)
    FORCED = ("forced", "", 0.0)
    """The only legal move: it says nothing of the player."""
    UNKNOWN = ("unknown", "", 0.0)
    """A search that it takes is missing."""

    @property
    def word(self) -> str:
        return self.value[0]

    @property
    def kanji(self) -> str:
        return self.value[1]

    @property
    def loss(self) -> float:
        return self.value[2]

    @property
    def bad(self) -> bool:
        """Whether it counts in the rate of bad moves: dubious or worse."""
        return self in BAD


LEVELS: Final = (Quality.INACCURACY, Quality.DUBIOUS, Quality.MISTAKE, Quality.BLUNDER)
"""From mild to bad."""
BAD: Final = LEVELS[1:]


@dataclass(frozen=True, slots=True)
class Judged:
    """A move of the game. Scores from the mover's side."""

    number: int
    """1 is the game's first move."""
    turn: int
    usi: str
    quality: Quality
    before: Evaluation | None
    """Evaluation of the position in which it was played; None: not searched."""
    after: int | None
    """The score behind it; None: not searched."""
    loss: float = 0.0
    """Win probability, 0 to 1."""
    loss_cp: int = 0
    missed_mate: bool = False
    """There was a mate (or a declaration), and this move lets it go."""
    allowed_mate: bool = False
    """The opponent has a mate only since this move."""

    @property
    def had_better(self) -> bool:
        """Whether another move was better for who made it, by as much as is told (half a percent), or for a mate."""
        return self.missed_mate or self.allowed_mate or self.loss >= TOLD_LOSS

    @property
    def counts(self) -> bool:
        """Whether it says something of the player's strength."""
        return self.quality not in (Quality.FORCED, Quality.UNKNOWN)


def win_probability(score: int) -> float:
    """Win probability of the side that the score is of, 0 to 1, by the field's convention; a mate is won or lost."""
    return winning_probability(score, _SCALE)


def accuracy(loss: float) -> float:
    """A move's accuracy in percent, 100 where nothing is lost.

    Source: lichess.org/page/accuracy. The curve was fitted to chess, and serves as a scale that players know.
    """
    return min(100.0, max(0.0, 103.1668 * math.exp(-4.354 * loss) - 3.1669))


def judge(game: Game, points: Sequence[Point], known: Sequence[Evaluation | None]) -> tuple[Judged, ...]:
    """The moves between the points of a `master.analysis.plan.plan`, each compared with the best one.

    Args:
        known: the evaluation of each point.
    """
    return tuple(
        _judge(point, game.moves[point.ply].usi, before, after)
        for point, before, after in zip(points, known, known[1:], strict=False)
    )


def _judge(point: Point, usi: str, before: Evaluation | None, behind: Evaluation | None) -> Judged:
    after = None if behind is None else from_child(behind.score)
    number = point.ply + 1
    if point.choices == 1 and before is not None:
        return Judged(number, point.turn, usi, Quality.FORCED, before, after)
    if before is None or after is None:
        return Judged(number, point.turn, usi, Quality.UNKNOWN, before, after)
    if usi == before.best:
        return Judged(number, point.turn, usi, Quality.BEST, before, after)
    loss = max(0.0, win_probability(before.score) - win_probability(after))
    quality = next((level for level in reversed(LEVELS) if loss >= level.loss), Quality.GOOD)
    return Judged(
        number,
        point.turn,
        usi,
        quality,
        before,
        after,
        loss,
        max(0, clamped(before.score) - clamped(after)),
        missed_mate=_mates(before.score) and not _mates(after),
        allowed_mate=_mates(-after) and not _mates(-before.score),
    )


def clamped(score: int) -> int:
    """A score in centipawns within `MOST_CP`."""
    return max(-MOST_CP, min(MOST_CP, score))


def _mates(score: int) -> bool:
    return is_mate(score) and score > 0


def turning_points(moves: Sequence[Judged], most: int = 5) -> tuple[Judged, ...]:
    """The moves that lost most, at least a mistake each, in the order of the game."""
    worst = sorted((move for move in moves if move.loss >= Quality.MISTAKE.loss), key=lambda move: -move.loss)
    return tuple(sorted(worst[:most], key=lambda move: move.number))
