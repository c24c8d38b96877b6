"""Positions given as a start and the moves since, one after the other: only what differs from the last is replayed.

A USI ``position`` line repeats the whole game with each move. Late in a game its replay, with every move read and
checked, takes 10 ms and more.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from worker.shogi.position import Position

_MOST_TAKEN_BACK = 64
"""Plies: of a very long game a position has forgotten the oldest, so there is an end to taking back."""


class Replay:
    """The position that was asked for last, to start the next one from."""

    def __init__(self) -> None:
        self._sfen = ""
        self._moves: tuple[str, ...] = ()
        self._last: Position | None = None

    def position(self, sfen: str, moves: Sequence[str]) -> Position:
        """The position after ``moves`` (USI) from ``sfen``. The caller owns it.

        Raises:
            SfenError, MoveError: they say what is wrong; the next call is none the worse for it.
        """
        last, self._last = self._last, None  # a fault in between leaves none to go on from
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self._moves, moves, strict=False)))
        taken_back = len(self._moves) - common
        if last is not None and sfen == self._sfen and taken_back <= _MOST_TAKEN_BACK:
            position = last
            for _ in range(taken_back):
                position.pop()
            self._moves = self._moves[:common]
        else:
            position, common = Position.from_sfen(sfen), 0
        position.push_all(moves[common:], first=common + 1)
        self._sfen, self._moves, self._last = sfen, tuple(moves), position
        return position.copy()
