"""The loss of a move, in win probability (which decides its class) and in centipawns; and a player's rates. Pure.

The classes and their limits are those of ShogiHome's default settings (5, 10, 20 and 50 % of win probability lost, and
600 centipawns as the logistic's scale), so that a move gets the same name here as there.

Rates are by score band, the idea of Qhapaq's ELQ (http://qhapaq.hatenablog.com/entry/2017/07/19/232527): a player is
described by how much the moves lose in lost, bad, even, good and won positions. One average over all would mostly show
how one-sided the games were.
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
"""Centipawns at which the odds of the side ahead are e to 1: ``p = 1 / (1 + exp(-cp / 600))``. This is the field's
convention (Ponanza's constant), used by the classes and the calibration. It is not fitted to a network, unlike the
clock's (`worker.score.WIN_SCALE`)."""
MOST_CP: Final = 2000
"""Scores are clipped to this before centipawns are subtracted: beyond it are mates and decided games."""


TOLD_LOSS: Final = 0.005
"""Win probability: a smaller loss is noise, and is not reported."""
NEAR: Final = 0.03
"""Win probability: a move that loses this much is close to the first class, and is searched again."""
_ROOM: Final = 0.05
"""Win probability: a loss this close to the edge of its class may belong to the next one. Searching again with five
times the effort moves losses by about that much (docs/notebook/analysis.md)."""


class Quality(enum.Enum):
    """The class of a move, with its Japanese name and the least win probability that it loses."""

    BEST = ("best", "最善手", 0.0)
    GOOD = ("good", "", 0.0)
    INACCURACY = ("inaccuracy", "緩手", 0.05)
    DUBIOUS = ("dubious", "疑問手", 0.10)
    MISTAKE = ("mistake", "悪手", 0.20)
    BLUNDER = ("blunder", "大悪手", 0.50)
    FORCED = ("forced", "", 0.0)
    """The only legal move: it says nothing about the player."""
    UNKNOWN = ("unknown", "", 0.0)
    """A search that the judgement needs is missing."""

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
        """Whether it counts as a bad move in the rates: dubious or worse."""
        return self in BAD


class Sureness(enum.Enum):
    """The certainty of the verdict on a move. docs/notebook/analysis.md has how often each kind holds."""

    SURE = "sure"
    """Two searches agree, the second with several times the effort, and the loss is well within its class."""
    LIKELY = "likely"
    """The two searches agree on the class, or the loss has changed little."""
    UNSURE = "unsure"
    """The two searches disagree, or only a bound of a score is known."""


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
    """There was a mate (or a declaration), and this move misses it."""
    allowed_mate: bool = False
    """The opponent has a mate because of this move."""
    bound: Bound = Bound.EXACT
    """The meaning of ``after``."""
    first: Judged | None = None
    """The verdict of the first search, if this one comes from a second search with more effort."""

    @property
    def had_better(self) -> bool:
        """Whether another move was better for the mover by at least the reporting limit (half a percent), or mated."""
        return self.missed_mate or self.allowed_mate or self.loss >= TOLD_LOSS

    @property
    def told(self) -> bool:
        """Whether the move is reported as bad."""
        return self.quality in LEVELS or self.missed_mate or self.allowed_mate

    @property
    def exact(self) -> bool:
        """Whether both scores are known, and not only a bound of one."""
        return self.bound is Bound.EXACT and (self.before is None or self.before.bound is Bound.EXACT)

    @property
    def doubtful(self) -> bool:
        """Whether it must be searched again before it is reported: anything bad, or close to it."""
        return self.counts and self.quality is not Quality.BEST and (self.loss >= NEAR or self.told or not self.exact)

    @property
    def sureness(self) -> Sureness | None:
        """None: the move was not searched twice, or says nothing about the player."""
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
        """Whether it says anything about the player's strength."""
        return self.quality not in (Quality.FORCED, Quality.UNKNOWN)


def win_probability(score: int) -> float:
    """Win probability, 0 to 1, of the side from which the score is seen, by the field's convention. A mate is 0 or
    1."""
    return winning_probability(score, _SCALE)


def accuracy(loss: float) -> float:
    """A move's accuracy in percent, 100 if nothing is lost.

    Source: lichess.org/page/accuracy. The curve was fitted to chess; here it is a scale that players know.
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
        again: the same with more effort; None for points that were not searched again. A move with both of its points
            in it is judged by them: two scores of different effort are not compared.
    """
    found = []
    for index, point in enumerate(points[:-1]):
        usi = game.moves[point.ply].usi
        verdict = _judge(point, usi, known[index], known[index + 1])
        before, later = (None, None) if again is None else (again[index], again[index + 1])
        if before is not None and later is not None:
            verdict = replace(_judge(point, usi, before, later), first=verdict)
        found.append(verdict)
    return tuple(found)


def doubtful(moves: Sequence[Judged]) -> set[int]:
    """The plies to search again: those before and after each move that is reported, or is close to it."""
    return {ply for move in moves if move.doubtful for ply in (move.number - 1, move.number)}


def _judge(point: Point, usi: str, before: Evaluation | None, later: Evaluation | None) -> Judged:
    after = None if later is None else from_child(later.score)
    number = point.ply + 1
    if point.choices == 1 and before is not None:
        return Judged(number, point.turn, usi, Quality.FORCED, before, after)
    if before is None or later is None or after is None:
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
        bound=opposite(later.bound),
    )


def clamped(score: int) -> int:
    """A score in centipawns, clipped to `MOST_CP`."""
    return max(-MOST_CP, min(MOST_CP, score))


def _mates(score: int) -> bool:
    return is_mate(score) and score > 0


def turning_points(moves: Sequence[Judged], most: int = 5) -> tuple[Judged, ...]:
    """The moves that lost most, at least a mistake each, in the order of the game."""
    worst = sorted((move for move in moves if move.loss >= Quality.MISTAKE.loss), key=lambda move: -move.loss)
    return tuple(sorted(worst[:most], key=lambda move: move.number))


EDGES: Final = (-1500, -700, -250, 250, 700, 1500)
"""Limits between the bands, in centipawns from the mover's side. A score at a limit is in the band nearer to 0."""
BANDS: Final = ("lost", "bad", "worse", "even", "better", "good", "won")


def band(score: int) -> int:
    """The index in `BANDS` of a score; mates are in the outermost bands."""
    return sum(score > edge if edge > 0 else score >= edge for edge in EDGES)


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of a set of a player's moves; the shares are 0 if the set is empty."""

    moves: int
    best: float
    """Share that match the first choice of the analysis."""
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
    """By band, as `BANDS`."""
    accuracy: float | None
    """Mean accuracy of the moves, in percent; None: there are none."""
    counts: dict[Quality, int]
    missed_mates: int
    losses: tuple[tuple[int, int], ...]
    """Band and loss in centipawns of each move that counts, by the first search. `master.analysis.strength` uses these,
    and its levels were measured with them."""


def statistics(name: str, moves: Iterable[Judged], games: int = 1) -> PlayerStatistics:
    """Statistics of one player's moves. Forced moves, and those of unknown loss, are left out.

    Args:
        games: the number of games that they come from.
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
