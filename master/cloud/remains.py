"""A fleet's resources at AWS, found by tag and names, whether or not terraform knows them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from master.cloud.agreed import BUDGET, ROLES, TAG
from master.cloud.aws import AwsError, aws_errors
from master.cloud.cloud import Cloud

_DESCRIBED: Final[tuple[tuple[str, str, str], ...]] = (
    # The EC2 call, the key of its answer, and the key of a resource's id.
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
    ("describe_placement_groups", "PlacementGroups", "GroupName"),
)
_GONE_STATES: Final = ("deleted", "deleting")
MACHINE, GROUP, ROLE, PROFILE, MONTH = "instance", "auto-scaling group", "IAM role", "instance profile", "budget"


@dataclass(frozen=True, slots=True)
class Thing:
    """``id``: its id in its service, or its ARN. ``kind``: the key in EC2's answers, or one of our names."""

    kind: str
    id: str
    state: str = ""
    of: str = ""
    """The auto-scaling group that made it, or the machine with which it is deleted; empty: it is independent."""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.kind, self.id, self.state and f"({self.state})")))


def things(found: Sequence[object]) -> str:
    """``1 thing``, ``4 things``."""
    return "1 thing" if len(found) == 1 else f"{len(found)} things"


@dataclass(frozen=True, slots=True)
class Remains:
    """``unseen``: resources that could not be queried, and the reasons."""

    found: tuple[Thing, ...]
    unseen: tuple[str, ...]

    def beside(self, ids: frozenset[str]) -> tuple[Thing, ...]:
        """The resources other than those with these ids (of terraform's state) and those deleted with them."""
        known = ids | {thing.id for thing in self.found if thing.of in ids}  # a machine of the group; its disk follows
        others = (thing for thing in self.found if thing.id not in known and thing.of not in known)
        return tuple(thing for thing in others if thing.state != "shutting-down")


def remains(cloud: Cloud, fleet: str, patience_s: float = 0.0, but: Iterable[str] = ()) -> Remains:
    """Look for remaining resources of a fleet.

    Resources that are charged by the hour must be seen. Roles and the budget cost nothing, and a user who has none
    may lack the permission to list them: then the result says so.

    Args:
        patience_s: maximum wait for resources that are being deleted.
        but: names of resources that are meant to stay (a bucket).

    Raises:
        AwsError: a query failed.
    """
    kept = tuple(but)
    deadline = time.monotonic() + patience_s
    while True:
        found = [thing for thing in _tagged(cloud, fleet) if not thing.id.endswith(kept)]
        unseen = []
        for kind, look in _LOOKS:
            try:
                with aws_errors(kind):
                    found += [Thing(kind, name) for name in look(cloud, fleet)]
            except AwsError as error:
                unseen.append(str(error))
        if not found or time.monotonic() >= deadline:
            return Remains(tuple(found), tuple(unseen))
        time.sleep(5)


def _filters(fleet: str) -> list[dict[str, Any]]:
    return [{"Name": f"tag:{TAG}", "Values": [fleet]}]


def _tagged(cloud: Cloud, fleet: str) -> list[Thing]:
    looks = [partial(_machines, cloud, fleet), partial(_groups, cloud, fleet), partial(_others, cloud, fleet)]
    for service in ("ec2", "autoscaling", "resourcegroupstaggingapi"):
        cloud.service(service)  # created here: boto3 can create clients on one thread only
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(look) for look in looks]
        asked[1:1] = [pool.submit(_described, cloud, fleet, *row) for row in _DESCRIBED]
        return [thing for each in asked for thing in each.result()]


def _machines(cloud: Cloud, fleet: str) -> list[Thing]:
    return [Thing(MACHINE, each.id, each.state, each.group) for each in cloud.machines(fleet)]


def _described(cloud: Cloud, fleet: str, call: str, key: str, name: str) -> list[Thing]:
    ec2, found = cloud.service("ec2"), list[Thing]()
    with aws_errors(f"EC2 {call}"):
        for page in (
            ec2.get_paginator(call).paginate(Filters=_filters(fleet))
            if ec2.can_paginate(call)
            else [getattr(ec2, call)(Filters=_filters(fleet))]
        ):
            for raw in page[key]:
                if str(raw.get("State", "")).lower() not in _GONE_STATES:
                    found.append(Thing(key, raw[name], of=_goes_with(raw)))
    return found


def _goes_with(raw: dict[str, Any]) -> str:
    """The machine that owns a disk or an interface; for a VPC's default security group, the VPC."""
    at = raw.get("Attachments") or [raw.get("Attachment") or {}]
    return str(at[0].get("InstanceId", "")) or (raw["VpcId"] if raw.get("GroupName") == "default" else "")


def _groups(cloud: Cloud, fleet: str) -> list[Thing]:
    with aws_errors("auto-scaling groups"):
        pages = cloud.service("autoscaling").get_paginator("describe_auto_scaling_groups")
        return [
            Thing(GROUP, raw["AutoScalingGroupName"])
            for page in pages.paginate(Filters=_filters(fleet))
            for raw in page["AutoScalingGroups"]
        ]


def _others(cloud: Cloud, fleet: str) -> list[Thing]:
    with aws_errors("tagging"):
        pages = cloud.service("resourcegroupstaggingapi").get_paginator("get_resources")
        tags = [{"Key": TAG, "Values": [fleet]}]
        arns = [
            raw["ResourceARN"] for page in pages.paginate(TagFilters=tags) for raw in page["ResourceTagMappingList"]
        ]
        # EC2 resources stay in this list for hours after deletion, so EC2 itself was asked. Roles are found by name.
        return [Thing("", arn) for arn in arns if arn.split(":")[2] not in ("ec2", "autoscaling", "iam")]


def _of_iam(call: str, argument: str, key: str, cloud: Cloud, fleet: str) -> Iterator[str]:
    """IAM resources by the names of the fleet's roles and the tag, since another role may have such a name too."""
    iam = cloud.service("iam")
    for name in (f"{fleet}-{role}" for role in ROLES):
        try:
            if {"Key": TAG, "Value": fleet} in getattr(iam, call)(**{argument: name})[key].get("Tags", ()):
                yield name
        except iam.exceptions.NoSuchEntityException:
            pass


def _budget(cloud: Cloud, fleet: str) -> Iterator[str]:
    """The budget, by its name only, which is that of terraform/cost.tf."""
    budgets, name = cloud.service("budgets"), f"{fleet}-{BUDGET}"
    try:
        budgets.describe_budget(AccountId=cloud.account(), BudgetName=name)
        yield name
    except budgets.exceptions.NotFoundException:
        pass


_LOOKS: Final[tuple[tuple[str, Callable[[Cloud, str], Iterable[str]]], ...]] = (
    (ROLE, partial(_of_iam, "get_role", "RoleName", "Role")),
    (PROFILE, partial(_of_iam, "get_instance_profile", "InstanceProfileName", "InstanceProfile")),
    (MONTH, _budget),
)
