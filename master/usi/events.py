"""Events and instructions of the USI front."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cluster.api import Decision, Pondered, PonderSearch, Progress, RetimeSearch, StartSearch, StopSearch

if TYPE_CHECKING:
    from worker.book import BookReply, BookSettings
    from worker.mate import MateResult


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """The part of the fleet that the GUI's options decide. Another plan is another fleet."""

    nodes: int
    hash_mb: int
    threads: int
    eval_file: str
    """Empty: the network that ships with Gougi."""
    fv_scale: int
    """0: what the network file names, else 16."""
    mode: str
    vote: str


# --- in --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GuiLine:
    """A line of the GUI, without its end. ``came_ms``: when; it may have waited since."""

    text: str
    came_ms: float


@dataclass(frozen=True, slots=True)
class GuiGone:
    """The GUI's lines have come to their end."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The end of a `Prepare`: all is there, or why the fleet is not. A book may be missing beside a fleet."""

    fleet_error: str = ""
    stays: bool = False
    """Beside an error: the fleet that was open before still is."""
    final: bool = False
    """Beside an error: the fleet from before is not what was asked for, and not to be played with."""
    book_error: str = ""


@dataclass(frozen=True, slots=True)
class FleetEvent:
    """As `cluster.api.Listener.on_event`."""

    name: str
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class NotStarted:
    """A `StartSearch` could not be done."""

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
    """Time has passed; see `master.usi.front.UsiFront.wake_ms`."""


Event = (
    GuiLine
    | GuiGone
    | Prepared
    | FleetEvent
    | Progress
    | Pondered
    | Decision
    | NotStarted
    | BookReplied
    | MateSolved
    | Tick
)

# --- out -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Say:
    """A line for the GUI."""

    text: str


@dataclass(frozen=True, slots=True)
class Prepare:
    """Open the fleet of ``plan`` in the place of one that is open, and the book; then tell `Prepared`."""

    plan: FleetPlan | None
    """None: the fleet stays."""
    book: BookSettings


@dataclass(frozen=True, slots=True)
class NewGame:
    """Tell the fleet that a new game begins."""


@dataclass(frozen=True, slots=True)
class AskBook:
    """Look the position up in the book that was prepared, then tell `BookReplied`: the GUI's lines wait for it."""

    sfen: str
    moves: tuple[str, ...]
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


Instruction = (
    Say
    | Prepare
    | NewGame
    | AskBook
    | StartSearch
    | PonderSearch
    | RetimeSearch
    | StopSearch
    | SolveMate
    | StopMate
    | Quit
)
