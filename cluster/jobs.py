"""Jobs: what a node is told to search, and within which limits."""

from __future__ import annotations

from cluster.messages import Job
from cluster.search_state import Phase, Search, Work
from cluster.split import Leaf


def node_job(search: Search, work: Work, leaf: Leaf, job_id: int, now_ms: int) -> Job | None:
    """The job for ``leaf`` of the tree: in the presearch with its MultiPV and its share of the limits.

    A node limit holds for all that a node does in one search. None: this node's is used up.
    """
    request, settings = search.request, search.settings
    nodes = None if request.nodes is None else max(0, request.nodes - work.nodes)
    depth, multipv = request.depth, 1
    if search.phase is Phase.PRESEARCH:
        multipv = search.presearch.multipv
        if nodes is not None and request.nodes is not None:
            nodes = min(nodes, max(1, int(request.nodes * settings.presearch_share)))
        if depth is not None:
            depth //= 2
    if nodes == 0:
        return None
    return _job(search, leaf, job_id, now_ms, multipv=multipv, nodes=nodes, depth=depth)


def fallback_job(search: Search, job_id: int, now_ms: int) -> Job:
    """The whole root, for the fallback; bounded while there are nodes, where it takes its CPU from theirs."""
    limits = [search.request.nodes]
    if search.usable():
        limits.append(search.settings.fallback_nodes)
    nodes = min((limit for limit in limits if limit is not None), default=None)
    return _job(search, Leaf(), job_id, now_ms, multipv=1, nodes=nodes, depth=search.request.depth)


def _job(
    search: Search, leaf: Leaf, job_id: int, now_ms: int, *, multipv: int, nodes: int | None, depth: int | None
) -> Job:
    """With the hard deadline as its own limit, so that a node that hears no more of its master ends by itself."""
    request = search.request
    return Job(
        search_id=request.search_id,
        job_id=job_id,
        sfen=request.sfen,
        moves=(*request.moves, *leaf.path),
        searchmoves=leaf.moves,
        ignoremoves=leaf.ignore,
        multipv=multipv,
        movetime_ms=None if search.hard_ms is None else max(1, search.hard_ms - now_ms),
        nodes=nodes,
        depth=None if depth is None else max(1, depth - len(leaf.path)),
    )
