"""The meaning of shogi-server's ``##[ERROR]`` lines for a player who waits for a game."""

from __future__ import annotations

import enum
from typing import Final

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
    """The severity of an ``##[ERROR]`` line; ``text``: the words behind the mark."""
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
