"""Events and instructions of the USI front that every searcher shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from worker.book import BookReply, BookSettings
    from worker.mate import MateResult
    from worker.shogi import Position

# --- in --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GuiLine:
    """A line of the GUI. ``came_ms``: when; it may have waited since."""

    text: str
    came_ms: float


@dataclass(frozen=True, slots=True)
class GuiGone:
    """The GUI's lines have come to their end, or nobody reads ours."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The end of a `Prepare`: all is there, or why the searcher is not. A book may be missing beside a searcher."""

    error: str = ""
    stays: bool = False
    """Beside an error: the searcher that was open before still is."""
    final: bool = False
    """Beside an error: the searcher from before is not what was asked for, and not to be played with."""
    book_error: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """A search could not be begun, or broke off."""

    search_id: int
    why: str


@dataclass(frozen=True, slots=True)
class BookReplied:
    """The answer to an `AskBook`; no move where the book has none, or there is no book."""

    reply: BookReply


@dataclass(frozen=True, slots=True)
class MateSolved:
    """The end of a `SolveMate`."""

    result: MateResult


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed; see `worker.usi.front.UsiFront.wake_ms`."""


Event = GuiLine | GuiGone | Prepared | Failed | BookReplied | MateSolved | Tick
"""A searcher adds its own events, such as the end of a search."""

# --- out -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SendToGui:
    """Send a line to the GUI."""

    text: str


@dataclass(frozen=True, slots=True)
class Prepare:
    """Open the searcher of ``plan`` in the place of one that is open, and the book; then tell `Prepared`."""

    plan: Any
    """As `worker.usi.options.OptionValues.plan` has it; None: the searcher stays."""
    book: BookSettings


@dataclass(frozen=True, slots=True)
class NewGame:
    """Tell the searcher that a new game begins."""


@dataclass(frozen=True, slots=True)
class AskBook:
    """Look the position up in the book that was prepared, then tell `BookReplied`: the GUI's lines wait for it."""

    position: Position
    """Left as it is."""
    settings: BookSettings
    only: tuple[str, ...]
    """The moves to choose from, in USI; empty: all."""


@dataclass(frozen=True, slots=True)
class SolveMate:
    """Look for a mate by checks on this machine, then tell `MateSolved`."""

    sfen: str
    moves: tuple[str, ...]
    limit_ms: int | None
    memory_mb: int


@dataclass(frozen=True, slots=True)
class StopMate:
    """End that now."""


@dataclass(frozen=True, slots=True)
class Quit:
    """Close everything and end with this exit code."""

    code: int
    error: str = ""
    """The reason, where the GUI did not ask for the end."""


Instruction = SendToGui | Prepare | NewGame | AskBook | SolveMate | StopMate | Quit
"""A searcher adds its own instructions, such as the start of a search."""
