"""The end of a fleet: its bucket is copied and emptied, and what is left is looked for."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

from master.cloud.agreed import BUDGET, ROLES, TAG
from master.cloud.aws import AwsError, aws_errors
from master.cloud.bucket import Bucket
from master.cloud.cloud import Cloud
from master.cloud.plan import FleetLocation
from master.cloud.terraform import Terraform
from worker.files import replace_file

_WORTH: Final = ("records/", "logs/", "books/")
"""Parts of a fleet's folder that are worth keeping; releases, configuration and nets came from here."""
_OWN_BUCKET: Final = re.compile(r"(^|\.)aws_s3_bucket\.this\[")
_MACHINES: Final = re.compile(r"(^|\.)aws_(instance|autoscaling_group)\.")
"""Addresses of the module's in terraform's state."""


def bucket_is_in_the_way(terraform: Terraform) -> bool:
    """Whether the fleet's own bucket is still there, and no machine of the fleet that would write to it."""
    left = terraform.managed()
    return any(map(_OWN_BUCKET.search, left)) and not any(map(_MACHINES.search, left))


def in_folder(key: str) -> bool:
    """Whether a key is a path that stays below the folder which it is put in; S3 takes any text for a key. Pure."""
    return "\0" not in key and all(part not in ("", ".", "..") for part in key.split("/"))


def copy_records(location: FleetLocation, folder: Path, tell: Callable[[str], None]) -> int:
    """Copy games, logs and books of the fleet's own bucket to ``folder``. Returns how many.

    What is there under the same name, an earlier copy or another fleet's, which may be the only one, is kept under a
    name of its own. A key that would lie outside the folder is none of the fleet's; it is told and left, and holds up
    no end.

    Raises:
        AwsError, OSError: a copy failed.
    """
    bucket, copied = Bucket(location.bucket, location.name, location.region), 0
    for key in (key for part in _WORTH for key in bucket.keys(part)):
        if not in_folder(key):
            tell(f"not copied: {key!r} in the bucket {location.bucket} is no path inside a folder")
            continue
        data, path = bucket.get(key) or b"", folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.read_bytes() != data:
            aside = next(name for n in count(1) if not (name := path.with_name(f"{path.name}.{n}")).exists())
            path.rename(aside)
            tell(f"{path} was there with other contents: it is {aside.name} now")
        replace_file(path, data)
        copied += 1
    return copied


def empty(location: FleetLocation) -> None:
    """Delete all of the fleet's own bucket; of somebody's, only what the machines said of themselves."""
    if location.bucket_is_own:
        Bucket(location.bucket, region=location.region).purge("")
    else:
        Bucket(location.bucket, location.name, location.region).purge("fleet/")


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
    ("describe_placement_groups", "PlacementGroups", "GroupName"),
)
_GONE_STATES: Final = ("deleted", "deleting")


@dataclass(frozen=True, slots=True)
class Remains:
    """``found``: ARNs, or kinds and ids. ``unseen``: what could not be looked at, and why."""

    found: tuple[str, ...]
    unseen: tuple[str, ...]


def remains(cloud: Cloud, fleet: str, patience_s: float = 0.0, but: Iterable[str] = ()) -> Remains:
    """Look for what is left of a fleet.

    What costs money by the hour must be seen. Roles and the budget cost nothing, and a user who has none may lack the
    rights to look for them: then that is said.

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
                with aws_errors(kind):
                    found += [f"{kind} {name}" for name in look(cloud, fleet)]
            except AwsError as error:
                unseen.append(str(error))
        if not found or time.monotonic() >= deadline:
            return Remains(tuple(found), tuple(unseen))
        time.sleep(5)


def _filters(fleet: str) -> list[dict[str, Any]]:
    return [{"Name": f"tag:{TAG}", "Values": [fleet]}]


def _tagged(cloud: Cloud, fleet: str) -> list[str]:
    found = [f"instance {machine.id} ({machine.state})" for machine in cloud.machines(fleet)]
    ec2 = cloud.service("ec2")
    for call, key, name in _DESCRIBED:
        with aws_errors(f"EC2 {call}"):
            for page in (
                ec2.get_paginator(call).paginate(Filters=_filters(fleet))
                if ec2.can_paginate(call)
                else [getattr(ec2, call)(Filters=_filters(fleet))]
            ):
                found += [
                    f"{key} {raw[name]}" for raw in page[key] if str(raw.get("State", "")).lower() not in _GONE_STATES
                ]
    with aws_errors("auto-scaling groups"):
        groups = cloud.service("autoscaling").get_paginator("describe_auto_scaling_groups")
        for page in groups.paginate(Filters=_filters(fleet)):
            found += [f"auto-scaling group {raw['AutoScalingGroupName']}" for raw in page["AutoScalingGroups"]]
    with aws_errors("tagging"):
        tags = [{"Key": TAG, "Values": [fleet]}]
        resources = cloud.service("resourcegroupstaggingapi").get_paginator("get_resources")
        for page in resources.paginate(TagFilters=tags):
            # What was of EC2 stays in this list for hours after its end; EC2 itself was asked above.
            arns = [str(raw["ResourceARN"]) for raw in page["ResourceTagMappingList"]]
            found += [arn for arn in arns if arn.split(":")[2] not in ("ec2", "autoscaling")]
    return found


def _of_iam(call: str, argument: str, key: str, cloud: Cloud, fleet: str) -> Iterator[str]:
    """By the names of the fleet's roles, and the tag: somebody's role may have such a name too."""
    iam = cloud.service("iam")
    for name in (f"{fleet}-{role}" for role in ROLES):
        try:
            if {"Key": TAG, "Value": fleet} in getattr(iam, call)(**{argument: name})[key].get("Tags", ()):
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


_LOOKS: Final[tuple[tuple[str, Callable[[Cloud, str], Iterable[str]]], ...]] = (
    ("IAM role", partial(_of_iam, "get_role", "RoleName", "Role")),
    ("instance profile", partial(_of_iam, "get_instance_profile", "InstanceProfileName", "InstanceProfile")),
    ("budget", _budget),
)
