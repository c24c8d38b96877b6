"""The USI front with a fleet behind it.

To open a fleet takes seconds, on a new machine a minute: the GUI is told what goes on. Where another one cannot be
opened, the fleet from before stays.
"""

from __future__ import annotations

from typing import ClassVar

from master.ui.texts import say
from master.usi.events import FleetEvent, FleetPlan
from master.usi.options import FleetOptions
from master.usi.report import event_line
from master.usi.thinking import FleetThinking
from worker.usi.events import Prepared
from worker.usi.front import FrontState, UsiFront


class FleetFront(UsiFront):
    """See the module's text.

    Args:
        options: with the fleet's plan as the configuration has it.
        strict: as `worker.usi.front.UsiFront`.
    """

    opens_soon: ClassVar[bool] = False

    def __init__(self, options: FleetOptions, *, strict: bool = False) -> None:
        self._fleet = FleetThinking(options, strict=strict)
        super().__init__(options, self._fleet, strict=strict)
        self._refused: FleetPlan | None = None
        """The plan that could not be opened last time; it is not tried again."""

    def _heard(self, event: object) -> None:
        if not isinstance(event, FleetEvent):
            super()._heard(event)
            return
        live = event.fields.get("live")
        if isinstance(live, int):
            self._fleet.live_nodes = max(1, live)
        if line := event_line(event.name, event.fields, self.state is FrontState.OPENING):
            self._fleet.say(line)

    def _wanted(self) -> FleetPlan:
        plan: FleetPlan = self._options.plan
        return self._plan if self._plan is not None and plan == self._refused else plan

    def _replaced(self) -> None:
        self._fleet.replaced(self._now_ms)

    def _stays_open(self, event: Prepared) -> bool:
        before, self._refused = self._plan, self._opening
        if before is None or event.final:
            return super()._stays_open(event)
        if event.stays:
            self._opening = before
            self._fleet.say(f"info string {say('the fleet stays as it was')}")
            return True
        self._plan = None
        self._fleet.say(f"info string {say('the fleet is opened again as it was')}")
        self._open(before)
        return False
