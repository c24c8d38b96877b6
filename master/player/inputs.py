"""Events of a player: the values that `master.player.player.Player.handle` takes.

`master.game.driver` creates them; `master.game.journal` records them unchanged and feeds them back."""

from __future__ import annotations

from dataclasses import dataclass

from cluster.api import Decision, Pondered, Progress
from master.player.instructions import BookAnswer


@dataclass(frozen=True, slots=True)
class Connected:
    """The connection to the server is established."""


@dataclass(frozen=True, slots=True)
class ServerLine:
    """A line of the server, without its end."""

    line: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """The searcher is ready for a new game, or as ready as it will be."""

    first_id: int = 1
    """First id of the game's searches: a searcher needs rising ids, and outlives a game."""


@dataclass(frozen=True, slots=True)
class BookReplied:
    """The book's answer to an `AskBook`."""

    question_id: int
    answer: BookAnswer | None
    """None: it has no move, or failed."""


@dataclass(frozen=True, slots=True)
class PonderFound:
    """The results of pondering so far. Only the last one before a line of the server matters."""

    pondered: Pondered
    at_ms: float
    """The time at which they came."""


@dataclass(frozen=True, slots=True)
class SearchFailed:
    """The search could not begin."""

    search_id: int
    why: str


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed; see `master.player.player.Player.deadline_ms`."""


@dataclass(frozen=True, slots=True)
class LineSent:
    """A line of ours has left."""


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    why: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Stop. A running game is resigned as soon as it is our turn, and the player waits for the server's last line;
    `Leave` ends the wait. In any other state the player stops at once."""

    why: str


@dataclass(frozen=True, slots=True)
class Leave:
    """The opponent has taken too long in a game that we `GiveUp`: log out. That loses the game with the opponent's next
    move."""


Input = (
    Connected | ServerLine | Prepared | BookReplied | PonderFound | Progress | Decision | SearchFailed | Tick | LineSent
    | ConnectionLost | GiveUp | Leave
)  # fmt: skip
