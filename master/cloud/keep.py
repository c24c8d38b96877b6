"""The service on the fleet's head: it lets workers go that have drained, and ends a fleet in which nobody plays.

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

from master.cloud.agreed import HOOK
from master.cloud.aws import AwsError, AwsRefusal
from master.cloud.bucket import Bucket
from master.cloud.cloud import Cloud
from master.cloud.reports import ReportError, decode, key

_RAN_OUT: Final = "ValidationError"
"""The auto-scaling API's error for a machine that no hook holds (any more)."""

Tell = Callable[[str, dict[str, object]], None]


class DrainedWorkers:
    """Lets a worker go that its auto-scaling group ends and that has drained, before the group's hook runs out.

    The head does it, of the worker's own report: it can reach the auto-scaling API, which the workers cannot, and of
    which they have no right. Where nobody does it, for the head or the worker is dead, the hook runs out by itself.

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
        self._done: set[str] = set()
        self._failure = ""

    def step(self) -> None:
        """Look who is held, and let go who has drained. What fails is told once, and tried again at the next step."""
        try:
            held = self._cloud.held(self._group)
        except AwsError as error:
            self._tell_failure({"why": str(error)})
            return
        self._done.intersection_update(held)
        for machine in held:
            try:
                if machine not in self._done and self._has_drained(machine):
                    self._let_go(machine)
            except AwsError as error:
                self._tell_failure({"machine": machine, "why": str(error)})

    def _let_go(self, machine: str) -> None:
        try:
            self._cloud.let_go(self._group, HOOK, machine)
        except AwsRefusal as error:
            if error.code != _RAN_OUT:
                raise
        else:
            self._tell("machine_let_go", {"machine": machine})
        self._done.add(machine)

    def _tell_failure(self, fields: dict[str, object]) -> None:
        if str(fields) != self._failure:
            self._failure = str(fields)
            self._tell("machine_not_let_go", fields)

    def _has_drained(self, machine: str) -> bool:
        raw = self._bucket.get(key(machine))
        try:
            return raw is not None and decode(raw).state == "released"
        except ReportError:
            return False


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


def keep(
    records: Path, idle_hours: float, workers: DrainedWorkers, tell: Tell, stop: Event, step_s: float = 5.0
) -> str:
    """Run until the fleet is to end (returns why) or ``stop`` is set (returns ``""``).

    Args:
        records: the folder of the game records.
        idle_hours: as `idle_reason` has it.
    """
    began = time.time()
    while not stop.is_set():
        workers.step()
        if why := idle_reason(idle_hours, time.time(), began, last_move(records)):
            tell("fleet_ends", {"why": why})
            return why
        stop.wait(step_s)
    return ""
