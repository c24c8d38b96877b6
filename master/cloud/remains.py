"""The remains of a fleet after its end, found by its tag, or by name where a service knows no search by tags."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from master.cloud.agreed import BUDGET, ROLES, TAG
from master.cloud.aws import AwsError, told
from master.cloud.cloud import Cloud

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
class Remains:
    """``found``: ARNs, or kinds and ids. ``unseen``: what could not be looked at, and why."""

    found: tuple[str, ...]
    unseen: tuple[str, ...]


def remains(cloud: Cloud, fleet: str, patience_s: float = 0.0, but: Iterable[str] = ()) -> Remains:
    """Look for what is left of a fleet.

    What costs money by the hour must be seen. Groups, roles and the budget cost nothing, and a user who has none may
    lack the rights to look for them: then that is said.

    Args:
        patience_s: how long to wait for what is just going.
        but: names of what is meant to stay (a bucket).

    Raises:
        AwsError: it cannot be seen.
    """
    kept = tuple(but)
    deadline = time.monotonic() + patience_s
    while True:
        found = [thing for thing in _tagged(cloud, fleet) if not thing.endswith(kept)]
        unseen = []
        for kind, look in _LOOKS:
            try:
                with told(AwsError, kind):
                    found += [f"{kind} {name}" for name in look(cloud, fleet)]
            except AwsError as error:
                unseen.append(str(error))
        if not found or time.monotonic() >= deadline:
            return Remains(tuple(found), tuple(unseen))
        time.sleep(5)


def _filters(fleet: str) -> list[dict[str, Any]]:
    return [{"Name": f"tag:{TAG}", "Values": [fleet]}]


def _tagged(cloud: Cloud, fleet: str) -> list[str]:
    found = [f"instance {machine.facts.id} ({machine.state})" for machine in cloud.machines(fleet)]
    ec2 = cloud.service("ec2")
    for call, key, name in _DESCRIBED:
        with told(AwsError, f"EC2 {call}"):
            for page in (
                ec2.get_paginator(call).paginate(Filters=_filters(fleet))
                if ec2.can_paginate(call)
                else [getattr(ec2, call)(Filters=_filters(fleet))]
            ):
                found += [
                    f"{key} {raw[name]}" for raw in page[key] if str(raw.get("State", "")).lower() not in _GONE_STATES
                ]
    with told(AwsError, "auto-scaling groups"):
        groups = cloud.service("autoscaling").get_paginator("describe_auto_scaling_groups")
        for page in groups.paginate(Filters=_filters(fleet)):
            found += [f"auto-scaling group {raw['AutoScalingGroupName']}" for raw in page["AutoScalingGroups"]]
    with told(AwsError, "tagging"):
        tags = [{"Key": TAG, "Values": [fleet]}]
        resources = cloud.service("resourcegroupstaggingapi").get_paginator("get_resources")
        for page in resources.paginate(TagFilters=tags):
            # What was of EC2 stays in this list for hours after its end; EC2 itself was asked above.
            arns = [str(raw["ResourceARN"]) for raw in page["ResourceTagMappingList"]]
            found += [arn for arn in arns if arn.split(":")[2] not in ("ec2", "autoscaling")]
    return found


def _placement_groups(cloud: Cloud, fleet: str) -> Iterator[str]:
    for raw in cloud.service("ec2").describe_placement_groups(Filters=_filters(fleet))["PlacementGroups"]:
        if raw["State"] not in _GONE_STATES:
            yield str(raw["GroupName"])


def _of_iam(call: str, argument: str, key: str, cloud: Cloud, fleet: str) -> Iterator[str]:
    """By the names of the fleet's roles. ``call`` takes one as ``argument``; ``key``: of its answer."""
    iam = cloud.service("iam")
    for name in (f"{fleet}-{role}" for role in ROLES):
        try:
            if _ours(getattr(iam, call)(**{argument: name})[key], fleet):
                yield name
        except iam.exceptions.NoSuchEntityException:
            pass


def _budget(cloud: Cloud, fleet: str) -> Iterator[str]:
    """By its name alone, that of terraform/cost.tf."""
    budgets, name = cloud.service("budgets"), f"{fleet}-{BUDGET}"
    try:
        budgets.describe_budget(AccountId=cloud.account(), BudgetName=name)
        yield name
    except budgets.exceptions.NotFoundException:
        pass


def _ours(raw: dict[str, Any], fleet: str) -> bool:
    """Somebody's role may have such a name too."""
    return {"Key": TAG, "Value": fleet} in raw.get("Tags", ())


_LOOKS: Final[tuple[tuple[str, Callable[[Cloud, str], Iterable[str]]], ...]] = (
    ("placement group", _placement_groups),
    ("IAM role", partial(_of_iam, "get_role", "RoleName", "Role")),
    ("instance profile", partial(_of_iam, "get_instance_profile", "InstanceProfileName", "InstanceProfile")),
    ("budget", _budget),
)
