"""The removal of a fleet's resources that terraform does not know, after a killed command or a lost state."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from master.cloud.aws import AwsError, AwsRefusal, aws_errors
from master.cloud.bucket import Bucket
from master.cloud.cloud import Cloud
from master.cloud.remains import GROUP, MACHINE, MONTH, PROFILE, ROLE, Thing

_PAUSE_S: Final = 5.0


def remove(
    cloud: Cloud, things: Sequence[Thing], tell: Callable[[str], None], patience_s: float = 300.0
) -> list[Thing]:
    """Remove resources, each after those that depend on it. Returns those left after ``patience_s``.

    A bucket is removed with its contents: copy everything worth keeping first.
    """
    order = list(_WAYS)
    left = sorted(things, key=lambda thing: order.index(kind(thing)) if kind(thing) in order else len(order))
    deadline = time.monotonic() + patience_s
    refused: dict[Thing, str] = {}
    while left:
        held = []
        for thing in left:
            try:
                if (way := _WAYS.get(kind(thing))) is None:
                    raise AwsError(f"{thing}: gougi fleet makes no such thing, and does not remove it")
                with aws_errors(str(thing)):
                    if not way(cloud, thing.id):
                        held.append(thing)
                        continue
                tell(f"removed: {thing}")
            except AwsError as error:
                if not _is_gone(error):
                    held.append(thing)
                    refused[thing] = str(error)
        left = held
        if not left or time.monotonic() >= deadline or all(kind(thing) not in _WAYS for thing in left):
            break
        time.sleep(_PAUSE_S)
    for thing in left:
        tell(refused.get(thing, f"{thing}: still there"))
    return left


def kind(thing: Thing) -> str:
    """The kind of a resource; if only its ARN is known, service and kind from it: ``s3``, ``ssm:parameter``."""
    if thing.kind:
        return thing.kind
    service, rest = thing.id.split(":")[2], thing.id.split(":", 5)[-1]
    return service if service == "s3" else f"{service}:{rest.partition('/')[0]}"


def _is_gone(error: AwsError) -> bool:
    code = error.code if isinstance(error, AwsRefusal) else ""
    return (code.endswith(".NotFound") and "Permission" not in code) or code in (
        "NoSuchEntity",
        "NoSuchBucket",
        "NotFoundException",
        "ParameterNotFound",
    )


def _group(cloud: Cloud, name: str) -> bool:
    """Delete the group. Returns whether it is gone: its machines end first."""
    autoscaling = cloud.service("autoscaling")
    found = autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[name])["AutoScalingGroups"]
    if found and not found[0].get("Status"):
        autoscaling.delete_auto_scaling_group(AutoScalingGroupName=name, ForceDelete=True)
        found = autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[name])["AutoScalingGroups"]
    return not found


def _machine(cloud: Cloud, instance: str) -> bool:
    ec2 = cloud.service("ec2")
    ec2.terminate_instances(InstanceIds=[instance])
    found = ec2.describe_instances(InstanceIds=[instance])["Reservations"]
    return all(each["State"]["Name"] == "terminated" for one in found for each in one["Instances"])


def _security_group(cloud: Cloud, group: str) -> bool:
    """Delete the rules first: two groups that refer to each other would block each other for ever."""
    ec2 = cloud.service("ec2")
    (found,) = ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"]
    if found["GroupName"] == "default":
        return True  # deleted with its VPC
    rules = ec2.describe_security_group_rules(Filters=[{"Name": "group-id", "Values": [group]}])["SecurityGroupRules"]
    for revoke, outward in ((ec2.revoke_security_group_ingress, False), (ec2.revoke_security_group_egress, True)):
        if ids := [rule["SecurityGroupRuleId"] for rule in rules if rule["IsEgress"] is outward]:
            revoke(GroupId=group, SecurityGroupRuleIds=ids)
    ec2.delete_security_group(GroupId=group)
    return True


def _gateway(cloud: Cloud, gateway: str) -> bool:
    ec2 = cloud.service("ec2")
    (found,) = ec2.describe_internet_gateways(InternetGatewayIds=[gateway])["InternetGateways"]
    for attached in found["Attachments"]:
        ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=attached["VpcId"])
    ec2.delete_internet_gateway(InternetGatewayId=gateway)
    return True


def _role(cloud: Cloud, role: str) -> bool:
    iam = cloud.service("iam")
    for profile in iam.list_instance_profiles_for_role(RoleName=role)["InstanceProfiles"]:
        iam.remove_role_from_instance_profile(InstanceProfileName=profile["InstanceProfileName"], RoleName=role)
    for policy in iam.list_role_policies(RoleName=role)["PolicyNames"]:
        iam.delete_role_policy(RoleName=role, PolicyName=policy)
    iam.delete_role(RoleName=role)
    return True


def _month(cloud: Cloud, name: str) -> bool:
    cloud.service("budgets").delete_budget(AccountId=cloud.account(), BudgetName=name)
    return True


def _bucket(cloud: Cloud, arn: str) -> bool:
    name = arn.rpartition(":")[2]
    Bucket(name, region=cloud.region).purge("")
    cloud.service("s3").delete_bucket(Bucket=name)
    return True


def _call(service: str, call: str, argument: str, name: Callable[[str], Any] = lambda found: found) -> Any:
    def way(cloud: Cloud, found: str) -> bool:
        getattr(cloud.service(service), call)(**{argument: name(found)})
        return True

    return way


_WAYS: Final[dict[str, Callable[[Cloud, str], bool]]] = {
    # In this order at first: earlier kinds hold later ones. False: the deletion is in progress and is retried.
    GROUP: _group,
    MACHINE: _machine,
    "LaunchTemplates": _call("ec2", "delete_launch_template", "LaunchTemplateId"),
    "VpcEndpoints": _call("ec2", "delete_vpc_endpoints", "VpcEndpointIds", lambda found: [found]),
    "Volumes": _call("ec2", "delete_volume", "VolumeId"),
    "NetworkInterfaces": _call("ec2", "delete_network_interface", "NetworkInterfaceId"),
    "SecurityGroups": _security_group,
    "Subnets": _call("ec2", "delete_subnet", "SubnetId"),
    "InternetGateways": _gateway,
    "RouteTables": _call("ec2", "delete_route_table", "RouteTableId"),
    "Vpcs": _call("ec2", "delete_vpc", "VpcId"),
    "PlacementGroups": _call("ec2", "delete_placement_group", "GroupName"),
    ROLE: _role,
    PROFILE: _call("iam", "delete_instance_profile", "InstanceProfileName"),
    MONTH: _month,
    "ssm:parameter": _call("ssm", "delete_parameter", "Name", lambda arn: arn.partition(":parameter")[2]),
    "s3": _bucket,
}
