"""The difficulty of a move, as seen in the running search, and the time that it deserves. Pure.

An engine reports its signs after each iteration, a fleet ten times a second. So age is measured in the search's own
time, which about doubles with each iteration. docs/explanation/time.md has the sources of the figures.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from worker.score import winning_probability

_LEAST_AGREEMENT: Final = 0.1
"""Lower agreement does not stretch the time further."""
_SETTLED: Final = 0.7
"""Share of the time for a move that was the best from the beginning."""
_PER_CHANGE: Final = 0.9
_MOST_UNSETTLED: Final = 2.0
_PER_LOSS: Final = 8.0
_PER_DROP: Final = 6.0
"""Extra time for each unit of winning probability lost, since the last move and since the search was young."""
_YOUNG: Final = 8
"""The search counts as young when it was this many times shorter: three iterations ago."""
_RISING: Final = 0.85
_FALLING: Final = 1.6
_CLEAR_EFFORT: Final = 0.92
_CLEAR: Final = 0.67
"""Share of the time for a move that took almost all of the work."""
_STEPS: Final = 20
"""Parts into which a stretch is divided: a smaller change does not retime a search."""


@dataclass(frozen=True, slots=True)
class Signs:
    """The state of a running search, as far as it affects the time. None: the search does not know."""

    elapsed_ms: float
    """The age of the search."""
    move: str
    """The move that it would play now; empty: none yet."""
    score: int | None = None
    """The score of that move, from the side to move."""
    agreement: float = 1.0
    """The share of the vote that the leading move has, 0 to 1."""
    changes: int | None = None
    """The number of times that the best move changed since the last signs. None: derived from ``move``."""
    effort: float | None = None
    """The share of the work that went into the best move, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The state of a search, as far as it affects the time. Without arguments: no effect."""

    agreement: float = 1.0
    """The share of the vote that the leading move has, 0 to 1."""
    instability: float | None = None
    """A measure of how often the best move changed; late changes count more. 0: never; 1: once, just now. A change
    counts half when the search has lasted twice as long, which is about one more iteration. None: not known."""
    loss: float = 0.0
    """Winning probability lost since our last move: -1 to 1."""
    drop: float = 0.0
    """Winning probability lost since the search was young: -1 to 1."""
    effort: float | None = None
    """The share of the work that went into the best move, 0 to 1. None: not known."""

    @property
    def stretch(self) -> float:
        """The factor by which to multiply the time for this move."""
        stretch = 1.0 / max(self.agreement, _LEAST_AGREEMENT)
        if self.instability is not None:
            stretch *= min(_SETTLED + _PER_CHANGE * self.instability, _MOST_UNSETTLED)
        stretch *= min(max(1.0 + _PER_LOSS * self.loss + _PER_DROP * self.drop, _RISING), _FALLING)
        if self.effort is not None and self.effort >= _CLEAR_EFFORT:
            stretch *= _CLEAR
        return round(stretch * _STEPS) / _STEPS


class Watch:
    """Follows one search, and makes an `Outlook` from its signs."""

    def __init__(self, score: int | None = None, move: str = "", known_ms: float = 0.0) -> None:
        """
        Args:
            score: of our last move, for us; None: not known.
            move: the best one found while pondering on this position; empty: there was no pondering on it.
            known_ms: the length of that search.
        """
        self._last = None if score is None else winning_probability(score)
        self._move = move
        self._known_ms = known_ms
        self._changes_ms = 0.0
        """The sum of the times at which the best move has changed."""
        self._seen: deque[tuple[float, float]] = deque()
        """Times and winning probabilities, starting with the latest one that counts as young (`_YOUNG`)."""

    def see(self, signs: Signs) -> Outlook:
        """Take the search's signs and return the outlook."""
        searched_ms = signs.elapsed_ms + self._known_ms
        if signs.move:
            changes = signs.changes
            if changes is None:
                changes = int(bool(self._move) and signs.move != self._move)
            self._changes_ms += changes * searched_ms
            self._move = signs.move
        instability = self._changes_ms / searched_ms if self._move and searched_ms > 0 else None
        loss = drop = 0.0
        if signs.score is not None:
            now = winning_probability(signs.score)
            loss = 0.0 if self._last is None else self._last - now
            drop = self._young(searched_ms, now) - now
        return Outlook(signs.agreement, instability, loss, drop, signs.effort)

    def _young(self, searched_ms: float, now: float) -> float:
        """The winning probability when the search was young; ``now`` if it still is."""
        seen = self._seen
        seen.append((searched_ms, now))
        while len(seen) > 1 and seen[1][0] * _YOUNG <= searched_ms:
            seen.popleft()
        return seen[0][1] if seen[0][0] * _YOUNG <= searched_ms else now
