"""Made-up answers of a fleet: one line each, with depth, score and variation."""

from __future__ import annotations

from typing import Any

from cluster.api import Answer, Ballot, Decision, Known, NodeView, Progress
from cluster.split.tree import TreeLine
from worker.engine import Bound


def root_line(score: int, depth: int, pv: tuple[str, ...]) -> TreeLine:
    return TreeLine(depth, score, Bound.EXACT, pv)


def make_ballot(voter: str, move: str, score: int, depth: int, nodes: int = 0, members: int = 1) -> Ballot:
    return Ballot(voter, root_line(score, depth, (move,)), nodes, members)


def _answer(move: str, score: int | None, depth: int, pv: tuple[str, ...], **more: Any) -> Answer:
    """Without a score, the move has no search to support it."""
    return Answer(move=move, lines=() if score is None else (root_line(score, depth, pv or (move,)),), **more)


def make_decision(
    search_id: int,
    move: str,
    score: int | None = 0,
    depth: int = 10,
    pv: tuple[str, ...] = (),
    nodes: int = 1000,
    elapsed_ms: int = 5,
    source: str = "split",
    ballots: tuple[Ballot, ...] = (),
    fleet: tuple[NodeView, ...] = (),
    agreement: float = 1.0,
    **more: Any,
) -> Decision:
    found = _answer(move, score, depth, pv, source=source, ballots=ballots, agreement=agreement)
    return Decision.of(found, search_id=search_id, elapsed_ms=elapsed_ms, nodes=nodes, fleet=fleet, **more)


def make_progress(
    search_id: int,
    elapsed_ms: int,
    depth: int,
    score: int | None,
    pv: tuple[str, ...],
    nodes: int,
    fleet: tuple[NodeView, ...] = (),
    agreement: float = 1.0,
) -> Progress:
    """Without ``pv``, no line is known yet."""
    found = _answer(pv[0], score, depth, pv, agreement=agreement) if pv else Answer()
    return Progress.of(found, search_id=search_id, elapsed_ms=elapsed_ms, nodes=nodes, fleet=fleet)


def make_known(
    move: str,
    score: int,
    depth: int,
    nodes: int,
    pondered_ms: int,
    fleet_ms: int,
    pv: tuple[str, ...] = (),
) -> Known:
    found = _answer(move, score, depth, pv)
    return Known.of(found, nodes=nodes, pondered_ms=pondered_ms, fleet_ms=fleet_ms)
