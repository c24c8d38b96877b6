"""The evaluation of a split tree: the lines of its leaves, and the value that follows for each of its positions.

A `TreeEvaluation` is made anew whenever a line of a leaf changes. It answers which move is preferred, why the tree
should be dealt again, and within which windows its leaves are to be searched. The values of each position's moves are
computed once.

**Windows** limit the scores that a leaf's search must find exactly; results elsewhere in the tree make the others
irrelevant. A scout's question is "is this better than what we would play?", which costs a fraction of "how good is
it?". So each move that is not preferred at its position is tested against the preferred one: at or below the preferred
score, less a margin for noise, its search only has to prove an upper bound. Down the tree this is αβ: a refutation of a
move at one ply bounds the replies two plies below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cluster.split.tree import Leaf, Split, TakeoverMargin, Tree, TreeLine, as_seen, takes_over
from worker.engine import Bound
from worker.score import MATE_BOUND


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a part of a tree for the side that chooses at its top, and how much of it is proven."""

    line: TreeLine
    """The line as that side sees it, with the bound that follows from ``below`` and ``above``."""
    below: bool
    """The true value is not lower."""
    above: bool
    """The true value is not higher."""

    @classmethod
    def of(cls, line: TreeLine, below: bool, above: bool) -> Value:
        bound = Bound.UPPER if not below else Bound.EXACT if above else Bound.LOWER
        return cls(line if line.bound is bound else replace(line, bound=bound), below, above)

    def seen_from_above(self) -> Value:
        """The same, for the other side."""
        return Value.of(as_seen(self.line, 1), self.above, self.below)


class TreeEvaluation:
    """A tree with the known lines of its leaves.

    Args:
        lines: by leaf, from the root; a missing leaf is unknown. Must not change while this object is in use.
    """

    def __init__(self, tree: Tree, lines: Mapping[Leaf, TreeLine], takeover: TakeoverMargin) -> None:
        self.tree = tree
        self.lines = lines
        self.takeover = takeover
        self._values: dict[tuple[str, ...], list[Value | None]] = {}
        """Values of the children of a `Split`, by its path."""

    @property
    def line(self) -> TreeLine | None:
        """The tree's line, from the root, according to its leaves; None if nothing is known.

        A leaf without a line is unknown, neither won nor lost: it is skipped. A `Split` with such a leaf is known only
        as "at least this" for its side to move, so one ply up the move into it counts as "at most". The line's bound
        holds for the whole tree, except for differences within ``takeover``; if nothing is proven it is `Bound.UPPER`.
        """
        return self._line(self.tree)

    def best(self, root_result: TreeLine | None) -> TreeLine | None:
        """The line to play: ``root_result``, unless a move that the tree tested takes over. If it is None: the tree's
        line.

        Args:
            root_result: the root searchers' line; None: there are no root searchers.
        """
        if root_result is None or isinstance(self.tree, Leaf):
            return root_result if root_result is not None else self.line
        best = root_result
        for value in self.values(self.tree):
            if value is None or value.line.pv[0] == root_result.pv[0]:
                continue
            if takes_over(value.line, best, self.takeover):
                best = value.line
        return best

    def values(self, split: Split) -> list[Value | None]:
        """The value of each child of ``split``, from the side to move there; None: nothing is known."""
        found = self._values.get(split.path)
        if found is None:
            found = self._values[split.path] = [self._seen_at(child) for child in split.children]
        return found

    def preferred(self, values: Sequence[Value | None]) -> Value | None:
        """The value that is played: the first that is known, unless another takes over."""
        best: Value | None = None
        for value in values:
            if value is not None and (best is None or takes_over(value.line, best.line, self.takeover)):
                best = value
        return best

    def survey(self) -> dict[tuple[str, ...], TreeLine]:
        """The value of each position of the tree, computed from its leaves; see `cluster.split.tree.KnownLines`."""
        found: dict[tuple[str, ...], TreeLine] = {}
        self._survey(self.tree, found)
        return found

    def _survey(self, tree: Tree, found: dict[tuple[str, ...], TreeLine]) -> None:
        if isinstance(tree, Split):
            line = self._line(tree)
            if line is not None:
                found[tree.path] = line
            for child in tree.children:
                self._survey(child, found)

    def _line(self, tree: Tree) -> TreeLine | None:
        value = self._value(tree)
        if value is None or isinstance(tree, Leaf) or not tree.path:
            return None if value is None else as_seen(value.line, len(tree.path))
        # As the side above sees it: if nothing is proven, the worst bound is that of the side above, not of the side
        # below.
        return as_seen(value.seen_from_above().line, len(tree.path) - 1)

    def _seen_at(self, child: Tree) -> Value | None:
        value = self._value(child)
        return value.seen_from_above() if isinstance(child, Split) and value is not None else value

    def _value(self, tree: Tree) -> Value | None:
        """The value of ``tree`` for the side to move at the position that it is a part of."""
        if isinstance(tree, Leaf):
            line = self.lines.get(tree)
            if line is None:
                return None
            line = as_seen(line, len(tree.path))
            return Value(line, line.bound is not Bound.UPPER, line.bound is not Bound.LOWER)
        values = self.values(tree)
        best = self.preferred(values)
        if best is None:
            return None
        top = best.line

        def is_above(value: Value | None) -> bool:
            if value is None or not value.above:
                return False
            line = value.line
            return line.score <= top.score or not takes_over(replace(line, bound=Bound.EXACT), top, self.takeover)

        return Value.of(top, best.below, all(is_above(value) for value in values))


@dataclass(frozen=True, slots=True)
class Window:
    """The range of scores to find exactly: between ``alpha`` and ``beta``, from one side; None: no bound there.

    ``alpha`` is below ``beta``.
    """

    alpha: int | None = None
    beta: int | None = None

    def turned(self) -> Window:
        """The same, from the other side."""
        return Window(None if self.beta is None else -self.beta, None if self.alpha is None else -self.alpha)

    def at_least(self, alpha: int) -> Window:
        """The same window, raised so that nothing below ``alpha`` matters."""
        low = alpha if self.alpha is None else max(self.alpha, alpha)
        return Window(low, None if self.beta is None else max(self.beta, low + 1))


OPEN: Final = Window()
"""Every score is to be exact."""


def windows(evaluation: TreeEvaluation) -> dict[Leaf, Window]:
    """The window for each leaf of a tree, from the side to move after the leaf's path."""
    found: dict[Leaf, Window] = {}
    _collect(evaluation, evaluation.tree, OPEN, found)
    return found


def _collect(evaluation: TreeEvaluation, tree: Tree, window: Window, found: dict[Leaf, Window]) -> None:
    """``window`` is from the side to move at the position that ``tree`` is a part of."""
    if isinstance(tree, Leaf):
        found[tree] = window
        return
    values = evaluation.values(tree)
    best = evaluation.preferred(values)
    bounds = best is not None and best.below and abs(best.line.score) < MATE_BOUND
    for child, value in zip(tree.children, values, strict=True):
        inner = window
        if best is not None and bounds and value is not best:
            inner = window.at_least(best.line.score - evaluation.takeover.needed(best.line.depth))
        _collect(evaluation, child, inner if isinstance(child, Leaf) else inner.turned(), found)
