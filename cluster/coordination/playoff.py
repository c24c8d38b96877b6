"""The playoff after a vote: the vote nominates, the split decides.

If two moves or more are nearly level, the last part of the time goes to a split of the root over them. Each node
searches only one of them, with the help of the shared tables; the best score wins. A vote counts heads; to find out
which of its moves is right takes more search, not another way of counting. A move that is far ahead needs no playoff: a
few nodes that search another one for a short time see less than the many that rejected it.

The vote stands until every nominated move has been searched about as deep as in the vote. So no shallow score overrules
the voters, however early the playoff ends and whichever node dies in it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cluster.api import Ballot
from cluster.coordination.settings import PlayoffSettings
from cluster.split.tree import Leaf, TreeLine, proves_mate


@dataclass(frozen=True, slots=True)
class Nominee:
    """A move that got votes."""

    move: str
    votes: int
    """The number of nodes that voted for it."""
    line: TreeLine
    """The deepest line of its voters."""

    @property
    def leaf(self) -> Leaf:
        """Its part of the root."""
        return Leaf(moves=(self.move,))


def nominees(ballots: Sequence[Ballot], choice: str, settings: PlayoffSettings) -> tuple[Nominee, ...]:
    """The moves with nearly as many votes as the leader, according to ``settings``: first the vote's own ``choice``,
    then by votes, then by score."""
    by_move: defaultdict[str, list[Ballot]] = defaultdict(list)
    for ballot in ballots:
        by_move[ballot.move].append(ballot)
    found = [
        Nominee(move, sum(ballot.members for ballot in own), max((ballot.line for ballot in own), key=_depth))
        for move, own in by_move.items()
    ]
    least = max(one.votes for one in found) - settings.lead * sum(one.votes for one in found)
    near = [one for one in found if one.move == choice or one.votes >= least]
    near.sort(key=lambda one: (one.move != choice, -one.votes, -one.line.score))
    return tuple(near[: settings.moves])


@dataclass(slots=True)
class Playoff:
    """A running playoff."""

    nominees: tuple[Nominee, ...]
    """Two or more; the vote's choice first."""
    lines: dict[str, dict[str, TreeLine]] = field(default_factory=dict)
    """The last line by move and by node. A lost node's line is kept."""

    @property
    def depth(self) -> int:
        """The least depth of a line that counts: the vote's depth for its shallowest nominee, less one."""
        return min(one.line.depth for one in self.nominees) - 1

    def take_line(self, node_id: str, line: TreeLine) -> None:
        """Record a checked line of a nominee."""
        self.lines.setdefault(line.pv[0], {})[node_id] = line

    def scores(self) -> dict[str, tuple[float, TreeLine]]:
        """By nominee, the mean score and the deepest line of the lines that count; nominees without such a line are
        missing."""
        found: dict[str, tuple[float, TreeLine]] = {}
        for one in self.nominees:
            lines = [line for line in self.lines.get(one.move, {}).values() if line.depth >= self.depth or _won(line)]
            if not lines:
                continue
            deepest = max(lines, key=_depth)
            if any(_won(line) for line in lines):
                deepest = max(lines, key=lambda line: line.score)
                mean: float = deepest.score
            else:
                last = [line.score for line in lines if line.depth >= deepest.depth - 1]
                mean = sum(last) / len(last)
            found[one.move] = mean, deepest
        return found

    def verdict(self, margin: int) -> TreeLine | None:
        """The deepest line of the winning move, which has the highest mean score. None: the vote stands.

        Args:
            margin: centipawns by which a move must be better than the vote's own choice.
        """
        found = self.scores()
        if len(found) < len(self.nominees):
            return None
        choice = self.nominees[0].move
        best = max(found, key=lambda move: found[move][0] + (margin if move == choice else 0))
        return found[best][1]

    def deal(self, now_at: Mapping[str, str | None]) -> dict[str, Nominee]:
        """Assign a nominee to each node: equally many nodes for each, as far as possible, so that all scores are
        equally good, regardless of votes. A node keeps its nominee if possible; surplus nodes stay where they are, then
        go to the vote's own choice.

        Args:
            now_at: the usable nodes, at least one, and the nominee that each searches now, if any.
        """
        there = Counter(now_at.values())
        each, over = divmod(len(now_at), len(self.nominees))
        ordered = sorted(self.nominees, key=lambda one: there[one.move] <= each)
        wanted = {one: each + (place < over) for place, one in enumerate(ordered)}
        by_move = {one.move: one for one in self.nominees}
        dealt: dict[str, Nominee] = {}
        taken: Counter[str] = Counter()
        for node_id, move in now_at.items():
            if move is not None and taken[move] < wanted[by_move[move]]:
                dealt[node_id] = by_move[move]
                taken[move] += 1
        open_ = [one for one in self.nominees for _ in range(wanted[one] - taken[one.move])]
        free = [node_id for node_id in now_at if node_id not in dealt]
        return dealt | dict(zip(free, open_, strict=True))


def _depth(line: TreeLine) -> tuple[int, int]:
    return line.depth, line.score


def _won(line: TreeLine) -> bool:
    return line.score > 0 and proves_mate(line)


def is_wanted(settings: PlayoffSettings, began_ms: int, soft_ms: int, now_ms: int) -> bool:
    """Whether a search with these times may begin its playoff now: not too early, and not with too little time left."""
    return begins_ms(settings, began_ms, soft_ms) <= now_ms <= soft_ms - settings.min_ms


def begins_ms(settings: PlayoffSettings, began_ms: int, soft_ms: int) -> int:
    """The earliest time for the playoff of a search with these times."""
    return soft_ms - int((soft_ms - began_ms) * settings.share)
