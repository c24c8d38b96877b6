"""The USI front as a pure state machine: lines of the GUI and events of a searcher in, lines and instructions out.

A line that cannot be obeyed is answered by ``info string error: …`` with the reason, and changes nothing, except that a
wrong ``position`` leaves no position set. Only the legal ones of ``searchmoves`` are searched and played. Every ``go``
is answered by one ``bestmove``, every ``go mate`` by one ``checkmate``, every ``isready`` by one ``readyok``, or the
process ends with exit code 1, because a GUI would wait for ``readyok`` forever. ``usi`` is answered before this is
loaded (`worker.usi.gui_reader`).

The searcher is opened at ``isready``, and again at a later ``isready`` if an option that determines it has changed.
That may take long: the GUI gets an empty line from time to time, so that it does not give up. Its own lines wait until
then.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from worker.shogi.position import Replay
from worker.shogi.sfen import canonical
from worker.states import States
from worker.usi.events import (
    BookReplied,
    Failed,
    GuiGone,
    GuiLine,
    MateSolved,
    NewGame,
    Prepare,
    Prepared,
    Quit,
    SolveMate,
    StopMate,
    Tick,
)
from worker.usi.options import OptionValues
from worker.usi.thinking import Asked, Board, Thinking, ThinkingState
from worker.usi.words import (
    GoOrder,
    best_line,
    mate_lines,
    parse_go,
    parse_mate_limit,
    parse_position,
    parse_setoption,
)

KEEP_ALIVE_MS: Final = 5000
"""YaneuraOu's interval; GUIs wait for 30 s."""


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


