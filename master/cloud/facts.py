"""Terraform's facts about the present fleet. Pure: its output ``fleet`` in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from master.cloud.plan import FleetLocation


@dataclass(frozen=True, slots=True)
class Facts:
    """The fleet as terraform left it: its output ``fleet``."""

    name: str
    region: str
    nodes: int
    group: str
    head: str
    bucket: str
    bucket_is_own: bool
    session_command: str
    plays: bool
    """The head runs a master; without a password for a server it does not."""
    usd_per_hour: dict[str, float | None]
    zone: str = ""
    """As `FleetLocation` has it."""

    @property
    def location(self) -> FleetLocation:
        return FleetLocation(self.name, self.region, self.bucket, self.bucket_is_own, self.zone)


def read_facts(output: Mapping[str, Any]) -> Facts:
    """The output ``fleet``, which is the whole module.

    Raises:
        KeyError: it lacks something.
    """
    return Facts(
        name=output["name"],
        region=output["region"],
        nodes=int(output["nodes"]),
        group=output["asg_name"],
        head=output["head_instance_id"],
        bucket=output["bucket"],
        bucket_is_own=output["bucket_is_own"],
        session_command=output["session_command"],
        plays=output["parameters"]["csa_password"] is not None,
        usd_per_hour=output["usd_per_hour"],
        zone=output.get("zone") or "",
    )
