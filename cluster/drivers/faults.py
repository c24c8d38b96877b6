"""Faults that no waiting removes: a cluster that refuses us, an engine that cannot be made. `Faults` recognizes them,
pure; `FleetFault` ends the command for one that is known only after the fleet was opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cluster.api import FleetError
from cluster.coordination.events import FALLBACK


@dataclass(slots=True)
class Faults:
    """Tells a fleet that will never be one from a node that has a bad moment.

    Args:
        local: the nodes are processes of this machine, all with what this machine has. Elsewhere one machine may lack
            what the others have: the fleet is broken where no node has come up and none of the places has one.
    """

    local: bool
    broken: str = ""
    """The reason why there will be no fleet, in words for a person; empty: there may be one. The first fault stays."""
    _up: set[str] = field(default_factory=set)
    _failed: set[str] = field(default_factory=set)

    def refused(self, why: str) -> None:
        """The cluster does not let us in."""
        self._break(why)

    def came_up(self, node_id: str) -> None:
        """Note that a node, or the fallback, can search: a later fault of it may pass."""
        self._up.add(node_id)
        self._failed.discard(node_id)

    def failed(self, node_id: str, why: str, places: int | None) -> None:
        """An engine could not be made.

        Args:
            node_id: whose.
            why: as it said.
            places: how many nodes the machines offer; None or 0: not known yet.
        """
        if node_id in self._up:
            return
        if node_id == FALLBACK:
            self._break(f"the fallback cannot start: {node_id}: {why}")
            return
        self._failed.add(node_id)
        if self.local:
            self._break(f"a node cannot start: {node_id}: {why}")
        elif not self._up - {FALLBACK} and places and len(self._failed) >= places:
            self._break(f"no node can start: {node_id}: {why}")

    def _break(self, why: str) -> None:
        self.broken = self.broken or why


class FleetFault:
    """Hears the fleet's events, and of a fleet that will never be one: what runs goes on, and then the command ends.

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
        """Raise FleetError if there was such a fault."""
        if self._why:
            raise FleetError(self._why)
