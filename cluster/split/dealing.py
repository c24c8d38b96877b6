"""Dealing: chooses the tree that a number of nodes searches, by how likely each move is to become the best one.

`deal` makes a `cluster.split.tree` tree of at most as many leaves as there are nodes:

1. At a position with more than one node, the known moves (from a MultiPV presearch, from the lines and PVs of leaves)
   get a likelihood: a softmax over their scores. Its temperature grows with the noise of a shallow search,
   ``temperature + shallow / depth`` centipawns.
2. The unknown moves share the likelihood that the rule of succession leaves beside k known moves:
   ``unseen / (k + 1)``.
3. The best move gets one node and all others together get another. Each further node goes to the place with the most
   likelihood per node (D'Hondt's highest averages): to a move that already has nodes, to the likeliest move without one
   (which then leaves the group of others), or to the others as a group, which is then searched in parts. So a likelier
   move never has fewer nodes.
4. A move with several nodes is dealt again, at the position after it.

Before the first deal all nodes but the root searchers search with MultiPV (`Presearch`), and the deepest one ranks the
root moves.

Special cases, set by the parameters: Gikou's tree of 16 (``cluster.h``) is an infinite temperature over 7 moves,
``width`` 7, ``plies`` 1, with one node for all others (``unseen`` 0); the recursion of GPS Shogi over the top two moves
is ``width`` 2.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from cluster.split.tree import (
    KnownLines,
    Leaf,
    Legal,
    Split,
    TakeoverMargin,
    Tree,
    TreeLine,
    as_seen,
    best_first,
    check_numbers,
)
from worker.score import MATE_BOUND


@dataclass(frozen=True, slots=True)
class Dealing:
    """Settings for dealing nodes to moves. Scores in centipawns.

    Raises (constructor):
        ValueError: as `cluster.coordination.settings.Settings`.
    """

    temperature: float = 20.0
    """Temperature of the softmax over the scores of a deep search; ``inf``: all known moves are equally likely."""
    shallow: float = 200.0
    """Extra temperature at low depth: divided by the depth at which the best move's score was found."""
    unseen: float = 1.0
    """Weight of the unknown moves; 0: they share one node, however many they are."""
    width: int = 600
    """The most known moves of one position that may have nodes of their own."""
    plies: int = 16
    """The longest path to a leaf."""

    def __post_init__(self) -> None:
        check_numbers(self, counts={"width"})


def deal(known: KnownLines, legal: Legal, parts: int, dealing: Dealing, takeover: TakeoverMargin) -> Tree:
    """The tree for ``parts`` nodes.

    Args:
        known: the results so far; for the root itself, the line that would be played now.
        legal: called for the root and for each position that is split.
        parts: 1 or more. There are fewer leaves if there are fewer moves.
        takeover: the margin by which another move must be better to be ranked before the first one
            (`cluster.split.tree.takes_over`).

    Raises:
        ValueError: no move at the root, or no part.
    """
    moves = legal(())
    if not moves or parts < 1:
        raise ValueError(f"cannot deal {len(moves)} moves into {parts} parts")
    split = _Dealer(known, legal, dealing, takeover).position((), tuple(moves), parts)
    return Leaf() if _is_one_leaf(split) else split


