"""The searches behind ``go``: one at a time, each answered by one ``bestmove``, and what is pondered between them.

**Pondering.** The GUI names one reply of the opponent (``position`` with it, ``go ponder``). The fleet ponders on the
position before it instead, behind all replies that are likely, the named one in any case
(`cluster.coordination.pondering`): a ``ponderhit`` goes on from what is known, and so does the ``go`` after a miss
where the real reply was among the others. Therefore a ``stop`` of pondering is answered at once, but the fleet goes on
for a moment: the real position comes next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from cluster.api import Decision, Known, Progress, SearchRequest
from master.usi.charges import Asked, Charges
from master.usi.events import Instruction, PonderSearch, RetimeSearch, Say, StartSearch, StopSearch
from master.usi.options import FleetOptions
from master.usi.report import Reporter, error_line
from master.usi.timing import Turn, bounded
from worker.book import BookReply, BookSettings
from worker.careful import careful_move
from worker.shogi import Position, move_to_usi
from worker.usi.words import GoOrder, best_line, book_lines

LINGER_MS: Final = 2000
"""How long the fleet goes on pondering after a ``stop``, for the ``go`` that follows it."""
_LEAST_LOOK_MS: Final = 100
"""How often it is looked what pondering has found, at most."""

AskKnown = Callable[[SearchRequest], Known | None]
AskBook = Callable[[Position, BookSettings, tuple[str, ...]], BookReply]


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
    """Of a held one."""


@dataclass(slots=True)
class _Pondering:
    """What goes on between ``go ponder`` and the next ``go``."""

    order: GoOrder
    board: Board
    request: SearchRequest
    """What will be searched if the expected reply is played, without times."""
    search_id: int | None
    """Of the fleet's pondering; None: there is nothing to ponder on."""
    reporter: Reporter
    look_ms: float
    """When it is next to be shown how far it is."""
    live_nodes: int
    """So many share its node limit: the search behind a hit has to have the same."""
    until_ms: float | None = None
    """Its ``bestmove`` has gone out, and by then it ends."""


