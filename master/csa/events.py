"""Events that a client hears from a CSA server, line by line (`master.csa.protocol`)."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from master.csa.complaints import Severity
from master.csa.summary import GameSummary

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
"""The words behind ``#`` that say why a game ended."""


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
    """The word behind ``#``: one of `REASONS`, another word of a newer server, or empty."""


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """The server's answer to an empty line (empty lines may come at any time)."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """``##[ERROR]``: the server does not do what it was asked for."""

    text: str
    """The words behind the mark."""
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
