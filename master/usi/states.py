"""The states of the USI front and of its thinking, and the ways between them.

``docs/explanation/state-machines.md`` draws them.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final


class FrontState(enum.Enum):
    CLOSED = "no fleet is open"
    OPENING = "the fleet and the book are prepared; lines wait"
    OPEN = "the GUI's lines are heeded"
    OVER = "nothing is heeded any more"


_QUITS: Final = {FrontState.OVER: "quit, or the GUI is gone"}
FRONT: Final[Mapping[FrontState, Mapping[FrontState, str]]] = {
    FrontState.CLOSED: {FrontState.OPENING: "isready", **_QUITS},
    FrontState.OPENING: {
        FrontState.OPEN: "prepared, or as it was before",
        FrontState.OPENING: "the fleet from before is opened again",
        FrontState.OVER: "quit, the GUI is gone, or there is no fleet",
    },
    FrontState.OPEN: {FrontState.OPENING: "isready", **_QUITS},
    FrontState.OVER: {},
}


class ThinkingState(enum.Enum):
    IDLE = "nothing is searched"
    BOOK = "the book is asked; lines wait"
    SEARCHING = "the GUI waits for a bestmove"
    HELD = "the search is over; its bestmove waits for stop"
    PONDERING = "go ponder"
    LINGERING = "the bestmove of pondering is out; the fleet goes on for a moment"


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
        ThinkingState.IDLE: "decision, refusal, or another fleet",
        ThinkingState.HELD: "decision before stop",
    },
    ThinkingState.HELD: {ThinkingState.IDLE: "stop, or another fleet"},
    ThinkingState.PONDERING: {
        ThinkingState.BOOK: "ponderhit",
        ThinkingState.SEARCHING: "ponderhit of go ponder infinite",
        ThinkingState.LINGERING: "stop",
    },
    ThinkingState.LINGERING: {**_GO, ThinkingState.IDLE: "no go in time, or the game is over"},
}
