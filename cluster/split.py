"""The split tree: which part of the game tree each leaf stands for, and how the leaves' lines become one.

A `Leaf` is a set of moves of the position after ``path``: one move, or all others. A `Split` stands for the position
after its own ``path`` and covers every legal move there, each by exactly one child: by a leaf of its own, by the leaf
of all others, or by a deeper `Split` after that move. A tree is a plain value; what is known about it is a mapping
from leaf to `Line`.

**Why a leaf is searched with ``searchmoves`` / ``ignoremoves`` at its parent's position**, and not as the position
after its move: so the engine itself sees a repetition, a mate or a declaration that the move brings about, every leaf
of one parent counts depth alike, and the leaf of all others is nothing special.

**One perspective.** A `Line` counts from the tree's root: score from the root's side to move with mates at their
distance from the root, depth in plies from the root, PV from the root. `line_from_root` converts, once, at the border.

**Taking over.** Scores of different leaves are noisy and were found at different depths, so that "the highest score
wins" picks the luckiest mistake: measured for this project, such a flat split over eight nodes lost 255 Elo. Therefore
the child that was ranked first is the incumbent, and another takes its place only by the rule of `takes_over`.

The shape follows Gikou (``cluster.h``) and GPS Shogi (Kaneko and Tanaka 2010).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from worker.engine import Bound
from worker.score import MATE_BOUND, from_child


@dataclass(frozen=True, slots=True)
class Leaf:
    """Some moves of the position after ``path``: only ``moves``, or where that is empty all but ``ignore``."""

    path: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def covers(self, move: str) -> bool:
        """Whether a legal ``move`` of the position after ``path`` belongs to this leaf."""
        return move in self.moves if self.moves else move not in self.ignore

    def holds(self, pv: Sequence[str]) -> bool:
        """Whether a variation from the root runs through this leaf."""
        ply = len(self.path)
        return len(pv) > ply and tuple(pv[:ply]) == self.path and self.covers(pv[ply])

    @property
    def label(self) -> str:
        """For people: ``7g7f``, ``7g7f 3c3d``, ``others``, ``all``."""
        last = "/".join(self.moves) if self.moves else "others" if self.ignore else "all"
        return " ".join((*self.path, last))


@dataclass(frozen=True, slots=True)
class Split:
    """The position after ``path``, its legal moves dealt to ``children``, the likeliest best one first."""

    path: tuple[str, ...]
    children: tuple[Leaf | Split, ...]


Tree = Leaf | Split


@dataclass(frozen=True, slots=True)
class Line:
    """What a search said, from the tree's root: see the module's text. ``pv`` is never empty."""

    depth: int
    score: int
    bound: Bound
    pv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Caution:
    """How much better than the incumbent a challenger must be, in centipawns."""

    margin: int = 15
    """At equal depth. About the noise between two iterations of one search."""
    per_ply: int = 30
    """More for each ply that the challenger was searched less deep."""


def leaves(tree: Tree) -> Iterator[Leaf]:
    """Every leaf, the likeliest best one first."""
    if isinstance(tree, Leaf):
        yield tree
        return
    for child in tree.children:
        yield from leaves(child)


def flat(ranking: Sequence[str], parts: int) -> Tree:
    """Deal the root's moves into at most ``parts`` leaves: one each for the first in the ranking, one for all others.

    Args:
        ranking: every legal move, the likeliest best one first.
        parts: how many leaves are wanted; fewer come out where there are fewer moves.

    Raises:
        ValueError: no move, or no part.
    """
    if not ranking or parts < 1:
        raise ValueError(f"cannot deal {len(ranking)} moves into {parts} parts")
    if parts == 1 or len(ranking) == 1:
        return Leaf()
    if len(ranking) <= parts:
        return Split((), tuple(Leaf(moves=(move,)) for move in ranking))
    singles = tuple(ranking[: parts - 1])
    return Split((), (*(Leaf(moves=(move,)) for move in singles), Leaf(ignore=singles)))


def line_from_root(leaf: Leaf, depth: int, score: int, bound: Bound, pv: Sequence[str]) -> Line:
    """What a search of ``leaf`` said, in the tree's own perspective.

    Args:
        depth, score, bound, pv: from the position after ``leaf.path``.
    """
    for _ in leaf.path:
        score = from_child(score)
        bound = _opposite(bound)
    return Line(depth + len(leaf.path), score, bound, (*leaf.path, *pv))


def takes_over(challenger: Line, incumbent: Line, caution: Caution) -> bool:
    """Whether ``challenger`` is preferred to ``incumbent``, both seen by the side that chooses.

    - A challenger that is known only from above (`Bound.UPPER`: its refutation is still unknown) never is.
    - A known win is, over all but a known win that is as short. A known loss is only over a quicker one.
    - Anything is over a known loss.
    - Otherwise the score must be higher by ``caution.margin``, and by ``caution.per_ply`` more for every ply by which
      the challenger's depth falls short of the incumbent's.
    """
    if challenger.bound is Bound.UPPER:
        return False
    if max(abs(challenger.score), abs(incumbent.score)) >= MATE_BOUND:
        return challenger.score > incumbent.score
    deficit = max(0, incumbent.depth - challenger.depth)
    return challenger.score >= incumbent.score + caution.margin + caution.per_ply * deficit


def merge(tree: Tree, lines: Mapping[Leaf, Line], caution: Caution) -> Line | None:
    """The tree's line from what is known of its leaves, or None where nothing is.

    A leaf without a line is unknown, neither won nor lost: it is passed over, and a `Split` that has one is known only
    as "at least this" for its side to move, so that one ply up the move into it counts as "at most".
    """
    if isinstance(tree, Leaf):
        return lines.get(tree)
    ply = len(tree.path)
    best: Line | None = None
    complete = True
    for child in tree.children:
        line = merge(child, lines, caution)
        if line is None:
            complete = False
            continue
        line = _as_seen(line, ply)
        if best is None or takes_over(line, best, caution):
            best = line
    if best is None:
        return None
    if not complete:
        best = replace(best, bound=Bound.LOWER)
    return _as_seen(best, ply)


def inherit(tree: Tree, known: Iterable[Line], ranking: Sequence[str], caution: Caution) -> dict[Leaf, Line]:
    """What lines of earlier leaves or of a presearch already say about the leaves of a new tree.

    Of several lines through the same move the deepest is taken, of equally deep ones the last. Between the moves of one
    leaf the first in ``ranking`` is the incumbent.
    """
    order = {move: index for index, move in enumerate(ranking)}
    known = tuple(known)
    result: dict[Leaf, Line] = {}
    for leaf in leaves(tree):
        ply = len(leaf.path)
        by_move: dict[str, Line] = {}
        for line in known:
            if leaf.holds(line.pv):
                move = line.pv[ply]
                if move not in by_move or line.depth >= by_move[move].depth:
                    by_move[move] = line
        best: Line | None = None
        for move in sorted(by_move, key=lambda move: order.get(move, len(order))):
            line = _as_seen(by_move[move], ply)
            if best is None or takes_over(line, best, caution):
                best = line
        if best is not None:
            result[leaf] = _as_seen(best, ply)
    return result


def _as_seen(line: Line, ply: int) -> Line:
    """``line`` from the side to move ``ply`` plies below the root, or back. Mates stay counted from the root."""
    if ply % 2 == 0:
        return line
    return replace(line, score=-line.score, bound=_opposite(line.bound))


def _opposite(bound: Bound) -> Bound:
    if bound is Bound.EXACT:
        return bound
    return Bound.UPPER if bound is Bound.LOWER else Bound.LOWER
