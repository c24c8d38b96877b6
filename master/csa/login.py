"""Login name, game name and password, looked at before anything is started for them.

Source: CSA server protocol 1.2.1, "login", and shogi-server's reading of it.
"""

from __future__ import annotations

import re
from typing import Final

from master.csa.gamename import GameNameError, check_game_name, split_password
from master.csa.names import LOGIN_NAME

CSA_PASSWORD: Final = 32
"""Characters that the protocol allows a password. Shogi-server takes longer ones."""
LONGEST_PASSWORD: Final = 256
"""Beyond that it is no password but some other file."""


class LoginError(ValueError):
    """Nobody can log in with this; the text says why, and holds nothing of the password."""


def check_login(name: str, game: str, password: str | None) -> list[str]:
    """Look at what a login would be made of; gives warnings, none where all is as usual.

    Args:
        name: the login name.
        game: the game name; empty where the password alone decides.
        password: the password, or the trip behind the game name; None: it is looked at elsewhere.

    Raises:
        LoginError: the name, the game name or the password would be refused, or taken for something else.
    """
    if not re.fullmatch(LOGIN_NAME, name):
        raise LoginError(f"the login name {name!r} must be 1 to 32 letters, digits or any of _ @ . -")
    if password is not None:
        _check_password(password)
    if not game:
        return [] if password is None else _check_bare_password(password)
    try:
        return [f"game name {warning}" for warning in check_game_name(game)]
    except GameNameError as error:
        raise LoginError(f"game name {error}") from error


def login_password(game: str, password: str) -> str:
    """The words behind the name in the login line."""
    return f"{game},{password}" if game else password


def _check_password(password: str) -> None:
    if not password:
        raise LoginError("the password is empty")
    if len(password) > LONGEST_PASSWORD:
        raise LoginError(f"the password has {len(password)} characters: is that the right file?")
    for number, character in enumerate(password, 1):
        if character == " " or not character.isascii() or not character.isprintable():
            kind = "a space" if character == " " else "no printable ASCII character"
            raise LoginError(f"the password cannot be sent: its character {number} is {kind}")
    if password.endswith(","):
        raise LoginError("the password ends in a comma, which the server drops: it would be another password")


def _check_bare_password(password: str) -> list[str]:
    """One that stands alone behind the login name: it may hold a game name, for those who write it there."""
    named, trip = split_password(password)
    if named is not None and named.floodgate and not trip:
        raise LoginError("floodgate pairs nobody without a password (trip) behind the game name: GAME,TRIP")
    warnings = []
    if named is None and "," in password:
        warnings.append("the password holds a comma: shogi-server takes what stands in front of it for a game name")
    if named is None and len(password) > CSA_PASSWORD:
        warnings.append(f"the password has {len(password)} characters; the CSA protocol allows {CSA_PASSWORD}")
    return warnings
