"""Events of a player: the values that `master.player.player.Player.handle` takes.

`master.game.driver` makes them, `master.game.journal` writes them down as they are, and `master.game.journal` feeds
them back."""

from __future__ import annotations

from dataclasses import dataclass

from cluster.api import Decision, Pondered, Progress
from master.player.instructions import BookAnswer


@dataclass(frozen=True, slots=True)
class Connected:
    """The connection to the server stands."""


@dataclass(frozen=True, slots=True)
class ServerLine:
    """A line of the server, without its end."""

    line: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """The searcher is ready for a new game, or as ready as it gets."""

    first_id: int = 1
    """The game's searches are numbered from here on: a searcher wants rising ids, and lives longer than a game."""


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
    """The searcher could not even begin."""

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
    """Stop. A game that is played is resigned as soon as it is our turn, and the server's last word is waited for;
    `Leave` ends the wait. Anything else ends at once."""

    why: str


@dataclass(frozen=True, slots=True)
class Leave:
    """The opponent has taken too long for a game that we `GiveUp`: log out. That loses it with the opponent's next
    move."""


Input = (
    Connected
    | ServerLine
    | Prepared
    | BookReplied
    | PonderFound
    | Progress
    | Decision
    | SearchFailed
    | Tick
    | LineSent
    | ConnectionLost
    | GiveUp
    | Leave
)