@dataclass(frozen=True, slots=True)
class _Dealer:
    known: KnownLines
    legal: Legal
    dealing: Dealing
    takeover: TakeoverMargin

    def position(self, path: tuple[str, ...], moves: tuple[str, ...], parts: int) -> Split:
        """Deal the ``moves`` after ``path``."""
        if parts == 1:
            return Split(path, (Leaf(path),))
        ply = len(path)
        ranked = [line for line in best_first(self.known, path, self.takeover) if line.pv[ply] in moves]
        order = list(dict.fromkeys((*(line.pv[ply] for line in ranked), *moves)))
        named = min(len(ranked), self.dealing.width)
        weights = self._weights([as_seen(line, ply) for line in ranked[:named]], len(moves), ply)
        seats, groups = self.seats(path, order, weights, named, parts)
        children = [self.move(path, move, count) for move, count in zip(order, seats, strict=False)]
        own, rest = order[: len(seats)], order[len(seats) :]
        if rest:
            # Dealt out like cards, the last group first: if the sizes differ, the likelier moves are in the smaller
            # group.
            hands = [tuple(rest[first::groups]) for first in reversed(range(groups))]
            children += [Leaf(path, moves=hand) for hand in hands[:-1]]
            children.append(Leaf(path, ignore=(*own, *(move for hand in hands[:-1] for move in hand))))
        return Split(path, tuple(children))

    def seats(
        self, path: tuple[str, ...], order: Sequence[str], weights: Sequence[float], named: int, parts: int
    ) -> tuple[list[int], int]:
        """`highest_averages`, with at most one node for a move after which nothing can be split. While others can use
        the nodes, that holds also for a move after which no reply is known."""
        known = {line.pv[: len(path) + 1] for line in self.known.values() if len(line.pv) > len(path) + 1}
        seats, groups = self.divisible(path, order, weights, named, parts, lambda after: after in known)
        if sum(seats) + groups < parts:
            return self.divisible(path, order, weights, named, parts, lambda after: True)
        return seats, groups

    def divisible(
        self,
        path: tuple[str, ...],
        order: Sequence[str],
        weights: Sequence[float],
        named: int,
        parts: int,
        may_split: Callable[[tuple[str, ...]], bool],
    ) -> tuple[list[int], int]:
        """`highest_averages`, with at most one node for a move that cannot or may not be split."""
        whole: set[int] = set()
        while True:
            seats, groups = highest_averages(weights, named, parts, whole)
            more = {
                index
                for index, count in enumerate(seats)
                if count > 1
                and index not in whole
                and not (may_split((*path, order[index])) and self.after((*path, order[index])))
            }
            if not more:
                return seats, groups
            whole |= more

    def after(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """The legal moves after ``path``; none if it is not to be split."""
        return tuple(self.legal(path)) if len(path) <= self.dealing.plies else ()

    def move(self, path: tuple[str, ...], move: str, parts: int) -> Tree:
        """Deal one move: a leaf, or the position after it if the move has several nodes."""
        after = (*path, move)
        moves = self.after(after) if parts > 1 else ()
        if moves:
            split = self.position(after, moves, parts)
            if not _is_one_leaf(split):
                return split
        return Leaf(path, moves=(move,))

    def _weights(self, lines: Sequence[TreeLine], moves: int, ply: int) -> list[float]:
        """Likelihoods of all ``moves`` in descending order: first those of ``lines``, then the unknown ones."""
        weights: list[float] = []
        if lines:
            first = lines[0]
            temperature = self.dealing.temperature + self.dealing.shallow / max(1, first.depth - ply)
            for line in lines:
                weight = likelihood(line.score - first.score, temperature)
                weights.append(min(weight, weights[-1]) if weights else weight)
        rest = moves - len(lines)
        if rest:
            total, unseen = sum(weights), self.dealing.unseen / (len(lines) + 1)
            # As a share of the whole: the rule of succession if ``unseen`` is 1.
            share = unseen * total / max(1e-9, 1 - min(unseen, 0.99)) if lines else 1.0
            each = share / rest
            weights += [min(each, weights[-1]) if weights else each] * rest
        return weights


def likelihood(difference: float, temperature: float) -> float:
    """The weight of a move whose score differs by ``difference`` (0 or less) centipawns from the best; 1: equally
    likely.

    A known loss has weight 0; beside a known win all other moves have weight 0.
    """
    if difference >= 0:
        return 1.0
    if difference <= -MATE_BOUND // 2:
        return 0.0
    if math.isinf(temperature):
        return 1.0
    return math.exp(difference / temperature) if temperature > 0 else 0.0


def highest_averages(
    weights: Sequence[float], named: int, parts: int, whole: Collection[int] = ()
) -> tuple[list[int], int]:
    """The number of nodes, out of ``parts``, for each move (D'Hondt), at least one for the first; moves without a node
    of their own share some.

    Args:
        weights: of every move of a position, in descending order.
        named: only this many moves, the first ones, may get nodes of their own; the others only once each of them can
            get one.
        parts: 2 or more; nodes that no move can use are left over.
        whole: the moves that cannot use a second node.

    Returns:
        The nodes of the first moves, one or more each; and how many the other moves share (0: there are no others).
    """
    own = [1] if named else []
    shared = 1 if len(weights) > len(own) else 0
    rest = sum(weights[len(own) :])
    averages: list[tuple[float, int]] = []  # (minus the average after one more node, the move)

    def enter(move: int) -> None:
        if move not in whole:
            heapq.heappush(averages, (-weights[move] / (own[move] + 1), move))

    def settle() -> None:
        """Dissolve the group of the others when each of them has a node."""
        nonlocal shared
        if shared == len(weights) - len(own):
            for move in range(len(own), len(weights)):
                own.append(1)
                enter(move)
            shared = 0

    if own:
        enter(0)
    settle()
    for _ in range(parts - len(own) - shared):
        best = averages[0][0] if averages else math.inf
        if shared and len(own) < named:
            if -weights[len(own)] <= best:
                rest -= weights[len(own)]
                own.append(1)
                enter(len(own) - 1)
                settle()
                continue
        elif shared and -rest / (shared + 1) < best:
            shared += 1
            settle()
            continue
        if not averages:
            break
        move = heapq.heappop(averages)[1]
        own[move] += 1
        enter(move)
    return own, shared


def _is_one_leaf(split: Split) -> bool:
    return len(split.children) == 1 and isinstance(split.children[0], Leaf)


class Presearch:
    """Collects MultiPV lines by node, depth and rank. A depth counts when all its ranks have arrived.

    Args:
        multipv: the number of ranks in a complete depth.
    """

    def __init__(self, multipv: int) -> None:
        self.multipv = multipv
        self._tables: dict[str, dict[int, dict[int, TreeLine]]] = {}

    def add(self, node_id: str, multipv: int, line: TreeLine) -> None:
        """Take one line; a line with a rank beyond ``multipv`` is ignored."""
        if 1 <= multipv <= self.multipv:
            self._tables.setdefault(node_id, {}).setdefault(line.depth, {})[multipv] = line

    def lines(self) -> tuple[TreeLine, ...]:
        """The lines of the deepest complete depth, best first; among equally deep nodes, those of the first that
        reported.

        If no depth is complete: the lines of the depth with the most ranks. Empty: no line has arrived.
        """
        _, best = self._furthest()
        return tuple(best[rank] for rank in sorted(best))

    @property
    def node_id(self) -> str | None:
        """The node whose lines `lines` returns."""
        return self._furthest()[0]

    def _furthest(self) -> tuple[str | None, Mapping[int, TreeLine]]:
        node: str | None = None
        best: Mapping[int, TreeLine] = {}
        best_key = (0, 0)
        for node_id, table in self._tables.items():
            for depth, ranks in table.items():
                key = (len(ranks), depth)
                if key > best_key:
                    node, best, best_key = node_id, ranks, key
        return node, best
