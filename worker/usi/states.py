"""The states of the USI front and of its thinking, and the ways between them.

``docs/explanation/state-machines.md`` draws them.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final


class FrontState(enum.Enum):
    CLOSED = "no searcher is open"
    OPENING = "the searcher and the book are prepared; lines wait"
    OPEN = "the GUI's lines are heeded"
    OVER = "nothing is heeded any more"


_OPENS: Final = "isready, or a game for a single engine"
_QUITS: Final = {FrontState.OVER: "quit, or the GUI is gone"}
FRONT: Final[Mapping[FrontState, Mapping[FrontState, str]]] = {
    FrontState.CLOSED: {FrontState.OPENING: _OPENS, **_QUITS},
    FrontState.OPENING: {
        FrontState.OPEN: "prepared, or as it was before",
        FrontState.OPENING: "the fleet from before is opened again",
        FrontState.OVER: "quit, the GUI is gone, or there is no searcher",
    },
    FrontState.OPEN: {FrontState.OPENING: _OPENS, **_QUITS},
    FrontState.OVER: {},
}


class ThinkingState(enum.Enum):
    IDLE = "nothing is searched"
    BOOK = "the book is asked; lines wait"
    SEARCHING = "the GUI waits for a bestmove"
    HELD = "the search is over; its bestmove waits for stop"
    PONDERING = "go ponder"
    LINGERING = "the bestmove of pondering is out; the fleet goes on for a moment (a single engine does not)"


_GO: Final = {
    ThinkingState.BOOK: "go",
    ThinkingState.SEARCHING: "go infinite",
    ThinkingState.PONDERING: "go ponder",
}
THINKING: Final[Mapping[ThinkingState, Mapping[ThinkingState, str]]] = {
    ThinkingState.IDLE: _GO,
    ThinkingState.BOOK: {ThinkingState.IDLE: "a move of the book", ThinkingState.SEARCHING: "none"},
    ThinkingState.SEARCHING: {
        **_GO,
        ThinkingState.IDLE: "last word, or another fleet",
        ThinkingState.HELD: "last word before stop",
    },
    ThinkingState.HELD: {ThinkingState.IDLE: "stop, or another fleet"},
    ThinkingState.PONDERING: {
        ThinkingState.BOOK: "ponderhit",
        ThinkingState.SEARCHING: "ponderhit of go ponder infinite, or stop of a single engine",
        ThinkingState.IDLE: "stop of a single engine that has said its last word",
        ThinkingState.LINGERING: "stop of a fleet",
    },
    ThinkingState.LINGERING: {**_GO, ThinkingState.IDLE: "no go in time, or the game is over"},
}
