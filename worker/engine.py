"""The interface of every searcher. All searchers, our own or external, are driven through `Engine`.

Moves and positions cross this border as USI text, so that a report means the same on every machine and in every engine.

How to use one::

    engine.set_position(sfen, moves)          # moves since sfen: the history that repetition needs
    result = engine.go(Limits(movetime_ms=500), on_info=print)   # blocks; another thread may call engine.stop()
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from worker.rules import Rules


ROOT_MATE_NODES: Final = 300_000
"""The most node visits of our own mate search at the root; about a quarter of a second of one core."""


class Bound(enum.IntEnum):
    """The meaning of a score: the true value is equal to it, at least it (``LOWER``) or at most it (``UPPER``)."""

    LOWER = 1
    UPPER = 2
    EXACT = 3


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a search, and its root moves. The first limit that is reached ends it.

    With none of ``movetime_ms``, ``nodes``, ``depth`` it is infinite: it ends by `Engine.stop`, or when nothing is left
    to search (every depth is finished, or a mate is proven). External engines then wait for their ``stop``.
    """

    movetime_ms: int | None = None
    """Milliseconds after which the search ends, even within an iteration."""
    nodes: int | None = None
    """The most nodes, over all threads."""
    depth: int | None = None
    multipv: int = 1
    searchmoves: tuple[str, ...] = ()
    """USI moves to search; empty: all."""
    ignoremoves: tuple[str, ...] = ()
    """USI moves to leave out."""
    alpha: int | None = None
    """Centipawns from the side to move: a score at or below it need not be exact (`Bound.UPPER`); None: it must be."""
    beta: int | None = None
    """At or above it a score need not be exact (`Bound.LOWER`); None: it must be. External engines always search for
    exact scores: their protocol has no such option."""

    @property
    def infinite(self) -> bool:
        return self.movetime_ms is None and self.nodes is None and self.depth is None


@dataclass(frozen=True, slots=True)
class SearchInfo:
    """One line of one iteration. ``score`` as `worker.score` defines it, from the side to move at the root."""

    depth: int
    seldepth: int
    score: int
    bound: Bound
    nodes: int
    time_ms: int
    hashfull: int
    """Transposition-table use in permille."""
    pv: tuple[str, ...]
    """USI moves from the root, legal one after the other, never empty."""
    multipv: int = 1

    @property
    def nps(self) -> int:
        return self.nodes * 1000 // max(1, self.time_ms)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search. ``bestmove`` is a USI move, ``resign`` (no legal move) or ``win`` (a declaration)."""

    bestmove: str
    ponder: str | None
    nodes: int
    time_ms: int
    lines: tuple[SearchInfo, ...] = field(default=())
    """The last lines, best first (as many as ``multipv`` asked for); empty if nothing was searched. A score is exact,
    even if the search was stopped while it had only a bound, unless the bound comes from the window in `Limits`."""


class EngineError(Exception):
    """An engine cannot do the request: the position is bad, a move is illegal, or an external process died."""


InfoCallback = Callable[[SearchInfo], None]


class Engine(Protocol):
    """A searcher. `set_position`, `go` and `new_game` come from one thread; `stop` from any, at any time."""

    name: str
    can_split: bool
    """Whether `Limits.searchmoves`, ``ignoremoves`` and ``multipv`` are respected: an engine without them can only
    search whole positions."""
    rules: Rules
    """The rules of the games that are searched; may be changed between searches."""

    def new_game(self) -> None:
        """Forget what was learned from earlier positions (transposition table, histories)."""

    def set_position(self, sfen: str, moves: Sequence[str] = ()) -> None:
        """Set the position, and forget an earlier `stop`: a stop that comes after this call ends the next `go` at once.

        So a driver that checks a job's id and calls this under one lock can never lose a stop to a race.

        Raises:
            EngineError: ``sfen`` or a move is not legal; the position is unchanged.
        """

    def go(self, limits: Limits, on_info: InfoCallback | None = None) -> SearchResult:
        """Search until a limit or `stop`; blocks. ``on_info`` is called from the calling thread."""

    def stop(self) -> None:
        """End the running search soon (< 5 ms for our own), or the next `go` for the current position."""

    def close(self) -> None:
        """Free threads, memory and processes. No call is valid after it."""


Entries: TypeAlias = "np.ndarray[Any, np.dtype[np.uint64]]"
"""(n, 2): transposition-table entries, the whole key and the data word of each; the format is the engine's own."""


class HistoryChanges(NamedTuple):
    """Values of the histories that a search's threads share, which it changed."""

    places: npt.NDArray[np.uint32]
    """(n,): their indices among all shared values, in ascending order; the layout is the engine's own."""
    values: npt.NDArray[np.int16]
    """(n,): the new values."""


MOVES_MEANING: Final = 16
"""See `SharesTable.entries_meaning`."""


@runtime_checkable
class SharesTable(Protocol):
    """An engine that can share its table and its histories in a fleet, so that other nodes need not search again the
    positions that one has searched, nor learn again what it has learned.

    Works only between engines of the same build: entries and histories mean nothing to others.
    """

    def entries_meaning(self) -> str:
        """32 hexadecimal digits: only engines with the same value can use each other's entries and histories, and those
        with the same first 16 (`MOVES_MEANING`) the moves in the entries."""

    def share(self, min_depth: int | None) -> None:
        """Collect the table entries of ``min_depth`` and deeper that searches write from now on; None: none."""

    def take_entries(self) -> Entries:
        """The entries written since the last call; hardly any position appears twice. Any thread may call it, but only
        one at a time."""

    def absorb_entries(self, entries: Entries) -> int:
        """Take over entries of other engines; returns how many were useful. Invalid entries do no harm. May run during
        a search."""

    def absorb_moves(self, entries: Entries) -> int:
        """The same for entries of engines with another evaluation: only their moves, as hints."""

    def share_histories(self, wanted: bool) -> None:
        """From now on, exchange what is learned in the shared histories by the next two methods; or no longer."""

    def take_changes(self, most: int) -> HistoryChanges:
        """The largest changes since the last call, at most ``most``. As `take_entries`, one caller at a time."""

    def absorb_changes(self, heard: Sequence[HistoryChanges]) -> None:
        """Average the values that other engines changed, each with this engine's own if one of the last two calls of
        `take_changes` had it. Does nothing without `share_histories`. May run during a search, by the caller of
        `take_changes`."""
