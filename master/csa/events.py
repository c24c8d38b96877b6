"""Events that a client hears from a CSA server, line by line (`master.csa.protocol`), and what its ``##[ERROR]`` lines
mean."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from master.csa.summary import GameSummary

MARK: Final = "##[ERROR]"
_FORM: Final = "a game name is NAME-TOTAL-BYOYOMI or NAME-TOTAL-INCREMENTF, in seconds"
_NEVER: Final = {
    # What the server says, and what the user can do about it.
    "you are not allowed to specify teban": "leave -B or -W out of the game name",
    "random turn preference is not allowed": "put -B or -W behind the game name",
    "bad game option": "put -B, -W or nothing behind the game name",
    "bad game name": _FORM,
    "game name should consist of three parts": _FORM,
    "invalid identifiers are found": _FORM,
}
_NOT_NOW: Final = ("starting new games is not allowed",)


class Severity(enum.Enum):
    """What an ``##[ERROR]`` line means for a player who is logged in and waits for a game."""

    IGNORABLE = "ignorable"
    """It is about something else."""
    TEMPORARY = "temporary"
    """This login brings no game; the server may begin games again later."""
    PERMANENT = "permanent"
    """No game before the user logs in with something else."""


def severity_of(text: str) -> Severity:
    """The severity of an ``##[ERROR]`` line; ``text``: the words after the mark."""
    if _advice(text):
        return Severity.PERMANENT
    return Severity.TEMPORARY if any(words in text.lower() for words in _NOT_NOW) else Severity.IGNORABLE


def with_advice(text: str) -> str:
    """The server's words, and what to do about them where that is known."""
    words = text.strip().rstrip(".")
    advice = _advice(text)
    return f"{words}; {advice}" if advice else words


def _advice(text: str) -> str:
    return next((advice for words, advice in _NEVER.items() if words in text.lower()), "")


REASONS: Final = frozenset(
    {
        "RESIGN",
        "JISHOGI",
        "ILLEGAL_MOVE",
        "ILLEGAL_ACTION",
        "TIME_UP",
        "SENNICHITE",
        "OUTE_SENNICHITE",
        "MAX_MOVES",
        "CHUDAN",
    }
)
"""The words after ``#`` that say why a game ended."""


class Result(enum.StrEnum):
    """The result of a game in the server's words, from this player's side."""

    WIN = "WIN"
    LOSE = "LOSE"
    DRAW = "DRAW"
    CENSORED = "CENSORED"
    """The server sets no result; behind ``#MAX_MOVES`` it is a draw."""
    INTERRUPTED = "INTERRUPTED"
    """``#CHUDAN``."""


@dataclass(frozen=True, slots=True)
class LoginOk:
    name: str


@dataclass(frozen=True, slots=True)
class LoginRefused:
    line: str


@dataclass(frozen=True, slots=True)
class LoggedOut:
    """The server confirmed our ``LOGOUT``."""


@dataclass(frozen=True, slots=True)
class GameOffered:
    summary: GameSummary


@dataclass(frozen=True, slots=True)
class BadOffer:
    """A game summary that cannot be read. It can only be rejected."""

    why: str


@dataclass(frozen=True, slots=True)
class GameStarted:
    game_id: str


@dataclass(frozen=True, slots=True)
class OfferRejected:
    """No game: a side rejected it, or the server gave up waiting (``by`` says who)."""

    game_id: str
    by: str


@dataclass(frozen=True, slots=True)
class MoveMade:
    """A move stands on the server's board, ours too: it counts once the server has echoed it."""

    csa: str
    colour: int
    mine: bool
    consumed_ms: int


@dataclass(frozen=True, slots=True)
class SpecialMade:
    """``%TORYO``, ``%KACHI``, ``%CHUDAN`` … of either side; the ending itself follows as `Ended`."""

    word: str
    consumed_ms: int


@dataclass(frozen=True, slots=True)
class Ended:
    result: Result
    reason: str
    """The word after ``#``: one of `REASONS`, another word of a newer server, or empty."""


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """The server's answer to an empty line (empty lines may come at any time)."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """``##[ERROR]``: the server does not do what it was asked for."""

    text: str
    """The words after the mark."""
    severity: Severity


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for people: ``##[...]`` of the extended mode, help behind a refused login."""

    text: str


@dataclass(frozen=True, slots=True)
class Unexpected:
    line: str
    why: str


Event = (
    LoginOk
    | LoginRefused
    | LoggedOut
    | GameOffered
    | BadOffer
    | GameStarted
    | OfferRejected
    | MoveMade
    | SpecialMade
    | Ended
    | KeepAlive
    | Complaint
    | Notice
    | Unexpected
)
