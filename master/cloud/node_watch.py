"""The service next to each machine's Ray node: notices that the machine must go, dismisses its nodes, and reports.

`cluster.node.departure` decides; this module has the clock, the metadata service, the signals, and the bucket.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from cluster.machine.presence import present
from cluster.node.departure import Ask, Departure, InstanceMetadata, LogEntry, MetadataError, Notices
from master.cloud.aws import AwsError
from master.cloud.bucket import Bucket
from master.cloud.reports import REPORT_S, MachineReport, key, report

_LEAVING_POLL_S: Final = 0.1

Tell = Callable[[str, dict[str, object]], None]


class NodeWatch:
    """See the module's docstring.

    Args:
        metadata: metadata service of this machine.
        run_dir: folder in which its node processes register (`cluster.machine.presence`).
        tell: callback for events.
        bucket: bucket for the machine's reports; None: no reports.
        poll_s: seconds between two queries of the metadata.
        joined: whether Ray runs on this machine; called at each query of the metadata until the machine must go.
    """

    def __init__(
        self,
        metadata: InstanceMetadata,
        run_dir: Path,
        tell: Tell,
        bucket: Bucket | None = None,
        poll_s: float = 5.0,  # as AWS recommends
        joined: Callable[[], bool] = lambda: False,
    ) -> None:
        self._metadata = metadata
        self._run_dir = run_dir
        self._tell = tell
        self._poll_s = poll_s
        self._departure = Departure()
        self._ask_joined = joined
        self._joined = False
        self._reporter = None if bucket is None else _Reporter(bucket, tell)
        self._machine = ""
        self._notices = Notices()
        self._silent = False

    def run(self, stop: threading.Event) -> str:
        """Watch until the machine is released (returns the reason) or ``stop`` is set (returns ``""``)."""
        looked = reported = -1e9
        state = ""
        while not stop.is_set():
            now = time.monotonic()
            if now - looked >= self._poll_s:
                looked = now
                self._look()
                if not self._departure.why:
                    self._joined = self._ask_joined()
            nodes = present(self._run_dir)
            for instruction in self._departure.step(self._notices, nodes, round(now * 1000)):
                match instruction:
                    case LogEntry(name, fields):
                        self._tell(name, fields)
                    case Ask(node):
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(node.pid, signal.SIGTERM)
            departure = self._departure
            if self._machine and self._reporter is not None:
                said = report(
                    self._machine,
                    nodes,
                    time.time(),
                    joined=self._joined,
                    at_risk=departure.at_risk,
                    why=departure.why,
                    released=departure.released,
                )
                if said.state != state or now - reported >= REPORT_S:
                    state, reported = said.state, now
                    self._reporter.put(said)
            if departure.released:
                break
            stop.wait(_LEAVING_POLL_S if departure.why else min(1.0, self._poll_s))
        if self._reporter is not None:
            self._reporter.close()
        return self._departure.why if self._departure.released else ""

    def _look(self) -> None:
        """Query the metadata. A failure is reported once, and the last answer remains valid."""
        try:
            if not self._machine:
                self._machine = self._metadata.get("instance-id") or ""
            self._notices = self._metadata.notices(datetime.now(UTC))
            self._silent = False
        except MetadataError as error:
            if not self._silent:
                self._tell("metadata_failed", {"why": str(error)})
            self._silent = True


class _Reporter:
    """Writes reports on a separate thread: a slow bucket must not delay a departure."""

    def __init__(self, bucket: Bucket, tell: Tell) -> None:
        self._bucket = bucket
        self._tell = tell
        self._waiting = SimpleQueue[MachineReport | None]()
        self._thread = threading.Thread(target=self._run, name="reports", daemon=True)
        self._thread.start()

    def put(self, said: MachineReport) -> None:
        self._waiting.put(said)

    def close(self) -> None:
        """Write pending reports, and end. It takes at most 3 s, because the machine's end waits for it."""
        self._waiting.put(None)
        self._thread.join(3.0)

    def _run(self) -> None:
        while (said := self._waiting.get()) is not None:
            try:
                self._bucket.put(key(said.machine), said.encode())
            except AwsError as error:
                self._tell("report_failed", {"why": str(error)})
