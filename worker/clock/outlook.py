"""The difficulty of a move as the running search shows it, and its worth in time: pure.

An engine tells its signs after each iteration, a fleet ten times a second; so what is old is measured in the search's
own time, whose doubling is about an iteration. docs/explanation/time.md has the sources of the figures.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from worker.score import winning_probability

_LEAST_AGREEMENT: Final = 0.1
"""Time is not stretched further than by this."""
_SETTLED: Final = 0.7
"""Share of the time for a move that was the best from the beginning."""
_PER_CHANGE: Final = 0.9
_MOST_UNSETTLED: Final = 2.0
_PER_LOSS: Final = 8.0
_PER_DROP: Final = 6.0
"""More time to a winning probability of 1 that was lost, since the last move and since the search was young."""
_YOUNG: Final = 8
"""The search was young when it was so many times shorter: three iterations ago."""
_RISING: Final = 0.85
_FALLING: Final = 1.6
_CLEAR_EFFORT: Final = 0.92
_CLEAR: Final = 0.67
"""Share of the time for a move that took so much of the work."""
_STEPS: Final = 20
"""Parts into which a stretch is divided: a search is not retimed for less than one."""


@dataclass(frozen=True, slots=True)
class Signs:
    """The state of a running search, as far as its time depends on it. None: the search does not know."""

    elapsed_ms: float
    """The age of the search."""
    move: str
    """The one that it would play now; empty: none yet."""
    score: int | None = None
    """The score of that move, from the view of the side that plays it."""
    agreement: float = 1.0
    """The share of the vote that the leading move has, 0 to 1."""
    changes: int | None = None
    """The number of times that another move became the best since the last signs. None: as ``move`` tells."""
    effort: float | None = None
    """The share of the work that went into the best move, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The state of a search, as far as it changes its time. Without arguments: nothing that would change its time."""

    agreement: float = 1.0
    """The share of the vote that the leading move has, 0 to 1."""
    instability: float | None = None
    """A measure of the changes of the best move, late changes for more: 0 never, 1 just now and before that not. A
    change counts for half as soon as the search has lasted twice as long, as one more iteration takes. None: not
    known."""
    loss: float = 0.0
    """Winning probability lost since our last move: -1 to 1."""
    drop: float = 0.0
    """Winning probability lost since the search was young: -1 to 1."""
    effort: float | None = None
    """The share of the work that went into the best move, 0 to 1. None: not known."""

    @property
    def stretch(self) -> float:
        """By what the time for this move is to be multiplied."""
        stretch = 1.0 / max(self.agreement, _LEAST_AGREEMENT)
        if self.instability is not None:
            stretch *= min(_SETTLED + _PER_CHANGE * self.instability, _MOST_UNSETTLED)
        stretch *= min(max(1.0 + _PER_LOSS * self.loss + _PER_DROP * self.drop, _RISING), _FALLING)
        if self.effort is not None and self.effort >= _CLEAR_EFFORT:
            stretch *= _CLEAR
        return round(stretch * _STEPS) / _STEPS


class Watch:
    """Follows one search, and makes an `Outlook` of what it says."""

    def __init__(self, score: int | None = None, move: str = "", known_ms: float = 0.0) -> None:
        """
        Args:
            score: of our last move, for us; None: not known.
            move: the best one found while pondering on this position; empty: it was not pondered on.
            known_ms: as much search went into that.
        """
        self._last = None if score is None else winning_probability(score)
        self._move = move
        self._known_ms = known_ms
        self._changes_ms = 0.0
        """The sum of the times at which the best move has changed."""
        self._seen: deque[tuple[float, float]] = deque()
        """Times and winning probabilities, from the last one on that is young enough (`_YOUNG`)."""

    def see(self, signs: Signs) -> Outlook:
        """Take in how the search stands."""
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
        """The winning probability when the search was young; ``now`` where it still is."""
        seen = self._seen
        seen.append((searched_ms, now))
        while len(seen) > 1 and seen[1][0] * _YOUNG <= searched_ms:
            seen.popleft()
        return seen[0][1] if seen[0][0] * _YOUNG <= searched_ms else now
