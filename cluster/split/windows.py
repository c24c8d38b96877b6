"""Windows: what a leaf's search need not find out exactly, because what is known elsewhere in the tree decides it.

A scout's question is "is this better than what we would play?", which costs a fraction of "how good is it?". So each
move that is not preferred at its position is tested against the one that is: at or below that one's score, less a
margin for noise, its search only has to prove an upper bound. Down the tree this is αβ: what refutes a move at one ply
bounds the replies two plies below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cluster.split.evaluation import TreeEvaluation
from cluster.split.tree import Leaf, Tree
from worker.score import MATE_BOUND


@dataclass(frozen=True, slots=True)
class Window:
    """The range of scores to find out exactly: between ``alpha`` and ``beta``, from one side; None: no bound there.

    ``alpha`` is below ``beta``.
    """

    alpha: int | None = None
    beta: int | None = None

    def turned(self) -> Window:
        """The same, from the other side."""
        return Window(None if self.beta is None else -self.beta, None if self.alpha is None else -self.alpha)

    def at_least(self, alpha: int) -> Window:
        """Nothing below ``alpha`` matters any more."""
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
