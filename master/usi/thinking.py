"""The searches behind ``go``: one at a time, each answered by one ``bestmove``, and what is pondered between them.

**Pondering.** The GUI names one reply of the opponent (``position`` with it, ``go ponder``). The fleet ponders on the
position before it instead, behind all replies that are likely, the named one in any case
(`cluster.coordination.pondering`): a ``ponderhit`` goes on from what is known, and so does the ``go`` after a miss
where the real reply was among the others. Therefore a ``stop`` of pondering is answered at once, but the fleet goes on
for a moment: the real position comes next.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from cluster.api import (
    Decision,
    Known,
    Pondered,
    PonderSearch,
    Progress,
    RetimeSearch,
    SearchRequest,
    StartSearch,
    StopSearch,
)
from master.usi.bounds import bounded
from master.usi.events import AskBook, Instruction, Say
from master.usi.options import FleetOptions
from master.usi.report import Reporter, error_line
from master.usi.states import THINKING, ThinkingState
from worker.book import BookReply
from worker.careful import careful_move
from worker.clock import Signs, Watch
from worker.clock.gui_clock import GuiClock
from worker.clock.turn import Turn
from worker.shogi import Position, move_to_usi
from worker.states import States
from worker.usi.words import GoOrder, best_line, book_lines

LINGER_MS: Final = 2000
"""Time for which the fleet goes on pondering after a ``stop``, for the ``go`` that follows it."""


@dataclass(frozen=True, slots=True)
class Board:
    """The position that the GUI has set."""

    sfen: str
    moves: tuple[str, ...]
    position: Position
    """Not to be changed."""

    def careful_move(self) -> str:
        """A move by material alone, or ``resign`` where there is none: an answer where nothing is known."""
        return "resign" if self.position.is_mated() else move_to_usi(careful_move(self.position))


@dataclass(slots=True)
class _Search:
    """A search that the GUI waits for."""

    request: SearchRequest
    board: Board
    reporter: Reporter
    turn: Turn | None
    endless: bool
    """Analysis: only ``stop`` ends it."""
    held: bool
    """No ``bestmove`` may go out before ``stop``."""
    decision: Decision | None = None
    """The decision of a search whose answer is held."""


@dataclass(slots=True)
class _Pondering:
    """The state between ``go ponder`` and the next ``go``."""

    order: GoOrder
    board: Board
    request: SearchRequest
    """The search that follows if the expected reply is played, without times."""
    before: SearchRequest | None
    """The request that the fleet ponders on; None: there is nothing."""
    reporter: Reporter
    live_nodes: int
    """The number of nodes that share its node limit: the search behind a hit has to have the same."""
    until_ms: float | None = None
    """Its ``bestmove`` has gone out, and by then it ends."""
    found: Pondered | None = None
    """The fleet's last word."""
    found_ms: float = 0.0

    def known(self, request: SearchRequest, now_ms: float) -> Known | None:
        """The result of pondering on the position of ``request``, if it is among those behind the replies."""
        if self.before is None or self.found is None:
            return None
        return self.found.known(request, self.before, now_ms - self.found_ms)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A ``go`` or a hit, for which the book is asked."""

    order: GoOrder
    board: Board
    began_ms: float


@dataclass(slots=True)
class Thinking:
    """See the module's text. Times are milliseconds of the driver's clock; what is to be done is added to ``out``."""

    options: FleetOptions
    out: list[Instruction] = field(default_factory=list)
    live_nodes: int = 1
    strict: bool = False
    """See `worker.states.States`."""
    _states: States[ThinkingState] = field(init=False)
    _now_ms: float = 0.0
    _asked: _Asked | None = None
    _last_id: int = 0
    _search: _Search | None = None
    _ending: dict[int, _Search] = field(default_factory=dict)
    """Searches that another one has taken the place of, whose decisions are still to come."""
    _pondering: _Pondering | None = None
    _clock: GuiClock = field(default_factory=GuiClock)

    def __post_init__(self) -> None:
        self._states = States(THINKING, ThinkingState.IDLE, strict=self.strict)

    @property
    def state(self) -> ThinkingState:
        return self._states.now

    def go(self, order: GoOrder, board: Board, began_ms: float, now_ms: float) -> None:
        """Search ``board``. What still runs is answered first."""
        self._now_ms = now_ms
        self._make_way(now_ms)
        if order.ponder:
            self._ponder(order, board)
        else:
            self._think(order, board, began_ms, now_ms)

    def hit(self, numbers: dict[str, int], began_ms: float, now_ms: float) -> None:
        """The expected reply was played.

        Args:
            numbers: times of the ``ponderhit`` line (ShogiHome's early ponder), which are newer than those of its
                ``go``; empty: it had none.

        Raises:
            ValueError: nobody ponders.
        """
        self._now_ms = now_ms
        pondering = self._pondering
        if pondering is None or pondering.until_ms is not None:
            raise ValueError("ponderhit: nothing is pondered on")
        order = replace(pondering.order, ponder=False, numbers=numbers or pondering.order.numbers)
        self._think(order, pondering.board, began_ms, now_ms)

    def stop(self, now_ms: float) -> None:
        """Answer now what is to be answered."""
        self._now_ms = now_ms
        search, pondering = self._search, self._pondering
        if search is not None:
            search.held = False
            if search.decision is not None:
                self._search = None
                self._to(ThinkingState.IDLE)
                self._answer(search, search.decision, now_ms)
            else:
                self.out.append(StopSearch(search.request.search_id))
        elif pondering is not None and pondering.until_ms is None:
            self._answer_pondering(pondering)
            self._to(ThinkingState.LINGERING)
            pondering.until_ms = now_ms + LINGER_MS

    def end(self, now_ms: float) -> None:
        """The game is over, or something else than a search comes next: answer, and leave the fleet idle."""
        self.stop(now_ms)
        self._end_pondering()

    def wake_ms(self) -> float | None:
        """The time of the next step that needs no event."""
        pondering = self._pondering
        return None if pondering is None or pondering.before is None else pondering.until_ms

    def tick(self, now_ms: float) -> None:
        """Do what is due."""
        self._now_ms = now_ms
        wake = self.wake_ms()
        if wake is not None and now_ms >= wake:
            self._end_pondering()

    def pondered(self, found: Pondered, now_ms: float) -> None:
        """The fleet tells what pondering has found: show it where the named reply is among the others."""
        pondering = self._pondering
        if pondering is None or pondering.before is None or found.search_id != pondering.before.search_id:
            return
        pondering.found, pondering.found_ms = found, now_ms
        known = pondering.known(pondering.request, now_ms)
        if known is not None and pondering.until_ms is None:
            self._say(*pondering.reporter.known(known, now_ms))

    def progressed(self, progress: Progress, now_ms: float) -> None:
        """Show the fleet's progress, and let the clock reconsider."""
        search = self._search
        if search is None or progress.search_id != search.request.search_id:
            return
        self._say(*search.reporter.progress(progress, now_ms))
        move = progress.pv[0] if progress.pv else ""
        signs = Signs(progress.elapsed_ms, move, progress.score, progress.agreement)
        if search.turn is not None and search.turn.reconsidered(signs):
            self.out.append(RetimeSearch(progress.search_id, search.turn.soft_ms))

    def decided(self, decision: Decision, now_ms: float) -> None:
        """A search is over."""
        self._now_ms = now_ms
        search = self._take(decision.search_id)
        if search is None:
            return
        if search.held:
            self._hold(search, decision)
        else:
            self._answer(search, decision, now_ms)

    def not_started(self, search_id: int, why: str, now_ms: float) -> None:
        """The fleet refuses the search: the game goes on with any move."""
        self._now_ms = now_ms
        search = self._take(search_id)
        if search is None:
            return
        self._say(error_line(why))
        move = search.board.careful_move()
        if search.held:
            self._hold(search, Decision(search_id=search_id, move=move, source="refused"))
        else:
            self._say(best_line(move))

    def fleet_replaced(self, now_ms: float) -> None:
        """The fleet that searched is gone: what is not answered yet is answered all the same."""
        self._now_ms = now_ms
        searches = [*self._ending.values(), *([] if self._search is None else [self._search])]
        self._search = None
        self._to(ThinkingState.IDLE)
        self._ending.clear()
        self._say(*(best_line(search.board.careful_move()) for search in searches))

    def _make_way(self, now_ms: float) -> None:
        """A new order comes before the old one was answered. Its answer still goes out, and goes out first."""
        search = self._search
        self.stop(now_ms)
        if search is not None and self._search is search:
            self._search, self._ending[search.request.search_id] = None, search

    def _think(self, order: GoOrder, board: Board, began_ms: float, now_ms: float) -> None:
        if order.infinite:
            self._search_for(order, board, began_ms, now_ms)
            return
        self._asked = _Asked(order, board, began_ms)
        self._to(ThinkingState.BOOK)
        self.out.append(AskBook(board.sfen, board.moves, self.options.book, order.searchmoves))

    def book_replied(self, reply: BookReply, now_ms: float) -> None:
        """The book's answer: its move goes out, or the search begins."""
        self._now_ms = now_ms
        asked, self._asked = self._asked, None
        if asked is None:
            return
        self._say(*book_lines(reply))
        if reply.move is not None:
            self._end_pondering()
            self._to(ThinkingState.IDLE)
        else:
            self._search_for(asked.order, asked.board, asked.began_ms, now_ms)

    def _search_for(self, order: GoOrder, board: Board, began_ms: float, now_ms: float) -> None:
        numbers = {} if order.infinite else order.numbers
        request = replace(self._request(board), searchmoves=order.searchmoves)
        if not order.infinite:
            live_nodes = self.live_nodes if self._pondering is None else self._pondering.live_nodes
            request = bounded(request, numbers, self.options.bounds, live_nodes)
        known = None if self._pondering is None else self._pondering.known(request, now_ms)
        turn = self._turn(numbers, board, began_ms, now_ms, known)
        if turn is not None:
            request = replace(request, soft_ms=turn.soft_ms, hard_ms=turn.hard_ms)
        self._pondering = None  # the fleet ends it by itself
        endless = turn is None and request.nodes is None and request.depth is None
        self._to(ThinkingState.SEARCHING)
        self._search = _Search(request, board, self._reporter(), turn, endless, held=endless)
        self.out.append(StartSearch(request))

    def _turn(
        self, numbers: dict[str, int], board: Board, began_ms: float, now_ms: float, known: Known | None
    ) -> Turn | None:
        move, known_ms = ("", 0) if known is None else (known.move, known.fleet_ms)
        return self._clock.turn(
            numbers,
            board.sfen,
            board.moves,
            self.options.habits,
            colour=board.position.turn,
            ply=board.position.move_number - 1,
            began_ms=began_ms,
            now_ms=now_ms,
            watch=Watch(self._clock.promised(board.sfen, board.moves), move, known_ms),
            known_ms=known_ms,
        )

    def _ponder(self, order: GoOrder, board: Board) -> None:
        request = self._request(board)
        if not order.infinite:
            request = bounded(request, order.numbers, self.options.bounds, self.live_nodes)
        before = replace(request, moves=board.moves[:-1]) if board.moves else None
        self._to(ThinkingState.PONDERING)
        self._pondering = _Pondering(order, board, request, before, self._reporter(), self.live_nodes)
        if before is not None:
            self.out.append(PonderSearch(before, expected=board.moves[-1]))

    def _request(self, board: Board) -> SearchRequest:
        self._last_id += 1
        return self.options.request(self._last_id, board.sfen, board.moves)

    def _reporter(self) -> Reporter:
        return Reporter(self.options.number("PvInterval"))

    def _take(self, search_id: int) -> _Search | None:
        """The search of that id, which is over."""
        search = self._search
        if search is not None and search.request.search_id == search_id:
            self._search = None
            self._to(ThinkingState.HELD if search.held else ThinkingState.IDLE)
            return search
        return self._ending.pop(search_id, None)

    def _hold(self, search: _Search, decision: Decision) -> None:
        """No ``bestmove`` may go out before ``stop``."""
        self._search, search.decision = search, decision

    def _answer(self, search: _Search, decision: Decision, now_ms: float) -> None:
        if search.turn is not None:
            board = search.board
            self._clock.answered(search.turn, board.sfen, board.moves, decision.score, now_ms, aimed=True)
        self._say(*search.reporter.decision(decision))
        move, pv = decision.move, decision.pv
        limit = self.options.number("ResignValue")
        if not search.endless and decision.score is not None and decision.score <= -limit:
            move, pv = "resign", ()
        self._say(best_line(move, pv[1] if len(pv) > 1 else None))

    def _answer_pondering(self, pondering: _Pondering) -> None:
        known = pondering.known(pondering.request, self._now_ms)
        if known is None:
            self._say(best_line(pondering.board.careful_move()))
        else:
            self._say(best_line(known.move, next(iter(known.pv[1:2]), None)))

    def _end_pondering(self) -> None:
        pondering, self._pondering = self._pondering, None
        if pondering is None:
            return
        if self.state is ThinkingState.LINGERING:
            self._to(ThinkingState.IDLE)
        if pondering.before is not None:
            self.out.append(StopSearch(pondering.before.search_id))

    def _say(self, *lines: str) -> None:
        self.out += [Say(line) for line in lines]

    def _to(self, state: ThinkingState) -> None:
        self._states.to(state, self._now_ms)
