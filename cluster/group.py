"""A group: the nodes that search as one, share out a tree between them, and have one answer.

A search has one group or many. Groups vote (`cluster.search_state`); within a group there is no vote but the negamax of
its tree. With one group of all nodes that is a plain split, with every node a group of its own plain consultation, and
between them lie the two tiers of Gikou's consultation of clusters. Losses, joins and re-deals concern one group only.

A group's way::

    two nodes or more: PRESEARCH ─ a line, and time over ─► SPLIT   (re-dealt when a node leaves or comes)
    one node:          WHOLE

A presearch that comes to nothing ends in as many groups as it had nodes (`Search.scatter`); until a group has dealt
its tree its nodes vote for themselves. A group in ``SPLIT`` that is left with one node gives it the whole root, and
one that is left with none keeps what it knows.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cluster.ranking import Presearch
from cluster.roster import speed_class
from cluster.split import Caution, Leaf, Line, Tree, flat, inherit, leaves, merge
from cluster.work import WHOLE_ROOT, Work


class Phase(enum.StrEnum):
    """What a group does. In ``WHOLE`` it has one node."""

    PRESEARCH = "presearch"
    SPLIT = "split"
    WHOLE = "whole"


@dataclass(slots=True, eq=False)
class Group:
    """See the module's text. Times are milliseconds of the driver's clock."""

    name: str
    """Of the voter: the node's id where it is one node, else ``split``, or ``group-1`` … where there are several."""
    works: list[Work]
    """In the order in which the nodes came; the dead stay."""
    phase: Phase = Phase.WHOLE
    presearch: Presearch = field(default_factory=lambda: Presearch(1))
    veteran: Work | None = None
    """The node that goes on with its search of the whole root during the presearch of those that joined it."""
    presearch_until_ms: int | None = None
    """None: the presearch ends by its node or depth limit."""
    ranking: tuple[str, ...] = ()
    """Every legal move, the likeliest best one first; empty until a tree was dealt."""
    tree: Tree = WHOLE_ROOT
    lines: dict[Leaf, Line] = field(default_factory=dict)
    """What is known of the tree's leaves."""
    _merged: Line | None = None
    _stale: bool = False
    """``_merged`` is not what ``lines`` say now."""

    @property
    def busy(self) -> bool:
        return any(work.busy for work in self.works)

    def usable(self, limit: int | None) -> list[Work]:
        """The nodes that can be given another job; ``limit`` as `Work.may_work` has it."""
        return [work for work in self.works if work.may_work(limit)]

    def take_line(self, work: Work, line: Line, multipv: int) -> None:
        """Enter a checked line of ``work``'s job. A leaf keeps a deeper line that it had from an earlier job."""
        if multipv == 1:
            work.line = line
            if work.leaf == WHOLE_ROOT:
                work.ballot = line
        if self.phase is Phase.PRESEARCH:
            self.presearch.add(work.node_id, multipv, line)
        elif multipv != 1:
            return
        elif self.phase is Phase.WHOLE:
            work.job_counts = True
        else:
            known = self.lines.get(work.leaf)
            if known is None or line.depth >= known.depth:
                self.lines[work.leaf] = line
                work.job_counts = True
                self._stale = True

    def merged(self, caution: Caution) -> Line | None:
        """The answer of a group in ``SPLIT``: what its tree comes to, or None where nothing is known of it."""
        if self._stale:
            self._merged, self._stale = merge(self.tree, self.lines, caution), False
        return self._merged

    def voters(self, caution: Caution) -> list[tuple[str, str, Line, int]]:
        """Name, engine, answer and nodes searched of each voter that has an answer: the group where it has dealt its
        tree, else each of its nodes."""
        if self.phase is not Phase.SPLIT:
            return [
                (work.node_id, work.engine, work.ballot, work.nodes) for work in self.works if work.ballot is not None
            ]
        line = self.merged(caution)
        nodes = sum(work.nodes for work in self.works)
        return [] if line is None else [(self.name, self.works[0].engine, line, nodes)]

    def deal(
        self, known: Sequence[Line], nodes: Sequence[Work], caution: Caution, speeds: Mapping[str, float]
    ) -> tuple[list[tuple[Work, Leaf]], list[Work]]:
        """Deal the root's moves by the ranking over ``nodes`` (one at least); ``known`` becomes what is known of them.

        Leaves that stay, stay where they are searched; of the others the likeliest go to the fastest nodes.

        Args:
            speeds: by node id, as `cluster.roster.Roster.speeds`.

        Returns:
            Who is to be given which leaf, and whose job is to be taken away.
        """
        self.tree = flat(self.ranking, len(nodes))
        self.lines = inherit(self.tree, known, self.ranking, caution)
        self._stale = True
        wanted = dict.fromkeys(leaves(self.tree))
        usable = set(nodes)
        free: list[Work] = []
        taken: list[Work] = []
        for work in self.works:
            if work.job is not None and work.leaf in wanted:
                del wanted[work.leaf]
            else:
                (free if work in usable else taken).append(work)
        free.sort(key=lambda work: -speed_class(speeds.get(work.node_id, 1.0)))
        given = list(zip(free, wanted, strict=False))
        return given, taken + free[len(given) :]
