"""The states of a player and the transitions between them; ``docs/explanation/state-machines.md`` draws them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final


class PlayerState(enum.Enum):
    START = "not connected yet"
    LOGIN = "logging in"
    LOBBY = "waiting for a game"
    PREPARING = "a game is offered; the searcher gets ready"
    AGREED = "waiting for the opponent's agreement"
    THEIR_TURN = "the opponent is to move"
    BOOK = "our turn: the book is asked"
    SEARCHING = "our turn: the fleet searches"
    AT_LIMIT = "our turn at the move limit: waiting for the server's word"
    ANSWERED = "our answer is out: waiting for its echo"
    LEAVING = "given up: waiting for the server's last word"
    OVER = "the connection has served its purpose"


_ENDS: Final = {PlayerState.OVER: "result, lost connection, refusal"}
_GIVES_UP: Final = {PlayerState.LEAVING: "given up", **_ENDS}
_TURN: Final = {
    PlayerState.BOOK: "our turn, with a book",
    PlayerState.SEARCHING: "our turn, without a book",
    PlayerState.AT_LIMIT: "our turn, move limit reached",
    PlayerState.ANSWERED: "our turn, and mated, 27 points or a mate by the last move",
}
_NOT_OURS: Final = {PlayerState.THEIR_TURN: "a move of ours that we did not send"}

TRANSITIONS: Final[Mapping[PlayerState, Mapping[PlayerState, str]]] = {
    PlayerState.START: {PlayerState.LOGIN: "connected", **_GIVES_UP},
    PlayerState.LOGIN: {PlayerState.LOBBY: "let in", **_GIVES_UP},
    PlayerState.LOBBY: {PlayerState.PREPARING: "a game is offered", **_GIVES_UP},
    PlayerState.PREPARING: {
        PlayerState.AGREED: "the searcher is ready",
        PlayerState.LOBBY: "an offer that is refused",
        **_GIVES_UP,
    },
    PlayerState.AGREED: {PlayerState.THEIR_TURN: "the game starts, the opponent first", **_TURN, **_GIVES_UP},
    PlayerState.THEIR_TURN: {**_TURN, **_GIVES_UP},
    PlayerState.BOOK: {
        PlayerState.ANSWERED: "a move of the book",
        PlayerState.SEARCHING: "none, or none in time",
        **_NOT_OURS,
        **_GIVES_UP,
    },
    PlayerState.SEARCHING: {PlayerState.ANSWERED: "decision, or hard deadline", **_NOT_OURS, **_GIVES_UP},
    PlayerState.AT_LIMIT: {**_TURN, **_NOT_OURS, **_GIVES_UP},
    PlayerState.ANSWERED: {PlayerState.THEIR_TURN: "the echo of our move", **_GIVES_UP},
    PlayerState.LEAVING: _ENDS,
    PlayerState.OVER: {},
}
