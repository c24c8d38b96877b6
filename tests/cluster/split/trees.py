"""Split trees: lines of them, random ones, their reference value, and a check of their completeness."""

from __future__ import annotations

from hypothesis import strategies as st

from cluster.split.tree import Leaf, Legal, Split, Tree, TreeLine, leaves
from worker.engine import Bound


def line(score: int, *pv: str, depth: int = 10, bound: Bound = Bound.EXACT) -> TreeLine:
    return TreeLine(depth, score, bound, pv)


@st.composite
def trees(draw: st.DrawFn, path: tuple[str, ...] = ()) -> Tree:
    """A split into up to four children, some of them split again, two to four plies deep."""
    count = draw(st.integers(1, 4))
    children: list[Tree] = []
    for number in range(count):
        move = f"m{number}"
        deeper = len(path) < 3 and draw(st.booleans())
        children.append(draw(trees((*path, move))) if deeper else Leaf(path, (move,)))
    if draw(st.booleans()):
        children.append(Leaf(path, ignore=tuple(f"m{number}" for number in range(count))))
    return Split(path, tuple(children))


def negamax(tree: Tree, lines: dict[Leaf, TreeLine]) -> int:
    """Textbook negamax, with scores from the root: the root's side takes the highest, the other the lowest."""
    if isinstance(tree, Leaf):
        return lines[tree].score
    choose = max if len(tree.path) % 2 == 0 else min
    return choose(negamax(child, lines) for child in tree.children)


def check_tree(tree: Tree, legal: Legal) -> None:
    """Raises AssertionError if a legal move of a position is not in exactly one child, or a leaf occurs twice."""
    found = list(leaves(tree))
    assert len(found) == len(set(found)), "a leaf occurs twice in the tree"
    _check(tree, (), legal)


def _check(tree: Tree, path: tuple[str, ...], legal: Legal) -> None:
    if isinstance(tree, Leaf):
        return
    assert tree.path == path, f"split at {tree.path}, expected at {path}"
    for move in legal(path):
        holding = [child for child in tree.children if _covers(child, path, move)]
        assert len(holding) == 1, f"{' '.join((*path, move))} is in {len(holding)} parts"
    for child in tree.children:
        if isinstance(child, Split):
            assert child.path[:-1] == path, f"split at {child.path} under {path}"
            _check(child, child.path, legal)
        else:
            assert child.path == path, f"leaf {child.label} at {path}"


def _covers(child: Tree, path: tuple[str, ...], move: str) -> bool:
    return child.covers(move) if isinstance(child, Leaf) else child.path == (*path, move)
