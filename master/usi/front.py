"""The USI front as a pure state machine: lines of the GUI and events of the fleet in, lines and instructions out.

A line that cannot be heeded is answered by ``info string error: …`` and changes nothing, except that no position is set
after a wrong ``position``. Every ``go`` is answered by one ``bestmove``, every ``go mate`` by one ``checkmate``, every
``isready`` by one ``readyok``, or the process ends with exit code 1: whoever waits for ``readyok`` would wait for ever.
``usi`` is answered before this is loaded (`worker.usi.door`).

The fleet is opened at ``isready``, and again at a later one where an option that decides over it has changed. That
takes seconds, on a new machine a minute: meanwhile the GUI is told what goes on, and gets an empty line now and then,
which keeps it from giving up. Its own lines wait until then, except for ``quit``.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from cluster.api import Decision, Pondered, Progress
from master.ui.texts import say
from master.usi.events import (
    BookReplied,
    Event,
    FleetEvent,
    FleetPlan,
    GuiGone,
    GuiLine,
    Instruction,
    MateSolved,
    NewGame,
    NotStarted,
    Prepare,
    Prepared,
    Quit,
    Say,
    SolveMate,
    StopMate,
    Tick,
)
from master.usi.options import FleetOptions
from master.usi.report import error_line, event_line
from master.usi.states import FRONT, FrontState, ThinkingState
from master.usi.thinking import Board, Thinking
from worker.shogi.replay import Replay
from worker.states import States, Transition
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


class UsiFront:
    """See the module's text. ``handle`` is the only thing that changes it.

    Args:
        options: with the fleet's plan as the configuration has it.
        strict: raise where it takes a way that its tables (`master.usi.states`) do not have (tests).
    """

    def __init__(self, options: FleetOptions, *, strict: bool = False) -> None:
        self._options = options
        self._thinking = Thinking(options, strict=strict)
        self._out = self._thinking.out
        self._states = States(FRONT, FrontState.CLOSED, strict=strict)
        self._now_ms = 0.0
        self._fleet: FleetPlan | None = None
        """The plan of the open fleet."""
        self._opening: FleetPlan | None = None
        """The plan that the running `Prepare` opens; None: none runs."""
        self._refused: FleetPlan | None = None
        """The plan that could not be opened last time; it is not tried again."""
        self._waiting: deque[GuiLine] = deque()
        """Lines that came in the meantime."""
        self._alive_ms = 0.0
        """The time at which the next empty line is due."""
        self._replay = Replay()
        self._board: Board | None = None
        """None: there is none yet, or the last ``position`` was wrong."""
        self._solving = 0
        """Mates that are looked for."""

    @property
    def state(self) -> FrontState:
        return self._states.now

    @property
    def thinking(self) -> ThinkingState:
        return self._thinking.state

    def story(self) -> tuple[Transition[FrontState], ...]:
        """The transitions that led to its present state."""
        return self._states.story()

    def handle(self, event: Event, now_ms: float) -> list[Instruction]:
        """Take an event that happened at ``now_ms`` (any steady clock) and say what is to be done, in this order."""
        self._now_ms = now_ms
        if self.state is FrontState.OVER:
            return []
        match event:
            case GuiLine():
                self._line(event, now_ms)
            case GuiGone():
                self._quit(0)
            case Prepared():
                self._prepared(event, now_ms)
            case FleetEvent():
                self._fleet_event(event)
            case Progress():
                self._thinking.progressed(event, now_ms)
            case Pondered():
                self._thinking.pondered(event, now_ms)
            case Decision():
                self._thinking.decided(event, now_ms)
            case NotStarted():
                self._thinking.not_started(event.search_id, event.why, now_ms)
            case BookReplied():
                self._thinking.book_replied(event.reply, now_ms)
                self._catch_up(now_ms)
            case MateSolved():
                self._solving -= 1
                self._say(*mate_lines(event.result))
            case Tick():
                self._tick(now_ms)
        out = self._out[:]
        self._out.clear()
        return out

    def wake_ms(self) -> float | None:
        """The time of the next `Tick`; None: only an event can change anything."""
        return self._alive_ms if self.state is FrontState.OPENING else self._thinking.wake_ms()

    @property
    def _is_busy(self) -> bool:
        """Whether lines have to wait."""
        return self.state is FrontState.OPENING or self.thinking is ThinkingState.BOOK

    def _tick(self, now_ms: float) -> None:
        if self.state is not FrontState.OPENING:
            self._thinking.tick(now_ms)
        elif now_ms >= self._alive_ms:
            self._say("")
            self._alive_ms = now_ms + KEEP_ALIVE_MS

    def _line(self, line: GuiLine, now_ms: float) -> None:
        words = line.text.split()
        if not words:
            return
        if self._is_busy and words[0] != "quit":
            self._waiting.append(line)
            return
        try:
            self._command(words[0], words[1:], line.came_ms, now_ms)
        except ValueError as error:
            self._complain(str(error))

    def _catch_up(self, now_ms: float) -> None:
        """Heed the lines that have waited."""
        while self._waiting and not self._is_busy:
            self._line(self._waiting.popleft(), now_ms)

    def _command(self, name: str, words: list[str], came_ms: float, now_ms: float) -> None:
        match name:
            case "setoption":
                self._options.set(*parse_setoption(words))
            case "isready":
                self._prepare(now_ms)
            case "usinewgame":
                self._thinking.end(now_ms)
                if self._fleet is not None:
                    self._out.append(NewGame())
            case "position":
                self._set_position(words)
            case "go" if words[:1] == ["mate"]:
                self._go_mate(words[1:], now_ms)
            case "go":
                self._go(words, came_ms, now_ms)
            case "ponderhit":
                self._thinking.hit(self._order(words).numbers, came_ms, now_ms)
            case "stop":
                self._stop_mate()
                self._thinking.stop(now_ms)
            case "gameover":
                self._stop_mate()
                self._thinking.end(now_ms)
            case "quit":
                self._quit(0)
            case other:
                raise ValueError(f"unknown command {other!r}")

    # --- the fleet ------------------------------------------------------------------------------------------------

    def _prepare(self, now_ms: float) -> None:
        self._stop_mate()
        self._thinking.end(now_ms)
        self._alive_ms = now_ms + KEEP_ALIVE_MS
        plan = self._options.plan
        self._open(self._fleet if self._fleet is not None and plan == self._refused else plan)

    def _open(self, plan: FleetPlan) -> None:
        self._opening = plan
        self._to(FrontState.OPENING)
        self._out.append(Prepare(None if plan == self._fleet else plan, self._options.book))

    def _prepared(self, event: Prepared, now_ms: float) -> None:
        if event.fleet_error:
            self._complain(event.fleet_error)
            before, self._refused = self._fleet, self._opening
            if before is None or event.final:
                self._quit(1, event.fleet_error)
                return
            if not event.stays:
                self._fleet = None
                self._say(f"info string {say('the fleet is opened again as it was')}")
                self._open(before)
                return
            self._opening = before
            self._say(f"info string {say('the fleet stays as it was')}")
        if event.book_error:
            self._complain(f"{event.book_error}; playing without a book")
        if self._fleet != self._opening:
            self._thinking.fleet_replaced(now_ms)
        self._fleet, self._opening = self._opening, None
        self._to(FrontState.OPEN)
        self._say("readyok")
        self._catch_up(now_ms)

    def _fleet_event(self, event: FleetEvent) -> None:
        live = event.fields.get("live")
        if isinstance(live, int):
            self._thinking.live_nodes = max(1, live)
        if line := event_line(event.name, event.fields, self.state is FrontState.OPENING):
            self._say(line)

    # --- the game -------------------------------------------------------------------------------------------------

    def _set_position(self, words: list[str]) -> None:
        self._board = None
        sfen, moves = parse_position(words)
        self._board = Board(sfen, moves, self._replay.position(sfen, moves))

    def _searchable(self, give_up: str) -> Board | None:
        """The position to search. Where there is none, or no fleet, ``give_up`` is said: somebody waits for a word."""
        if self._fleet is not None and self._board is not None:
            return self._board
        missing = "isready comes first" if self._fleet is None else "there is no position, or the last one was wrong"
        self._complain(f"go: {missing}")
        self._say(give_up)
        return None

    def _go(self, words: list[str], came_ms: float, now_ms: float) -> None:
        order = self._order(words)
        board = self._searchable(best_line("resign"))
        if board is not None:
            self._stop_mate()
            self._thinking.go(order, board, came_ms, now_ms)

    def _order(self, words: list[str]) -> GoOrder:
        order = parse_go(words)
        for fault in order.faults:
            self._complain(f"go: {fault}")
        return order

    def _go_mate(self, words: list[str], now_ms: float) -> None:
        try:
            limit_ms = parse_mate_limit(words)
        except ValueError:
            self._say("checkmate timeout")
            raise
        board = self._searchable("checkmate timeout")
        if board is None:
            return
        self._thinking.end(now_ms)
        self._stop_mate()
        self._solving += 1
        self._out.append(SolveMate(board.sfen, board.moves, limit_ms, self._options.number("USI_Hash")))

    def _stop_mate(self) -> None:
        if self._solving:
            self._out.append(StopMate())

    def _quit(self, code: int, error: str = "") -> None:
        self._to(FrontState.OVER)
        self._out.append(Quit(code, error))

    def _to(self, state: FrontState) -> None:
        self._states.to(state, self._now_ms)

    def _complain(self, why: str) -> None:
        self._say(error_line(why))

    def _say(self, *lines: str) -> None:
        self._out += [Say(line) for line in lines]
