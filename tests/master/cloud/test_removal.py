"""The removal of resources that terraform does not know, on AWS's stand-in."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest

from master.cloud import removal
from master.cloud.agreed import TAG
from master.cloud.cloud import Cloud
from master.cloud.remains import Thing, remains

pytestmark = pytest.mark.slow

RULE = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}
OURS = [{"Key": TAG, "Value": "gougi"}]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "_PAUSE_S", 0.01)


def client(service: str) -> Any:
    return boto3.client(service, region_name="us-east-1")


def tags(kind: str) -> dict[str, Any]:
    return {"TagSpecifications": [{"ResourceType": kind, "Tags": OURS}]}


def fleet() -> None:
    """The resources of a first `up`, of the kinds that depend on each other."""
    ec2, iam = client("ec2"), client("iam")
    vpc = ec2.create_vpc(CidrBlock="10.81.0.0/16", **tags("vpc"))["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.81.0.0/20", **tags("subnet"))["Subnet"]["SubnetId"]
    gateway = ec2.create_internet_gateway(**tags("internet-gateway"))["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    ec2.create_route_table(VpcId=vpc, **tags("route-table"))
    first, second = (
        ec2.create_security_group(GroupName=name, Description=name, VpcId=vpc, **tags("security-group"))["GroupId"]
        for name in ("a", "b")
    )
    for group, other in ((first, second), (second, first)):
        pair = {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 2, "UserIdGroupPairs": [{"GroupId": other}]}
        ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[pair])
    facts = {"ImageId": "ami-12c6146b", "InstanceType": "c5.large"}
    data = {**facts, "TagSpecifications": [{"ResourceType": "instance", "Tags": OURS}]}
    ec2.create_launch_template(LaunchTemplateName="gougi-worker", LaunchTemplateData=data, **tags("launch-template"))
    ec2.create_vpc_endpoint(
        VpcId=vpc, ServiceName="com.amazonaws.us-east-1.s3", VpcEndpointType="Gateway", **tags("vpc-endpoint")
    )
    ec2.create_volume(AvailabilityZone="us-east-1a", Size=1, **tags("volume"))
    ec2.run_instances(MinCount=1, MaxCount=1, SubnetId=subnet, **facts, **tags("instance"))
    client("autoscaling").create_auto_scaling_group(
        AutoScalingGroupName="gougi-workers",
        MinSize=0,
        MaxSize=1,
        DesiredCapacity=1,
        VPCZoneIdentifier=subnet,
        LaunchTemplate={"LaunchTemplateName": "gougi-worker"},
        Tags=[{**OURS[0], "PropagateAtLaunch": True}],
    )
    iam.create_role(RoleName="gougi-head", AssumeRolePolicyDocument="{}", Tags=OURS)
    document = json.dumps({"Version": "2012-10-17", "Statement": [RULE]})
    iam.put_role_policy(RoleName="gougi-head", PolicyName="head", PolicyDocument=document)
    iam.create_instance_profile(InstanceProfileName="gougi-head", Tags=OURS)
    iam.add_role_to_instance_profile(InstanceProfileName="gougi-head", RoleName="gougi-head")
    client("ssm").put_parameter(Name="/gougi/gougi/ray-token", Value="x", Type="String", Tags=OURS)
    s3 = client("s3")
    s3.create_bucket(Bucket="gougi-games")
    s3.put_bucket_tagging(Bucket="gougi-games", Tagging={"TagSet": OURS})
    s3.put_object(Bucket="gougi-games", Key="gougi/release/x.tar", Body=b"x")
    limit = {"Amount": "5", "Unit": "USD"}
    budget = {"BudgetName": "gougi-month", "TimeUnit": "MONTHLY", "BudgetType": "COST", "BudgetLimit": limit}
    client("budgets").create_budget(AccountId="123456789012", Budget=budget)


def test_a_whole_fleet_is_removed_and_nothing_else(cloud: Cloud) -> None:
    cloud.service("ec2").create_security_group(GroupName="mine", Description="mine")
    fleet()
    found = remains(cloud, "gougi").found
    assert len({removal.kind(thing) for thing in found}) >= 15
    told: list[str] = []
    assert removal.remove(cloud, found, told.append, 60.0) == [], told
    assert remains(cloud, "gougi").found == ()
    assert len([line for line in told if line.startswith("removed: ")]) >= len(found) - 2
    names = [group["GroupName"] for group in cloud.service("ec2").describe_security_groups()["SecurityGroups"]]
    assert "mine" in names


def test_what_is_gone_already_is_no_fault_and_what_is_not_known_stays(cloud: Cloud) -> None:
    told: list[str] = []
    gone = [Thing("SecurityGroups", "sg-0"), Thing("IAM role", "gougi-head"), Thing("", "arn:aws:s3:::none")]
    assert removal.remove(cloud, gone, told.append, 0.0) == []
    table = Thing("", "arn:aws:dynamodb:us-east-1:1:table/x")
    assert removal.remove(cloud, [table], told.append, 60.0) == [table]
    assert "gougi fleet makes no such thing" in told[-1]
