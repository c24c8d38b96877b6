"""The service on the fleet's head: it keeps the workers' group, and ends a fleet in which nobody plays.

A process of its own beside the master. It ends with a reason when the fleet is to end; whoever started it (systemd)
then ends the fleet. Records and logs go to the bucket by a timer of systemd (deploy/scripts/keep-records.sh).
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
"""The auto-scaling API's error for a machine that no hook holds (any more)."""

_RARELY_S: Final = 30.0
_MOST_FAILURES: Final = 3

Tell = Callable[[str, dict[str, object]], None]


class Workers:
    """What the head does with the workers' auto-scaling group, by the workers' own reports: it can reach the API, which
    the workers cannot, and of which they have no right.

    - It lets a worker go that the group ends and that has drained, before the group's hook runs out.
    - It lets a new worker count that has joined, so that the group ends no other one for it before.
    - It lets the group replace one that says nothing any more.
    - After three failed boots in a row it holds the group, which would start and end machines for hours.

    Where nobody does it, for the head or the worker is dead, the hooks run out by themselves.

    Args:
        group: the workers' auto-scaling group.
        bucket: with the machines' reports.
        tell: gets what happens.
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
        """Look at the group, and do what is to be done. What fails is told once, and tried again at the next step.

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
            self._failed = None  # the next ones begin a new row
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
    """The reason why an idle fleet is to end now; empty: it goes on. Pure; times are seconds since 1970.

    Args:
        idle_hours: without a move; 0: it never ends for that.
        began: since when anybody looks.
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
        with suppress(OSError):  # it may go at any moment
            times.append(path.stat().st_mtime)
    return max(times, default=None)


def keep(records: Path, idle_hours: float, workers: Workers, tell: Tell, stop: Event, step_s: float = 5.0) -> str:
    """Run until the fleet is to end (returns why) or ``stop`` is set (returns ``""``).

    Args:
        records: the folder of the game records.
        idle_hours: as `idle_reason` has it.
    """
    began = time.time()
    while not stop.is_set():
        workers.step(time.time())
        if why := idle_reason(idle_hours, time.time(), began, last_move(records)):
            tell("fleet_ends", {"why": why})
            return why
        stop.wait(step_s)
    return ""
