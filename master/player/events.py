"""Events of a game, for its observers: the terminal view, the record, the log.

`master.player.player` makes these, `master.game.driver` hands them to observers, on its event loop, in the order in
which they happened. Colours are 0 (black) and 1 (white); moves are given in USI and CSA; scores are from black's view.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from pathlib import Path

from cluster.api import Decision, Known, Progress
from master.csa.summary import GameSummary


class Conclusion(enum.StrEnum):
    """The end of a game for us, or the reason why there was none."""

    WIN = "WIN"
    LOSE = "LOSE"
    DRAW = "DRAW"
    CENSORED = "CENSORED"
    """No result was set; behind ``MAX_MOVES`` it is a draw."""
    INTERRUPTED = "INTERRUPTED"
    """The server stopped the game."""
    DISCONNECTED = "DISCONNECTED"
    """The connection broke; what the server made of the game is not known here."""
    ABORTED = "ABORTED"
    """We stopped before there was a result."""
    NOT_PLAYED = "NOT_PLAYED"
    """A game was offered, and one of the sides (or the server) rejected it."""
    LOGIN_REFUSED = "LOGIN_REFUSED"
    NO_NEW_GAMES = "NO_NEW_GAMES"
    """The server begins no games for now."""
    WRONG_GAME = "WRONG_GAME"
    """The login brings no game, or another one than its name says, however often it is tried."""


@dataclass(frozen=True, slots=True)
class GameOutcome:
    """The end of a connection to the server."""

    conclusion: Conclusion
    reason: str
    """The server's word (``RESIGN``, ``TIME_UP`` …), or what happened in words."""
    summary: GameSummary | None = None
    """The game's conditions, from our side; None where none was offered."""
    winner: int | None = None
    plies: int = 0
    sfen: str = ""
    """The last position."""
    comment: str = ""
    """Words that a record adds to the reason."""
    record_path: Path | None = None

    @property
    def played(self) -> bool:
        """Whether a game was begun."""
        return bool(self.sfen)


@dataclass(frozen=True, slots=True)
class Clocks:
    """Main times left at the moment of the event, in milliseconds, by colour. `turn`'s runs on from there."""

    left_ms: tuple[int, int]
    turn: int


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """Waiting for a game."""

    name: str


@dataclass(frozen=True, slots=True)
class GameFound:
    """A game was offered, and will be played once the searcher and the opponent are ready."""

    summary: GameSummary


@dataclass(frozen=True, slots=True)
class GameRefused:
    """A game was offered that this player cannot play."""

    why: str


@dataclass(frozen=True, slots=True)
class GameBegan:
    summary: GameSummary
    sfen: str
    """The position now, behind the moves that the summary already held."""
    clocks: Clocks


@dataclass(frozen=True, slots=True)
class ThinkingBegan:
    search_id: int
    ply: int
    """Moves made so far."""
    soft_ms: int
    hard_ms: int
    clocks: Clocks
    known: Known | None = None
    """The result of pondering on the position (a ponder hit)."""


@dataclass(frozen=True, slots=True)
class MoveComment:
    """Score, variation and source of a move of ours. Without arguments: nothing was searched."""

    score: int | None = None
    """Black's view."""
    pv: tuple[str, ...] = ()
    """CSA moves, from the opponent's reply on, as far as they are legal."""
    depth: int = 0
    nodes: int = 0
    book: str = ""
    """The book that the move is from; empty: none."""

    @property
    def text(self) -> str:
        """The comment as floodgate wants it: ``'* SCORE PV``; ``'* book`` for a book's move without score; or empty."""
        if self.score is None:
            return "'* book" if self.book else ""
        return " ".join(("'*", str(self.score), *self.pv))


@dataclass(frozen=True, slots=True)
class MovePlayed:
    """A move that the server has confirmed."""

    ply: int
    """1 for the first move of the game, those of the start position included."""
    colour: int
    mine: bool
    usi: str
    csa: str
    consumed_ms: int
    """Time that the server charged."""
    sfen: str
    """The position behind the move."""
    clocks: Clocks
    comment: MoveComment = MoveComment()
    """Ours; that of the opponent's moves says nothing."""


@dataclass(frozen=True, slots=True)
class LineMeasured:
    """The server has echoed a line."""

    delay_ms: float
    """From our line to its echo: the way there and back, and what the server needs for it."""


@dataclass(frozen=True, slots=True)
class GameEnded:
    outcome: GameOutcome


@dataclass(frozen=True, slots=True)
class Note:
    """Something out of the ordinary, for the log."""

    event: str
    fields: dict[str, object] = field(default_factory=dict)
    error: bool = False
    warning: bool = False


GameEvent = (
    LoggedIn
    | GameFound
    | GameRefused
    | GameBegan
    | ThinkingBegan
    | Progress
    | Decision
    | MovePlayed
    | LineMeasured
    | GameEnded
    | Note
)
