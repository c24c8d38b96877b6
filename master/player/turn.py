"""Values that `master.player.player` keeps while its turn waits for an answer. Times in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from cluster.api import Known, Progress, SearchRequest
from master.player.game import ActiveGame
from master.player.inputs import PonderFound
from worker.clock import GameClock, Signs, Watch


@dataclass(slots=True)
class Pondering:
    """The search that runs on the opponent's time."""

    request: SearchRequest
    found: PonderFound | None = None

    def known(self, request: SearchRequest, now_ms: float) -> Known | None:
        """The result for the position of ``request``; None: there is none."""
        found = self.found
        return None if found is None else found.pondered.known(request, self.request, now_ms - found.at_ms)


@dataclass(slots=True)
class RunningSearch:
    """A search for the move to play."""

    search_id: int
    deadline_ms: float
    soft_ms: int
    """The soft time now, from the search's start."""
    hard_ms: int
    began_ms: float
    watch: Watch
    pv: tuple[str, ...]
    """The best line known so far."""

    @classmethod
    def begin(cls, search_id: int, game: ActiveGame, known: Known | None, now_ms: float, guard_ms: int) -> Self:
        """Make the search that begins now; ``known``: the result of pondering, ``guard_ms``: see `PlayerSettings`."""
        # Where nothing is heard of the search, what is known already is better than any move.
        move, known_ms, pv = ("", 0, game.expected) if known is None else (known.move, known.fleet_ms, known.pv)
        budget, watch = game.budget(now_ms, known_ms), Watch(game.judge.score, move, known_ms)
        return cls(search_id, now_ms + budget.hard_ms + guard_ms, budget.soft_ms, budget.hard_ms, now_ms, watch, pv)

    def see(self, progress: Progress, clock: GameClock) -> bool:
        """Take ``progress`` in. Whether ``soft_ms`` is another now: a hard move gets more time, and one that turns out
        to be easy less."""
        self.pv = progress.pv or self.pv
        outlook = self.watch.see(Signs(progress.elapsed_ms, progress.move, progress.score, progress.agreement))
        before, self.soft_ms = self.soft_ms, clock.reconsidered(outlook, self.began_ms + progress.elapsed_ms)
        return self.soft_ms != before


@dataclass(frozen=True, slots=True)
class Question:
    """The question to the book on our turn, before any search."""

    question_id: int
    deadline_ms: float
    """Then the search begins without it."""
    patience_ms: int
    """The time until then, from the question on."""


@dataclass(frozen=True, slots=True)
class LimitWait:
    """The server may say that the game has ended at its move limit."""

    deadline_ms: float
    """Then we play on."""


Wait = Question | RunningSearch | LimitWait
