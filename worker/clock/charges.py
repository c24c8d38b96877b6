"""Charges of the GUI for our moves beyond our own measurement, by the times of its ``go`` lines.

USI has no echo of a move. But the next ``go`` says what is left, and so what the last move was charged: GUI, engine and
what lies between (a server, a network, a busy machine) took the difference to our own thinking. A GUI that counts whole
seconds leaves it open by up to one; in byoyomi nothing is told at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from worker.clock.delays import Delays

_SECOND_MS: Final = 1000
_MOST_MS: Final = 10_000
"""A move that was charged so much more than it took was no delay: somebody has set the clocks, or looked at something
else."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A ``go`` line: the position, by its moves since ``sfen``, and the times of the side to move."""

    sfen: str
    moves: tuple[str, ...]
    left_ms: int
    increment_ms: int
    byoyomi_ms: int

    @classmethod
    def of(cls, sfen: str, moves: tuple[str, ...], turn: int, numbers: Mapping[str, int]) -> Asked:
        side = "bw"[turn]
        left, increment = numbers.get(f"{side}time", 0), numbers.get(f"{side}inc", 0)
        return cls(sfen, moves, left, increment, numbers.get("byoyomi", 0))

    def charged(self, after: Asked) -> tuple[int, float] | None:
        """The charge for our move in between, at the least and the most; None: it cannot be told."""
        charged = self.left_ms + self.increment_ms - after.left_ms
        goes_on = after.sfen == self.sfen and len(after.moves) == len(self.moves) + 2
        if not goes_on or after.moves[:-2] != self.moves or self.left_ms == 0 or charged < 0:
            return None
        if after.left_ms == 0:
            return charged, math.inf
        whole = not any(time % _SECOND_MS for time in (self.left_ms, self.increment_ms, after.left_ms))
        return charged, charged + _SECOND_MS if whole else charged


@dataclass(frozen=True, slots=True)
class Answered:
    """A move of ours, in milliseconds: how long we took for it, and so long after the moments to aim at it went out."""

    thought_ms: float
    after_soft_ms: float
    after_hard_ms: float


class Charges:
    """One GUI's: it learns from move to move, and over the games."""

    def __init__(self) -> None:
        self._start_ms = 0
        self._delays = Delays(0)
        self._asked: Asked | None = None
        self._answered: Answered | None = None
        """The answer to that, once it went out."""

    def delays(self, start_ms: int) -> Delays:
        """The delays so far; none yet where another one is to be expected at the start than before."""
        if start_ms != self._start_ms:
            self._start_ms, self._delays = start_ms, Delays(start_ms)
        return self._delays

    def asked(self, asked: Asked) -> None:
        """A move is asked for: learn what the last one was charged."""
        before, ours = self._asked, self._answered
        self._asked, self._answered = asked, None
        charged = None if before is None or ours is None else before.charged(asked)
        if ours is None or charged is None:
            return
        least, most = (bound - ours.thought_ms for bound in charged)
        if most < 0 or least > _MOST_MS:
            return
        # Within what is left open it is taken for what it is taken for before anything is measured.
        delay_ms = max(0.0, min(max(self._start_ms / 2, least), most))
        self._delays.add(delay_ms, ours.after_soft_ms, ours.after_hard_ms)

    def answered(self, answered: Answered) -> None:
        """The move that was asked for last goes out."""
        self._answered = answered