class UsiFront:
    """See the module docstring. Only ``handle`` changes it.

    Args:
        options: with the searcher's plan.
        thinking: the searches for ``go``.
        strict: raise on a transition that is not in the tables (`FRONT`, `THINKING`); for tests.
    """

    opens_soon: ClassVar[bool] = True
    """Whether the searcher opens within about a second. Then any command that needs it opens it, and commands before a
    ``quit`` are done before quitting."""

    def __init__(self, options: OptionValues, thinking: Thinking[Any], *, strict: bool = False) -> None:
        self._options = options
        self._thinking = thinking
        self._out = thinking.out
        self._states = States(FRONT, FrontState.CLOSED, strict=strict)
        self._now_ms = 0.0
        self._plan: Any = None
        """The plan of the open searcher."""
        self._opening: Any = None
        """The plan that the running `Prepare` opens; None: none runs."""
        self._is_asked = False
        """Whether the GUI waits for ``readyok``."""
        self._waiting: deque[GuiLine | GuiGone] = deque()
        """Events that arrived in the meantime."""
        self._alive_ms = 0.0
        """The time at which the next empty line is due."""
        self._replay = Replay()
        self._board: Board | None = None
        self._fault = ""
        """The fault of the last ``position``. Before the first ``position`` it is the start position."""
        self._solving = 0
        """The number of mate searches that are running."""

    @property
    def state(self) -> FrontState:
        return self._states.now

    @property
    def thinking(self) -> ThinkingState:
        return self._thinking.state

    def handle(self, event: object, now_ms: float) -> list[Any]:
        """Take an event that happened at ``now_ms`` (by any monotonic clock) and return the instructions, in order.

        After the end, only events of running searches are handled.
        """
        self._now_ms = now_ms
        match event:
            case GuiLine() | GuiGone():
                self._heed(event)
            case MateSolved():
                self._solving -= 1
                self._thinking.say(*mate_lines(event.result))
            case Failed():
                self._thinking.failed(event.search_id, event.why, now_ms)
            case _ if self.state is FrontState.OVER:
                self._thinking.heard(event, now_ms)
            case Prepared():
                self._prepared(event)
                self._catch_up()
            case BookReplied():
                self._thinking.book_replied(event.reply, now_ms)
                self._catch_up()
            case Tick():
                self._tick(now_ms)
            case _:
                self._heard(event)
        out = self._out[:]
        self._out.clear()
        return out

    def wake_ms(self) -> float | None:
        """The time of the next `Tick`; None: only an event can change anything."""
        alive_ms = self._alive_ms if self.state is FrontState.OPENING else None
        return min((at_ms for at_ms in (alive_ms, self._thinking.wake_ms()) if at_ms is not None), default=None)

    # --- the searcher ---------------------------------------------------------------------------------------------

    def _heard(self, event: object) -> None:
        """Handle an event of the searcher."""
        self._thinking.heard(event, self._now_ms)

    def _wanted(self) -> Any:
        """The plan of the searcher to open."""
        return self._options.plan

    def _replaced(self) -> None:
        """Another searcher was opened; the searches of the previous one are lost."""

    def _stays_open(self, event: Prepared) -> bool:
        """Continue after another searcher could not be opened. Returns whether the previous one is open and ready."""
        self._quit(1, event.error)
        return False

    def _prepare(self, *, is_asked: bool) -> None:
        plan, self._is_asked = self._wanted(), is_asked
        if plan != self._plan:
            self._stop_mate()
            self._thinking.end(self._now_ms)
        self._open(plan)

    def _open(self, plan: Any) -> None:
        """Prepare a searcher of this plan, unless it is open, and the book."""
        self._opening = plan
        self._alive_ms = self._now_ms + KEEP_ALIVE_MS
        self._to(FrontState.OPENING)
        self._out.append(Prepare(None if plan == self._plan else plan, self._options.book))

    def _prepared(self, event: Prepared) -> None:
        if event.error:
            self._thinking.complain(event.error)
            if not self._stays_open(event):
                return
        if event.book_error:
            self._thinking.complain(f"{event.book_error}; playing without a book")
        if self._plan != self._opening:
            self._replaced()
        self._plan, self._opening = self._opening, None
        self._to(FrontState.OPEN)
        if self._is_asked:
            self._thinking.say("readyok")

    def _tick(self, now_ms: float) -> None:
        self._thinking.tick(now_ms)
        if self.state is FrontState.OPENING and now_ms >= self._alive_ms:
            self._thinking.say("")
            self._alive_ms = now_ms + KEEP_ALIVE_MS

    # --- the GUI's lines ------------------------------------------------------------------------------------------

    @property
    def _is_busy(self) -> bool:
        """Whether lines have to wait."""
        return self.state is FrontState.OPENING or self.thinking is ThinkingState.BOOK

    def _heed(self, event: GuiLine | GuiGone) -> None:
        words = ["quit"] if isinstance(event, GuiGone) else event.text.split()
        if not words or self.state is FrontState.OVER:
            return
        if self._is_busy and (words[0] != "quit" or self.opens_soon):
            self._waiting.append(event)
        elif words[0] == "quit":
            self._quit(0)
        elif isinstance(event, GuiLine):
            try:
                self._command(event, words[0], words[1:])
            except ValueError as error:
                self._thinking.complain(str(error))

    def _catch_up(self) -> None:
        """Handle the lines that have waited."""
        while self._waiting and not self._is_busy:
            self._heed(self._waiting.popleft())

    def _command(self, line: GuiLine, name: str, words: list[str]) -> None:
        now_ms = self._now_ms
        match name:
            case "position" | "go" | "usinewgame" if self.opens_soon and self._wanted() != self._plan:
                self._waiting.appendleft(line)
                self._prepare(is_asked=False)
            case "setoption":
                self._options.set(*parse_setoption(line.text))
            case "isready":
                self._prepare(is_asked=True)
            case "usinewgame":
                self._new_game()
            case "position":
                self._set_position(words)
            case "go" if words[:1] == ["mate"]:
                self._go_mate(words[1:])
            case "go":
                self._go(words, line.came_ms)
            case "ponderhit":
                self._thinking.hit(self._order(words).numbers, line.came_ms, now_ms)
            case "stop":
                self._stop_mate()
                self._thinking.stop(now_ms)
            case "gameover":
                # A large table takes seconds to clear: do it before the next game's clock runs.
                self._stop_mate()
                self._new_game()
            case other:
                raise ValueError(f"unknown command {other!r}")

    def _new_game(self) -> None:
        """End the current search, and make the searcher forget the game."""
        self._thinking.end(self._now_ms)
        if self._plan is not None:
            self._out.append(NewGame())

    def _set_position(self, words: list[str]) -> None:
        self._board = None
        try:
            sfen, moves = parse_position(words)
            position = self._replay.position(sfen, moves)
        except ValueError as error:
            self._fault = str(error)
            raise
        # Code after this may accept fewer formats than we do.
        self._board, self._fault = Board(canonical(sfen), moves, position), ""

    def _searchable(self, give_up: str) -> Board | None:
        """The position to search. If it is wrong, or there is no searcher, ``give_up`` is sent, because the GUI waits
        for an answer.
        """
        if self._plan is None or self._fault:
            missing = "isready comes first" if self._plan is None else f"the last position was wrong: {self._fault}"
            self._thinking.complain(f"go: {missing}")
            self._thinking.say(give_up)
        elif self._board is None:
            self._set_position(["startpos"])
        return self._board if self._plan is not None else None

    def _go(self, words: list[str], came_ms: float) -> None:
        order = self._order(words)
        board = self._searchable(best_line("resign"))
        if board is not None:
            self._stop_mate()
            self._thinking.go(Asked(self._legal(order, board), board, came_ms), self._now_ms)

    def _legal(self, order: GoOrder, board: Board) -> GoOrder:
        """The order without the ``searchmoves`` that are not legal, unless none is legal: then the search fails."""
        legal = board.legal(order.searchmoves)
        if len(legal) == len(order.searchmoves):
            return order
        wrong = " ".join(move for move in order.searchmoves if move not in legal)
        self._thinking.complain(f"go: {'' if legal else 'no '}searchmoves {wrong}: not legal")
        return replace(order, searchmoves=legal) if legal else order

    def _order(self, words: list[str]) -> GoOrder:
        order = parse_go(words)
        for fault in order.faults:
            self._thinking.complain(f"go: {fault}")
        return order

    def _go_mate(self, words: list[str]) -> None:
        try:
            limit_ms = parse_mate_limit(words)
        except ValueError:
            self._thinking.say("checkmate timeout")
            raise
        board = self._searchable("checkmate timeout")
        if board is None:
            return
        self._thinking.end(self._now_ms)
        self._stop_mate()
        self._solving += 1
        self._out.append(SolveMate(board.sfen, board.moves, limit_ms, self._options.number("USI_Hash")))

    def _stop_mate(self) -> None:
        if self._solving:
            self._out.append(StopMate())

    def _quit(self, code: int, error: str = "") -> None:
        self._stop_mate()
        self._thinking.end(self._now_ms)
        self._to(FrontState.OVER)
        self._out.append(Quit(code, error))

    def _to(self, state: FrontState) -> None:
        self._states.to(state, self._now_ms)
