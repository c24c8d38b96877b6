"""The single engine's searches for ``go``.

**Pondering** is the search of the position after the expected reply; a ``ponderhit`` gives it its time, and it
continues. With ``Stochastic_Ponder`` the reply is left open, and the table fills for any reply: then the hit begins a
new search.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from worker.clock import Signs, Watch
from worker.clock.gui_clock import CLOCK_WORDS, Turn
from worker.engine import Bound, Limits, SearchInfo, SearchResult
from worker.rules import Rules
from worker.usi.options import Options
from worker.usi.thinking import Asked, Search, SearchOutcome, Thinking, ThinkingState
from worker.usi.words import error_line, info_line


@dataclass(frozen=True, slots=True)
class Shown:
    """A line of the search ``search_id``."""

    search_id: int
    info: SearchInfo


@dataclass(frozen=True, slots=True)
class Iterated:
    """An iteration is over, and the search waits: after `EndSearch` there is no other one, without it the search
    continues."""

    search_id: int
    signs: Signs


@dataclass(frozen=True, slots=True)
class Searched:
    """The end of a search."""

    search_id: int
    result: SearchResult


@dataclass(frozen=True, slots=True)
class BeginSearch:
    """Search, after the searches that were begun before, and send `Shown`, and `Searched` or
    `worker.usi.events.Failed`."""

    search_id: int
    sfen: str
    moves: tuple[str, ...]
    limits: Limits
    rules: Rules
    root_mate_nodes: int
    asks: bool
    """Whether to send `Iterated` too."""


@dataclass(frozen=True, slots=True)
class EndSearch:
    """End that search now."""

    search_id: int


@dataclass(slots=True, kw_only=True)
class _SingleSearch(Search):
    watch: Watch
    is_blind: bool
    """Whether it ponders without the expected reply. Its lines are not those of the GUI's position: the other side is
    to move. So they are not shown."""
    shown: list[SearchInfo] = field(default_factory=list)
    """The lines of the last iteration sent to the GUI."""
    shows: bool = False
    """Whether the lines of the current iteration are sent."""
    ends_ms: float | None = None
    """The latest time of its end."""


class SingleThinking(Thinking[_SingleSearch]):
    """See the module docstring and `worker.usi.thinking.Thinking`."""

    options: Options
    _aimed: ClassVar[bool] = False

    def complain(self, why: str) -> None:
        self.say(error_line(why))

    def heard(self, event: object, now_ms: float) -> None:
        match event:
            case Shown(search_id, info):
                self._show(search_id, info)
            case Iterated(search_id, signs):
                self._iterated(search_id, signs, now_ms)
            case Searched(search_id, result):
                self._searched(search_id, result, now_ms)

    def _show(self, search_id: int, info: SearchInfo) -> None:
        search = self._search
        if search is None or search.search_id != search_id or search.is_blind:
            return
        if info.multipv == 1:
            since_ms = info.time_ms - search.shown[0].time_ms if search.shown else None
            search.shows = since_ms is None or since_ms >= self.options.number("PvInterval")
            if search.shows:
                search.shown.clear()
        if search.shows:
            search.shown.append(info)
            self.say(info_line(info))

    def _iterated(self, search_id: int, signs: Signs, now_ms: float) -> None:
        search = self._search
        if search is None or search.search_id != search_id:
            return
        if search.turn is None:
            search.watch.see(signs)
        elif search.turn.goes_on(signs, now_ms):
            self._wake_ms = search.ends_ms  # even if an earlier iteration has ended it
        elif (free_until_ms := search.turn.free_until_ms(now_ms)) <= now_ms:
            self._halt(search_id)
        else:
            # The rest of the charged second is free; no further iteration follows.
            self._wake_ms = free_until_ms if self._wake_ms is None else min(free_until_ms, self._wake_ms)

    def _searched(self, search_id: int, result: SearchResult, now_ms: float) -> None:
        search = self._find(search_id)
        if search is None:
            return
        best = result.lines[0] if result.lines else None
        last = SearchOutcome(
            result.bestmove,
            result.ponder,
            None if best is None else best.score,
            exact=best is not None and best.bound is Bound.EXACT,
            lines=tuple(info_line(info) for info in result.lines if not search.is_blind and info not in search.shown),
        )
        self._over(search_id, last, now_ms)

    def _begin(self, asked: Asked) -> None:
        pondering = self._search
        if pondering is None or pondering.is_blind:
            self._end_pondering()
            self._search_for(asked)
            return
        turn = self._turn(asked, pondering.watch, asked.began_ms - pondering.asked.began_ms)
        pondering.turn, pondering.endless = turn, self._is_endless(asked, turn)
        pondering.held = pondering.endless
        if turn is not None:
            self._wake_ms = pondering.ends_ms = self._now_ms + turn.soft_ms
        self._to(ThinkingState.SEARCHING)
        if pondering.last is not None:
            self._settle(pondering, pondering.last)

    def _ponder(self, asked: Asked) -> None:
        self._search_for(asked)

    def _search_for(self, asked: Asked) -> None:
        """Begin a search. While pondering the clock does not run yet."""
        order, sfen, moves = asked.order, asked.board.sfen, asked.board.moves
        watch = Watch(self._clock.expected_score(sfen, moves))
        turn = None if order.ponder else self._turn(asked, watch, 0.0)
        endless = self._is_endless(asked, turn)
        is_blind = order.ponder and self.options.flag("Stochastic_Ponder") and bool(moves)
        held = endless or order.ponder
        self._search = _SingleSearch(self._next_id(), asked, turn, endless, held, watch=watch, is_blind=is_blind)
        if not order.ponder:
            self._to(ThinkingState.SEARCHING)
        if turn is not None:
            # The search's own limit counts from its beginning, which may be late, because a large table is cleared
            # first.
            self._wake_ms = self._search.ends_ms = self._now_ms + turn.hard_ms
        nodes, depth = self._bounds(order)
        limits = Limits(
            movetime_ms=None if turn is None else turn.hard_ms,
            nodes=nodes,
            depth=depth,
            multipv=self.options.number("MultiPV"),
            searchmoves=() if is_blind else order.searchmoves,
        )
        rules = self.options.rules
        if is_blind:  # the opponent is to move at the root, but a draw must have its value after the hit
            rules = replace(rules, draw_black=-rules.draw_white, draw_white=-rules.draw_black)
        times = CLOCK_WORDS & order.numbers.keys() or (order.ponder and not order.numbers)
        self.out.append(
            BeginSearch(
                self._search.search_id,
                sfen,
                moves[:-1] if is_blind else moves,
                limits,
                rules,
                self.options.number("RootMateSearchNodesLimit"),
                asks=bool(times) and not order.infinite and "movetime" not in order.numbers,
            )
        )

    def _is_endless(self, asked: Asked, turn: Turn | None) -> bool:
        return turn is None and self._bounds(asked.order) == (None, None)

    def _halt(self, search_id: int) -> None:
        self.out.append(EndSearch(search_id))

    def _end_pondering(self) -> None:
        search, self._search = self._search, None
        if search is not None:
            self._halt(search.search_id)
