"""Values that `master.player.player` keeps while its turn waits for an answer. Times in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass

from worker.clock import Watch


@dataclass(slots=True)
class RunningSearch:
    """A search for the move to play."""

    search_id: int
    deadline_ms: float
    soft_ms: int
    """The soft time now, from the search's start."""
    began_ms: float
    watch: Watch
    pv: tuple[str, ...] = ()
    """The best line known so far."""


@dataclass(frozen=True, slots=True)
class Question:
    """The question to the book on our turn, before any search."""

    question_id: int
    deadline_ms: float
    """Then the search begins without it."""


@dataclass(frozen=True, slots=True)
class Patience:
    """The server may say that the game has ended at its move limit."""

    deadline_ms: float
    """Then we play on."""


Wait = Question | RunningSearch | Patience
