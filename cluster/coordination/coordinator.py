"""One search at a time over the fleet, as a pure state machine: events in, instructions out.

Nothing here does I/O, reads a clock or starts a thread. A driver passes in each event with its time
(`Coordinator.handle`) and carries out the instructions that are returned. So each fault (a node dies between two
reports, a late report of an old job, a flag about to fall) is a plain unit test, and the same code runs on real nodes
and in virtual time.

A search, in order::

    StartSearch ─ no move, one move, declaration ───────────────────► decided ("forced")
      │
      └─ groups, each in its phases (`Group`), their vote ───────► decided: soft time and an answer ·
                                all jobs over · a proven mate · StopSearch · hard deadline

    PonderSearch ─ `Pondering`, until the next StartSearch, which may be a hit, or StopSearch; nothing is decided

Invariants, which the tests check after each event (``tests/cluster/coordination/invariants.py``):

- every `StartSearch` is followed by exactly one `Decision`, at the latest by the first event at or after its hard
  deadline;
- the decision is a legal move, ``resign`` if there is none, or ``win``;
- each node is in one group; a job runs only on a live node, and within a group no two nodes have the same leaf, except
  the root searchers, which all search the whole root;
- the leaves of a group's tree contain each legal move exactly once;
- every line that is kept is legal from the root.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from cluster.api import Decision, Pondered, PonderSearch, Progress, RetimeSearch, SearchRequest, StartSearch, StopSearch
from cluster.coordination.decision import say_decision
from cluster.coordination.events import FALLBACK, Event, Instruction, NodeJoined, NodeLost, Received, Tick
from cluster.coordination.jobs import Dispatch
from cluster.coordination.pondering import Pondering
from cluster.coordination.root import Root, check_request
from cluster.coordination.roster import Roster
from cluster.coordination.search_run import SearchRun, stop_the_idle
from cluster.coordination.search_state import Search, is_infinite, lines_below
from cluster.coordination.settings import Settings
from cluster.coordination.states import COORDINATOR, CoordinatorState
from cluster.network.messages import Done, Heartbeat, Report
from worker.shogi.position import Replay
from worker.states import States

_REMEMBERED: Final = 50
"""The number of events and instructions kept, to explain a fault."""


class Coordinator:
    """See the module docstring. Only ``handle`` changes it."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.dispatch = Dispatch()
        self.roster = Roster()
        self._fallback_live = False
        self.run: SearchRun | None = None
        self.ponders: Pondering | None = None
        """At most one of ``run`` and ``ponders`` is set."""
        self._last: SearchRun | None = None
        """The last search that was decided: its lines show the opponent's likely replies."""
        self._last_search_id = -1
        self._replay = Replay()
        self._states = States(COORDINATOR, CoordinatorState.IDLE, strict=self.settings.validate)
        self._history: deque[tuple[int, Event | Instruction]] = deque(maxlen=_REMEMBERED)

    @property
    def state(self) -> CoordinatorState:
        return self._states.now

    @property
    def searching(self) -> bool:
        return self.state is CoordinatorState.SEARCHING

    @property
    def pondering(self) -> bool:
        return self.state is CoordinatorState.PONDERING

    @property
    def history(self) -> list[tuple[int, Event | Instruction]]:
        """The last events and instructions, each with its time, oldest first."""
        return list(self._history)

    def _remember(self, now_ms: int, what: Event | Instruction) -> None:
        if not isinstance(what, Tick | Progress | Pondered):
            self._history.append((now_ms, what))

    def handle(self, event: Event, now_ms: int) -> list[Instruction]:
        """Handle an event that happened at ``now_ms`` (by any monotonic clock) and return the instructions, in order.

        Raises:
            ValueError: a `StartSearch` that cannot be searched (position, moves, limits, a search id that does not
                rise); the coordinator is unchanged.
        """
        self.dispatch.out = []
        if not isinstance(event, Received) or isinstance(event.message, Done):  # there are hundreds of reports
            self._remember(now_ms, event)
        match event:
            case Received():
                self._received(event.message, now_ms)
            case StartSearch():
                self._start(event.request, now_ms)
            case PonderSearch():
                self._ponder(event.request, event.expected, now_ms)
            case RetimeSearch():
                if (run := self._run_of(event.search_id)) is not None:
                    run.retime(event.soft_ms)
            case StopSearch():
                if (run := self._run_of(event.search_id)) is not None:
                    run.stop(now_ms)
                elif self.ponders is not None and self.ponders.request.search_id == event.search_id:
                    self._end_pondering(now_ms)
            case NodeJoined():
                self._joined(event, now_ms)
            case NodeLost():
                self._lost(event.node_id, event.reason, now_ms)
            case Tick():
                pass
        if self.run is not None:
            if not self.run.over:
                self.run.advance(now_ms)
            if self.run.over:
                self.run, self._last = None, self.run
                self._states.to(CoordinatorState.IDLE, now_ms)
            else:
                self.run.publish(now_ms)
        elif self.ponders is not None:
            self.ponders.advance(now_ms)
        for instruction in self.dispatch.out:
            self._remember(now_ms, instruction)
        return self.dispatch.out

    def wake_ms(self, now_ms: int) -> int | None:
        """The time of the next `Tick`, later than ``now_ms``; None: only an event can change anything."""
        under_way = self.run or self.ponders
        return None if under_way is None else under_way.wake_ms(now_ms)

    def _start(self, request: SearchRequest, now_ms: int) -> None:
        check_request(request, self._last_search_id)
        root = Root(request, self._replay)
        self._decide_what_runs(now_ms)
        self._last_search_id = request.search_id
        pondered = None if self.ponders is None else self.ponders.hit(request, now_ms)
        if self.ponders is not None:
            self.dispatch.log("ponder_hit" if pondered else "ponder_miss", search_id=request.search_id)
            self.ponders = None
        if not root.legal or root.may_declare or (len(root.legal) == 1 and not is_infinite(request)):
            self._states.to(CoordinatorState.IDLE, now_ms)
            self._decide_forced(request, root)
            return
        self._states.to(CoordinatorState.SEARCHING, now_ms)
        hard = None
        if request.hard_ms is not None:
            hard = now_ms + request.hard_ms - min(self.settings.deadline_margin_ms, request.hard_ms // 2)
        soft = None if request.soft_ms is None else now_ms + request.soft_ms
        if soft is not None and hard is not None:
            soft = min(soft, hard)
        run = pondered
        if run is None:
            search = Search(request, root, self.settings, now_ms, soft, hard, self.roster)
            run = SearchRun(search, self.dispatch)
        self.run = run
        if pondered is None:
            run.begin(tuple(self.roster), self._fallback_live, now_ms)
        else:
            run.hit(request, soft, hard, self._fallback_live, now_ms)

    def _ponder(self, request: SearchRequest, expected: str, now_ms: int) -> None:
        check_request(request, self._last_search_id)
        if request.hard_ms is not None:
            raise ValueError("pondering has no time limit")
        if request.searchmoves:
            raise ValueError("pondering chooses no move: it takes no searchmoves")
        root = Root(request, self._replay)
        if expected and expected not in root.legal:
            raise ValueError(f"expected reply {expected}: it is not legal")
        self._decide_what_runs(now_ms)
        self._end_pondering(now_ms)
        self._last_search_id = request.search_id
        if root.legal and not root.may_declare:
            before = None if self._last is None else self._last.search
            hints = () if before is None else lines_below(before.request, before.lines(), request)
            self._states.to(CoordinatorState.PONDERING, now_ms)
            self.ponders = Pondering(
                request, root, self.settings, self.roster, self.dispatch, self._replay, hints, expected
            )
            self.ponders.begin(now_ms)

    def _end_pondering(self, now_ms: int) -> None:
        if self.ponders is not None:
            self.ponders.end(now_ms)
            self.ponders = None
            self._states.to(CoordinatorState.IDLE, now_ms)

    def _decide_what_runs(self, now_ms: int) -> None:
        if self.run is not None:
            self.run.decide(now_ms)
            self.run, self._last = None, self.run
            self._states.to(CoordinatorState.IDLE, now_ms)

    def _run_of(self, search_id: int) -> SearchRun | None:
        run = self.run
        return run if run is not None and run.search.request.search_id == search_id else None

    def _decide_forced(self, request: SearchRequest, root: Root) -> None:
        move = "resign" if not root.legal else "win" if root.may_declare else root.legal[0]
        say_decision(Decision(search_id=request.search_id, move=move, source="forced"), self.dispatch)

    def _joined(self, facts: NodeJoined, now_ms: int) -> None:
        node_id = facts.node_id
        if node_id == FALLBACK:
            self._fallback_live = True
            if self.run is not None:
                self.run.fallback_joined(now_ms)
            return
        if node_id in self.roster:
            self._lost(node_id, "began anew", now_ms)
        self.roster.join(facts)
        self.dispatch.log("node_joined", node=node_id, live=len(self.roster))
        if (under_way := self.run or self.ponders) is not None:
            under_way.joined(node_id, now_ms)

    def _lost(self, node_id: str, reason: str, now_ms: int) -> None:
        if node_id == FALLBACK:
            self._fallback_live = False
            self.dispatch.log("fallback_lost", reason=reason)
            if self.run is not None:
                self.run.fallback_lost()
            return
        if node_id not in self.roster:
            return
        self.roster.leave(node_id)
        self.dispatch.log("node_lost", node=node_id, reason=reason, live=len(self.roster))
        if (under_way := self.run or self.ponders) is not None:
            under_way.lost(node_id, now_ms)

    def _received(self, message: Report | Done | Heartbeat, now_ms: int) -> None:
        run = self.run
        if self.ponders is not None:
            run = self.ponders.run_of(message.node_id)
        if isinstance(message, Heartbeat):
            if run is None:
                stop_the_idle(message, self.dispatch)
            else:
                run.heartbeat(message, now_ms)
        elif run is not None:
            run.received(message, now_ms)
        if self._last is not None and isinstance(message, Done):
            self._last.ended(message)
