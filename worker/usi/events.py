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
    """A line of the GUI. ``came_ms``: its arrival; it may have waited since."""

    text: str
    came_ms: float


@dataclass(frozen=True, slots=True)
class GuiGone:
    """The GUI's input has ended, or nothing reads our output."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The end of a `Prepare`: everything is ready, or the reason why the searcher is not. The searcher may be ready
    without the book."""

    error: str = ""
    stays: bool = False
    """With an error: the previous searcher is still open."""
    final: bool = False
    """With an error: the previous searcher is not the requested one, and must not be used for play."""
    book_error: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """A search could not begin, or failed."""

    search_id: int
    why: str


@dataclass(frozen=True, slots=True)
class BookReplied:
    """The answer to an `AskBook`; no move if the book has none, or there is no book."""

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
    """Open the searcher of ``plan``, which replaces the open one, and the book; then send `Prepared`."""

    plan: Any
    """As returned by `worker.usi.options.OptionValues.plan`; None: the searcher stays."""
    book: BookSettings


@dataclass(frozen=True, slots=True)
class NewGame:
    """Notify the searcher that a new game begins."""


@dataclass(frozen=True, slots=True)
class AskBook:
    """Look the position up in the prepared book, then send `BookReplied`: the GUI's lines wait for it."""

    position: Position
    """Must not be changed."""
    settings: BookSettings
    only: tuple[str, ...]
    """The moves to choose from, in USI; empty: all."""


@dataclass(frozen=True, slots=True)
class SolveMate:
    """Look for a mate by checks on this machine, then send `MateSolved`."""

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
    """The reason, if the GUI did not request the end."""


Instruction = SendToGui | Prepare | NewGame | AskBook | SolveMate | StopMate | Quit
"""A searcher adds its own instructions, such as the start of a search."""
