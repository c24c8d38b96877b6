"""Layer stacks: the choice of the network in a file that evaluates a position.

An SFNN file holds one small network for each class of positions. The class has up to three parts, in this order, with
the last one varying fastest: pieces in hand, the squares of the kings, the progress of the game. Each part looks at the
side to move first and then at the other side, both from their own view of the board.

Source: YaneuraOu ``source/eval/nnue/architectures/README.md`` and ``stack_index_for_nnue`` (read, not copied); tanuki-
``tanuki_progress.cpp`` for ``progress8kpabs``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from worker.shogi.pieces import BISHOP, GOLD, KNIGHT, LANCE, PAWN, ROOK, SILVER, SQUARES


def _king_classes(ranks: Sequence[int], apart_from: int, files: int) -> tuple[int, ...]:
    """The class of each king square: ``ranks`` by rank, but ``files`` classes per rank from ``apart_from`` on."""
    first = max([-1, *ranks[:apart_from]]) + 1
    classes = []
    for square in range(SQUARES):
        file, rank = divmod(square, 9)
        at = first + (rank - apart_from) * files + file * files // 9
        classes.append(ranks[rank] if rank < apart_from else at)
    return tuple(classes)


_EACH_RANK: Final = tuple(range(9))
_DEEP: Final = (0, 0, 0, 1, 1, 1, 2)
KING_RULES: Final[dict[str, tuple[int, ...]]] = {
    "k3k3": _king_classes((0, 0, 0, 1, 1, 1, 2, 2, 2), 9, 1),
    "k9k9": _king_classes(_EACH_RANK, 9, 1),
    "k9k9z": _king_classes(_DEEP, 7, 3),
    "k13k13z": _king_classes(_EACH_RANK, 7, 3),
    "k21k21": _king_classes(_DEEP, 7, 9),
    "k29k29": _king_classes(_DEEP, 6, 9),
}
"""Class of a king by its square as its owner sees it; the square is ``file * 9 + rank``, both from 0."""

HAND_RULES: Final[dict[str, tuple[tuple[int, ...], ...]]] = {
    "hand4": ((BISHOP,),),
    "hand16": ((PAWN,), (BISHOP,)),
    "hand64": ((PAWN, LANCE, KNIGHT), (GOLD, SILVER, ROOK), (BISHOP,)),
    "hand256": ((PAWN, LANCE, KNIGHT), (SILVER, GOLD), (BISHOP,), (ROOK,)),
    "hand1024": ((PAWN,), (LANCE, KNIGHT), (SILVER, GOLD), (BISHOP,), (ROOK,)),
}
"""Groups of pieces, the lowest bit first: its bit is set if one of its pieces is in the hand."""
HAND_ZONES: Final = "hand64z"
"""The rule that counts points instead and divides them into eight classes."""
HAND_POINTS: Final = {PAWN: 1, LANCE: 2, KNIGHT: 2, SILVER: 3, GOLD: 3, BISHOP: 5, ROOK: 5}
_ZONES: Final = 8

PROGRESS_STEPS: Final = (2, 3, 4, 8, 16, 32)
KPABS: Final = "progress8kpabs"
"""Eight classes of progress, with weights in a file ``progress.bin`` next to the network (tanuki-, NAGISA)."""
_KPABS_STACKS: Final = 9
"""Number of stacks in such a file. It is written as if it were ``k3k3``, and the ninth is never used."""

_LONG_NAMES: Final = {
    "king3_by_king3": "k3k3",
    "king9_by_king9": "k9k9",
    "king9z_by_king9z": "k9k9z",
    "king9zone_by_king9zone": "k9k9z",
    "king13z_by_king13z": "k13k13z",
    "king13zone_by_king13zone": "k13k13z",
    "king21_by_king21": "k21k21",
    "king29_by_king29": "k29k29",
}


@dataclass(frozen=True)
class StackRule:
    """The rule that selects a position's stack.

    Attributes:
        hand: a name of `HAND_RULES`, `HAND_ZONES` or "" for none.
        king: a name of `KING_RULES` or "".
        progress: classes of progress, 1 for none.
        outside: whether the progress weights are in a separate file (`KPABS`).
    """

    hand: str = ""
    king: str = ""
    progress: int = 1
    outside: bool = False

    @property
    def hand_classes(self) -> int:
        """Number of classes of one side's hand."""
        if self.hand == HAND_ZONES:
            return _ZONES
        return 1 << len(HAND_RULES[self.hand]) if self.hand else 1

    @property
    def king_classes(self) -> int:
        """Number of classes of one king's square."""
        return max(KING_RULES[self.king]) + 1 if self.king else 1

    @property
    def count(self) -> int:
        """Number of stacks in the file."""
        return _KPABS_STACKS if self.outside else self.hand_classes**2 * self.king_classes**2 * self.progress

    def __str__(self) -> str:
        """The end of an architecture's name, without the first underscore; "" for a single stack."""
        if self.outside:
            return KPABS
        progress = f"progress{self.progress}" if self.progress > 1 else ""
        return "_".join(filter(None, (self.hand, self.king, progress)))


