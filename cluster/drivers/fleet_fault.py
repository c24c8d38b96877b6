"""A fleet that will never be one, noticed after it was opened: what runs goes on, and then the command ends."""

from __future__ import annotations

from collections.abc import Callable

from cluster.api import FleetError


class FleetFault:
    """Hears the fleet's events; see `cluster.drivers.ray_driver.RaySearcher.open`.

    Args:
        then: called once, when the fault is known.
    """

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self._why = ""

    def on_event(self, name: str, fields: dict[str, object]) -> None:
        """As `cluster.api.Listener.on_event`."""
        if name == "fleet_broken" and not self._why:
            self._why = str(fields["why"])
            self._then()

    def check(self) -> None:
        """Raise FleetError where there was such a fault."""
        if self._why:
            raise FleetError(self._why)
