"""AWS's facts about a fleet: its machines, their prices, its group's troubles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from master.cloud import price_list
from master.cloud.agreed import TAG
from master.cloud.aws import AwsError, AwsRefusal, advice, client, told
from master.cloud.costs import Machine


@dataclass(frozen=True, slots=True)
class CloudMachine:
    """One EC2 instance. ``state``: pending, running, shutting-down, stopping or stopped."""

    facts: Machine
    state: str


_EXCHANGING: Final = frozenset({"Pending", "InProgress", "Baking", "Cancelling", "RollbackInProgress"})
"""States of an instance refresh, as AWS names them, in which it is not over."""


class Cloud:
    """One account and region, as the environment's credentials have them. All methods raise AwsError."""

    def __init__(self, region: str | None) -> None:
        self._region = region
        self._clients: dict[str, Any] = {}

    @property
    def region(self) -> str:
        """The one that is asked."""
        return str(self.service("ec2").meta.region_name)

    def account(self) -> str:
        """The account's number; the first to ask, where it is to be known whether the credentials are good."""
        with told(AwsError, "AWS"):
            return str(self.service("sts").get_caller_identity()["Account"])

    def machines(self, fleet: str) -> list[CloudMachine]:
        """The instances of a fleet that are not terminated, the oldest first."""
        filters = [{"Name": f"tag:{TAG}", "Values": [fleet]}]
        found = []
        with told(AwsError, "EC2 instances"):
            for page in self.service("ec2").get_paginator("describe_instances").paginate(Filters=filters):
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
            answer = self.service("ec2").describe_spot_price_history(
                InstanceTypes=types,
                ProductDescriptions=["Linux/UNIX"],
                StartTime=datetime.now(UTC),  # the price in force, whenever it was set
            )
        for entry in answer["SpotPriceHistory"]:  # the newest first
            found.setdefault((entry["InstanceType"], entry["AvailabilityZone"]), float(entry["SpotPrice"]))
        return found

    def on_demand_price(self, kind: str, region: str) -> float | None:
        """US dollars an hour of a type in a region, of AWS's price list; None: it does not know it."""
        wanted = price_list.filters(kind, region)
        with told(AwsError, "AWS's price list"):
            pages = self.service("pricing").get_paginator("get_products")  # a page may be empty, and more follow it
            found = [
                text
                for page in pages.paginate(ServiceCode=price_list.SERVICE, Filters=wanted)
                for text in page["PriceList"]
            ]
        return price_list.on_demand(found)

    def held(self, group: str) -> list[str]:
        """The instances that a group is about to end and that wait in its lifecycle hook."""
        with told(AwsError, f"auto-scaling group {group}"):
            answer = self.service("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[group])
        instances = [instance for found in answer["AutoScalingGroups"] for instance in found["Instances"]]
        return [str(each["InstanceId"]) for each in instances if each["LifecycleState"] == "Terminating:Wait"]

    def let_go(self, group: str, hook: str, instance: str) -> None:
        """Complete a lifecycle hook: the group goes on with what it wants of the instance."""
        with told(AwsError, f"auto-scaling group {group}, {instance}"):
            self.service("autoscaling").complete_lifecycle_action(
                AutoScalingGroupName=group,
                LifecycleHookName=hook,
                InstanceId=instance,
                LifecycleActionResult="CONTINUE",
            )

    def secret(self, name: str) -> str | None:
        """The value of a parameter in the Parameter Store; None: it is there, and these credentials may not read it.

        Raises:
            AwsError: there is none of that name here.
        """
        none = AwsError(f"no parameter {name} in {self.region}: aws ssm put-parameter --type SecureString makes one")
        try:
            with told(AwsError, f"parameter {name}"):
                return str(self.service("ssm").get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"])
        except AwsRefusal as refusal:
            if refusal.code == "ParameterNotFound":
                raise none from refusal
            if not refusal.denied:
                raise
        wanted = [{"Key": "Name", "Option": "Equals", "Values": [name]}]
        with told(AwsError, f"parameter {name}"):
            pages = self.service("ssm").get_paginator("describe_parameters").paginate(ParameterFilters=wanted)
            if not any(page["Parameters"] for page in pages):
                raise none
        return None

    def troubles(self, group: str, since: datetime) -> list[str]:
        """Reasons why an auto-scaling group could not start machines since then, the newest first; with advice where
        known."""
        with told(AwsError, f"auto-scaling group {group}"):
            answer = self.service("autoscaling").describe_scaling_activities(AutoScalingGroupName=group, MaxRecords=20)
        texts = []
        for activity in answer["Activities"]:
            if activity["StatusCode"] == "Failed" and activity["StartTime"] >= since:
                text = " ".join(str(activity.get("StatusMessage") or activity.get("Cause") or "").split())[:300]
                texts.append(f"{advice(text)} ({text})" if advice(text) else text)
        return list(dict.fromkeys(texts))

    def exchanged(self, group: str) -> int | None:
        """The share, in percent, of an auto-scaling group's machines that newer ones have replaced until now; None: no
        exchange is under way."""
        with told(AwsError, f"auto-scaling group {group}"):
            answer = self.service("autoscaling").describe_instance_refreshes(AutoScalingGroupName=group, MaxRecords=1)
        for found in answer["InstanceRefreshes"]:
            if found["Status"] in _EXCHANGING:
                return int(found.get("PercentageComplete", 0))
        return None

    def service(self, service: str) -> Any:
        """The boto3 client of a service."""
        if service not in self._clients:
            if service == "pricing":  # it is in a few regions only, and nothing waits for it that cannot do without
                self._clients[service] = client(service, price_list.REGION, attempts=1)
            else:
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