@dataclass(slots=True)
class Thinking:
    """See the module's text. Times are milliseconds of the driver's clock; what is to be done goes to ``out``."""

    options: FleetOptions
    known: AskKnown
    book: AskBook
    out: Callable[[Instruction], None]
    live_nodes: int = 1
    _last_id: int = 0
    _search: _Search | None = None
    _ending: dict[int, _Search] = field(default_factory=dict)
    """Searches that another one has taken the place of, whose decisions are still to come."""
    _pondering: _Pondering | None = None
    _charges: Charges = field(default_factory=Charges)

    def go(self, order: GoOrder, board: Board, began_ms: float, now_ms: float) -> None:
        """Search ``board``. What still runs is answered first."""
        self._make_way(now_ms)
        if order.ponder:
            self._ponder(order, board, now_ms)
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
        pondering = self._pondering
        if pondering is None or pondering.until_ms is not None:
            raise ValueError("ponderhit: nothing is pondered on")
        order = replace(pondering.order, ponder=False, numbers=numbers or pondering.order.numbers)
        self._think(order, pondering.board, began_ms, now_ms)

    def stop(self, now_ms: float) -> None:
        """Answer now what is to be answered."""
        search, pondering = self._search, self._pondering
        if search is not None:
            search.held = False
            if search.decision is not None:
                self._search = None
                self._answer(search, search.decision, now_ms)
            else:
                self.out(StopSearch(search.request.search_id))
        elif pondering is not None and pondering.until_ms is None:
            self._answer_pondering(pondering)
            pondering.until_ms = now_ms + LINGER_MS

    def end(self, now_ms: float) -> None:
        """The game is over, or something else than a search comes next: answer, and leave the fleet idle."""
        self.stop(now_ms)
        self._end_pondering()

    def wake_ms(self) -> float | None:
        """When time alone brings something about."""
        pondering = self._pondering
        if pondering is None or pondering.search_id is None:
            return None
        return pondering.look_ms if pondering.until_ms is None else pondering.until_ms

    def tick(self, now_ms: float) -> None:
        """Do what is due."""
        pondering, wake = self._pondering, self.wake_ms()
        if pondering is None or wake is None or now_ms < wake:
            return
        if pondering.until_ms is not None:
            self._end_pondering()
            return
        pondering.look_ms = now_ms + self._look_ms()
        known = self.known(pondering.request)
        if known is not None:
            self._say(*pondering.reporter.known(known, now_ms))

    def progressed(self, progress: Progress, now_ms: float) -> None:
        """The fleet tells how far it is: show it, and let the clock reconsider."""
        search = self._search
        if search is None or progress.search_id != search.request.search_id:
            return
        self._say(*search.reporter.progress(progress, now_ms))
        if search.turn is not None and search.turn.reconsidered(progress):
            self.out(RetimeSearch(progress.search_id, search.turn.soft_ms))

    def decided(self, decision: Decision, now_ms: float) -> None:
        """A search is over."""
        search = self._take(decision.search_id)
        if search is None:
            return
        if search.held:
            self._search, search.decision = search, decision
        else:
            self._answer(search, decision, now_ms)

    def not_started(self, search_id: int, why: str) -> None:
        """The fleet refuses the search: the game goes on with any move."""
        search = self._take(search_id)
        if search is None:
            return
        self._say(error_line(why))
        move = search.board.careful_move()
        if search.held:
            self._search, search.decision = search, Decision(search_id, move, None, 0, (), 0, 0, "refused")
        else:
            self._say(best_line(move))

    def fleet_replaced(self) -> None:
        """The fleet that searched is gone: what is not answered yet is answered all the same."""
        searches = [*self._ending.values(), *([] if self._search is None else [self._search])]
        self._search = None
        self._ending.clear()
        self._say(*(best_line(search.board.careful_move()) for search in searches))

    def _make_way(self, now_ms: float) -> None:
        """A new order comes before the old one was answered. Its answer still goes out, and goes out first."""
        search = self._search
        self.stop(now_ms)
        if search is not None and self._search is search:
            self._search, self._ending[search.request.search_id] = None, search

    def _think(self, order: GoOrder, board: Board, began_ms: float, now_ms: float) -> None:
        if not order.infinite:
            reply = self.book(board.position, self.options.book, order.searchmoves)
            self._say(*book_lines(reply))
            if reply.move is not None:
                self._end_pondering()
                return
        numbers = {} if order.infinite else order.numbers
        request = replace(self._request(board), searchmoves=order.searchmoves)
        if not order.infinite:
            live_nodes = self.live_nodes if self._pondering is None else self._pondering.live_nodes
            request = bounded(request, numbers, self.options.habits, live_nodes)
        known = self.known(request) if self._pondering is not None else None
        turn = self._turn(numbers, board, began_ms, now_ms, known)
        if turn is not None:
            request = replace(request, soft_ms=turn.soft_ms, hard_ms=turn.hard_ms)
        self._pondering = None  # the fleet ends it by itself
        endless = turn is None and request.nodes is None and request.depth is None
        self._search = _Search(request, board, self._reporter(), turn, endless, held=endless)
        self.out(StartSearch(request))

    def _turn(
        self, numbers: dict[str, int], board: Board, began_ms: float, now_ms: float, known: Known | None
    ) -> Turn | None:
        habits = self.options.habits
        self._charges.asked(Asked.of(board.sfen, board.moves, board.position.turn, numbers))
        return Turn.of(
            numbers,
            board.position,
            habits,
            began_ms=began_ms,
            now_ms=now_ms,
            known=known,
            delays=self._charges.delays(habits.clock.network_margin_ms),
        )

    def _ponder(self, order: GoOrder, board: Board, now_ms: float) -> None:
        request = self._request(board)
        if not order.infinite:
            request = bounded(request, order.numbers, self.options.habits, self.live_nodes)
        before = replace(request, moves=board.moves[:-1]) if board.moves else None
        search_id = None if before is None else before.search_id
        look_ms = now_ms + self._look_ms()
        self._pondering = _Pondering(order, board, request, search_id, self._reporter(), look_ms, self.live_nodes)
        if before is not None:
            self.out(PonderSearch(before, expected=board.moves[-1]))

    def _request(self, board: Board) -> SearchRequest:
        self._last_id += 1
        return self.options.request(self._last_id, board.sfen, board.moves)

    def _look_ms(self) -> int:
        return max(_LEAST_LOOK_MS, self.options.number("PvInterval"))

    def _reporter(self) -> Reporter:
        return Reporter(self.options.number("PvInterval"))

    def _take(self, search_id: int) -> _Search | None:
        """The search of that id, which is over."""
        search = self._search
        if search is not None and search.request.search_id == search_id:
            self._search = None
            return search
        return self._ending.pop(search_id, None)

    def _answer(self, search: _Search, decision: Decision, now_ms: float) -> None:
        if search.turn is not None and search.turn.clock is not None:
            self._charges.answered(search.turn.answered(now_ms))
        self._say(*search.reporter.decision(decision))
        move, pv = decision.move, decision.pv
        limit = self.options.number("ResignValue")
        if not search.endless and decision.score is not None and decision.score <= -limit:
            move, pv = "resign", ()
        self._say(best_line(move, pv[1] if len(pv) > 1 else None))

    def _answer_pondering(self, pondering: _Pondering) -> None:
        known = self.known(pondering.request)
        if known is None:
            self._say(best_line(pondering.board.careful_move()))
        else:
            self._say(best_line(known.move, next(iter(known.lines[0].pv[1:2]), None)))

    def _end_pondering(self) -> None:
        pondering, self._pondering = self._pondering, None
        if pondering is not None and pondering.search_id is not None:
            self.out(StopSearch(pondering.search_id))

    def _say(self, *lines: str) -> None:
        for line in lines:
            self.out(Say(line))
