"""A node in virtual time."""

from __future__ import annotations

from dataclasses import replace

from cluster.network.messages import Done, Job, Report
from lab.strategies.virtual import JobRun, VirtualNode
from tests.cluster.engines import HashEngine
from worker.engine import InfoCallback, Limits, SearchResult
from worker.shogi import STARTPOS


class LateEngine(HashEngine):
    """Has a result a millisecond after its last report."""

    def go(self, limits: Limits, on_info: InfoCallback | None = None) -> SearchResult:
        found = super().go(limits, on_info)
        return replace(found, lines=tuple(replace(line, time_ms=line.time_ms + 1) for line in found.lines))


def test_what_is_reported_does_not_depend_on_the_clock() -> None:
    told = [
        JobRun(VirtualNode("n1", engine), Job(1, 2, STARTPOS, nodes=1000), 0).advance(100)
        for engine in (HashEngine(), LateEngine())
    ]
    assert told[0] == told[1]
    messages = [message for _, message in told[0]]
    assert isinstance(messages[-1], Done) and all(isinstance(message, Report) for message in messages[:-1])
