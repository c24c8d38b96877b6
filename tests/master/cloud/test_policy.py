"""The operator's policy of docs/reference/aws.md: all requests of the code and of terraform, and no more."""

from __future__ import annotations

import ast
import json
import re
from typing import Final

from botocore import xform_name
from botocore.session import Session

from tests.master.cloud.policy import actions, policy, refused
from tests.master.command import ROOT

PREFIXES: Final = {"resourcegroupstaggingapi": "tag", "service-quotas": "servicequotas"}
"""Prefixes of a service's actions, if they differ from the service's name."""
OTHERWISE: Final = {
    "s3:ListObjectsV2": {"s3:ListBucket"},
    "s3:ListObjectVersions": {"s3:ListBucketVersions"},
    "s3:DeleteObjects": {"s3:DeleteObject", "s3:DeleteObjectVersion"},
    "s3:HeadBucket": {"s3:ListBucket"},
    "s3:PutPublicAccessBlock": {"s3:PutBucketPublicAccessBlock"},
    "budgets:DescribeBudget": {"budgets:ViewBudget"},
    "budgets:DeleteBudget": {"budgets:ModifyBudget"},
}
"""The rights that a call needs, if they differ from the call's name ("Service Authorization Reference")."""


def of(service: str, names: str) -> set[str]:
    return {f"{service}:{name}" for name in names.split()}


HEADS_ALONE: Final = of("autoscaling", "CompleteLifecycleAction SetInstanceHealth SuspendProcesses")
TERRAFORM: Final[dict[str, set[str]]] = {
    # From the sources of terraform-provider-aws 5: the requests to make, read, change and end each kind.
    "aws_autoscaling_group": of(
        "autoscaling",
        "CreateAutoScalingGroup UpdateAutoScalingGroup DescribeAutoScalingGroups DeleteAutoScalingGroup "
        "CreateOrUpdateTags DeleteTags EnableMetricsCollection DisableMetricsCollection DescribeScalingActivities "
        "StartInstanceRefresh DescribeInstanceRefreshes CancelInstanceRefresh",
    )
    | of("iam", "PassRole CreateServiceLinkedRole")
    | of("ec2", "RunInstances CreateTags"),  # needed by the user who makes a group of a launch template
    "aws_autoscaling_lifecycle_hook": of("autoscaling", "PutLifecycleHook DescribeLifecycleHooks DeleteLifecycleHook"),
    "aws_autoscaling_schedule": of(
        "autoscaling", "PutScheduledUpdateGroupAction DescribeScheduledActions DeleteScheduledAction"
    ),
    "aws_budgets_budget": of("budgets", "ViewBudget ModifyBudget ListTagsForResource TagResource UntagResource"),
    "aws_caller_identity": of("sts", "GetCallerIdentity"),
    "aws_default_security_group": of(
        "ec2", "DescribeSecurityGroups RevokeSecurityGroupIngress RevokeSecurityGroupEgress CreateTags DeleteTags"
    ),
    "aws_ec2_instance_state": of("ec2", "DescribeInstances StartInstances StopInstances"),
    "aws_ec2_instance_type": of("ec2", "DescribeInstanceTypes"),
    "aws_ec2_instance_type_offerings": of("ec2", "DescribeInstanceTypeOfferings"),
    "aws_iam_instance_profile": of(
        "iam",
        "CreateInstanceProfile GetInstanceProfile DeleteInstanceProfile AddRoleToInstanceProfile PassRole GetRole "
        "RemoveRoleFromInstanceProfile TagInstanceProfile UntagInstanceProfile",
    ),
    "aws_iam_role": of(
        "iam",
        "CreateRole GetRole DeleteRole TagRole UntagRole UpdateRole UpdateRoleDescription UpdateAssumeRolePolicy "
        "ListRolePolicies ListAttachedRolePolicies ListInstanceProfilesForRole",
    ),
    "aws_iam_role_policy": of("iam", "PutRolePolicy GetRolePolicy DeleteRolePolicy"),
    "aws_instance": of(
        "ec2",
        "RunInstances TerminateInstances StartInstances StopInstances ModifyInstanceAttribute ModifyVolume CreateTags "
        "ModifyNetworkInterfaceAttribute "
        "ModifyInstanceMetadataOptions DeleteTags DescribeInstances DescribeInstanceAttribute DescribeInstanceTypes "
        "DescribeVolumes DescribeImages DescribeTags",
    )
    | of("iam", "PassRole"),
    "aws_internet_gateway": of(
        "ec2",
        "CreateInternetGateway AttachInternetGateway DescribeInternetGateways DetachInternetGateway CreateTags "
        "DeleteInternetGateway",
    ),
    "aws_launch_template": of(
        "ec2",
        "CreateLaunchTemplate CreateLaunchTemplateVersion ModifyLaunchTemplate DescribeLaunchTemplates CreateTags "
        "DescribeLaunchTemplateVersions DeleteLaunchTemplate",
    ),
    "aws_partition": set(),
    "aws_placement_group": of("ec2", "CreatePlacementGroup DescribePlacementGroups DeletePlacementGroup CreateTags"),
    "aws_region": set(),
    "aws_route_table": of(
        "ec2",
        "CreateRouteTable DescribeRouteTables DeleteRouteTable CreateRoute ReplaceRoute DeleteRoute CreateTags "
        "DisassociateRouteTable",
    ),
    "aws_route_table_association": of(
        "ec2", "AssociateRouteTable DescribeRouteTables DisassociateRouteTable ReplaceRouteTableAssociation"
    ),
    "aws_s3_bucket": of(
        "s3",
        "CreateBucket DeleteBucket ListBucket ListBucketVersions DeleteObject DeleteObjectVersion PutBucketTagging "
        "GetBucketTagging GetBucketPolicy GetBucketAcl GetBucketCORS GetBucketWebsite GetBucketVersioning "
        "GetAccelerateConfiguration GetBucketRequestPayment GetBucketLogging GetLifecycleConfiguration "
        "GetReplicationConfiguration GetEncryptionConfiguration GetBucketObjectLockConfiguration GetBucketLocation",
    ),
    "aws_s3_bucket_lifecycle_configuration": of("s3", "PutLifecycleConfiguration GetLifecycleConfiguration"),
    "aws_s3_bucket_policy": of("s3", "PutBucketPolicy GetBucketPolicy DeleteBucketPolicy"),
    "aws_s3_bucket_public_access_block": of("s3", "PutBucketPublicAccessBlock GetBucketPublicAccessBlock"),
    "aws_s3_bucket_server_side_encryption_configuration": of(
        "s3", "PutEncryptionConfiguration GetEncryptionConfiguration"
    ),
    "aws_s3_bucket_versioning": of("s3", "PutBucketVersioning GetBucketVersioning"),
    "aws_s3_object": of(
        "s3",
        "PutObject GetObject DeleteObject DeleteObjectVersion ListBucketVersions PutObjectTagging GetObjectTagging "
        "ListBucket",
    ),
    "aws_security_group": of(
        "ec2",
        "CreateSecurityGroup DescribeSecurityGroups RevokeSecurityGroupEgress DeleteSecurityGroup CreateTags "
        "DescribeNetworkInterfaces",
    ),
    "aws_ssm_parameter": of(
        "ssm",
        "PutParameter GetParameter DescribeParameters DeleteParameter ListTagsForResource AddTagsToResource "
        "RemoveTagsFromResource",
    ),
    "aws_subnet": of(
        "ec2", "CreateSubnet DescribeSubnets ModifySubnetAttribute DeleteSubnet CreateTags DescribeNetworkInterfaces"
    ),
    "aws_vpc": of(
        "ec2",
        "CreateVpc DescribeVpcs DescribeVpcAttribute ModifyVpcAttribute DeleteVpc DescribeNetworkAcls "
        "DescribeRouteTables DescribeSecurityGroups CreateTags",
    ),
    "aws_vpc_endpoint": of(
        "ec2",
        "CreateVpcEndpoint DescribeVpcEndpoints ModifyVpcEndpoint DeleteVpcEndpoints DescribePrefixLists CreateTags",
    )
    | of("route53", "AssociateVPCWithHostedZone"),
    "aws_vpc_security_group_egress_rule": of(
        "ec2",
        "AuthorizeSecurityGroupEgress DescribeSecurityGroupRules ModifySecurityGroupRules RevokeSecurityGroupEgress "
        "CreateTags",
    ),
    "aws_vpc_security_group_ingress_rule": of(
        "ec2",
        "AuthorizeSecurityGroupIngress DescribeSecurityGroupRules ModifySecurityGroupRules RevokeSecurityGroupIngress "
        "CreateTags",
    ),
}


