"""The service on the fleet's head: it maintains the workers' group, and ends a fleet that no longer plays.

A separate process next to the master. It exits with a reason when the fleet must end; its parent (systemd)
then ends the fleet. Records and logs go to the bucket with a systemd timer (deploy/scripts/keep-records.sh).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Final

from master.cloud.agreed import HOOK, JOINED
from master.cloud.aws import AwsError, AwsRefusal
from master.cloud.bucket import Bucket
from master.cloud.cloud import Cloud
from master.cloud.reports import FAILURES, SILENT_S, MachineReport, ReportError, decode, key

_RAN_OUT: Final = "ValidationError"
"""The auto-scaling API's error for a machine that is not, or no longer, held by a hook."""

_RARELY_S: Final = 30.0
_MOST_FAILURES: Final = 3

Tell = Callable[[str, dict[str, object]], None]


class Workers:
    """The head's actions on the workers' auto-scaling group, based on the workers' own reports. The head can reach the
    API; the workers cannot, and have no permission for it.

    - It releases a worker that the group terminates and that has drained, before the group's hook expires.
    - It lets a new worker count as soon as it has joined, so that the group terminates no other one for it before.
    - It makes the group replace a worker that has stopped reporting.
    - After three failed boots in a row it stops the group, which would start and end machines for hours.

    If the head or the worker is dead, the hooks expire by themselves.

    Args:
        group: the workers' auto-scaling group.
        bucket: the bucket with the machines' reports.
        tell: callback for events.
    """

    def __init__(self, cloud: Cloud, bucket: Bucket, group: str, tell: Tell) -> None:
        self._cloud = cloud
        self._bucket = bucket
        self._group = group
        self._tell = tell
        self._done: set[tuple[str, str]] = set()
        self._failure = ""
        self._failed: set[str] | None = None
        self._looked = -1e9

    def step(self, now: float) -> None:
        """Look at the group and act. A failure is reported once, and retried at the next step.

        Args:
            now: seconds since 1970.
        """
        try:
            members = self._cloud.members(self._group)
            if rare := now - self._looked >= _RARELY_S:
                self._looked = now
                self._count_failures()
        except AwsError as error:
            self._tell_failure({"why": str(error)})
            return
        self._done.intersection_update(members.items())
        for machine, state in members.items():
            try:
                if (machine, state) not in self._done and (rare or state.endswith(":Wait")):
                    self._look_at(machine, state, now)
            except AwsError as error:
                self._tell_failure({"machine": machine, "why": str(error)})

    def _look_at(self, machine: str, state: str, now: float) -> None:
        said = self._said(machine)
        if said is None:
            return
        if state == "Terminating:Wait" and said.state == "released":
            self._let_go(machine, state, HOOK, "machine_let_go")
        elif state == "Pending:Wait" and said.state in ("joined", "ready"):
            self._let_go(machine, state, JOINED, "machine_counts")
            self._failed = None  # the next failures begin a new count
        elif state == "InService" and now - said.when > SILENT_S:
            self._cloud.give_up(machine)
            self._tell("machine_given_up", {"machine": machine, "silent_s": round(now - said.when)})
            self._done.add((machine, state))

    def _let_go(self, machine: str, state: str, hook: str, event: str) -> None:
        try:
            self._cloud.let_go(self._group, hook, machine)
        except AwsRefusal as error:
            if error.code != _RAN_OUT:
                raise
        else:
            self._tell(event, {"machine": machine})
        self._done.add((machine, state))

    def _count_failures(self) -> None:
        there = set(self._bucket.keys(FAILURES))
        if self._failed is None:
            self._failed = there
        elif len(there - self._failed) >= _MOST_FAILURES:
            self._cloud.hold(self._group)
            self._tell("group_held", {"failed": sorted(name.removeprefix(FAILURES) for name in there - self._failed)})
            self._failed = there

    def _tell_failure(self, fields: dict[str, object]) -> None:
        if str(fields) != self._failure:
            self._failure = str(fields)
            self._tell("group_not_kept", fields)

    def _said(self, machine: str) -> MachineReport | None:
        raw = self._bucket.get(key(machine))
        try:
            return None if raw is None else decode(raw)
        except ReportError:
            return None


def idle_reason(idle_hours: float, now: float, began: float, last_move: float | None) -> str:
    """The reason why an idle fleet must end now; empty: it continues. Pure; times are seconds since 1970.

    Args:
        idle_hours: hours without a move; 0: it never ends for this reason.
        began: start of the observation.
        last_move: when a record was last written; None: there is none.
    """
    quiet_s = now - max(began, last_move or began)
    if idle_hours and quiet_s >= idle_hours * 3600:
        return f"idle: no move for {quiet_s / 3600:.1f} hours"
    return ""


def last_move(records: Path) -> float | None:
    """The time at which a game record was last written, in seconds since 1970; None: there is none."""
    times = []
    for path in records.glob("*.csa"):
        with suppress(OSError):  # it may disappear at any moment
            times.append(path.stat().st_mtime)
    return max(times, default=None)


def keep(records: Path, idle_hours: float, workers: Workers, tell: Tell, stop: Event, step_s: float = 5.0) -> str:
    """Run until the fleet must end (returns the reason) or ``stop`` is set (returns ``""``).

    Args:
        records: the folder of the game records.
        idle_hours: as in `idle_reason`.
    """
    began = time.time()
    while not stop.is_set():
        workers.step(time.time())
        if why := idle_reason(idle_hours, time.time(), began, last_move(records)):
            tell("fleet_ends", {"why": why})
            return why
        stop.wait(step_s)
    return ""
