"""A group: the nodes that search as one, share out a tree between them, and have one answer.

A search has one group or many. Groups vote (`cluster.coordination.search_state`); within a group there is no vote but
the negamax of its tree. With one group of all nodes that is a plain split, with every node a group of its own plain
consultation, and between them lie the two tiers of Gikou's consultation of clusters. Losses, joins and re-deals concern
one group only.

A group's way::

    two nodes or more: PRESEARCH ─ a line, and time over ─► SPLIT   (dealt again when a node leaves or comes, and
                           ▲                                         where what is found gives a reason)
    one node:          WHOLE ─ another node comes, if it pays

A presearch that comes to nothing ends in as many groups as it had nodes (`Search.scatter`); until a group has dealt
its tree its nodes vote for themselves. A group in ``SPLIT`` that is left with one node gives it the whole root, and
one that is left with none keeps what it knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cluster.coordination.roster import speed_class
from cluster.coordination.settings import Settings
from cluster.coordination.states import GROUP, Phase
from cluster.coordination.work import WHOLE_ROOT, Work
from cluster.network.messages import Job
from cluster.split.dealing import deal
from cluster.split.ranking import Presearch
from cluster.split.redeal import contention, is_decided, match, reason, window_is_lost
from cluster.split.standing import Standing
from cluster.split.tree import Caution, Leaf, Legal, Line, Tree, as_seen, inherit, leaves
from cluster.split.windows import Window, windows
from worker.engine import Bound
from worker.states import TransitionError

_SMALL = 16
"""In a group of so many nodes every report is looked at for whether the tree should be dealt again."""


@dataclass(slots=True, eq=False)
class Group:
    """See the module's text. Times are milliseconds of the driver's clock."""

    name: str
    """Of the voter: the node's id where it is one node, else ``split``, or ``group-1`` … where there are several."""
    works: list[Work]
    """In the order in which the nodes came; the dead stay."""
    phase: Phase = Phase.WHOLE
    presearch: Presearch = field(default_factory=lambda: Presearch(1))
    trunk: dict[Work, None] = field(default_factory=dict)
    """The nodes that search the whole root all the time, through presearch and deals."""
    trunk_line: Line | None = None
    """The deepest line that they have found since the presearch."""
    presearch_until_ms: int | None = None
    """None: the presearch ends by its node or depth limit."""
    tree: Tree = WHOLE_ROOT
    lines: dict[Leaf, Line] = field(default_factory=dict)
    """What is known of the tree's leaves."""
    known: dict[tuple[str, ...], Line] = field(default_factory=dict)
    """What was found out about moves, in the presearch and under every tree so far (`cluster.split.tree.Known`)."""
    windows: Mapping[Leaf, Window] = field(default_factory=dict)
    """What is to be found out about the tree's leaves, as of the last deal."""
    contenders: frozenset[str] = frozenset()
    """The moves that were in contention then."""
    dealt_ms: int = 0
    """When that was."""
    furthest: int = 0
    """The most nodes that one of its nodes has searched."""
    dealt_furthest: int = 0
    """How many that were at the last deal."""
    _finished: dict[Leaf, Job] = field(default_factory=dict)
    """Leaves whose search came to its end by itself, with that job; some may be of an earlier tree."""
    _ended: dict[Work, None] = field(default_factory=dict)
    """Whose jobs came to their end since the last deal."""
    _first: Leaf | None = None
    """The leaf that the trunk has, as a part of the whole root."""
    _unlooked: int = 0
    """Reports since it was last asked whether the tree should be dealt again."""
    _standing: Standing | None = None
    """The tree with its lines; None: something changed since it was asked for."""
    _merged: Line | None = None
    """What that comes to, with the trunk."""

    @property
    def is_lone(self) -> bool:
        """Whether it is one node that searches the whole root."""
        return self.phase is Phase.WHOLE and len(self.works) == 1

    def enter(self, phase: Phase) -> None:
        """Go on to ``phase``. Raises TransitionError: there is no way to it from the present one."""
        if phase not in GROUP[self.phase]:
            raise TransitionError(f"{self.name}: from {self.phase} to {phase}: not in the table")
        self.phase = phase

    def take_line(self, work: Work, line: Line, multipv: int) -> None:
        """Enter a checked line of ``work``'s job. A leaf keeps a deeper line that it had from an earlier job."""
        self.furthest = max(self.furthest, work.nodes)
        if multipv == 1:
            work.line = line
            if work.leaf == WHOLE_ROOT:
                work.ballot = line
        if self.phase is Phase.PRESEARCH:
            if work not in self.trunk:
                self.presearch.add(work.node_id, multipv, line)
        elif multipv != 1:
            return
        elif self.phase is Phase.WHOLE:
            work.job_counts = True
        elif work in self.trunk:
            if self.trunk_line is None or line.depth >= self.trunk_line.depth:
                self.trunk_line = line
                self._found(work)
                if self._first is not None and self._first.holds(line.pv):
                    self.lines[self._first] = line
        else:
            known = self.lines.get(work.leaf)
            if known is None or line.depth >= known.depth:
                self.lines[work.leaf] = line
                self._found(work)
                self._learn(work.leaf, line)

    def _found(self, work: Work) -> None:
        work.job_counts = True
        self._standing = None
        self._unlooked += 1

    def _learn(self, leaf: Leaf, line: Line) -> None:
        """Of several moves that are worth "at most this" nothing is known of the one that the line begins with."""
        if as_seen(line, len(leaf.path)).bound is Bound.UPPER and len(leaf.moves) != 1:
            return
        key = line.pv[: len(leaf.path) + 1]
        known = self.known.get(key)
        if known is None or line.depth >= known.depth:
            self.known[key] = line

    def merged(self, caution: Caution) -> Line | None:
        """The answer of a group in ``SPLIT``: what its tree comes to, or None where nothing is known of it."""
        self.standing(caution)
        return self._merged

    def standing(self, caution: Caution) -> Standing:
        """How the tree stands by what is known now."""
        if self._standing is None:
            self._standing = Standing(self.tree, self.lines, caution)
            self._merged = self._standing.best(self.trunk_line)
        return self._standing

    def choose_trunk(self, nodes: Sequence[Work], share: float, speeds: Mapping[str, float], least: int = 0) -> None:
        """Of ``nodes`` this share (`Settings.trunk`), or ``least``, is the trunk: those that are already first, the
        oldest before the others, then the fastest. ``speeds``: as `deal` has them."""
        wanted = max(least, 1, round(share * len(nodes))) if share else least
        places = {work: place for place, work in enumerate(self.trunk)}
        ordered = sorted(nodes, key=lambda work: (places.get(work, len(places)), -_class(work, speeds)))
        self.trunk = dict.fromkeys(ordered[: min(wanted, len(nodes) - 1)])

    @property
    def presearch_runs(self) -> bool:
        return any(work.busy and work not in self.trunk for work in self.works)

    def ranked(self) -> tuple[Line, ...]:
        """What the presearch, and the trunk beside it, have found, best first; of several lines of a move the first."""
        deepest = max((work.ballot for work in self.trunk if work.ballot), key=lambda line: line.depth, default=None)
        lines = (*((deepest,) if deepest else ()), *self.presearch.lines())
        return tuple({line.pv[0]: line for line in reversed(lines)}.values())[::-1]

    def begin_split(self, found: Sequence[Line]) -> None:
        """The presearch is over; ``found``: `ranked`, one line at least."""
        self.enter(Phase.SPLIT)
        self.trunk_line = found[0] if self.trunk else None
        self._standing = None  # there may be nobody yet to deal the tree to
        self.known = {line.pv[:1]: line for line in found}
        self.known[()] = found[0]

    def voters(self, caution: Caution) -> list[tuple[str, str, Line, int, int]]:
        """Name, engine, answer, nodes searched and members of each voter that has an answer: the group where it has
        dealt its tree, else each of its nodes."""
        if self.phase is not Phase.SPLIT:
            return [
                (work.node_id, work.engine, work.ballot, work.nodes, 1)
                for work in self.works
                if work.ballot is not None
            ]
        line = self.merged(caution)
        if line is None:
            return []
        searched = [work.nodes for work in self.works if work.nodes]
        return [(self.name, self.works[0].engine, line, sum(searched), max(1, len(searched)))]

    def why_redeal(self, settings: Settings) -> str | None:
        """Why the tree should be dealt again by what is known now; None: it should not. To look costs as much as there
        are leaves: in a large group it is done for every so many reports."""
        if not self._ended and self._unlooked <= (len(self.works) if len(self.works) > _SMALL else 0):
            return None
        self._unlooked = 0
        for work in self._ended:
            if work.done:
                return f"the job of {work.leaf.label} is over"
        patience = settings.patience
        standing, best = self.standing(settings.caution), self.merged(settings.caution)
        why = reason(standing, self.contenders, best)
        if why is not None:
            return why
        wanted = windows(standing)
        held = {work.leaf for work in self.works if work.job is not None}
        if self.trunk and self._first is not None:
            held.add(self._first)
        for work in self.works:
            leaf = work.leaf
            if work.job is None or leaf not in wanted or work in self.trunk:
                continue
            if window_is_lost(work.job, leaf, self.lines.get(leaf), wanted[leaf], patience.window_slack):
                return f"the window of {leaf.label} is lost"
            if is_decided(leaf, standing, best, patience.ahead):
                return f"{leaf.label} is decided"
        held |= self._settled(wanted, settings)
        for leaf in wanted:
            if leaf not in held and not is_decided(leaf, standing, best, patience.ahead):
                return f"{leaf.label} is due"
        return None

    def job_ended(self, work: Work) -> None:
        """The job of ``work`` is over before its time: its leaf needs no more, and it can be given another."""
        if self.phase is Phase.SPLIT and work not in self.trunk and work.job is not None:
            self._ended[work] = None
            if work.leaf in self.lines:
                self._finished[work.leaf] = work.job

    def _settled(self, wanted: Mapping[Leaf, Window], settings: Settings) -> set[Leaf]:
        """The leaves of the tree whose jobs are over, if what they were to find out still matters."""
        slack = settings.patience.window_slack
        return {
            leaf
            for leaf, job in self._finished.items()
            if leaf in wanted and not window_is_lost(job, leaf, self.lines.get(leaf), wanted[leaf], slack)
        }

    def deal(
        self, nodes: Sequence[Work], legal: Legal, settings: Settings, speeds: Mapping[str, float]
    ) -> tuple[list[tuple[Work, Leaf]], list[Work]]:
        """Deal the tree anew over ``nodes`` (one at least), by what is known. The trunk has its first leaf.

        Leaves that stay, stay where they are searched, if what they were to find out still matters; of the others the
        likeliest go to the fastest nodes. A node for which there is no leaf joins the trunk, if there is one.

        Args:
            speeds: by node id, as `cluster.coordination.roster.Roster.speeds`.

        Returns:
            Who is to be given which leaf, and whose job is to be taken away.
        """
        caution, patience = settings.caution, settings.patience
        standing, best = self.standing(caution), self.merged(caution)
        self.known.update(standing.survey())
        if best is not None:
            self.known[()] = self.known[best.pv[:1]] = best
        self.choose_trunk(nodes, settings.trunk, speeds)
        if not self.trunk:
            self.trunk_line = None
        others = [work for work in nodes if work not in self.trunk]
        waiting = self._settled(windows(standing), settings)
        waiting.update(leaf for leaf in self.lines if is_decided(leaf, standing, best, patience.ahead))
        for more in dict.fromkeys((len(waiting), len(waiting) // 2, len(waiting) // 4, 0)):  # each costs a deal
            tree = deal(self.known, legal, len(others) + bool(self.trunk) + more, settings.dealing, caution)
            self._first, *rest = leaves(tree)
            wanted = dict.fromkeys(
                leaf for leaf in (rest if self.trunk else (self._first, *rest)) if leaf not in waiting
            )
            if len(wanted) <= len(others):
                break
        kept = {leaf: line for leaf in leaves(tree) if (line := self.lines.get(leaf)) is not None}
        self.tree = tree
        self.lines = inherit(tree, self.known, legal, caution) | kept
        dealt = Standing(tree, self.lines, caution)
        self.windows = windows(dealt)
        self.contenders = contention(dealt)
        self.dealt_furthest = self.furthest
        self._standing, self._unlooked = None, 0
        usable = set(others)
        given: list[tuple[Work, Leaf]] = []
        free: list[Work] = []
        taken: list[Work] = []
        for work in self.works:
            leaf = work.leaf
            if work in self.trunk:
                if not _searches_all(work):
                    given.append((work, WHOLE_ROOT))
                continue
            if work.job is None or leaf not in wanted or work in self._ended:
                (free if work in usable else taken).append(work)
                continue
            del wanted[leaf]
            lost = window_is_lost(work.job, leaf, self.lines.get(leaf), self.windows[leaf], patience.window_slack)
            if lost and work in usable:
                given.append((work, leaf))
        self._ended.clear()
        free.sort(key=lambda work: -_class(work, speeds))
        places = match([(work.leaf, _class(work, speeds)) for work in free], wanted)
        given += [(free[place], leaf) for place, leaf in zip(places, wanted, strict=False)]
        busy = set(places)
        left = [work for place, work in enumerate(free) if place not in busy]
        if not self.trunk:
            return given, taken + left
        self.trunk.update(dict.fromkeys(left))
        return given + [(work, WHOLE_ROOT) for work in left if not _searches_all(work)], taken


def _searches_all(work: Work) -> bool:
    """Whether its job is that of the trunk."""
    return work.job is not None and work.job.multipv == 1 and work.leaf == WHOLE_ROOT


def _class(work: Work, speeds: Mapping[str, float]) -> int:
    return speed_class(speeds.get(work.node_id, 1.0))
