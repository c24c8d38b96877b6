"""Events of a game, for its observers: the terminal view, the record, the log.

`master.player.player` creates them; `master.game.driver` passes them to observers, on its event loop, in the order in
which they happened. Colours are 0 (black) and 1 (white); moves are given in USI and CSA; scores are from black's view.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from pathlib import Path

from cluster.api import Decision, Known, Progress
from master.csa.summary import GameSummary


class Conclusion(enum.StrEnum):
    """The way a game ended for us, or the reason why there was none."""

    WIN = "WIN"
    LOSE = "LOSE"
    DRAW = "DRAW"
    CENSORED = "CENSORED"
    """No result was set; after ``MAX_MOVES`` it is a draw."""
    INTERRUPTED = "INTERRUPTED"
    """The server stopped the game."""
    DISCONNECTED = "DISCONNECTED"
    """The connection broke; the server's result is unknown."""
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
    """The server's word (``RESIGN``, ``TIME_UP`` …), or a description."""
    summary: GameSummary | None = None
    """The game's conditions, from our side; None if none was offered."""
    winner: int | None = None
    plies: int = 0
    sfen: str = ""
    """The last position."""
    comment: str = ""
    """Text that a record adds to the reason."""
    record_path: Path | None = None

    @property
    def played(self) -> bool:
        """Whether a game was begun."""
        return bool(self.sfen)


@dataclass(frozen=True, slots=True)
class Clocks:
    """Main times left at the moment of the event, in milliseconds, by colour. The time of `turn` runs on from there."""

    left_ms: tuple[int, int]
    turn: int


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """Waiting for a game."""

    name: str


@dataclass(frozen=True, slots=True)
class GameFound:
    """A game was offered; it begins once the searcher and the opponent are ready."""

    summary: GameSummary


@dataclass(frozen=True, slots=True)
class GameRefused:
    """A game was offered that this player cannot play."""

    why: str


@dataclass(frozen=True, slots=True)
class GameBegan:
    summary: GameSummary
    sfen: str
    """The current position, after the moves that the summary already held."""
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
    """The book that the move comes from; empty: none."""

    @property
    def text(self) -> str:
        """The comment in floodgate's form: ``'* SCORE PV``; ``'* book`` for a book move without a score; or empty."""
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
    """The position after the move."""
    clocks: Clocks
    comment: MoveComment = MoveComment()
    """Ours; meaningless for the opponent's moves."""


@dataclass(frozen=True, slots=True)
class LineMeasured:
    """The server has echoed a line."""

    delay_ms: float
    """Time from our line to its echo: the round trip plus the server's processing."""


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
    LoggedIn | GameFound | GameRefused | GameBegan | ThinkingBegan | Progress | Decision | MovePlayed | LineMeasured
    | GameEnded | Note
)  # fmt: skip
