"""What AWS says of a fleet: its machines, their prices, its group's troubles, and what is left of it after its end."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from master.fleet.aws import AwsError, advice, client, told
from master.fleet.costs import Machine

TAG: Final = "gougi-fleet"
"""Everything of a fleet has it, with the fleet's name."""

_DESCRIBED: Final[tuple[tuple[str, str, str], ...]] = (
    # The call of EC2, the key of its answer, and the key of a thing's id.
    ("describe_volumes", "Volumes", "VolumeId"),
    ("describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId"),
    ("describe_addresses", "Addresses", "AllocationId"),
    ("describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"),
    ("describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId"),
    ("describe_nat_gateways", "NatGateways", "NatGatewayId"),
    ("describe_security_groups", "SecurityGroups", "GroupId"),
    ("describe_subnets", "Subnets", "SubnetId"),
    ("describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
    ("describe_route_tables", "RouteTables", "RouteTableId"),
    ("describe_vpcs", "Vpcs", "VpcId"),
)
_GONE_STATES: Final = ("deleted", "deleting")


@dataclass(frozen=True, slots=True)
class CloudMachine:
    """One EC2 instance. ``state``: pending, running, shutting-down, stopping or stopped."""

    facts: Machine
    state: str


class Cloud:
    """One account and region, as the environment's credentials have them. All methods raise AwsError."""

    def __init__(self, region: str | None) -> None:
        self._region = region
        self._clients: dict[str, Any] = {}

    def account(self) -> str:
        """The account's number; the first to ask, where it is to be known whether the credentials are good."""
        with told(AwsError, "AWS"):
            return str(self._of("sts").get_caller_identity()["Account"])

    def machines(self, fleet: str) -> list[CloudMachine]:
        """The instances of a fleet that are not terminated, the oldest first."""
        filters = [{"Name": f"tag:{TAG}", "Values": [fleet]}]
        found = []
        with told(AwsError, "EC2 instances"):
            for page in self._of("ec2").get_paginator("describe_instances").paginate(Filters=filters):
                for reservation in page["Reservations"]:
                    found += [_machine(raw) for raw in reservation["Instances"] if raw["State"]["Name"] != "terminated"]
        return sorted(found, key=lambda machine: (machine.facts.launched, machine.facts.id))

    def spot_prices(self, machines: Iterable[Machine]) -> dict[tuple[str, str], float]:
        """The market's price now, by type and zone, for the spot machines among these: US dollars an hour."""
        types = sorted({machine.type for machine in machines if machine.spot})
        if not types:
            return {}
        found: dict[tuple[str, str], float] = {}
        with told(AwsError, "EC2 spot prices"):
            answer = self._of("ec2").describe_spot_price_history(
                InstanceTypes=types,
                ProductDescriptions=["Linux/UNIX"],
                StartTime=datetime.now(UTC),  # the price in force, whenever it was set
            )
        for entry in answer["SpotPriceHistory"]:  # the newest first
            found.setdefault((entry["InstanceType"], entry["AvailabilityZone"]), float(entry["SpotPrice"]))
        return found

    def troubles(self, group: str, since: datetime) -> list[str]:
        """Why an auto-scaling group could not start machines since then, the newest first; what to do where known."""
        with told(AwsError, f"auto-scaling group {group}"):
            answer = self._of("autoscaling").describe_scaling_activities(AutoScalingGroupName=group, MaxRecords=20)
        texts = []
        for activity in answer["Activities"]:
            if activity["StatusCode"] == "Failed" and activity["StartTime"] >= since:
                text = " ".join(str(activity.get("StatusMessage") or activity.get("Cause") or "").split())[:300]
                texts.append(f"{advice(text)} ({text})" if advice(text) else text)
        return list(dict.fromkeys(texts))

    def left_over(self, fleet: str, patience_s: float = 0.0, but: Iterable[str] = ()) -> list[str]:
        """What still carries the fleet's tag: ARNs, or kinds and ids.

        Args:
            patience_s: how long to wait for what is just going.
            but: names of what is meant to stay (a bucket).
        """
        kept = tuple(but)
        deadline = time.monotonic() + patience_s
        while True:
            found = [thing for thing in self._tagged(fleet) if not thing.endswith(kept)]
            if not found or time.monotonic() >= deadline:
                return found
            time.sleep(5)

    def _tagged(self, fleet: str) -> list[str]:
        filters = [{"Name": f"tag:{TAG}", "Values": [fleet]}]
        found = [f"instance {machine.facts.id} ({machine.state})" for machine in self.machines(fleet)]
        ec2 = self._of("ec2")
        for call, key, name in _DESCRIBED:
            with told(AwsError, f"EC2 {call}"):
                for page in (
                    ec2.get_paginator(call).paginate(Filters=filters)
                    if ec2.can_paginate(call)
                    else [getattr(ec2, call)(Filters=filters)]
                ):
                    found += [
                        f"{key} {raw[name]}"
                        for raw in page[key]
                        if str(raw.get("State", "")).lower() not in _GONE_STATES
                    ]
        with told(AwsError, "auto-scaling groups"):
            for page in self._of("autoscaling").get_paginator("describe_auto_scaling_groups").paginate(Filters=filters):
                found += [f"auto-scaling group {raw['AutoScalingGroupName']}" for raw in page["AutoScalingGroups"]]
        with told(AwsError, "tagging"):
            tags = [{"Key": TAG, "Values": [fleet]}]
            for page in self._of("resourcegroupstaggingapi").get_paginator("get_resources").paginate(TagFilters=tags):
                # What was of EC2 stays in this list for hours after its end; EC2 itself was asked above.
                arns = [str(raw["ResourceARN"]) for raw in page["ResourceTagMappingList"]]
                found += [arn for arn in arns if arn.split(":")[2] not in ("ec2", "autoscaling")]
        return found

    def _of(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = client(service, self._region)
        return self._clients[service]


def _machine(raw: dict[str, Any]) -> CloudMachine:
    facts = Machine(
        id=raw["InstanceId"],
        type=raw["InstanceType"],
        zone=raw.get("Placement", {}).get("AvailabilityZone", ""),
        spot=raw.get("InstanceLifecycle") == "spot",
        launched=raw["LaunchTime"].timestamp(),
    )
    return CloudMachine(facts, raw["State"]["Name"])
