"""MultiPV over a fleet: the best root moves, by what all nodes have found.

With more than one line asked for, each node searches the whole root for as many, and what is known of a move is the
deepest line that any of them has of it. The nodes are not dealt over the moves: which moves the best ones are is the
question, so that every node would have to search the others too, and where tables are shared (`cluster.sharing.table`)
the nodes help each other to depth. What would be played is then the first of the lines, and no vote: so several lines
are always in the order of their scores, and the answer heads them, as in a single engine of several threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cluster.split.tree import TreeLine
from worker.score import MATE_BOUND


def best_lines(found: Mapping[str, Iterable[TreeLine]], count: int, depth_slack: int) -> list[TreeLine]:
    """A line for each of the best root moves, ``count`` at most, the highest score first.

    Args:
        found: by engine, the lines of its nodes. Where two engines know a move, the better score counts: as in a vote
            their depths do not compare.
        count: how many lines are wanted.
        depth_slack: a line this many plies less deep than the deepest of its engine still counts, as in
            `cluster.voting.consultation.comparable`; a known win always does.
    """
    best: dict[str, TreeLine] = {}
    for lines in found.values():
        for move, line in _by_move(lines, depth_slack).items():
            if move not in best or line.score > best[move].score:
                best[move] = line
    return sorted(best.values(), key=lambda line: (-line.score, -line.depth))[:count]


def _by_move(lines: Iterable[TreeLine], depth_slack: int) -> dict[str, TreeLine]:
    """The deepest line for each first move, of one engine's lines; the best of equally deep ones."""
    best: dict[str, TreeLine] = {}
    for line in sorted(lines, key=lambda line: (line.depth, line.score)):
        best[line.pv[0]] = line
    deepest = max((line.depth for line in best.values()), default=0)
    return {
        move: line for move, line in best.items() if line.depth >= deepest - depth_slack or line.score >= MATE_BOUND
    }