def code_asks() -> set[str]:
    """The rights for all calls in master/cloud: names in a file that are calls of the services named there."""
    session, found = Session(), set[str]()
    for path in (ROOT / "master" / "cloud").glob("*.py"):
        names, services = set[str](), set[str]()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.add(node.value)
            elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("service", "client"):
                services |= {arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant)}
        for service in services:
            for operation in session.get_service_model(service).operation_names:
                if xform_name(operation) in names:
                    action = f"{PREFIXES.get(service, service)}:{operation}"
                    found |= OTHERWISE.get(action, {action})
    return found


def test_it_is_a_policy_that_fits_into_one() -> None:
    assert policy()["Version"] == "2012-10-17"
    sids = [statement["Sid"] for statement in policy()["Statement"]]
    assert len(set(sids)) == len(sids)
    assert len("".join(json.dumps(policy()).split())) <= 6144, "IAM's quota for a managed policy"


def test_it_allows_all_that_the_code_asks_for() -> None:
    asked = code_asks()
    some = "ec2:DescribeInstances ec2:DescribeVpcs s3:ListBucketVersions tag:GetResources"
    assert {*some.split(), "iam:GetRole", "autoscaling:CompleteLifecycleAction"} <= asked
    assert refused(asked - HEADS_ALONE) == []
    heads = (ROOT / "terraform" / "iam.tf").read_text()
    assert all(f'"{action}"' in heads for action in HEADS_ALONE)


def test_it_allows_all_that_terraform_asks_for() -> None:
    text = "".join(path.read_text() for path in (ROOT / "terraform").glob("*.tf"))
    kinds = set(re.findall(r'^(?:resource|data) "(aws_\w+)"', text, re.MULTILINE))
    assert kinds == TERRAFORM.keys()
    assert refused(set().union(*TERRAFORM.values())) == []


def test_it_allows_no_more() -> None:
    needed = code_asks() | set().union(*TERRAFORM.values())
    assert {action for action in actions() if "*" not in action} - needed == set()
    reads = ("autoscaling:Describe*", "ec2:Describe*", "s3:GetBucket*")
    assert {action for action in actions() if "*" in action} == set(reads)


def test_what_is_missing_is_found() -> None:
    assert refused(["ec2:DescribeVpcs", "ec2:CreateNatGateway", "s3:GetObject"]) == ["ec2:CreateNatGateway"]
