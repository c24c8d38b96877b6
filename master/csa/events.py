"""Events that a client gets from a CSA server, line by line (`master.csa.protocol`), and the meaning of its
``##[ERROR]`` lines."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from master.csa.summary import GameSummary

MARK: Final = "##[ERROR]"
_FORM: Final = "a game name is NAME-TOTAL-BYOYOMI or NAME-TOTAL-INCREMENTF, in seconds"
_NEVER: Final = {
    # The server's message, and advice for the user.
    "you are not allowed to specify teban": "leave -B or -W out of the game name",
    "random turn preference is not allowed": "put -B or -W after the game name",
    "bad game option": "after the game name, write -B, -W or nothing",
    "bad game name": _FORM,
    "game name should consist of three parts": _FORM,
    "invalid identifiers are found": _FORM,
}
_NOT_NOW: Final = ("starting new games is not allowed",)


class Severity(enum.Enum):
    """The meaning of an ``##[ERROR]`` line for a player who is logged in and waits for a game."""

    IGNORABLE = "ignorable"
    """The error is about something else."""
    TEMPORARY = "temporary"
    """This login brings no game; the server may begin games again later."""
    PERMANENT = "permanent"
    """No game until the user logs in differently."""


def severity_of(text: str) -> Severity:
    """The severity of an ``##[ERROR]`` line; ``text``: the words after the mark."""
    if _advice(text):
        return Severity.PERMANENT
    return Severity.TEMPORARY if any(words in text.lower() for words in _NOT_NOW) else Severity.IGNORABLE


def with_advice(text: str) -> str:
    """The server's words, with advice if there is any."""
    words = text.strip().rstrip(".")
    advice = _advice(text)
    return f"{words}; {advice}" if advice else words


def _advice(text: str) -> str:
    return next((advice for words, advice in _NEVER.items() if words in text.lower()), "")


REASONS: Final = frozenset(
    ("RESIGN", "JISHOGI", "ILLEGAL_MOVE", "ILLEGAL_ACTION", "TIME_UP", "SENNICHITE", "OUTE_SENNICHITE", "MAX_MOVES",
    "CHUDAN")
)  # fmt: skip
"""The reason after ``#`` for which a game ended."""


class Result(enum.StrEnum):
    """The result of a game in the server's words, from this player's side."""

    WIN = "WIN"
    LOSE = "LOSE"
    DRAW = "DRAW"
    CENSORED = "CENSORED"
    """The server sets no result; after ``#MAX_MOVES`` it is a draw."""
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
    """A move is on the server's board. Our own move counts only once the server has echoed it."""

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
    """``##[ERROR]``: the server refuses a request."""

    text: str
    """The words after the mark."""
    severity: Severity


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for people: ``##[...]`` of the extended mode, or help after a refused login."""

    text: str


@dataclass(frozen=True, slots=True)
class Unexpected:
    line: str
    why: str


Event = (
    LoginOk | LoginRefused | LoggedOut | GameOffered | BadOffer | GameStarted | OfferRejected | MoveMade | SpecialMade
    | Ended | KeepAlive | Complaint | Notice | Unexpected
)  # fmt: skip
