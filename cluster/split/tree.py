"""The split tree: the part of the game tree that each leaf covers, and how the leaves' lines are merged into one.

A `Leaf` is a set of moves of the position after ``path``: one move, or all others. A `Split` stands for the position
after its own ``path`` and covers every legal move there, each by exactly one child: by a leaf of its own, by the leaf
of all others, or by a deeper `Split` after that move. A tree is a plain value; the knowledge about it is a mapping from
leaf to `TreeLine`.

**Why a leaf is searched with ``searchmoves`` / ``ignoremoves`` at its parent's position**, and not as the position
after its move: this way the engine itself sees a repetition, mate or declaration that the move causes, all leaves of
one parent count depth alike, and the leaf of all others needs no special case.

**One perspective.** A `TreeLine` counts from the tree's root: score from the root's side to move with mates at their
distance from the root, depth in plies from the root, PV from the root. `line_from_root` converts, once, at the border.

**Taking over.** Scores of different leaves are noisy and were found at different depths, so "the highest score wins"
picks the luckiest mistake: in our measurement such a flat split over eight nodes lost 255 Elo. Therefore the child that
was ranked first is the incumbent, and another child replaces it only by the rule of `takes_over`.

The shape follows Gikou (``cluster.h``) and GPS Shogi (Kaneko and Tanaka 2010).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from worker.engine import Bound
from worker.score import MATE_BOUND, from_child, is_mate, mate_distance


def check_numbers(
    settings: Any, shares: Collection[str] = (), counts: Collection[str] = (), positive: Collection[str] = ()
) -> None:
    """Check every number of a dataclass of settings: 0 or more, except the fields named in the arguments.

    Args:
        shares: from 0 to 1.
        counts: 1 or more.
        positive: more than 0.

    Raises:
        ValueError: a number is out of its range or NaN; the message names the first one and its range.
    """
    for item in fields(settings):
        name, value = item.name, getattr(settings, item.name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        if name in shares:
            fits, expected = 0 <= value <= 1, "0 to 1"
        elif name in positive:
            fits, expected = value > 0, "more than 0"
        elif name in counts:
            fits, expected = value >= 1, "1 or more"
        else:
            fits, expected = value >= 0, "0 or more"
        if not fits:
            raise ValueError(f"{name} is {value}: expected {expected}")


@dataclass(frozen=True, slots=True)
class Leaf:
    """Some moves of the position after ``path``: only ``moves`` or, if that is empty, all but ``ignore``."""

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
        """The leaf's name for people: ``7g7f``, ``7g7f 3c3d``, ``others``, ``all``."""
        last = "/".join(self.moves) if self.moves else "others" if self.ignore else "all"
        return " ".join((*self.path, last))


@dataclass(frozen=True, slots=True)
class Split:
    """The position after ``path``, its legal moves dealt to ``children``, the likeliest best one first."""

    path: tuple[str, ...]
    children: tuple[Leaf | Split, ...]

    def holds(self, pv: Sequence[str]) -> bool:
        """Whether a variation from the root runs through this position."""
        return tuple(pv[: len(self.path)]) == self.path


Tree = Leaf | Split


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A result of a search, counted from the tree's root: see the module docstring. ``pv`` is never empty."""

    depth: int
    score: int
    bound: Bound
    pv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TakeoverMargin:
    """Settings of `takes_over`: the number of centipawns by which a challenger must beat the incumbent.

    Raises (constructor):
        ValueError: as `cluster.coordination.settings.Settings`.
    """

    margin: int = 15
    """Required at any depth. About the noise between two iterations of one search."""
    shallow: int = 0
    """Added at low depth, because a shallow search is noisier: divided by the challenger's depth."""
    per_ply: int = 30
    """Added for each ply by which the challenger's search was shallower."""

    def __post_init__(self) -> None:
        check_numbers(self)

    def needed(self, depth: int, deficit: int = 0) -> int:
        """Centipawns by which a challenger of ``depth``, which is ``deficit`` plies less than the incumbent's, must be
        better."""
        return self.margin + self.shallow // max(1, depth) + self.per_ply * deficit


def leaves(tree: Tree) -> Iterator[Leaf]:
    """Every leaf, the likeliest best one first."""
    if isinstance(tree, Leaf):
        yield tree
        return
    for child in tree.children:
        yield from leaves(child)


def line_from_root(leaf: Leaf, depth: int, score: int, bound: Bound, pv: Sequence[str]) -> TreeLine:
    """Convert a result of ``leaf`` to the tree's perspective.

    Args:
        depth, score, bound, pv: from the position after ``leaf.path``.
    """
    for _ in leaf.path:
        score = from_child(score)
        bound = _opposite(bound)
    return TreeLine(depth + len(leaf.path), score, bound, (*leaf.path, *pv))


