"""The searches for ``go``: one at a time, each answered by one ``bestmove``, after asking the book.

`Thinking` is the part that all searchers share: when a search begins and ends, its clock, and when its ``bestmove`` may
go out. A subclass has the searches themselves and the results of pondering.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Generic, TypeVar

from worker.book import BookReply
from worker.careful import careful_move
from worker.clock import Watch
from worker.clock.gui_clock import GuiClock, Turn
from worker.shogi import MoveError, Position, move_to_usi
from worker.states import States
from worker.usi.events import AskBook, SendToGui
from worker.usi.options import OptionValues
from worker.usi.words import GoOrder, best_line, book_lines


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


@dataclass(frozen=True, slots=True)
class Board:
    """The position that the GUI has set."""

    sfen: str
    moves: tuple[str, ...]
    position: Position
    """Not to be changed."""

    def legal(self, moves: Sequence[str]) -> tuple[str, ...]:
        """Those of ``moves`` that are legal, each once."""
        return tuple(move for move in dict.fromkeys(moves) if self._is_legal(move))

    def _is_legal(self, move: str) -> bool:
        try:
            self.position.parse_usi(move)
        except MoveError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Asked:
    """A ``go`` or a ponder hit."""

    order: GoOrder
    board: Board
    began_ms: float
    """The time of its arrival: all work counts against its time."""

    def careful_move(self) -> str:
        """A move by material alone, one of ``searchmoves`` if given, or ``resign`` if there is none: the answer if no
        search has a result."""
        position, only = self.board.position, self.order.searchmoves
        legal = self.board.legal(only)
        if position.is_mated() or (only and not legal):
            return "resign"
        return move_to_usi(careful_move(position, legal))


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The end of a search: its ``bestmove``, and the lines before that."""

    move: str
    ponder: str | None = None
    score: int | None = None
    """From the side to move; None: the move does not come from a search."""
    exact: bool = True
    """Whether ``score`` is exact and not only a bound."""
    lines: tuple[str, ...] = ()


@dataclass(slots=True)
class Search:
    """A search that the GUI waits for."""

    search_id: int
    asked: Asked
    turn: Turn | None
    """The time of its move; None: it has none, or its clock does not run yet."""
    endless: bool
    """Analysis: only ``stop`` ends it."""
    held: bool
    """No ``bestmove`` may go out before ``stop`` or a hit."""
    last: SearchOutcome | None = None
    """The result of a search whose ``bestmove`` is held."""


S = TypeVar("S", bound=Search)


