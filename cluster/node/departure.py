"""The departure of a cloud machine: EC2's notices about it (`InstanceMetadata`), when it has to go, and the steps to
take before that (`Departure`, which is pure; times are arguments in milliseconds).

There are three notices (EC2's names and their meaning: "Spot Instance interruption notices", "EC2 instance rebalance
recommendations", "Retrieve the target lifecycle state through instance metadata", AWS manuals):

- **interruption**: EC2 reclaims it at a given time, usually announced two minutes before;
- **termination**: its auto-scaling group is about to end it, and waits for a while (a lifecycle hook);
- **rebalance recommendation**: it is more likely than others to be reclaimed, at an unknown time.

After either of the first two the machine leaves: each node process is asked to leave (SIGTERM) until the master has
dismissed it, and then the machine may go. A **recommendation alone is not acted on**. It can come hours before the end,
or without any consequence. A machine that searches until its notice is worth more than one that idles, and a dismissal
takes less than a second of those two minutes. If the group replaces such a machine (capacity rebalancing), it ends it
when the new one is ready, and announces that as the termination above.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from cluster.machine.presence import NodePresence, NodeState

MARGIN_MS: Final = 5_000
"""Milliseconds kept free before the machine is reclaimed."""


@dataclass(frozen=True, slots=True)
class Notices:
    """The current notices for the machine."""

    interruption: str = ""
    """``terminate``, ``stop`` or ``hibernate``; empty: none."""
    left_ms: int | None = None
    """Milliseconds until the interruption, if the time is known."""
    terminating: bool = False
    """The group wants to end it, and waits."""
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
    """The departure of one machine.

    Args:
        limit_ms: how long the dismissal of the nodes may take; then the machine goes in any case, because a master that
            is itself gone dismisses no nodes. Must be less than the wait of the group's hook.
        again_ms: a node that is not dismissed by then is asked again, because a signal or a message may have been lost.
    """

    def __init__(self, limit_ms: int = 20_000, again_ms: int = 1_000) -> None:
        self._limit_ms = limit_ms
        self._again_ms = again_ms
        self.at_risk = False
        """A rebalance recommendation has arrived."""
        self.why = ""
        """The reason why it leaves; empty: it stays."""
        self.released = False
        self._deadline_ms = 0
        self._asked_ms: dict[int, int] = {}

    def step(self, notices: Notices, nodes: tuple[NodePresence, ...], now_ms: int) -> list[Instruction]:
        """The instructions that are due. Call it several times a second once the machine is leaving (`why`).

        Args:
            notices: EC2's notices about the machine.
            nodes: its node processes.
            now_ms: the time by any monotonic clock.
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


ENDPOINT: Final = "http://169.254.169.254"
ENDPOINT_VARIABLE: Final = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
"""The variable that the AWS SDKs use."""
_TOKEN_LIFETIME_S: Final = 21_600
_LONGEST: Final = 64 * 1024


class MetadataError(Exception):
    """The service does not answer, or answers wrongly; the text names the endpoint and the error."""


class InstanceMetadata:
    """A client of EC2's instance metadata service.

    Args:
        endpoint: ``http://host[:port]``; None: the one that the environment names, else EC2's own.
        timeout_s: for each answer.
    """

    def __init__(self, endpoint: str | None = None, timeout_s: float = 1.0) -> None:
        self.endpoint = (endpoint or os.environ.get(ENDPOINT_VARIABLE) or ENDPOINT).rstrip("/")
        self._timeout_s = timeout_s
        self._token = ""
        # The address is local to the machine: no proxy can reach it, and no proxy may see the token.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, path: str) -> str | None:
        """The text at ``path`` below ``/latest/meta-data/``; None: nothing (404).

        Raises:
            MetadataError: no answer, or a refusal.
        """
        if not self._token:
            self._renew()
        try:
            return self._read(path)
        except urllib.error.HTTPError as error:
            if error.code != 401:
                raise MetadataError(f"{self.endpoint}: {path}: status {error.code}") from error
        self._renew()  # tokens expire after a time, and when a machine hibernates
        try:
            return self._read(path)
        except urllib.error.HTTPError as error:
            raise MetadataError(f"{self.endpoint}: {path}: status {error.code}") from error

    def notices(self, now: datetime) -> Notices:
        """Ask for the machine's notices. ``now``: the current date and time, with a time zone.

        Raises:
            MetadataError: as `get`; an answer that cannot be understood.
        """
        action, left_ms = "", None
        raw = self.get("spot/instance-action")
        if raw is not None:
            action, when = _parse_action(raw)
            left_ms = max(0, round((when - now).total_seconds() * 1000))
        return Notices(
            interruption=action,
            left_ms=left_ms,
            terminating=(self.get("autoscaling/target-lifecycle-state") or "").strip() == "Terminated",
            rebalance=self.get("events/recommendations/rebalance") is not None,
        )

    def _renew(self) -> None:
        request = urllib.request.Request(
            f"{self.endpoint}/latest/api/token",
            method="PUT",
            headers={"X-aws-ec2-metadata-token-ttl-seconds": str(_TOKEN_LIFETIME_S)},
        )
        try:
            self._token = self._open(request)
        except urllib.error.HTTPError as error:
            raise MetadataError(f"{self.endpoint}: no session token: status {error.code}") from error

    def _read(self, path: str) -> str | None:
        url = f"{self.endpoint}/latest/meta-data/{path}"
        request = urllib.request.Request(url, headers={"X-aws-ec2-metadata-token": self._token})
        try:
            return self._open(request)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def _open(self, request: urllib.request.Request) -> str:
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                return str(answer.read(_LONGEST).decode("utf-8", errors="replace"))
        except urllib.error.HTTPError:
            raise
        except OSError as error:
            raise MetadataError(f"{self.endpoint}: no answer: {error}") from error


def _parse_action(text: str) -> tuple[str, datetime]:
    """``{"action": "terminate", "time": "2026-09-18T08:22:00Z"}``."""
    try:
        answer = json.loads(text)
        action, when = str(answer["action"]), datetime.fromisoformat(str(answer["time"]).replace("Z", "+00:00"))
    except (ValueError, KeyError, TypeError) as error:
        raise MetadataError(f"spot/instance-action: expected action and time, got {text[:200]!r}") from error
    return action, when if when.tzinfo else when.replace(tzinfo=UTC)
