"""A group that splits: two or more nodes, which share a tree and have one answer.

A group's phases::

    PRESEARCH ─ a line, and time over ─► SPLIT   (dealt again when a node leaves or joins, and if results
                                                  give a reason)

A presearch without a result ends in one group per node (`Search.scatter`); until a group has dealt its tree, its nodes
vote individually. A group in ``SPLIT`` with one node left gives it the whole root, and one with none left keeps its
lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cluster.coordination.group import WHOLE_ROOT, Assignment, Group, Voter
from cluster.coordination.roster import speed_class
from cluster.coordination.settings import Settings
from cluster.coordination.states import Phase
from cluster.network.messages import Job
from cluster.split.dealing import Presearch, deal
from cluster.split.evaluation import TreeEvaluation, Window, windows
from cluster.split.redeal import contention, is_decided, match, reason, window_is_lost
from cluster.split.tree import (
    Leaf,
    Legal,
    TakeoverMargin,
    Tree,
    TreeLine,
    as_seen,
    inherit,
    leaves,
    proves_mate,
    replaces,
)
from worker.engine import Bound

_SMALL = 16
"""In groups up to this size every report triggers a check whether to deal the tree again."""


@dataclass(slots=True, eq=False)
class SplitGroup(Group):
    """See the module docstring."""

    presearch: Presearch = field(default_factory=lambda: Presearch(1))
    root_searchers: dict[Assignment, None] = field(default_factory=dict)
    """The nodes that always search the whole root, through presearch and deals."""
    root_result: TreeLine | None = None
    """The deepest line that they have found since the presearch."""
    presearch_until_ms: int | None = None
    """None: the presearch ends by its node or depth limit."""
    tree: Tree = WHOLE_ROOT
    leaf_lines: dict[Leaf, TreeLine] = field(default_factory=dict)
    """The lines known of the tree's leaves."""
    known: dict[tuple[str, ...], TreeLine] = field(default_factory=dict)
    """Known lines of moves, from the presearch and from every tree so far (`cluster.split.tree.Known`)."""
    windows: Mapping[Leaf, Window] = field(default_factory=dict)
    """The score window for each leaf, as of the last deal."""
    contenders: frozenset[str] = frozenset()
    """The moves in contention at that time."""
    dealt_ms: int = 0
    """The time of the last deal."""
    furthest: int = 0
    """The most nodes that one of its nodes has searched."""
    dealt_furthest: int = 0
    """`furthest` at the last deal."""
    _finished: dict[Leaf, Job] = field(default_factory=dict)
    """Leaves whose search ended by itself, with the job; some may be from an earlier tree."""
    _ended: dict[Assignment, None] = field(default_factory=dict)
    """Assignments whose jobs have ended since the last deal."""
    _first: Leaf | None = None
    """The leaf that is credited to the root searchers, as part of the whole root."""
    _unlooked: int = 0
    """Reports since the last check whether to deal the tree again."""
    _evaluation: TreeEvaluation | None = None
    """The tree with its lines; None: something changed since it was computed."""
    _merged: TreeLine | None = None
    """The group's line, merged from the tree and the root searchers."""

    def take_line(self, assignment: Assignment, line: TreeLine, multipv: int) -> None:
        """Record a checked line of ``assignment``'s job. A leaf keeps a deeper line from an earlier job."""
        self.furthest = max(self.furthest, assignment.nodes)
        if multipv == 1:
            assignment.line = line
            if assignment.leaf == WHOLE_ROOT:
                assignment.vote_for(line)
        if self.phase is Phase.PRESEARCH:
            if assignment not in self.root_searchers:
                self.presearch.add(assignment.node_id, multipv, line)
        elif multipv != 1:
            return
        elif assignment in self.root_searchers:
            if replaces(line, self.root_result):
                self.root_result = line
                self._found(assignment)
                if self._first is not None and self._first.holds(line.pv):
                    self.leaf_lines[self._first] = line
        elif replaces(line, self.leaf_lines.get(assignment.leaf)):
            self.leaf_lines[assignment.leaf] = line
            self._found(assignment)
            self._learn(assignment.leaf, line)

    def _found(self, assignment: Assignment) -> None:
        assignment.job_counts = True
        self._evaluation = None
        self._unlooked += 1

    def _learn(self, leaf: Leaf, line: TreeLine) -> None:
        """Keep a leaf's line as knowledge of its first move. An upper bound on several moves says nothing about the
        first of them."""
        if as_seen(line, len(leaf.path)).bound is Bound.UPPER and len(leaf.moves) != 1:
            return
        key = line.pv[: len(leaf.path) + 1]
        if replaces(line, self.known.get(key)):
            self.known[key] = line

    def merged(self, takeover: TakeoverMargin) -> TreeLine | None:
        """The answer of a group in ``SPLIT``: the line of its tree, or None if nothing is known."""
        self.evaluation(takeover)
        return self._merged

    def evaluation(self, takeover: TakeoverMargin) -> TreeEvaluation:
        """The tree with its current lines."""
        if self._evaluation is None:
            self._evaluation = TreeEvaluation(self.tree, self.leaf_lines, takeover)
            self._merged = self._evaluation.best(self.root_result)
        return self._evaluation

    def choose_root_searchers(
        self, nodes: Sequence[Assignment], share: float, speeds: Mapping[str, float], least: int = 0
    ) -> None:
        """Make a share of ``nodes`` the root searchers: those that already are, the oldest first, then those that
        search the whole root anyway, then the fastest.

        Args:
            share: `Settings.root_share`.
            speeds: as in `deal`.
            least: the least number of nodes.
        """
        wanted = max(least, 1, round(share * len(nodes))) if share else least
        places = {assignment: place for place, assignment in enumerate(self.root_searchers)}
        ordered = sorted(
            nodes,
            key=lambda assignment: (
                places.get(assignment, len(places)),
                not _searches_all(assignment),
                -_class(assignment, speeds),
            ),
        )
        self.root_searchers = dict.fromkeys(ordered[: min(wanted, len(nodes) - 1)])

    @property
    def presearch_runs(self) -> bool:
        return any(assignment.busy and assignment not in self.root_searchers for assignment in self.assignments)

    def ranked(self) -> tuple[TreeLine, ...]:
        """Lines found by the presearch and by the root searchers, best first; one for each move."""
        deepest = max(
            (assignment.ballot for assignment in self.root_searchers if assignment.ballot),
            key=lambda line: (proves_mate(line) and line.score > 0, line.depth),
            default=None,
        )
        found: dict[str, TreeLine] = {}
        for line in (*((deepest,) if deepest else ()), *self.presearch.lines()):
            found.setdefault(line.pv[0], line)
        return tuple(found.values())

    def begin_split(self, found: Sequence[TreeLine]) -> None:
        """Begin the split after the presearch; ``found``: the result of `ranked`, at least one line."""
        self.enter(Phase.SPLIT)
        self.root_result = found[0] if self.root_searchers else None
        self._evaluation = None  # there may be no node yet to deal the tree to
        self.known = {line.pv[:1]: line for line in found}
        self.known[()] = found[0]

    def voters(self, takeover: TakeoverMargin) -> Iterable[Voter]:
        """The group if it has dealt its tree, else each of its nodes."""
        if self.phase is not Phase.SPLIT:
            return Group.voters(self, takeover)
        line = self.merged(takeover)
        if line is None:
            return ()
        searched = [assignment for assignment in self.assignments if assignment.nodes] or self.assignments[:1]
        nodes = sum(assignment.nodes for assignment in searched)
        members = [assignment.node_id for assignment in searched]
        return (Voter(self.name, self.assignments[0].engine, line, nodes, members),)

    def lines(self) -> Iterator[TreeLine]:
        """The lines of the tree's leaves and of the root searchers; before there is a tree, those of the presearch.

        For leaves without a line, the upper bound of their moves (`cluster.split.tree.inherit`).
        """
        if self.phase is Phase.SPLIT:
            yield from self.leaf_lines.values()
            if self.root_result is not None and self.root_result not in self.leaf_lines.values():
                yield self.root_result
        else:
            yield from self.ranked() or Group.lines(self)

    def why_redeal(self, settings: Settings) -> str | None:
        """The reason to deal the tree again, according to the current lines; None: there is none. The cost is
        proportional to the number of leaves, so a large group checks only after a number of reports."""
        if not self._ended and self._unlooked <= (len(self.assignments) if len(self.assignments) > _SMALL else 0):
            return None
        self._unlooked = 0
        for assignment in self._ended:
            if assignment.done:
                return f"the job of {assignment.leaf.label} is over"
        redeal = settings.redeal
        evaluation, best = self.evaluation(settings.takeover), self.merged(settings.takeover)
        why = reason(evaluation, self.contenders, best)
        if why is not None:
            return why
        wanted = windows(evaluation)
        held = {assignment.leaf for assignment in self.assignments if assignment.job is not None}
        if self.root_searchers and self._first is not None:
            held.add(self._first)
        for assignment in self.assignments:
            leaf = assignment.leaf
            if assignment.job is None or leaf not in wanted or assignment in self.root_searchers:
                continue
            if window_is_lost(assignment.job, leaf, self.leaf_lines.get(leaf), wanted[leaf], redeal.window_slack):
                return f"the window of {leaf.label} is lost"
            if is_decided(leaf, evaluation, best, redeal.ahead):
                return f"{leaf.label} is decided"
        held |= self._settled(wanted, settings)
        for leaf in wanted:
            if leaf not in held and not is_decided(leaf, evaluation, best, redeal.ahead):
                return f"{leaf.label} is due"
        return None

    def job_ended(self, assignment: Assignment) -> None:
        """The job of ``assignment`` ended early: its leaf needs no more search, and the node can get another job."""
        if self.phase is Phase.SPLIT and assignment not in self.root_searchers and assignment.job is not None:
            self._ended[assignment] = None
            if assignment.leaf in self.leaf_lines:
                self._finished[assignment.leaf] = assignment.job

    def _settled(self, wanted: Mapping[Leaf, Window], settings: Settings) -> set[Leaf]:
        """The leaves of the tree whose jobs are over, if their results still matter."""
        slack = settings.redeal.window_slack
        return {
            leaf
            for leaf, job in self._finished.items()
            if leaf in wanted and not window_is_lost(job, leaf, self.leaf_lines.get(leaf), wanted[leaf], slack)
        }

    def deal(
        self, nodes: Sequence[Assignment], legal: Legal, settings: Settings, speeds: Mapping[str, float]
    ) -> tuple[list[tuple[Assignment, Leaf]], list[Assignment]]:
        """Deal the tree again over ``nodes`` (at least one), with the known lines. The root searchers have its first
        leaf.

        Leaves that stay in the tree remain on their nodes, if their results still matter; of the others, the likeliest
        go to the fastest nodes. A node without a leaf joins the root searchers, if there are any.

        Args:
            speeds: by node id, as returned by `cluster.coordination.roster.Roster.speeds`.

        Returns:
            The assignments that get a new leaf, and those that lose their job.
        """
        takeover, redeal = settings.takeover, settings.redeal
        evaluation, best = self.evaluation(takeover), self.merged(takeover)
        self.known.update(evaluation.survey())
        if best is not None:
            self.known[()] = self.known[best.pv[:1]] = best
        self.choose_root_searchers(nodes, settings.root_share, speeds)
        if not self.root_searchers:
            self.root_result = None
        elif self.root_result is None:
            self.root_result = best  # they begin now, and count for the group only when they are as deep
        others = [assignment for assignment in nodes if assignment not in self.root_searchers]
        waiting = self._settled(windows(evaluation), settings)
        waiting.update(leaf for leaf in self.leaf_lines if is_decided(leaf, evaluation, best, redeal.ahead))
        if len(nodes) == 1:
            waiting.clear()  # one node has the whole root
        for more in dict.fromkeys((len(waiting), len(waiting) // 2, len(waiting) // 4, 0)):  # each costs a deal
            tree = deal(self.known, legal, len(others) + bool(self.root_searchers) + more, settings.dealing, takeover)
            self._first, *rest = leaves(tree)
            wanted = dict.fromkeys(
                leaf for leaf in (rest if self.root_searchers else (self._first, *rest)) if leaf not in waiting
            )
            if len(wanted) <= len(others):
                break
        kept = {leaf: line for leaf in leaves(tree) if (line := self.leaf_lines.get(leaf)) is not None}
        self.tree = tree
        self.leaf_lines = inherit(tree, self.known, legal, takeover) | kept
        dealt = TreeEvaluation(tree, self.leaf_lines, takeover)
        self.windows = windows(dealt)
        self.contenders = contention(dealt)
        self.dealt_furthest = self.furthest
        self._evaluation, self._unlooked = None, 0
        usable = set(others)
        given: list[tuple[Assignment, Leaf]] = []
        free: list[Assignment] = []
        taken: list[Assignment] = []
        for assignment in self.assignments:
            leaf = assignment.leaf
            if assignment in self.root_searchers:
                if not _searches_all(assignment):
                    given.append((assignment, WHOLE_ROOT))
                continue
            if assignment.job is None or leaf not in wanted or assignment in self._ended:
                (free if assignment in usable else taken).append(assignment)
                continue
            del wanted[leaf]
            lost = window_is_lost(
                assignment.job, leaf, self.leaf_lines.get(leaf), self.windows[leaf], redeal.window_slack
            )
            if lost and assignment in usable:
                given.append((assignment, leaf))
        self._ended.clear()
        free.sort(key=lambda assignment: -_class(assignment, speeds))
        places = match([(assignment.leaf, _class(assignment, speeds)) for assignment in free], wanted)
        given += [(free[place], leaf) for place, leaf in zip(places, wanted, strict=False)]
        busy = set(places)
        left = [assignment for place, assignment in enumerate(free) if place not in busy]
        if not self.root_searchers:
            return given, taken + left
        self.root_searchers.update(dict.fromkeys(left))
        return given + [(assignment, WHOLE_ROOT) for assignment in left if not _searches_all(assignment)], taken


def _searches_all(assignment: Assignment) -> bool:
    """Whether its job is a root searcher's."""
    return assignment.job is not None and assignment.job.multipv == 1 and assignment.leaf == WHOLE_ROOT


def _class(assignment: Assignment, speeds: Mapping[str, float]) -> int:
    return speed_class(speeds.get(assignment.node_id, 1.0))
