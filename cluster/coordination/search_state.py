"""The state of one search over the fleet: its limits, its nodes in their groups, and its current answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import InitVar, dataclass, field, replace

from cluster.api import Answer, SearchRequest
from cluster.coordination.group import Assignment, Group
from cluster.coordination.root import Root
from cluster.coordination.roster import Roster
from cluster.coordination.settings import Mode, Settings
from cluster.coordination.split_group import SplitGroup
from cluster.coordination.states import SEARCH, SearchState
from cluster.coordination.vote import answer_of, vote
from cluster.split.tree import TreeLine, as_seen, proves_mate
from worker.engine import Bound
from worker.score import MATE_BOUND
from worker.states import States


@dataclass(slots=True)
class Search:
    """One search. Times are milliseconds of the driver's clock, not since the start."""

    request: SearchRequest
    root: Root
    settings: Settings
    started_ms: int
    soft_ms: int | None
    hard_ms: int | None
    roster: Roster = field(default_factory=Roster)
    first: InitVar[SearchState] = SearchState.RUNNING
    """``PONDERED``: it continues until it is a hit or abandoned."""
    pondered_ms: int = 0
    """Time from its start to the hit, in ms."""
    groups: list[Group] = field(default_factory=list)
    assignments: dict[str, Assignment] = field(default_factory=dict)
    """Assignments by node id, in the order in which the nodes joined; dead nodes stay, for viewers."""
    presearching: list[SplitGroup] = field(default_factory=list)
    """The groups in that phase."""
    fallback: Assignment | None = None
    """None: no fallback is available."""
    fallback_ms: int | None = None
    """The time at which it begins, if no node has reported a line by then; None: it does not wait."""
    fallback_line: TreeLine | None = None
    published_ms: int = -(2**40)
    dirty: bool = False
    """Whether something changed since the last progress."""
    stale: bool = False
    """Whether the groups' answers have changed since they were last read."""
    mate_proven: bool = False
    """Whether a line, since the answer was last read, has proved that the side to move at the root mates."""
    state: SearchState = field(init=False)
    _states: States[SearchState] = field(init=False)
    _group_of: dict[str, Group] = field(default_factory=dict)
    _answer: Answer | None = None
    _named: int = 0
    """The number of groups that were given a name."""
    _busy: Assignment | None = None
    """An assignment that was busy at the last check."""

    def __post_init__(self, first: SearchState) -> None:
        self.state = first
        self._states = States(SEARCH, first, strict=self.settings.validate)

    def to(self, state: SearchState, now_ms: int) -> None:
        """Change to ``state``."""
        self._states.to(state, now_ms)
        self.state = state

    @property
    def pondering(self) -> bool:
        return self.state is SearchState.PONDERED

    @property
    def infinite(self) -> bool:
        return self.pondering or is_infinite(self.request)

    # --- nodes and groups -----------------------------------------------------------------------------------------

    def form(self, node_ids: Iterable[str], now_ms: int) -> None:
        """Put the nodes into the initial groups of the search. A node that cannot share a tree forms its own."""
        self.assignments = {node_id: self._new_assignment(node_id) for node_id in node_ids}
        assignments = self.sharers()
        parts = min(self.settings.groups, len(assignments)) if self.settings.mode is Mode.TIERS else 1
        if self.settings.mode is Mode.CONSULT or len(assignments) < 2 or not self._worth_splitting(now_ms):
            parts = len(assignments)
        for index in range(parts):
            part = assignments[index * len(assignments) // parts : (index + 1) * len(assignments) // parts]
            self._add(Group(part[0].node_id, part) if len(part) == 1 else SplitGroup(self._new_name(), part))
        sharers = set(assignments)
        for assignment in self.assignments.values():
            if assignment not in sharers:
                self._add(Group(assignment.node_id, [assignment]))

    def back(self, node_id: str) -> tuple[Assignment, Group]:
        """A node of this search returns: to its former group, unless it no longer fits there."""
        assignment, facts = self.assignments[node_id], self.roster.facts(node_id)
        group = self.group_of(assignment)
        is_same = facts.engine == assignment.engine
        fits = facts.can_split and is_same
        assignment.engine, assignment.can_split = facts.engine, facts.can_split
        assignment.alive, assignment.failed, assignment.refused = True, False, 0
        if not is_same:
            assignment.ballot = None  # from another engine: depths are not comparable
            assignment.lines.clear()
            self.stale = True
        if not fits and isinstance(group, SplitGroup) and len(group.assignments) > 1:
            group.assignments.remove(assignment)
            group.root_searchers.pop(assignment, None)
            self._add(Group(node_id, [assignment]))
            self.stale = True  # it is a voter now
        self.dirty = True
        return assignment, self.group_of(assignment)

    def join(self, node_id: str, now_ms: int, *, alone: bool = False) -> tuple[Assignment, Group]:
        """Add a node after the search has begun: if all groups exist, to the smallest group that shares a tree, or
        could do so with it; otherwise as its own group.

        In ``SPLIT`` a group of more than one node has priority: there is one tree, and the other groups search the
        whole root.

        Args:
            alone: make it its own group in any case.
        """
        assignment = self.assignments[node_id] = self._new_assignment(node_id)
        most = {Mode.SPLIT: 1, Mode.TIERS: self.settings.groups, Mode.CONSULT: 0}[self.settings.mode]
        worth = self._worth_splitting(now_ms)
        groups = [
            group
            for group in self.groups
            if any(other.can_split and other.engine == assignment.engine for other in group.assignments)
            and (isinstance(group, SplitGroup) or (worth and self.usable(group)))
        ]
        if not assignment.can_split or alone or not 0 < most <= len(groups):
            self._add(Group(node_id, [assignment]))
        else:
            one = self.settings.mode is Mode.SPLIT
            group = min(groups, key=lambda group: (one and not isinstance(group, SplitGroup), len(self.usable(group))))
            if not isinstance(group, SplitGroup):
                group = self._widened(group)
            group.assignments.append(assignment)
            self._group_of[node_id] = group
        self.dirty = True
        return assignment, self._group_of[node_id]

    def scatter(self, group: SplitGroup) -> None:
        """Make each node of ``group`` its own group, which searches the whole root."""
        self.groups.remove(group)
        self.presearching.remove(group)
        for assignment in group.assignments:
            self._add(Group(assignment.node_id, [assignment]))
        self.stale = True

    def _widened(self, lone: Group) -> SplitGroup:
        """Replace a group of one node by a split group; its job continues."""
        group = SplitGroup(self._new_name(), lone.assignments)
        group.furthest = max(assignment.nodes for assignment in lone.assignments)
        group.root_searchers = dict.fromkeys(lone.assignments)
        self.groups[self.groups.index(lone)] = group
        self._group_of.update((assignment.node_id, group) for assignment in group.assignments)
        return group

    def sharers(self) -> list[Assignment]:
        """The nodes that can share a tree: those with the most common engine, because scores and depths of different
        engines are not comparable."""
        able = [assignment for assignment in self.usable() if assignment.can_split]
        engines = Counter(assignment.engine for assignment in able)
        most = max(engines, key=lambda engine: engines[engine], default="")
        return [assignment for assignment in able if assignment.engine == most]

    def _new_assignment(self, node_id: str) -> Assignment:
        facts = self.roster.facts(node_id)
        return Assignment(node_id, facts.can_split, facts.engine)

    def _new_name(self) -> str:
        self._named += 1
        return "split" if self.settings.mode is Mode.SPLIT and self._named == 1 else f"group-{self._named}"

    def _add(self, group: Group) -> None:
        self.groups.append(group)
        self._group_of.update((assignment.node_id, group) for assignment in group.assignments)

    def group_of(self, assignment: Assignment) -> Group:
        return self._group_of[assignment.node_id]

    def usable(self, group: Group | None = None) -> list[Assignment]:
        """The nodes, of a group or of all, that can be given another job."""
        assignments = self.assignments.values() if group is None else group.assignments
        return [assignment for assignment in assignments if assignment.can_take_job(self.request.nodes)]

    def busy(self) -> bool:
        """Whether any node except the fallback is searching. Cheap as long as the same node is."""
        if self._busy is None or not self._busy.busy:
            self._busy = next((assignment for assignment in self.assignments.values() if assignment.busy), None)
        return self._busy is not None

    def _worth_splitting(self, now_ms: int) -> bool:
        settings, request = self.settings, self.request
        return (
            settings.mode is not Mode.CONSULT
            and request.multipv == 1  # a tree's leaves only prove that the others are worse
            and (self.soft_ms is None or self.soft_ms - now_ms >= settings.min_split_ms)
            and (request.nodes is None or request.nodes >= settings.min_split_nodes)
            and (request.depth is None or request.depth >= settings.min_split_depth)
        )

    # --- known results -------------------------------------------------------------------------------------------

    def changed(self, *lines: TreeLine) -> None:
        """Note that a group's lines have changed, ``lines`` among them."""
        self.stale = self.dirty = True
        if any(line.score >= MATE_BOUND and proves_mate(line) for line in lines):
            self.mate_proven = True

    def lines(self) -> Iterator[TreeLine]:
        """The lines that currently represent the root."""
        for group in self.groups:
            yield from group.lines()

    def nodes_answer(self) -> Answer | None:
        """The nodes' answer now; None: no node has one."""
        if self.stale:
            self._answer = vote(self.groups, self.request.multipv, self.settings, self.roster.weight)
            self.stale = False
        return self._answer

    def answer(self) -> Answer | None:
        """The answer that would be played now: the nodes', else the fallback's; None: neither has one."""
        found = self.nodes_answer()
        if found is None and self.fallback_line is not None:
            return answer_of(self.fallback_line, "fallback")
        return found


def is_infinite(request: SearchRequest) -> bool:
    """Whether only a stop ends the search (analysis, pondering)."""
    return request.soft_ms is None and request.nodes is None and request.depth is None


def lines_below(before: SearchRequest, lines: Iterable[TreeLine], request: SearchRequest) -> list[TreeLine]:
    """Lines for the position of ``request``, from ``lines`` that were found some moves before it, in the position of
    ``before``; from the side to move in the new position, with depths and mates still counted from the old one.

    Lines that only give an upper bound for a reply are left out: nothing shows that it would be played.
    """
    made = request.moves[len(before.moves) :]
    if not made or request.sfen != before.sfen or request.moves != (*before.moves, *made):
        return []
    plies = len(made)
    seen = [as_seen(line, plies) for line in lines if line.pv[:plies] == made and len(line.pv) > plies]
    return [replace(line, pv=line.pv[plies:]) for line in seen if line.bound is not Bound.UPPER]
