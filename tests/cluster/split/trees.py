"""Random split trees, and their value by the book."""

from __future__ import annotations

from hypothesis import strategies as st

from cluster.split.tree import Leaf, Split, Tree, TreeLine


@st.composite
def trees(draw: st.DrawFn, path: tuple[str, ...] = ()) -> Tree:
    """A split of up to four children, some of them split again, two to four plies deep."""
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
    """By the book, with scores from the root: the root's side takes the highest, the other the lowest."""
    if isinstance(tree, Leaf):
        return lines[tree].score
    choose = max if len(tree.path) % 2 == 0 else min
    return choose(negamax(child, lines) for child in tree.children)