class Thinking(ABC, Generic[S]):
    """See the module docstring. Times are milliseconds of the driver's clock; instructions are added to ``out``.

    Args:
        strict: see `worker.states.States`.
    """

    _aimed: ClassVar[bool]
    """Whether a search ends at its soft time; otherwise it may run one iteration longer."""

    def __init__(self, options: OptionValues, *, strict: bool = False) -> None:
        self.options = options
        self.out: list[Any] = []
        self._states = States(THINKING, ThinkingState.IDLE, strict=strict)
        self._clock = GuiClock()
        self._now_ms = 0.0
        self._wake_ms: float | None = None
        """The time at which the search, or else pondering, has to end."""
        self._last_id = 0
        self._asked: Asked | None = None
        """A ``go`` or a hit for which the book is being asked."""
        self._expected: Asked | None = None
        """The last ``go ponder``."""
        self._search: S | None = None
        self._ending: dict[int, S] = {}
        """Searches that were replaced by another, whose results are still to come."""

    # --- for each searcher -----------------------------------------------------------------------------------------

    @abstractmethod
    def complain(self, why: str) -> None:
        """Report an error to the GUI."""

    @abstractmethod
    def heard(self, event: object, now_ms: float) -> None:
        """Handle an event of a search."""

    @abstractmethod
    def _begin(self, asked: Asked) -> None:
        """Search for a move, or continue the pondering search."""

    @abstractmethod
    def _ponder(self, asked: Asked) -> None:
        """Search on the opponent's time."""

    @abstractmethod
    def _halt(self, search_id: int) -> None:
        """Make the search report its result now."""

    @abstractmethod
    def _end_pondering(self) -> None:
        """End pondering without an answer; does nothing if there is none."""

    # --- the GUI's orders -----------------------------------------------------------------------------------------

    @property
    def state(self) -> ThinkingState:
        return self._states.now

    def go(self, asked: Asked, now_ms: float) -> None:
        """Search. A search that still runs is answered first."""
        search = self._search
        self.stop(now_ms)
        self._wake_ms = None
        if search is not None and self._search is search:
            self._search, self._ending[search.search_id] = None, search
        if asked.order.ponder:
            self._to(ThinkingState.PONDERING)
            self._expected = asked
            self._ponder(asked)
        else:
            self._think(asked)

    def hit(self, numbers: dict[str, int], began_ms: float, now_ms: float) -> None:
        """The expected reply was played.

        Args:
            numbers: times of the ``ponderhit`` line (ShogiHome's early ponder), which are newer than those of its
                ``go``; empty: it had none.

        Raises:
            ValueError: there is no pondering.
        """
        self._now_ms = now_ms
        if self.state is not ThinkingState.PONDERING or self._expected is None:
            raise ValueError("ponderhit: nothing is pondered on")
        before = self._expected
        order = replace(before.order, ponder=False, numbers=numbers or before.order.numbers)
        self._think(Asked(order, before.board, began_ms))

    def stop(self, now_ms: float) -> None:
        """Answer the pending search now."""
        self._now_ms = now_ms
        search = self._search
        if search is None:
            return
        search.held = False
        if search.last is not None:
            self._settle(search, search.last)
        else:
            if self.state is ThinkingState.PONDERING:
                self._to(ThinkingState.SEARCHING)
            self._halt(search.search_id)

    def end(self, now_ms: float) -> None:
        """End searching because the game is over or another kind of task follows: answer, and leave the searcher
        idle."""
        self.stop(now_ms)

    def book_replied(self, reply: BookReply, now_ms: float) -> None:
        """The book's answer: its move goes out, or the search begins."""
        self._now_ms = now_ms
        asked, self._asked = self._asked, None
        if asked is None:
            return
        self.say(*book_lines(reply))
        if reply.move is not None:
            self._end_pondering()
            self._to(ThinkingState.IDLE)
        else:
            self._begin(asked)

    def failed(self, search_id: int, why: str, now_ms: float) -> None:
        """The searcher gave up a search: the game continues with any move."""
        search = self._find(search_id)
        if search is not None:
            self.complain(why)
            self._over(search_id, SearchOutcome(search.asked.careful_move()), now_ms)

    def wake_ms(self) -> float | None:
        """The time of the next step that needs no event."""
        return self._wake_ms

    def tick(self, now_ms: float) -> None:
        """Do all that is due."""
        self._now_ms = now_ms
        if self._wake_ms is not None and now_ms >= self._wake_ms:
            self._wake_ms = None
            if self._search is not None:
                self._halt(self._search.search_id)
            else:
                self._end_pondering()

    def say(self, *lines: str) -> None:
        """Send these lines to the GUI."""
        self.out += [SendToGui(line) for line in lines]

    # --- for subclasses -------------------------------------------------------------------------------------------

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _find(self, search_id: int) -> S | None:
        """The search with that id, if its result is still awaited."""
        search = self._search
        return search if search is not None and search.search_id == search_id else self._ending.get(search_id)

    def _over(self, search_id: int, last: SearchOutcome, now_ms: float) -> None:
        """Take the result of a search."""
        self._now_ms = now_ms
        search = self._find(search_id)
        if search is None:
            return
        if search is self._search:
            self._settle(search, last)
        else:
            del self._ending[search_id]
            self._answer(search, last)

    def _settle(self, search: S, last: SearchOutcome) -> None:
        """The current search is over: answer it, unless the answer has to wait."""
        if search.held:
            search.last = last
            if self.state is ThinkingState.SEARCHING:
                self.say(*last.lines)  # the user of an analysis wants to see them now
                self._to(ThinkingState.HELD)
            return
        self._search = self._wake_ms = None
        self._to(ThinkingState.IDLE)
        self._answer(search, last)

    def _bounds(self, order: GoOrder) -> tuple[int | None, int | None]:
        """The most nodes and the depth of a search: from its line, else from the options; None: no limit."""
        if order.infinite:
            return None, None
        numbers, number = order.numbers, self.options.number
        return (
            numbers.get("nodes") or number("NodesLimit") or None,
            numbers.get("depth") or number("DepthLimit") or None,
        )

    def _turn(self, asked: Asked, watch: Watch, known_ms: float) -> Turn | None:
        """The time of the requested move, of which ``known_ms`` were pondered; None: it has none."""
        order, board = asked.order, asked.board
        if order.infinite:
            return None
        return self._clock.turn(
            order.numbers,
            board.sfen,
            board.moves,
            self.options.time_options,
            colour=board.position.turn,
            ply=board.position.move_number - 1,
            began_ms=asked.began_ms,
            now_ms=self._now_ms,
            watch=watch,
            known_ms=known_ms,
        )

    def _to(self, state: ThinkingState) -> None:
        self._states.to(state, self._now_ms)

    def _think(self, asked: Asked) -> None:
        # The book's move goes out at once: it would overtake the pending bestmove of an earlier search.
        if asked.order.infinite or self._ending:
            self._begin(asked)
            return
        self._asked = asked
        self._to(ThinkingState.BOOK)
        self.out.append(AskBook(asked.board.position, self.options.book, asked.order.searchmoves))

    def _answer(self, search: S, last: SearchOutcome) -> None:
        board, turn, score = search.asked.board, search.turn, last.score
        if turn is not None:
            exact = score if last.exact else None
            self._clock.answered(turn, board.sfen, board.moves, exact, self._now_ms, aimed=self._aimed)
        self.say(*last.lines)
        if not search.endless and score is not None and score <= -self.options.number("ResignValue"):
            self.say(best_line("resign"))
        else:
            self.say(best_line(last.move, last.ponder))
