"""The state of one search over the fleet: its groups, what is known, and what the answer would be now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import InitVar, dataclass, field, replace

from cluster.api import Answer, Ballot, NodeView, Progress, SearchRequest
from cluster.coordination.assignment import Assignment
from cluster.coordination.group import Group
from cluster.coordination.multipv import best_lines
from cluster.coordination.root import Root
from cluster.coordination.roster import Roster
from cluster.coordination.settings import Mode, Settings
from cluster.coordination.states import SEARCH, Phase, SearchState
from cluster.split.tree import TreeLine, as_seen, proves_mate, tells_score
from cluster.voting.consultation import comparable, count
from worker.engine import Bound
from worker.score import is_mate
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
    """``PONDERED``: it goes on until it is a hit, or abandoned."""
    pondered_ms: int = 0
    """Time from its begin to the hit, in ms."""
    groups: list[Group] = field(default_factory=list)
    assignments: dict[str, Assignment] = field(default_factory=dict)
    """Assignments by node id, in the order in which the nodes came; the dead stay, for viewers."""
    fallback: Assignment | None = None
    """None: there is no fallback now."""
    fallback_ms: int | None = None
    """The time at which it begins, if no node has brought a line by then; None: it waits for nothing."""
    fallback_line: TreeLine | None = None
    earlier: TreeLine | None = None
    """The line that the search before it expected here."""
    last_word: TreeLine | None = None
    """The last resort's line."""
    decided: tuple[TreeLine, ...] = ()
    """The lines that it ended with."""
    published_ms: int = -(2**40)
    dirty: bool = False
    """Something changed since the last progress."""
    presearching: list[Group] = field(default_factory=list)
    """The groups in that phase."""
    _states: States[SearchState] = field(init=False)
    _group_of: dict[str, Group] = field(default_factory=dict)
    _mate_proven: bool = False
    """Some line has proved, since the answer was last looked at, that the root's side to move mates."""
    _answer: Answer | None = None
    _stale: bool = False
    """``_answer`` is not what the groups say now."""
    _named: int = 0
    """Groups that were given a name of their own."""
    _busy: Assignment | None = None
    """One that was busy when last looked."""

    def __post_init__(self, first: SearchState) -> None:
        self._states = States(SEARCH, first, strict=self.settings.validate)

    @property
    def state(self) -> SearchState:
        return self._states.now

    @property
    def pondering(self) -> bool:
        return self.state is SearchState.PONDERED

    @property
    def stopped(self) -> bool:
        return self.state is SearchState.STOPPING

    @property
    def asking(self) -> bool:
        return self.state is SearchState.ASKING

    def to(self, state: SearchState, now_ms: int) -> None:
        """Go on to ``state``."""
        self._states.to(state, now_ms)

    @property
    def infinite(self) -> bool:
        return self.pondering or is_infinite(self.request)

    def nodes(self, now_ms: int) -> int:
        """Nodes searched until now, as `Assignment.searched` has it."""
        return sum(
            assignment.searched(now_ms, self.roster.nps_of(assignment.node_id))
            for assignment in self.assignments.values()
        )

    # --- nodes and groups -----------------------------------------------------------------------------------------

    def form(self, node_ids: Iterable[str], now_ms: int) -> None:
        """Put the nodes into the groups with which the search begins. One that cannot share a tree is its own."""
        self.assignments = {node_id: self._new_assignment(node_id) for node_id in node_ids}
        assignments = self._sharers()
        parts = min(self.settings.groups, len(assignments)) if self.settings.mode is Mode.TIERS else 1
        if self.settings.mode is Mode.CONSULT or not self.may_split(now_ms):
            parts = len(assignments)
        for index in range(parts):
            part = assignments[index * len(assignments) // parts : (index + 1) * len(assignments) // parts]
            self._add(part[0].node_id if len(part) == 1 else self._new_name(), part)
        sharers = set(assignments)
        for assignment in self.assignments.values():
            if assignment not in sharers:
                self._add(assignment.node_id, [assignment])

    def back(self, node_id: str) -> tuple[Assignment, Group]:
        """A node that was here comes back: to the group that it was of, unless it has become one that does not fit."""
        assignment, facts = self.assignments[node_id], self.roster.facts(node_id)
        group = self.group_of(assignment)
        is_same = facts.engine == assignment.engine
        fits = facts.can_split and is_same
        assignment.engine, assignment.can_split = facts.engine, facts.can_split
        assignment.alive, assignment.failed, assignment.refused = True, False, 0
        if not is_same:
            assignment.ballot = None  # another engine's: their depths do not compare
            assignment.lines.clear()
            self._stale = True
        if not fits and len(group.assignments) > 1:
            group.assignments.remove(assignment)
            group.root_searchers.pop(assignment, None)
            self._add(node_id, [assignment])
            self._stale = True  # it is a voter now
        self.dirty = True
        return assignment, self.group_of(assignment)

    def join(self, node_id: str, now_ms: int, *, alone: bool = False) -> tuple[Assignment, Group]:
        """A node that comes when this search has begun already: to the smallest group that shares out a tree, or could
        with it, where there are as many groups as there are to be; else it is a group of its own.

        In ``SPLIT`` a group of more than one node comes first: the others search the whole root, and it is one tree.

        Args:
            alone: it is a group of its own in any case.
        """
        assignment = self.assignments[node_id] = self._new_assignment(node_id)
        most = {Mode.SPLIT: 1, Mode.TIERS: self.settings.groups, Mode.CONSULT: 0}[self.settings.mode]
        worth = self._worth_splitting(now_ms)
        groups = [
            group
            for group in self.groups
            if any(other.can_split and other.engine == assignment.engine for other in group.assignments)
            and (group.phase is not Phase.WHOLE or (worth and self.usable(group)))
        ]
        if assignment.can_split and not alone and 0 < most <= len(groups):
            one = self.settings.mode is Mode.SPLIT
            group = min(groups, key=lambda group: (one and group.is_lone, len(self.usable(group))))
            if group.is_lone:
                group.name = self._new_name()
            group.assignments.append(assignment)
            self._group_of[node_id] = group
        else:
            self._add(node_id, [assignment])
        self.dirty = True
        return assignment, self._group_of[node_id]

    def scatter(self, group: Group) -> None:
        """Make each node of ``group`` a group of its own, which searches the whole root."""
        self.groups.remove(group)
        self.presearching.remove(group)
        for assignment in group.assignments:
            self._add(assignment.node_id, [assignment])
        self._stale = True

    def _sharers(self) -> list[Assignment]:
        """The nodes that can share out a tree: of one engine, that most of them have, for scores and depths of
        different ones do not compare."""
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

    def _add(self, name: str, assignments: list[Assignment]) -> None:
        group = Group(name, assignments)
        self.groups.append(group)
        self._group_of.update((assignment.node_id, group) for assignment in assignments)

    def group_of(self, assignment: Assignment) -> Group:
        return self._group_of[assignment.node_id]

    def usable(self, group: Group | None = None) -> list[Assignment]:
        """The nodes, of a group or of all, that can be given another job."""
        assignments = self.assignments.values() if group is None else group.assignments
        return [assignment for assignment in assignments if assignment.can_take_job(self.request.nodes)]

    def busy(self) -> bool:
        """Whether any node, the fallback aside, searches. Cheap, as long as the same one does."""
        if self._busy is None or not self._busy.busy:
            self._busy = next((assignment for assignment in self.assignments.values() if assignment.busy), None)
        return self._busy is not None

    def may_split(self, now_ms: int) -> bool:
        """Whether there are nodes and budget enough for a presearch and a split."""
        return len(self._sharers()) >= 2 and self._worth_splitting(now_ms)

    def _worth_splitting(self, now_ms: int) -> bool:
        settings, request = self.settings, self.request
        return (
            settings.mode is not Mode.CONSULT
            and request.multipv == 1  # a tree's leaves prove no more than that the others are worse
            and (self.soft_ms is None or self.soft_ms - now_ms >= settings.min_split_ms)
            and (request.nodes is None or request.nodes >= settings.min_split_nodes)
            and (request.depth is None or request.depth >= settings.min_split_depth)
        )

    def may_redeal(self, group: Group, now_ms: int) -> bool:
        """Whether `RedealLimits` allows that ``group`` deals its tree again now, only for what its nodes have found."""
        redeal = self.settings.redeal
        if self.request.nodes is not None:
            rested, spent, budget = group.furthest - group.dealt_furthest, group.furthest, self.request.nodes
        else:
            rested, spent = now_ms - group.dealt_ms, now_ms - self.started_ms
            if self.soft_ms is None:
                return rested >= max(redeal.rest_ms, redeal.rest * spent)
            budget = self.soft_ms - self.started_ms
        return not self.stopped and rested >= redeal.rest * budget and spent <= redeal.last * budget

    # --- what is known --------------------------------------------------------------------------------------------

    def take_line(self, assignment: Assignment, line: TreeLine, multipv: int) -> None:
        """Enter a checked line of ``assignment``'s job."""
        assignment.note_exact(line)
        voted = assignment.ballot_job
        self.group_of(assignment).take_line(assignment, line, multipv)
        # All lines of a node are of one job: that of its vote, which a later job gets when it has come as deep.
        if self.request.multipv > 1 and assignment.job is not None and assignment.ballot_job == assignment.job.job_id:
            if assignment.ballot_job != voted:
                assignment.lines.clear()
            assignment.lines[multipv] = line
        self.changed(line)

    def changed(self, *lines: TreeLine) -> None:
        """Note that a group's lines have changed, ``lines`` among them."""
        self._stale = self.dirty = True
        self._mate_proven |= any(wins(line) for line in lines)

    def lines(self) -> Iterator[TreeLine]:
        """The lines that speak for the root now: of each leaf of a tree, of a presearch, else each node's own.

        Of leaves of which nothing is known yet, what their moves can be worth at most (`cluster.split.tree.inherit`).
        """
        for group in self.groups:
            if group.phase is Phase.SPLIT:
                yield from group.lines.values()
                if group.root_result is not None and group.root_result not in group.lines.values():
                    yield group.root_result
            elif group.phase is Phase.PRESEARCH and (found := group.ranked()):
                yield from found
            else:
                yield from (assignment.ballot for assignment in group.assignments if assignment.ballot is not None)

    def nodes_answer(self) -> Answer | None:
        """The nodes' answer now; None: no node has one."""
        if self._stale:
            self._answer, self._stale = self._vote(), False
            if lines := self._several_lines():
                ballots, move = self._answer.ballots if self._answer is not None else (), lines[0].pv[0]
                agreement = _share(ballots, move)
                self._answer = Answer(move=move, lines=lines, source="vote", ballots=ballots, agreement=agreement)
        return self._answer

    def answer(self) -> Answer | None:
        """The answer that would be played now: the nodes', else the fallback's; None: neither has one."""
        found = self.nodes_answer()
        if found is None and self.fallback_line is not None:
            return answer_of(self.fallback_line, "fallback")
        return found

    def last_answer(self) -> Answer | None:
        """The answer that ends the search: where neither nodes nor fallback have one, the line expected before, or the
        last resort's."""
        found = self.answer()
        if found is None and self.earlier is not None:
            return answer_of(self.earlier, "earlier")
        if found is None and self.last_word is not None:
            return answer_of(self.last_word, "last_resort")
        return found

    def exactly(self, answer: Answer) -> Answer:
        """``answer`` with an exact line for each of its moves that it knows only a bound of, if any node has reported
        one: the voters' own first, then the deepest. A proven mate stays one."""
        voters = {ballot.voter for ballot in answer.ballots if ballot.move == answer.move}
        nodes = [*self.assignments.values(), *([self.fallback] if self.fallback is not None else ())]

        def exact(line: TreeLine) -> TreeLine:
            if tells_score(line):
                return line
            found = [(node.node_id in voters, node.exact[line.pv[0]]) for node in nodes if line.pv[0] in node.exact]
            return max(found, key=lambda one: (one[0], one[1].depth), default=(False, line))[1]

        lines = tuple(exact(line) for line in answer.lines)
        return answer if lines == answer.lines else replace(answer, lines=lines)

    def _vote(self) -> Answer | None:
        """One group that has dealt its tree speaks for itself; otherwise it is a vote."""
        by_engine: dict[str, list[Ballot]] = {}
        for group in self.groups:
            for name, engine, line, nodes, members in group.voters(self.settings.takeover):
                by_engine.setdefault(engine, []).append(Ballot(name, line, nodes, members))
        # Each engine counts depth in its own way.
        slack = self.settings.ballot_depth_slack
        ballots = [ballot for part in by_engine.values() for ballot in comparable(part, slack)]
        if not ballots:
            return None
        counted = count(ballots, self.settings.counting)
        alone = len(self.groups) == 1 and self.groups[0].phase is Phase.SPLIT
        source = "split" if alone else "vote"
        return answer_of(counted.ballot.line, source, tuple(ballots), counted.agreement)

    def wasted(self, counted: Collection[str], now_ms: int) -> int:
        """Nodes searched for nothing, as `Decision.wasted` has it. ``counted``: the voters whose ballots were."""
        total = 0
        for group in self.groups:
            for assignment in group.assignments:
                counts = group.name in counted and assignment.job_counts
                if group.phase is not Phase.SPLIT:
                    counts = assignment.node_id in counted
                running = assignment.searched(now_ms, self.roster.nps_of(assignment.node_id)) - assignment.spent
                total += assignment.wasted + (0 if counts else running)
        return total

    # --- the end --------------------------------------------------------------------------------------------------

    def time_is_up(self, now_ms: int) -> bool:
        """Whether the search ends now. At the soft time an answer is needed too: the nodes', or after a while the
        fallback's."""
        if self.hard_ms is not None and now_ms >= self.hard_ms:
            return True
        if self.soft_ms is None or now_ms < self.soft_ms:
            return False
        if self.nodes_answer() is not None or (self.stopped and self._nothing_runs()):
            return True
        grace_over = now_ms >= self.soft_ms + self.settings.answer_grace_ms or not self.busy()
        return self.fallback_line is not None and grace_over

    def nothing_to_gain(self) -> bool:
        """Whether waiting any longer can bring nothing: a proven mate, or every job over."""
        if self.infinite:
            return False
        if self.busy():
            return self.won()
        if self.soft_ms is not None and not any(assignment.alive for assignment in self.assignments.values()):
            return False  # a node may come back before the soft time
        return self.nodes_answer() is not None or self._nothing_runs()

    def won(self) -> bool:
        """Whether the nodes' answer is a proven mate, and nothing else is wanted. It can become one only by a line that
        is."""
        if not self._mate_proven or self.request.multipv > 1:
            return False
        self._mate_proven = False
        found = self.nodes_answer()
        return found is not None and wins(found.lines[0])

    def _nothing_runs(self) -> bool:
        return not self.busy() and (self.fallback is None or self.fallback.done)

    # --- for those who watch --------------------------------------------------------------------------------------

    def progress(self, now_ms: int) -> Progress:
        return Progress.of(
            self.answer() or Answer(),
            search_id=self.request.search_id,
            elapsed_ms=now_ms - self.started_ms,
            nodes=self.nodes(now_ms),
            fleet=self.views(now_ms),
        )

    def _several_lines(self) -> tuple[TreeLine, ...]:
        """The best root moves' lines, where several are asked for and nodes have found some."""
        if self.request.multipv == 1:
            return ()
        found: dict[str, list[TreeLine]] = {}
        for assignment in self.assignments.values():
            found.setdefault(assignment.engine, []).extend(assignment.lines.values())
        return tuple(best_lines(found, self.request.multipv, self.settings.ballot_depth_slack))

    def views(self, now_ms: int) -> tuple[NodeView, ...]:
        roster = self.roster
        return tuple(
            assignment.view(
                roster.speeds.get(assignment.node_id, 1.0),
                assignment.searched(now_ms, roster.nps_of(assignment.node_id)),
            )
            for assignment in self.assignments.values()
        )


def answer_of(line: TreeLine, source: str, ballots: tuple[Ballot, ...] = (), agreement: float = 1.0) -> Answer:
    """The answer that ``line`` is."""
    return Answer(move=line.pv[0], lines=(line,), source=source, ballots=ballots, agreement=agreement)


def _share(ballots: Sequence[Ballot], move: str) -> float:
    """The share of the voting nodes that are for ``move``; 1 where there was no vote."""
    total = sum(ballot.members for ballot in ballots)
    return sum(ballot.members for ballot in ballots if ballot.move == move) / total if total else 1.0


def wins(line: TreeLine) -> bool:
    """Whether ``line`` proves a mate by the root's side to move."""
    return line.score > 0 and proves_mate(line)


def is_infinite(request: SearchRequest) -> bool:
    """Whether only a stop ends the search (analysis, pondering)."""
    return request.soft_ms is None and request.nodes is None and request.depth is None


def lines_below(before: SearchRequest, lines: Iterable[TreeLine], request: SearchRequest) -> list[TreeLine]:
    """Lines for the position of ``request``, from ``lines`` that were found some moves before it, in the position of
    ``before``; seen by the side to move in the new position.

    Without those that only say that a reply is no better than so much: nothing tells that it would be played.
    """
    made = request.moves[len(before.moves) :]
    if not made or request.sfen != before.sfen or request.moves != (*before.moves, *made):
        return []
    plies = len(made)
    seen = [as_seen(line, plies) for line in lines if line.pv[:plies] == made and len(line.pv) > plies]
    return [
        replace(line, depth=max(0, line.depth - plies), score=_nearer(line.score, plies), pv=line.pv[plies:])
        for line in seen
        if line.bound is not Bound.UPPER
    ]


def _nearer(score: int, plies: int) -> int:
    """A score as it is ``plies`` later: a mate is so much nearer then."""
    return score + (plies if score > 0 else -plies) if is_mate(score) else score
