"""The node and depth limits of one search, by the words of its ``go`` line and the options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from cluster.api import SearchRequest

_MOST_NODES: Final = 1 << 53
_DEEPEST: Final = 500


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits where the order names none."""

    nodes: int = 0
    """The most nodes of the fleet; 0: no limit. ``depth`` likewise."""
    depth: int = 0


def bounded(request: SearchRequest, numbers: Mapping[str, int], bounds: Bounds, live_nodes: int) -> SearchRequest:
    """``request`` with the node and depth limits of a ``go`` line.

    Args:
        numbers: of the line, among them ``nodes`` of the whole fleet, and ``depth``.
        live_nodes: how many nodes share the node limit.
    """
    nodes, depth = numbers.get("nodes") or bounds.nodes, numbers.get("depth") or bounds.depth
    return replace(
        request,
        nodes=max(1, min(nodes, _MOST_NODES) // max(1, live_nodes)) if nodes else None,
        depth=min(depth, _DEEPEST) if depth else None,
    )
