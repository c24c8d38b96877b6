"""The USI front of a fleet: how the fleet opens, its searches after ``go``, its pondering between them.

Opening a fleet takes seconds, on a new machine a minute: the GUI sees the progress. If a new fleet cannot be opened,
the previous one stays.

**Pondering.** The GUI names one reply of the opponent (``position`` with it, ``go ponder``). The fleet instead ponders
on the position before it, over all likely replies including the named one (`cluster.coordination.pondering`). A
``ponderhit`` continues from its result, and so does the ``go`` after a miss if the real reply was among the others.
Therefore a ``stop`` of pondering is answered at once, but the fleet continues for a moment, because the real position
follows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from cluster import api
from cluster.coordination.settings import Settings
from master.ui.texts import say
from master.usi.options import FleetEvent, FleetOptions, FleetPlan
from master.usi.report import Reporter, error_line, event_line
from worker.clock import Signs, Watch
from worker.usi.events import Prepared
from worker.usi.front import FrontState, UsiFront
from worker.usi.thinking import Asked, Search, SearchOutcome, Thinking, ThinkingState
from worker.usi.words import best_line

LINGER_MS: Final = 2000
"""Time for which the fleet keeps pondering after a ``stop``, for the ``go`` that follows it."""
_BEYOND_MS: Final = Settings().deadline_margin_ms
"""The hard deadline of a fixed time (``movetime``) is this much later: no flag can fall, so the fleet need not stop
early, and its nodes search to the end."""


@dataclass(slots=True, kw_only=True)
class _FleetSearch(Search):
    reporter: Reporter


@dataclass(slots=True)
class _Pondering:
    """The state between ``go ponder`` and the next ``go``."""

    asked: Asked
    request: api.SearchRequest
    """The search that follows if the expected reply is played, without times."""
    before: api.SearchRequest | None
    """The request that the fleet ponders on; None: it does not ponder."""
    reporter: Reporter
    live_nodes: int
    """The number of nodes that share its node limit: the search after a hit must have the same."""
    found: api.Pondered | None = None
    """The fleet's last result."""
    found_ms: float = 0.0

    def known(self, request: api.SearchRequest, now_ms: float) -> api.Known | None:
        """The result of pondering on the position of ``request``, if it is one of those after the replies."""
        if self.before is None or self.found is None:
            return None
        return self.found.known(request, self.before, now_ms - self.found_ms)


