"""Decides when a cloud machine has to go, and what to do before it goes. Pure; times are arguments in milliseconds.

Three things may be said of a machine (EC2's names and their meaning: "Spot Instance interruption notices", "EC2
instance rebalance recommendations", "Retrieve the target lifecycle state through instance metadata", AWS manuals):

- **interruption**: it is taken away at a time that is given, two minutes ahead as a rule;
- **termination**: its auto-scaling group is about to end it, and waits a while (a lifecycle hook);
- **rebalance recommendation**: it is likelier than others to be taken away, at no known time.

The first two send it away: each node process is asked to leave (SIGTERM) until the master has dismissed it, and then
the machine may go. A **recommendation alone sends nobody away**. It can come hours before the end or for nothing; a
machine that searches until its notice is worth more than one that idles, and to be dismissed takes less than a second
of those two minutes. Where the group replaces such a machine (capacity rebalancing) it ends it when the new one is
there, and the termination above is the sign.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from cluster.machine.presence import NodePresence, NodeState

MARGIN_MS: Final = 5_000
"""Kept free before the machine is taken away."""


@dataclass(frozen=True, slots=True)
class Notices:
    """The notices for the machine that stand now."""

    interruption: str = ""
    """``terminate``, ``stop`` or ``hibernate``; empty: nothing."""
    left_ms: int | None = None
    """Until the interruption, where the time is known."""
    terminating: bool = False
    """The group wants it gone, and waits."""
    rebalance: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask a node process to leave (SIGTERM)."""

    node: NodePresence


@dataclass(frozen=True, slots=True)
class Release:
    """The machine may go: its services can be stopped. The last instruction."""

    why: str


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An entry for the log."""

    name: str
    fields: dict[str, object] = field(default_factory=dict)


Instruction = Ask | Release | LogEntry


class Departure:
    """One machine's way out.

    Args:
        limit_ms: how long nodes may take to be dismissed; then the machine goes in any case. A master that is itself
            gone dismisses nobody. Less than what the group's hook waits.
        again_ms: a node that is still not dismissed is asked again, for a signal or a message may have been lost.
    """

    def __init__(self, limit_ms: int = 20_000, again_ms: int = 1_000) -> None:
        self._limit_ms = limit_ms
        self._again_ms = again_ms
        self.at_risk = False
        """A recommendation has come."""
        self.why = ""
        """The reason why it leaves; empty: it stays."""
        self.released = False
        self._deadline_ms = 0
        self._asked_ms: dict[int, int] = {}

    def step(self, notices: Notices, nodes: tuple[NodePresence, ...], now_ms: int) -> list[Instruction]:
        """The instructions that are due; to be called several times a second once the machine leaves (`why`).

        Args:
            notices: what is said of the machine.
            nodes: its node processes.
            now_ms: any clock that only goes forward.
        """
        if self.released:
            return []
        said: list[Instruction] = []
        if notices.rebalance and not self.at_risk:
            said.append(LogEntry("rebalance_recommended"))
        self.at_risk = self.at_risk or notices.rebalance
        if not self.why and (why := _why(notices)):
            self.why = why
            self._deadline_ms = now_ms + self._limit_ms
            if notices.left_ms is not None:
                self._deadline_ms = min(self._deadline_ms, now_ms + max(0, notices.left_ms - MARGIN_MS))
            said.append(LogEntry("machine_leaves", {"why": why, "nodes": [node.node_id for node in nodes]}))
        if self.why:
            said += self._send_away(nodes, now_ms)
        return said

    def _send_away(self, nodes: tuple[NodePresence, ...], now_ms: int) -> list[Instruction]:
        left = [node for node in nodes if node.state is not NodeState.DISMISSED]
        if not left or now_ms >= self._deadline_ms:
            self.released = True
            fields: dict[str, object] = {"why": self.why, "not_dismissed": [node.node_id for node in left]}
            return [LogEntry("machine_released", fields), Release(self.why)]
        due = [n for n in left if now_ms - self._asked_ms.get(n.pid, now_ms - self._again_ms) >= self._again_ms]
        self._asked_ms |= {node.pid: now_ms for node in due}
        return [Ask(node) for node in due]


def _why(notices: Notices) -> str:
    if notices.interruption:
        return f"spot interruption ({notices.interruption})"
    return "its group ends it" if notices.terminating else ""