def takes_over(challenger: TreeLine, incumbent: TreeLine, takeover: TakeoverMargin) -> bool:
    """Whether ``challenger`` is preferred to ``incumbent``, both seen by the side that chooses.

    - A challenger with only an upper bound (`Bound.UPPER`: its refutation is still unknown) is never preferred.
    - A known win is preferred, except to a known win that is as short. A known loss is preferred only to a quicker
      loss.
    - Anything else is preferred to a known loss.
    - Otherwise the score must be higher by `TakeoverMargin.needed` for the challenger's depth and for the number of
      plies by which it is shallower than the incumbent.
    """
    if challenger.bound is Bound.UPPER:
        return False
    if max(abs(challenger.score), abs(incumbent.score)) >= MATE_BOUND:
        return challenger.score > incumbent.score
    deficit = max(0, incumbent.depth - challenger.depth)
    return challenger.score >= incumbent.score + takeover.needed(challenger.depth, deficit)


Legal = Callable[[tuple[str, ...]], Sequence[str]]
"""The legal moves after a path, in any stable order; none if the game is over there or the path is illegal."""

KnownLines = Mapping[tuple[str, ...], TreeLine]
"""Known lines by path (the empty path is the root). A line is the value of the last move of its path, with everything
that can follow."""


def best_first(known: KnownLines, path: tuple[str, ...], takeover: TakeoverMargin) -> list[TreeLine]:
    """Lines of the moves after ``path``, one for each move: the move that would be played there first, the others by
    their score.

    A line known for a move itself has priority over lines that only run through it; among those the deepest counts. The
    incumbent is the move of the line known for ``path``, else the first known move.
    """
    ply = len(path)
    by_move: dict[str, TreeLine] = {}
    direct: set[str] = set()
    for key, line in known.items():
        if len(line.pv) <= ply or line.pv[:ply] != path:
            continue
        move = line.pv[ply]
        if len(key) == ply + 1:
            direct.add(move)
            by_move[move] = line
        elif move not in direct and (move not in by_move or line.depth >= by_move[move].depth):
            by_move[move] = line
    if not by_move:
        return []
    incumbent = known.get(path)
    first = incumbent.pv[ply] if incumbent is not None and len(incumbent.pv) > ply else next(iter(by_move))
    found = [as_seen(line, ply) for line in (by_move.pop(first), *by_move.values())]
    best = found[0]
    for line in found[1:]:
        if takes_over(line, best, takeover):
            best = line
    others = sorted((line for line in found if line is not best), key=lambda line: -line.score)
    return [as_seen(line, ply) for line in (best, *others)]


def inherit(tree: Tree, known: KnownLines, legal: Legal, takeover: TakeoverMargin) -> dict[Leaf, TreeLine]:
    """The lines already known for the leaves of a new tree: for each leaf, that of its first move in `best_first`.

    If only the leaf's position as a whole is known, and none of its moves, they are worth no more than that to the side
    that chooses there; the line then begins with any of them.
    """
    result: dict[Leaf, TreeLine] = {}
    ranked: dict[tuple[str, ...], list[TreeLine]] = {}
    for leaf in leaves(tree):
        path = leaf.path
        if path not in ranked:
            ranked[path] = best_first(known, path, takeover)
        line = next((line for line in ranked[path] if leaf.covers(line.pv[len(path)])), None)
        whole = known.get(path)
        if line is None and whole is not None:
            seen = as_seen(whole, len(path))
            move = next((move for move in legal(path) if leaf.covers(move)), None)
            if seen.bound is not Bound.LOWER and move is not None:
                line = as_seen(replace(seen, bound=Bound.UPPER, pv=(*path, move)), len(path))
        if line is not None:
            result[leaf] = line
    return result


def proves_mate(line: TreeLine) -> bool:
    """Whether ``line`` is a mate, by either side, that is no longer than the search was deep."""
    open_side = Bound.UPPER if line.score > 0 else Bound.LOWER
    return is_mate(line.score) and line.bound is not open_side and abs(mate_distance(line.score)) <= line.depth


def tells_score(line: TreeLine) -> bool:
    """Whether the score of ``line`` is its move's exact value, and not merely an upper or lower bound."""
    return line.bound is Bound.EXACT or proves_mate(line)


def replaces(line: TreeLine, known: TreeLine | None) -> bool:
    """Whether ``line`` replaces the known line of the same moves. A proven mate does, however shallow it is. A proven
    win is replaced only by another proven mate."""
    if known is not None and known.score > 0 and proves_mate(known) and not proves_mate(line):
        return False
    return known is None or line.depth >= known.depth or proves_mate(line)


def as_seen(line: TreeLine, ply: int) -> TreeLine:
    """``line`` from the side to move ``ply`` plies below the root, or back. Mates stay counted from the root."""
    if ply % 2 == 0:
        return line
    return replace(line, score=-line.score, bound=_opposite(line.bound))


def _opposite(bound: Bound) -> Bound:
    if bound is Bound.EXACT:
        return bound
    return Bound.UPPER if bound is Bound.LOWER else Bound.LOWER
