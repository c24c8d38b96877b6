"""The loss of a move, in win probability, which decides its class, and in centipawns; and a player's rates. Pure.

The classes and their limits are those of ShogiHome's default settings (5, 10, 20 and 50 % of win probability lost, and
600 centipawns as the logistic's scale), so that a move is called here what it is called there.

Rates are by score band, the idea of Qhapaq's ELQ (http://qhapaq.hatenablog.com/entry/2017/07/19/232527): a player is
described by how much the moves lose where the position is lost, bad, even, good and won; one average over all would
mostly say how one-sided the games were.
"""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from master.analysis.game import RecordedGame
from master.analysis.plan import Evaluation, Point, opposite
from worker.engine import Bound
from worker.score import from_child, is_mate, winning_probability

_SCALE: Final = 600.0
"""Centipawns at which the side ahead wins e to 1: ``p = 1 / (1 + exp(-cp / 600))``. The field's convention (Ponanza's
constant), by which the classes and the calibration are; it is not fitted to a network, as the clock's
(`worker.score.WIN_SCALE`) is."""
MOST_CP: Final = 2000
"""Scores beyond it count as it where centipawns are subtracted: mates, and what no longer changes the outcome."""


TOLD_LOSS: Final = 0.005
"""Win probability: less than that is noise, and not told."""
NEAR: Final = 0.03
"""Win probability: who loses that much is near to the first class, and is searched again."""
_ROOM: Final = 0.05
"""Win probability: a loss that is so near to the edge of its class is not sure of it. Five times the effort again moves
losses by about that much (docs/notebook/analysis.md)."""


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


class Sureness(enum.Enum):
    """The certainty of the verdict on a move. docs/notebook/analysis.md has how often each kind stays."""

    SURE = "sure"
    """Two searches agree, the second with several times the effort, and the loss is well within its class."""
    LIKELY = "likely"
    """They agree on the class, or the loss has changed little."""
    UNSURE = "unsure"
    """They disagree, or only a bound of a score is known."""


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
    """The score after it; None: not searched."""
    loss: float = 0.0
    """Win probability, 0 to 1."""
    loss_cp: int = 0
    missed_mate: bool = False
    """There was a mate (or a declaration), and this move lets it go."""
    allowed_mate: bool = False
    """The opponent has a mate only since this move."""
    bound: Bound = Bound.EXACT
    """The meaning of ``after``."""
    first: Judged | None = None
    """The verdict of the first search, where this one is of a second search with more effort."""

    @property
    def had_better(self) -> bool:
        """Whether another move was better for who made it, by as much as is told (half a percent), or for a mate."""
        return self.missed_mate or self.allowed_mate or self.loss >= TOLD_LOSS

    @property
    def told(self) -> bool:
        """Whether something bad is told of it."""
        return self.quality in LEVELS or self.missed_mate or self.allowed_mate

    @property
    def exact(self) -> bool:
        """Whether both scores are known, and not only a bound of one."""
        return self.bound is Bound.EXACT and (self.before is None or self.before.bound is Bound.EXACT)

    @property
    def doubtful(self) -> bool:
        """Whether it has to be searched again before it is told: anything bad, or near to it."""
        return self.counts and self.quality is not Quality.BEST and (self.loss >= NEAR or self.told or not self.exact)

    @property
    def sureness(self) -> Sureness | None:
        """None: it was not searched twice, or says nothing of the player."""
        if self.first is None or not self.counts:
            return None
        change = abs(self.loss - self.first.loss)
        room = min(abs(self.loss - level.loss) for level in LEVELS)
        same = self.quality is self.first.quality or not (self.quality in LEVELS or self.first.quality in LEVELS)
        if not self.exact or not (same or room > change):
            return Sureness.UNSURE
        return Sureness.SURE if same and room >= max(_ROOM, change / 2) else Sureness.LIKELY

    @property
    def counts(self) -> bool:
        """Whether it says something of the player's strength."""
        return self.quality not in (Quality.FORCED, Quality.UNKNOWN)


def win_probability(score: int) -> float:
    """Win probability of the side that the score is of, 0 to 1, by the field's convention; a mate is won or lost."""
    return winning_probability(score, _SCALE)


def accuracy(loss: float) -> float:
    """A move's accuracy in percent, 100 if nothing is lost.

    Source: lichess.org/page/accuracy. The curve was fitted to chess, and serves as a scale that players know.
    """
    return min(100.0, max(0.0, 103.1668 * math.exp(-4.354 * loss) - 3.1669))


def judge(
    game: RecordedGame,
    points: Sequence[Point],
    known: Sequence[Evaluation | None],
    again: Sequence[Evaluation | None] | None = None,
) -> tuple[Judged, ...]:
    """The moves between the points of a `master.analysis.plan.plan`, each compared with the best one.

    Args:
        known: the evaluation of each point.
        again: the same with more effort; None where a point was not searched again. A move with both of its points
            there is judged by them: two scores of different effort are not compared.
    """
    found = []
    for index, point in enumerate(points[:-1]):
        usi = game.moves[point.ply].usi
        verdict = _judge(point, usi, known[index], known[index + 1])
        before, behind = (None, None) if again is None else (again[index], again[index + 1])
        if before is not None and behind is not None:
            verdict = replace(_judge(point, usi, before, behind), first=verdict)
        found.append(verdict)
    return tuple(found)


def doubtful(moves: Sequence[Judged]) -> set[int]:
    """The plies to search again: those before and after each move that is told, or is near to that."""
    return {ply for move in moves if move.doubtful for ply in (move.number - 1, move.number)}


def _judge(point: Point, usi: str, before: Evaluation | None, behind: Evaluation | None) -> Judged:
    after = None if behind is None else from_child(behind.score)
    number = point.ply + 1
    if point.choices == 1 and before is not None:
        return Judged(number, point.turn, usi, Quality.FORCED, before, after)
    if before is None or behind is None or after is None:
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
        bound=opposite(behind.bound),
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
