"""The difficulty of a move as the running search shows it, and its worth in time: pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from worker.clock.plan import winning_probability

_LEAST_AGREEMENT: Final = 0.1
"""Time is not stretched further than by this."""
_SETTLED: Final = 0.7
"""Share of the time for a move that was the best from the beginning."""
_PER_CHANGE: Final = 0.55
_MOST_UNSETTLED: Final = 2.0
_PER_PROBABILITY: Final = 3.0
_RISING: Final = 0.85
_FALLING: Final = 1.6
_STEPS: Final = 20
"""Parts into which a stretch is divided: a search is not retimed for less than one."""


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

    @property
    def stretch(self) -> float:
        """By what the time for this move is to be multiplied.

        Disagreement divides (Gikou); instability and falling scores multiply, as in Stockfish's time management, though
        with numbers of our own: the signals are those of a fleet, ten times a second, and not of one engine's
        iterations.
        """
        stretch = 1.0 / max(self.agreement, _LEAST_AGREEMENT)
        if self.instability is not None:
            stretch *= min(_SETTLED + _PER_CHANGE * self.instability, _MOST_UNSETTLED)
        stretch *= min(max(1.0 + _PER_PROBABILITY * self.loss, _RISING), _FALLING)
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
        self._score = score
        self._move = move
        self._known_ms = known_ms
        self._changes_ms = 0.0
        """The sum of the times at which the best move has changed."""

    def see(self, elapsed_ms: float, move: str, score: int | None, agreement: float) -> Outlook:
        """The search, ``elapsed_ms`` old, would play ``move`` now (empty: it has none yet)."""
        searched_ms = elapsed_ms + self._known_ms
        if move and move != self._move:
            if self._move:
                self._changes_ms += searched_ms
            self._move = move
        instability = self._changes_ms / searched_ms if self._move and searched_ms > 0 else None
        loss = 0.0
        if score is not None and self._score is not None:
            loss = winning_probability(self._score) - winning_probability(score)
        return Outlook(agreement, instability, loss)
