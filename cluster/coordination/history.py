"""The history of one search or one node: the coordinator's last events and instructions, by their subject.

Kept for whoever looks for a fault: cheap to write, and put into words only where it is asked for. Without reports,
heartbeats, ticks and what is published, which come by the hundred.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cluster.api import Decision, PonderSearch, RetimeSearch, StartSearch, StopSearch
from cluster.coordination.events import (
    AskLastResort,
    Event,
    Instruction,
    LogEvent,
    NodeJoined,
    NodeLost,
    Received,
    SendJob,
    StopNode,
)
from cluster.network.messages import Done

_REMEMBERED: Final = 4000
"""Events and instructions: some ten searches of 64 nodes."""

Key = int | str
"""A search id or a node id."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """An event or an instruction, in words. ``at_ms``: on the coordinator's clock."""

    at_ms: int
    about: tuple[Key, ...]
    """The search and the nodes that it concerns."""
    what: str


class History:
    """The last events and instructions of a coordinator."""

    def __init__(self) -> None:
        self._kept: deque[tuple[int, tuple[Key, ...], str, tuple[object, ...]]] = deque(maxlen=_REMEMBERED)

    def of(self, key: Key | None) -> list[HistoryEntry]:
        """The history of the search or the node of that id, oldest first, as far as it is remembered; None: of all."""
        return [
            HistoryEntry(at_ms, about, words.format(*values))
            for at_ms, about, words, values in self._kept
            if key is None or key in about
        ]

    def tell(self, at_ms: int, about: tuple[Key, ...], words: str, *values: object) -> None:
        """Remember something. ``words``: a format for ``values``."""
        self._kept.append((at_ms, about, words, values))

    def heard(self, event: Event, at_ms: int) -> None:
        """An event was taken."""
        if isinstance(event, Received):  # by far the most, and first: reports are not remembered
            if isinstance(done := event.message, Done):
                about = (done.search_id, done.node_id)
                words = "job {} over: {} nodes in {} ms {}"
                self.tell(at_ms, about, words, done.job_id, done.nodes, done.time_ms, done.error)
            return
        match event:
            case StartSearch(request):
                self.tell(
                    at_ms, (request.search_id,), "start: soft {} ms, hard {} ms, {} moves made",
                    request.soft_ms, request.hard_ms, len(request.moves),
                )  # fmt: skip
            case PonderSearch(request, expected):
                self.tell(
                    at_ms, (request.search_id,), "ponder: {} moves made, expected {!r}", len(request.moves), expected
                )
            case RetimeSearch(search_id, soft_ms):
                self.tell(at_ms, (search_id,), "retime: soft {} ms", soft_ms)
            case StopSearch(search_id):
                self.tell(at_ms, (search_id,), "stop")
            case NodeJoined(node_id, engine):
                self.tell(at_ms, (node_id,), "joined, with {!r}", engine)
            case NodeLost(node_id, reason):
                self.tell(at_ms, (node_id,), "lost: {}", reason)
            case _:
                pass

    def said(self, instructions: Iterable[Instruction], at_ms: int) -> None:
        """Instructions were given."""
        for instruction in instructions:
            match instruction:
                case SendJob(node_id, job):
                    self.tell(
                        at_ms, (job.search_id, node_id), "job {} sent: {} moves on, searchmoves {}, ignoremoves {}",
                        job.job_id, len(job.moves), job.searchmoves, job.ignoremoves,
                    )  # fmt: skip
                case AskLastResort(job):
                    self.tell(at_ms, (job.search_id,), "last resort asked")
                case StopNode(node_id, job_id):
                    self.tell(at_ms, (node_id,), "job {} stopped", job_id)
                case Decision():
                    self.tell(
                        at_ms, (instruction.search_id,), "decision: {} by {}, depth {}, {} nodes",
                        instruction.move, instruction.source, instruction.depth, instruction.nodes,
                    )  # fmt: skip
                case LogEvent(name, fields):
                    about = tuple(
                        value for key in ("search_id", "node") if isinstance(value := fields.get(key), int | str)
                    )
                    small = {key: value for key, value in fields.items() if not isinstance(value, dict)}
                    self.tell(at_ms, about, "{} {}", name, small)
                case _:
                    pass
