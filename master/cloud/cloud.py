"""AWS's facts about a fleet: its machines, and the problems of its auto-scaling group."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from master.cloud.agreed import TAG
from master.cloud.aws import AwsError, AwsRefusal, advice, aws_errors, client


@dataclass(frozen=True, slots=True)
class Machine:
    """One EC2 instance. ``launched``: seconds since 1970."""

    id: str
    type: str
    zone: str
    spot: bool
    launched: float
    state: str
    """pending, running, shutting-down, stopping or stopped."""
    group: str = ""
    """The auto-scaling group that made it; empty: none."""


class Cloud:
    """One account and region, as given by the environment's credentials. All methods raise AwsError."""

    def __init__(self, region: str | None) -> None:
        self._region = region
        self._clients: dict[str, Any] = {}
        self._account = ""

    @property
    def region(self) -> str:
        """The region that is queried."""
        return str(self.service("ec2").meta.region_name)

    @property
    def is_stand_in(self) -> bool:
        """Whether this is not AWS but a fake for tests, which serves all buckets under one host name."""
        return bool(os.environ.get("AWS_ENDPOINT_URL"))

    def account(self) -> str:
        """The account's number. Call it first to check the credentials."""
        if not self._account:
            with aws_errors("AWS"):
                self._account = str(self.service("sts").get_caller_identity()["Account"])
        return self._account

    def machines(self, fleet: str) -> list[Machine]:
        """The instances of a fleet that are not terminated, oldest first."""
        filters = [{"Name": f"tag:{TAG}", "Values": [fleet]}]
        found = []
        with aws_errors("EC2 instances"):
            for page in self.service("ec2").get_paginator("describe_instances").paginate(Filters=filters):
                for reservation in page["Reservations"]:
                    found += [_machine(raw) for raw in reservation["Instances"] if raw["State"]["Name"] != "terminated"]
        return sorted(found, key=lambda machine: (machine.launched, machine.id))

    def members(self, group: str) -> dict[str, str]:
        """The instances of a group, with their lifecycle states. ``Pending:Wait`` and ``Terminating:Wait`` are held by
        a hook; ``InService`` counts as a member."""
        found = self._group(group).get("Instances", ())
        return {str(each["InstanceId"]): str(each["LifecycleState"]) for each in found}

    def is_held(self, group: str) -> bool:
        """Whether a group starts no machines, as after `hold`."""
        return any(each["ProcessName"] == "Launch" for each in self._group(group).get("SuspendedProcesses", ()))

    def _group(self, group: str) -> dict[str, Any]:
        with aws_errors(f"auto-scaling group {group}"):
            answer = self.service("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[group])
        return next(iter(answer["AutoScalingGroups"]), {})

    def hold(self, group: str) -> None:
        """Stop a group from starting machines, until terraform's next apply."""
        with aws_errors(f"auto-scaling group {group}"):
            self.service("autoscaling").suspend_processes(AutoScalingGroupName=group, ScalingProcesses=["Launch"])

    def give_up(self, instance: str) -> None:
        """Make the group replace one of its instances."""
        with aws_errors(f"instance {instance}"):
            self.service("autoscaling").set_instance_health(InstanceId=instance, HealthStatus="Unhealthy")

    def let_go(self, group: str, hook: str, instance: str) -> None:
        """Complete a lifecycle hook: the group continues with its action on the instance."""
        with aws_errors(f"auto-scaling group {group}, {instance}"):
            self.service("autoscaling").complete_lifecycle_action(
                AutoScalingGroupName=group,
                LifecycleHookName=hook,
                InstanceId=instance,
                LifecycleActionResult="CONTINUE",
            )

    def secret(self, name: str) -> str | None:
        """The value of a parameter in the Parameter Store; None: it exists, but these credentials may not read it.

        Raises:
            AwsError: there is none of that name.
        """
        none = AwsError(f"no parameter {name} in {self.region}: aws ssm put-parameter --type SecureString makes one")
        try:
            with aws_errors(f"parameter {name}"):
                return str(self.service("ssm").get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"])
        except AwsRefusal as refusal:
            if refusal.code == "ParameterNotFound":
                raise none from refusal
            if not refusal.denied:
                raise
        wanted = [{"Key": "Name", "Option": "Equals", "Values": [name]}]
        with aws_errors(f"parameter {name}"):
            pages = self.service("ssm").get_paginator("describe_parameters").paginate(ParameterFilters=wanted)
            if not any(page["Parameters"] for page in pages):
                raise none
        return None

    def quota(self, *, spot: bool) -> int | None:
        """The maximum number of virtual CPUs of all the account's machines of the standard families together in the
        region; None: these credentials may not query it."""
        code = "L-34B43A08" if spot else "L-1216C47A"
        try:
            with aws_errors("quota of vCPUs"):
                answer = self.service("service-quotas").get_service_quota(ServiceCode="ec2", QuotaCode=code)
        except AwsRefusal:
            return None
        return int(answer["Quota"]["Value"])

    def troubles(self, group: str, since: datetime) -> list[str]:
        """Reasons why an auto-scaling group could not start machines since then, newest first, with advice if it is
        known."""
        with aws_errors(f"auto-scaling group {group}"):
            answer = self.service("autoscaling").describe_scaling_activities(AutoScalingGroupName=group, MaxRecords=20)
        texts = []
        for activity in answer["Activities"]:
            if activity["StatusCode"] == "Failed" and activity["StartTime"] >= since:
                text = " ".join(str(activity.get("StatusMessage") or activity.get("Cause") or "").split())[:300]
                texts.append(f"{advice(text)} ({text})" if advice(text) else text)
        return list(dict.fromkeys(texts))

    def service(self, service: str) -> Any:
        """The boto3 client of a service."""
        if service not in self._clients:
            self._clients[service] = client(service, self._region)
        return self._clients[service]


def _machine(raw: dict[str, Any]) -> Machine:
    return Machine(
        id=raw["InstanceId"],
        type=raw["InstanceType"],
        zone=raw.get("Placement", {}).get("AvailabilityZone", ""),
        spot=raw.get("InstanceLifecycle") == "spot",
        launched=raw["LaunchTime"].timestamp(),
        state=raw["State"]["Name"],
        group=next((tag["Value"] for tag in raw.get("Tags", ()) if tag["Key"] == "aws:autoscaling:groupName"), ""),
    )
