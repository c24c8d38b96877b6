"""Lets a worker go that its auto-scaling group ends and that has drained, before the group's hook runs out.

The head does it, of the worker's own report: it can reach the auto-scaling API, which the workers cannot, and of which
they have no right. Where nobody does it, for the head or the worker is dead, the hook runs out by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from master.cloud.agreed import HOOK
from master.cloud.archive import Archive, ArchiveError
from master.cloud.aws import AwsError, AwsRefusal
from master.cloud.cloud import Cloud
from master.cloud.reports import PREFIX, ReportError, decode

_AFTER_FAILURE_S: Final = 60.0
_RAN_OUT: Final = "ValidationError"
"""The auto-scaling API's error for a machine that no hook holds (any more)."""


class Drained:
    """See the module's text.

    Args:
        group: the workers' auto-scaling group.
        archive: with the machines' reports.
        tell: gets what happens.
    """

    def __init__(
        self, cloud: Cloud, archive: Archive, group: str, tell: Callable[[str, dict[str, object]], None]
    ) -> None:
        self._cloud = cloud
        self._archive = archive
        self._group = group
        self._tell = tell
        self._done: set[str] = set()
        self._next = float("-inf")

    def step(self, now: float) -> None:
        """Look who is held, and let go who has drained.

        A machine for which that fails is tried again at the next step, and holds up no other. Where the group cannot be
        looked at, or AWS does not allow it, it is left be for a minute. What fails is told.

        Args:
            now: seconds of any clock that only goes forward.
        """
        if now < self._next:
            return
        try:
            held = self._cloud.held(self._group)
        except AwsError as error:
            self._pause(now, error)
            return
        self._done.intersection_update(held)
        for machine in held:
            try:
                if machine not in self._done and self._has_drained(machine):
                    self._let_go(machine)
            except AwsRefusal as error:
                if error.denied:
                    self._pause(now, error)
                    return
                self._tell("machine_not_let_go", {"machine": machine, "why": str(error)})
            except (AwsError, ArchiveError) as error:
                # Nobody answers: it would be the same with the next, and the copies wait meanwhile.
                self._tell("machine_not_let_go", {"machine": machine, "why": str(error)})
                return

    def _let_go(self, machine: str) -> None:
        try:
            self._cloud.let_go(self._group, HOOK, machine)
        except AwsRefusal as error:
            if error.code != _RAN_OUT:
                raise
            self._tell("machine_went_before", {"machine": machine, "why": str(error)})
        else:
            self._tell("machine_let_go", {"machine": machine})
        self._done.add(machine)

    def _pause(self, now: float, error: AwsError) -> None:
        self._next = now + _AFTER_FAILURE_S
        self._tell("machines_not_let_go", {"why": str(error)})

    def _has_drained(self, machine: str) -> bool:
        key = f"{PREFIX}{machine}.json"
        try:
            raw = self._archive.get(key)
            return raw is not None and decode(raw).state == "released"
        except ReportError:
            return False