def parse_stacks(text: str) -> StackRule:
    """Read the end of an architecture's name: parts in any order, as ``hand16_k3k3_progress8``; "" for one stack.

    Raises:
        ValueError: a part is unknown or given twice; the message names it.
    """
    text = text.lower().replace("-", "_")
    for long, short in _LONG_NAMES.items():
        text = text.replace(long, short)
    hand, king, progress = "", "", 1
    if text.strip("_") == KPABS:
        return StackRule(progress=8, outside=True)
    for part in filter(None, text.split("_")):
        steps = re.fullmatch(r"progress(\d{1,3})", part)
        if (part in HAND_RULES or part == HAND_ZONES) and not hand:
            hand = part
        elif part in KING_RULES and not king:
            king = part
        elif steps and int(steps[1]) in PROGRESS_STEPS and progress == 1:
            progress = int(steps[1])
        else:
            known = ", ".join((*HAND_RULES, HAND_ZONES, *KING_RULES, *(f"progress{n}" for n in PROGRESS_STEPS), KPABS))
            raise ValueError(f"layer stacks {part!r}: expected at most one of hand, kings and progress, of {known}")
    return StackRule(hand, king, progress)


def rules_with(count: int) -> list[StackRule]:
    """Every rule that makes ``count`` stacks, except those with ``outside`` weights."""
    return [
        rule
        for hand in ("", *HAND_RULES, HAND_ZONES)
        for king in ("", *KING_RULES)
        for progress in (1, *PROGRESS_STEPS)
        if (rule := StackRule(hand, king, progress)).count == count
    ]


_PROGRESS_VALUES: Final = 256


def progress_thresholds(steps: int) -> npt.NDArray[np.int64]:
    """Sums (16 fractional bits) at which the next class of progress begins, int64 [steps - 1].

    Progress is the logistic function of the sum, in 256 steps, divided equally among the classes.
    """
    firsts = [-(-step * _PROGRESS_VALUES // steps) for step in range(1, steps)]
    shares = [first / _PROGRESS_VALUES for first in firsts]
    # Rounds half away from zero, as C++'s round does.
    scaled = [math.log(share / (1 - share)) * 65536 for share in shares]
    return np.array([int(math.copysign(math.floor(abs(value) + 0.5), value)) for value in scaled], np.int64)


# ---- The same rules for one position, in plain Python: the test oracle of the compiled code.


def stack_index(
    rule: StackRule, side: int, hands: Sequence[Sequence[int]], king_squares: Sequence[int], progress_sum: int = 0
) -> int:
    """The stack of a position.

    Args:
        side: to move.
        hands: counts by colour and piece type.
        king_squares: by colour (board's view), -1 for none.
        progress_sum: the sum of the progress weights.
    """
    index = 0
    for colour in (side, 1 - side):
        index = index * rule.hand_classes + _hand_class(rule.hand, hands[colour])
    for colour in (side, 1 - side):
        square = max(int(king_squares[colour]), 0)
        seen = square if colour == 0 else SQUARES - 1 - square
        index = index * rule.king_classes + (KING_RULES[rule.king][seen] if rule.king else 0)
    return index * rule.progress + int(np.searchsorted(progress_thresholds(rule.progress), progress_sum, "right"))


def _hand_class(name: str, hand: Sequence[int]) -> int:
    if not name:
        return 0
    if name == HAND_ZONES:
        points = sum(worth * int(hand[kind]) for kind, worth in HAND_POINTS.items())
        return min((points + 3) // 4, _ZONES - 1)
    return sum(1 << bit for bit, kinds in enumerate(HAND_RULES[name]) if any(hand[kind] > 0 for kind in kinds))
