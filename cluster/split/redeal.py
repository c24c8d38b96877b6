"""Re-dealing: when to deal a tree again during a search, and which node then gets which leaf.

A tree is dealt with the results at that time. Then, during the search

- another move becomes preferred, at the root or along its principal variation;
- the score of a move rises so far that the move is in contention;
- the best score falls, so the leaves that were tested against it proved too little (`window_is_lost`);
- a leaf is so much worse than the best one, at more depth, that it is decided for now (`is_decided`): its node is
  needed elsewhere, and returns when the best leaf has reached the same depth.

Then it is dealt again, with the results by then; leaves that stay continue on their nodes. Each new job costs its node
the first iterations again, so there is a minimum time between two deals, and no deal near the end (`RedealLimits`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cluster.network.messages import Job
from cluster.split.evaluation import TreeEvaluation, Value, Window
from cluster.split.tree import Leaf, Split, TakeoverMargin, TreeLine, as_seen, check_numbers
from worker.engine import Bound

_CANDIDATES = 32
"""The number of free nodes that are compared for each leaf: dealing to 1,000 nodes must not take a second."""


@dataclass(frozen=True, slots=True)
class RedealLimits:
    """Conditions under which a tree may be dealt again. Shares are of the search's budget (time or nodes).

    Raises (constructor):
        ValueError: as `cluster.coordination.settings.Settings`.
    """

    rest: float = 0.1
    """Minimum share between two deals."""
    last: float = 0.85
    """No deal after this share: a new job would hardly reach the depth of the old one."""
    rest_ms: int = 500
    """Minimum time between two deals of a search without a budget. It grows as the search goes on: to ``rest`` times
    the time passed."""
    window_slack: int = 10
    """Centipawns by which a window may be off and still be kept."""
    ahead: int = 2
    """Plies by which a leaf out of contention must be deeper than the best one to count as decided."""

    def __post_init__(self) -> None:
        check_numbers(self, shares={"rest", "last"})


def reason(evaluation: TreeEvaluation, contenders: frozenset[str], best: TreeLine | None) -> str | None:
    """The reason to deal the tree again by its scores, as text for the log; None: there is none.

    Args:
        contenders: the result of `contention` when it was dealt.
        best: the line that would be played now.
    """
    tree = evaluation.tree
    if isinstance(tree, Leaf) or best is None:
        return None
    first = tree.children[0]
    if not first.holds(best.pv):
        return f"{best.pv[0]} is preferred"
    while isinstance(first, Split):
        values = evaluation.values(first)
        value = evaluation.preferred(values)
        if value is None or values[0] is None:
            break
        if value is not values[0]:
            return f"{' '.join((*first.path, value.line.pv[len(first.path)]))} is preferred"
        first = first.children[0]
    risen = contention(evaluation) - contenders
    return f"{' '.join(sorted(risen))} in contention" if risen else None


def contention(evaluation: TreeEvaluation) -> frozenset[str]:
    """The root moves whose score is at most the noise below the best one."""
    if isinstance(evaluation.tree, Leaf):
        return frozenset()
    values = evaluation.values(evaluation.tree)
    best, takeover = evaluation.preferred(values), evaluation.takeover
    return frozenset(value.line.pv[0] for value in values if value is not None and _contends(value, best, takeover))


def _contends(value: Value, best: Value | None, takeover: TakeoverMargin) -> bool:
    return best is not None and value.below and value.line.score >= best.line.score - takeover.needed(value.line.depth)


def is_decided(leaf: Leaf, evaluation: TreeEvaluation, best: TreeLine | None, ahead: int) -> bool:
    """Whether a deeper search of ``leaf`` can wait: it is known to be out of contention, ``ahead`` plies deeper than
    the line that would be played (``best``).

    Only leaves of the root are considered: a refutation or a defence further down is left to the nodes there.
    """
    line = evaluation.lines.get(leaf)
    if line is None or best is None or leaf.path or isinstance(evaluation.tree, Leaf) or leaf.holds(best.pv):
        return False
    return line.bound is Bound.UPPER and line.score < best.score and line.depth >= best.depth + ahead


def window_is_lost(job: Job, leaf: Leaf, line: TreeLine | None, wanted: Window, slack: int) -> bool:
    """Whether a job's search ended at a window edge that no longer proves enough.

    Args:
        line: the known line of ``leaf``, from the root.
        wanted: the window that a new job for it would have.
    """
    if line is None:
        return False
    bound = as_seen(line, len(leaf.path)).bound
    if bound is Bound.UPPER and job.alpha is not None:
        return wanted.alpha is None or wanted.alpha < job.alpha - slack
    if bound is Bound.LOWER and job.beta is not None:
        return wanted.beta is None or wanted.beta > job.beta + slack
    return False


def match(free: Sequence[tuple[Leaf, int]], wanted: Iterable[Leaf]) -> list[int]:
    """Match free nodes to leaves: for each of ``wanted``, in their order, an index into ``free``.

    The first leaves go to the nodes of the first class. Within a class, a node gets a leaf close to the one it searched
    before, because its table knows most about that. If there are fewer free nodes than leaves, the last leaves get
    none.

    Args:
        free: the leaf that each node searched last, and its speed class, in the order of classes.
    """
    left = list(range(len(free)))
    chosen: list[int] = []
    for leaf in wanted:
        if not left:
            break
        equals = [place for place, node in enumerate(left[:_CANDIDATES]) if free[node][1] == free[left[0]][1]]
        best = max(equals, key=lambda place: (_nearness(free[left[place]][0], leaf), -place))
        chosen.append(left.pop(best))
    return chosen


def _nearness(old: Leaf, new: Leaf) -> int:
    common = 0
    for one, other in zip((*old.path, *old.moves[:1]), (*new.path, *new.moves[:1]), strict=False):
        if one != other:
            break
        common += 2
    covers = new.path[: len(old.path)] == old.path and old.covers((*new.path, *new.moves, "")[len(old.path)])
    return common + covers
