"""The choice among the moves of a book, by YaneuraOu's options.

Source: ``BookMoveSelector::init`` and ``probe_impl`` of YaneuraOu's ``source/book/book.cpp``.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from worker.book.format import BookMove

_NARROW_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True)
class BookSettings:
    """The settings of the book. The defaults are YaneuraOu's, except the file: Gougi comes with none."""

    file: Path | None = None
    """``BookFile`` in ``BookDir``; None: no book, or ``USI_OwnBook`` is off."""
    on_the_fly: bool = False
    """``BookOnTheFly``: the file stays on the disk."""
    narrow: bool = False
    """``NarrowBook``: no move that was played in less than a tenth of the games."""
    last_ply: int = 16
    """``BookMoves``: the last move number at which the book is asked."""
    ignore_percent: int = 0
    """``BookIgnoreRate``: the percentage of positions in which the book is not used, by chance."""
    eval_diff: int = 30
    """``BookEvalDiff``: the centipawns by which a move may be worse than the first."""
    eval_limits: tuple[int, int] = (0, -140)
    """``BookEvalBlackLimit``, ``BookEvalWhiteLimit``: the least value for black and for white, in centipawns."""
    depth_limit: int = 16
    """``BookDepthLimit``: the first move's least depth; 0: any."""
    by_count: bool = False
    """``ConsiderBookMoveCount``: the chance of a move is in proportion to its count; otherwise all are equal."""
    pv_moves: int = 8
    """``BookPvMoves``: the longest variation that is shown, in plies."""
    any_ply: bool = False
    """``IgnoreBookPly``: the same position at another move number will do."""
    flipped: bool = True
    """``FlippedBook``: a position that is not in the book is also looked up turned around, with the colours swapped."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The move (None: none), and remarks for the user on the moves that the options left out."""

    move: BookMove | None
    notes: tuple[str, ...] = ()


class Eligible(NamedTuple):
    """The moves that the options leave, in their order, and remarks on those that they left out."""

    moves: tuple[BookMove, ...]
    notes: tuple[str, ...] = ()


def eligible(moves: Sequence[BookMove], settings: BookSettings, ply: int, turn: int, rng: random.Random) -> Eligible:
    """Choose the candidates that the settings allow; empty where the book is not to be used.

    Args:
        moves: the candidates, the most played first.
        ply: the number of the move to be made (1 at the start).
        turn: the side to move, 0 black, 1 white.
        rng: its next number decides whether the book is used.
    """
    if rng.randrange(100) < settings.ignore_percent or ply > settings.last_ply or not moves:
        return Eligible(())
    notes: list[str] = []
    left = list(moves)
    if settings.narrow:
        total = max(1, sum(move.count for move in moves))
        left = [move for move in moves if move.count / total >= _NARROW_SHARE]
        if len(left) < len(moves):
            notes.append(f"NarrowBook: {len(moves)} moves to {len(left)}")
    if left and settings.depth_limit and left[0].depth < settings.depth_limit:
        notes.append(f"BookDepthLimit {settings.depth_limit}: the book's depth is {left[0].depth}")
        return Eligible((), tuple(notes))
    if left:
        least = max(left[0].value - settings.eval_diff, settings.eval_limits[turn])
        good = [move for move in left if move.value >= least]
        if len(good) < len(left):
            limit = f"{('BookEvalBlackLimit', 'BookEvalWhiteLimit')[turn]} {settings.eval_limits[turn]}"
            notes.append(f"BookEvalDiff {settings.eval_diff}, {limit}: {len(left)} moves to {len(good)}")
        left = good
    return Eligible(tuple(left), tuple(notes))


def select(moves: Sequence[BookMove], settings: BookSettings, ply: int, turn: int, rng: random.Random) -> Selection:
    """Choose among a position's candidates: `eligible`, and of these one by chance.

    The same state of ``rng`` gives the same move; it gives one or two numbers.
    """
    left, notes = eligible(moves, settings, ply, turn, rng)
    if not left:
        return Selection(None, notes)
    weights = [move.count for move in left]
    if settings.by_count and any(weights):
        return Selection(rng.choices(left, weights)[0], notes)
    return Selection(rng.choice(left), notes)