class FleetThinking(Thinking[_FleetSearch]):
    """See the module docstring, and `worker.usi.thinking.Thinking`."""

    options: FleetOptions
    _aimed: ClassVar[bool] = True

    def __init__(self, options: FleetOptions, *, strict: bool = False) -> None:
        super().__init__(options, strict=strict)
        self.live_nodes = 1
        self._pondering: _Pondering | None = None

    def complain(self, why: str) -> None:
        self.say(error_line(why))

    def heard(self, event: object, now_ms: float) -> None:
        match event:
            case api.Progress():
                self._progressed(event, now_ms)
            case api.Pondered():
                self._pondered(event, now_ms)
            case api.Decision():
                self._decided(event, now_ms)

    def stop(self, now_ms: float) -> None:
        super().stop(now_ms)
        if self.state is ThinkingState.PONDERING and self._pondering is not None:
            self._answer_pondering(self._pondering)
            self._to(ThinkingState.LINGERING)
            self._wake_ms = None if self._pondering.before is None else now_ms + LINGER_MS

    def end(self, now_ms: float) -> None:
        super().end(now_ms)
        self._end_pondering()

    def replaced(self, now_ms: float) -> None:
        """The fleet that searched is gone: answer any open request all the same."""
        self._now_ms = now_ms
        searches = [*self._ending.values(), *([] if self._search is None else [self._search])]
        self._search = None
        self._ending.clear()
        self._to(ThinkingState.IDLE)
        self.say(*(best_line(search.asked.careful_move()) for search in searches))

    def _progressed(self, progress: api.Progress, now_ms: float) -> None:
        """Show the fleet's progress, and let the clock reconsider."""
        search = self._search
        if search is None or progress.search_id != search.search_id:
            return
        self.say(*search.reporter.progress(progress, now_ms))
        move = progress.pv[0] if progress.pv else ""
        signs = Signs(progress.elapsed_ms, move, progress.score, progress.agreement)
        if search.turn is not None and search.turn.reconsidered(signs):
            self.out.append(api.RetimeSearch(progress.search_id, search.turn.soft_ms))

    def _pondered(self, found: api.Pondered, now_ms: float) -> None:
        """The fleet reports a result of pondering: show it if the named reply is among the others."""
        pondering = self._pondering
        if pondering is None or pondering.before is None or found.search_id != pondering.before.search_id:
            return
        pondering.found, pondering.found_ms = found, now_ms
        known = pondering.known(pondering.request, now_ms)
        if known is not None and self.state is not ThinkingState.LINGERING:
            self.say(*pondering.reporter.known(known, now_ms))

    def _decided(self, decision: api.Decision, now_ms: float) -> None:
        search = self._find(decision.search_id)
        if search is not None:
            lines = tuple(search.reporter.decision(decision))
            ponder = next(iter(decision.pv[1:2]), None)
            last = SearchOutcome(decision.move, ponder, decision.score, lines=lines)
            self._over(decision.search_id, last, now_ms)

    def _begin(self, asked: Asked) -> None:
        pondering, order = self._pondering, asked.order
        live_nodes = self.live_nodes if pondering is None else pondering.live_nodes
        request = replace(self._request(asked, live_nodes), searchmoves=order.searchmoves)
        known = None if pondering is None else pondering.known(request, self._now_ms)
        move, known_ms = ("", 0) if known is None else (known.move, known.fleet_ms)
        expected = self._clock.expected_score(request.sfen, request.moves)
        turn = self._turn(asked, Watch(expected, move, known_ms), known_ms)
        if turn is not None:
            hard_ms = turn.hard_ms if turn.clock is not None else turn.hard_ms + _BEYOND_MS
            request = replace(request, soft_ms=turn.soft_ms, hard_ms=hard_ms)
        self._pondering = None  # the fleet ends it by itself
        endless = turn is None and request.nodes is None and request.depth is None
        self._to(ThinkingState.SEARCHING)
        self._search = _FleetSearch(request.search_id, asked, turn, endless, held=endless, reporter=self._reporter())
        self.out.append(api.StartSearch(request))

    def _ponder(self, asked: Asked) -> None:
        request, moves = self._request(asked, self.live_nodes), asked.board.moves
        before = replace(request, moves=moves[:-1]) if moves else None
        self._pondering = _Pondering(asked, request, before, self._reporter(), self.live_nodes)
        if before is not None:
            self.out.append(api.PonderSearch(before, expected=moves[-1]))

    def _request(self, asked: Asked, live_nodes: int) -> api.SearchRequest:
        """The search of a position, without times. ``live_nodes`` share its node limit."""
        nodes, depth = self._bounds(asked.order)
        request = self.options.request(self._next_id(), asked.board.sfen, asked.board.moves)
        return replace(request, nodes=None if nodes is None else max(1, nodes // live_nodes), depth=depth)

    def _reporter(self) -> Reporter:
        return Reporter(self.options.number("PvInterval"))

    def _halt(self, search_id: int) -> None:
        self.out.append(api.StopSearch(search_id))

    def _answer_pondering(self, pondering: _Pondering) -> None:
        known = pondering.known(pondering.request, self._now_ms)
        only = pondering.asked.order.searchmoves
        if known is None or (only and known.move not in only):
            self.say(best_line(pondering.asked.careful_move()))
        else:
            self.say(best_line(known.move, next(iter(known.pv[1:2]), None)))

    def _end_pondering(self) -> None:
        pondering, self._pondering = self._pondering, None
        if pondering is None:
            return
        self._wake_ms = None
        if self.state is ThinkingState.LINGERING:
            self._to(ThinkingState.IDLE)
        if pondering.before is not None:
            self.out.append(api.StopSearch(pondering.before.search_id))


class FleetFront(UsiFront):
    """See the module docstring."""

    opens_soon: ClassVar[bool] = False

    def __init__(self, options: FleetOptions, *, strict: bool = False) -> None:
        self._fleet = FleetThinking(options, strict=strict)
        super().__init__(options, self._fleet, strict=strict)
        self._refused: FleetPlan | None = None
        """The last plan that could not be opened; it is not tried again."""

    def _heard(self, event: object) -> None:
        if not isinstance(event, FleetEvent):
            super()._heard(event)
            return
        live = event.fields.get("live")
        if isinstance(live, int):
            self._fleet.live_nodes = max(1, live)
        if line := event_line(event.name, event.fields, self.state is FrontState.OPENING):
            self._fleet.say(line)

    def _wanted(self) -> FleetPlan:
        plan: FleetPlan = self._options.plan
        return self._plan if self._plan is not None and plan == self._refused else plan

    def _replaced(self) -> None:
        self._fleet.replaced(self._now_ms)

    def _stays_open(self, event: Prepared) -> bool:
        before, self._refused = self._plan, self._opening
        if before is None or event.final:
            return super()._stays_open(event)
        if event.stays:
            self._opening = before
            self._fleet.say(f"info string {say('the fleet stays as it was')}")
            return True
        self._plan = None
        self._fleet.say(f"info string {say('the fleet is opened again as it was')}")
        self._open(before)
        return False
