"""The presearch: all nodes but the root searchers search with MultiPV, and the furthest one ranks the root moves."""

from __future__ import annotations

from collections.abc import Mapping

from cluster.split.tree import TreeLine


class Presearch:
    """Collects MultiPV lines by node, depth and rank. A depth counts once all its ranks are there.

    Args:
        multipv: how many ranks a complete depth has.
    """

    def __init__(self, multipv: int) -> None:
        self.multipv = multipv
        self._tables: dict[str, dict[int, dict[int, TreeLine]]] = {}

    def add(self, node_id: str, multipv: int, line: TreeLine) -> None:
        """Take one line; one of a rank that nobody asked for is passed over."""
        if 1 <= multipv <= self.multipv:
            self._tables.setdefault(node_id, {}).setdefault(line.depth, {})[multipv] = line

    def lines(self) -> tuple[TreeLine, ...]:
        """The lines of the deepest complete depth, best first; of equally deep nodes the first that reported.

        Where no depth is complete: what there is of the depth that has most ranks. Empty: no line came yet.
        """
        _, best = self._furthest()
        return tuple(best[rank] for rank in sorted(best))

    @property
    def node_id(self) -> str | None:
        """The node that `lines` are of."""
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
