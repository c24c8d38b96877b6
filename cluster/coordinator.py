"""One search at a time over the fleet, as a pure state machine: events in, instructions out.

Nothing here does I/O, reads a clock or starts a thread. A driver hands in what happened and when (`Coordinator.handle`)
and does what comes back. So each fault (a node dies between two reports, a late report of an old job, a flag about to
fall) is a plain unit test, and the same code runs on real nodes and in virtual time.

A search, in order::

    Start ─ no move, one move, declaration ───────────────────► decided ("forced")
      │
      └─ groups, each on its way (`cluster.group`), and their vote ───────► decided: soft time and an answer ·
                                all jobs over · a proven mate · StopSearch · hard deadline

Invariants, checked after each event with `Settings.validate`:

- every `Start` is followed by exactly one `Decide`, at the latest by the first event at or after its hard deadline;
- what is decided is a legal move, ``resign`` where there is none, or ``win``;
- each node is in one group; a job runs only on a node that lives, and in a group no two nodes have the same leaf;
- the leaves of a group's tree hold each legal move exactly once;
- every line that is kept is legal from the root.
"""

from __future__ import annotations

from cluster.api import Decision, SearchRequest
from cluster.course import Course, say_decision, stop_the_idle
from cluster.events import (
    FALLBACK,
    Event,
    Instruction,
    NodeJoined,
    NodeLost,
    Received,
    Retime,
    Start,
    StopSearch,
    Tick,
)
from cluster.invariants import check
from cluster.jobs import Orders
from cluster.messages import Done, Heartbeat, Report
from cluster.root import Root, check_request
from cluster.roster import Roster
from cluster.search_state import Search, is_infinite
from cluster.settings import Settings


class Coordinator:
    """See the module's text. ``handle`` is the only thing that changes it."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.orders = Orders()
        self.roster = Roster()
        self._fallback_live = False
        self._course: Course | None = None
        self._last_search_id = -1

    @property
    def searching(self) -> bool:
        return self._course is not None

    @property
    def live(self) -> tuple[str, ...]:
        return tuple(self.roster)

    def handle(self, event: Event, now_ms: int) -> list[Instruction]:
        """Take an event that happened at ``now_ms`` (any steady clock) and say what is to be done, in this order.

        Raises:
            ValueError: a `Start` that cannot be searched (position, moves, limits, a search id that does not rise); the
                coordinator is as it was.
        """
        self.orders.out = []
        match event:
            case Received():
                self._received(event.message, now_ms)
            case Start():
                self._start(event.request, now_ms)
            case Retime():
                if (course := self._course_of(event.search_id)) is not None:
                    course.retime(event.soft_ms)
            case StopSearch():
                if (course := self._course_of(event.search_id)) is not None:
                    course.stop(now_ms)
            case NodeJoined():
                self._joined(event, now_ms)
            case NodeLost():
                self._lost(event.node_id, event.reason, now_ms)
            case Tick():
                pass
        if self._course is not None:
            self._course.advance(now_ms)
        if self._course is not None and self._course.over:
            self._course = None
        if self._course is not None:
            self._course.publish(now_ms)
            if self.settings.validate:
                check(self._course.search, self.roster)
        return self.orders.out

    def wake_ms(self, now_ms: int) -> int | None:
        """When the next `Tick` is due, later than ``now_ms``; None: only an event can change anything."""
        return None if self._course is None else self._course.wake_ms(now_ms)

    def _start(self, request: SearchRequest, now_ms: int) -> None:
        check_request(request, self._last_search_id)
        root = Root(request)
        if self._course is not None:
            self._course.decide(now_ms)
            self._course = None
        self._last_search_id = request.search_id
        if not root.legal or root.may_declare or (len(root.legal) == 1 and not is_infinite(request)):
            self._decide_forced(request, root)
            return
        hard = None
        if request.hard_ms is not None:
            hard = now_ms + request.hard_ms - min(self.settings.deadline_margin_ms, request.hard_ms // 2)
        soft = None if request.soft_ms is None else now_ms + request.soft_ms
        if soft is not None and hard is not None:
            soft = min(soft, hard)
        self._course = Course(Search(request, root, self.settings, now_ms, soft, hard, self.roster), self.orders)
        self._course.begin(self._fallback_live, now_ms)

    def _course_of(self, search_id: int) -> Course | None:
        course = self._course
        return course if course is not None and course.search.request.search_id == search_id else None

    def _decide_forced(self, request: SearchRequest, root: Root) -> None:
        move = "resign" if not root.legal else "win" if root.may_declare else root.legal[0]
        pv = (move,) if move in root.legal else ()
        say_decision(Decision(request.search_id, move, None, 0, pv, 0, 0, "forced"), self.orders)

    def _joined(self, facts: NodeJoined, now_ms: int) -> None:
        node_id = facts.node_id
        if node_id == FALLBACK:
            self._fallback_live = True
            if self._course is not None:
                self._course.fallback_joined(now_ms)
            return
        if node_id in self.roster:
            self._lost(node_id, "began anew", now_ms)
        self.roster.join(facts)
        self.orders.log("node_joined", node=node_id, live=len(self.roster))
        if self._course is not None:
            self._course.joined(node_id, now_ms)

    def _lost(self, node_id: str, reason: str, now_ms: int) -> None:
        if node_id == FALLBACK:
            self._fallback_live = False
            self.orders.log("fallback_lost", reason=reason)
            if self._course is not None:
                self._course.fallback_lost()
            return
        if node_id not in self.roster:
            return
        self.roster.leave(node_id)
        self.orders.log("node_lost", node=node_id, reason=reason, live=len(self.roster))
        if self._course is not None:
            self._course.lost(node_id, now_ms)

    def _received(self, message: Report | Done | Heartbeat, now_ms: int) -> None:
        if isinstance(message, Heartbeat):
            if self._course is None:
                stop_the_idle(message, self.orders)
            else:
                self._course.heartbeat(message, now_ms)
        elif self._course is not None:
            self._course.received(message, now_ms)
