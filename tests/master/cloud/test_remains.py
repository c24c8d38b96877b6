"""Remains of a fleet, kind by kind, on AWS's stand-in."""

from __future__ import annotations

import boto3
import pytest
from botocore.exceptions import ClientError

from master.cloud.agreed import TAG
from master.cloud.cloud import Cloud
from master.cloud.remains import Remains, Thing, remains
from tests.master.cloud.stand_in import placement_groups

pytestmark = pytest.mark.slow

OURS = [{"Key": TAG, "Value": "gougi"}]


def test_what_is_left_is_listed_kind_by_kind(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    assert remains(cloud, "gougi") == Remains((), ())
    ec2, s3, iam = (boto3.client(service, region_name="us-east-1") for service in ("ec2", "s3", "iam"))
    volume = ec2.create_volume(
        AvailabilityZone="us-east-1a", Size=1, TagSpecifications=[{"ResourceType": "volume", "Tags": OURS}]
    )["VolumeId"]
    s3.create_bucket(Bucket="gougi-games")
    s3.put_bucket_tagging(Bucket="gougi-games", Tagging={"TagSet": OURS})
    iam.create_role(RoleName="gougi-head", AssumeRolePolicyDocument="{}", Tags=OURS)
    iam.create_role(RoleName="gougi-worker", AssumeRolePolicyDocument="{}")  # another owner's
    iam.create_instance_profile(InstanceProfileName="gougi-worker", Tags=OURS)
    limit = {"Amount": "5", "Unit": "USD"}
    boto3.client("budgets", region_name="us-east-1").create_budget(
        AccountId=cloud.account(),
        Budget={"BudgetName": "gougi-month", "TimeUnit": "MONTHLY", "BudgetType": "COST", "BudgetLimit": limit},
    )
    placement_groups(monkeypatch, "gougi-workers")
    left = remains(cloud, "gougi")
    assert tuple(map(str, left.found)) == (
        f"Volumes {volume}",
        "PlacementGroups gougi-workers",
        "arn:aws:s3:::gougi-games",
        "IAM role gougi-head",
        "instance profile gougi-worker",
        "budget gougi-month",
    )
    assert "arn:aws:s3:::gougi-games" not in map(str, remains(cloud, "gougi", but=["gougi-games"]).found)
    placement_groups(monkeypatch)
    assert remains(cloud, "another") == Remains((), ())


def test_machines_of_a_known_group_and_their_resources_are_no_strays() -> None:
    found = (
        Thing("instance", "i-1", "running", of="gougi-workers"),
        Thing("Volumes", "vol-1", of="i-1"),
        Thing("NetworkInterfaces", "eni-1", of="i-1"),
        Thing("SecurityGroups", "sg-default", of="vpc-1"),
        Thing("instance", "i-2", "shutting-down", of="another"),
        Thing("instance", "i-3", "running", of="another"),
        Thing("Volumes", "vol-3", of="i-3"),
        Thing("Volumes", "vol-4"),
    )
    strays = Remains(found, ()).beside(frozenset({"gougi-workers", "vpc-1"}))
    assert [thing.id for thing in strays] == ["i-3", "vol-3", "vol-4"]


def test_what_may_not_be_looked_at_is_said(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(**_: object) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "GetRole")

    monkeypatch.setattr(cloud.service("iam"), "get_role", denied)
    (unseen,) = remains(cloud, "gougi").unseen
    assert unseen.startswith("IAM role: these credentials may not do that")
