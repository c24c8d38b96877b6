"""The state of a fleet at AWS's stand-in, and the stand-in's refusals."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from master.cloud.agreed import TAG
from master.cloud.aws import AwsError, AwsRefusal, aws_errors, client
from master.cloud.cloud import Cloud, _machine

pytestmark = pytest.mark.slow

IMAGE = "ami-12c6146b"
"""One that moto has."""
OURS = [{"Key": TAG, "Value": "gougi"}]


@pytest.fixture
def ec2(aws: None) -> Any:
    return boto3.client("ec2", region_name="us-east-1")


def launch(ec2: Any, tags: list[dict[str, str]], *, spot: bool = False) -> str:
    market = {"InstanceMarketOptions": {"MarketType": "spot"}} if spot else {}
    made = ec2.run_instances(
        ImageId=IMAGE,
        InstanceType="c5.xlarge",
        MinCount=1,
        MaxCount=1,
        TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
        **market,
    )
    return str(made["Instances"][0]["InstanceId"])


def test_the_machines_of_a_fleet_are_found_and_no_others(ec2: Any) -> None:
    ours = launch(ec2, OURS)
    launch(ec2, [{"Key": TAG, "Value": "other"}])
    gone = launch(ec2, OURS)
    ec2.terminate_instances(InstanceIds=[gone])
    (machine,) = Cloud("us-east-1").machines("gougi")
    assert (machine.id, machine.type, machine.spot) == (ours, "c5.xlarge", False)
    assert machine.state == "running"
    assert machine.launched == pytest.approx(datetime.now(UTC).timestamp(), abs=60)


def test_the_account(ec2: Any) -> None:
    assert Cloud("us-east-1").account() == "123456789012"


@pytest.mark.parametrize(("said", "spot"), [({"InstanceLifecycle": "spot"}, True), ({}, False)])
def test_a_spot_machine_is_known_as_one(said: dict[str, str], spot: bool) -> None:
    state, launched = {"Name": "running"}, datetime.now(UTC)
    raw = {"InstanceId": "i", "InstanceType": "c5.xlarge", "State": state, "LaunchTime": launched, **said}
    assert _machine(raw).spot is spot


class Refusing:
    """An auto-scaling client with a group that cannot start machines."""

    def describe_scaling_activities(self, **_arguments: object) -> dict[str, Any]:
        now = datetime.now(UTC)
        full = "Could not launch: InsufficientInstanceCapacity - we do not have enough"
        return {
            "Activities": [
                {"StatusCode": "Failed", "StartTime": now, "StatusMessage": full},
                {"StatusCode": "Failed", "StartTime": now, "StatusMessage": full},
                {"StatusCode": "Successful", "StartTime": now},
                {"StatusCode": "Failed", "StartTime": now - timedelta(hours=1), "StatusMessage": "of old"},
            ]
        }


def test_why_a_group_cannot_start_machines() -> None:
    cloud = Cloud("us-east-1")
    cloud._clients["autoscaling"] = Refusing()
    (trouble,) = cloud.troubles("gougi-workers", datetime.now(UTC) - timedelta(minutes=1))
    assert trouble.startswith("AWS has no such machines free there now: name more instance_types")
    assert "InsufficientInstanceCapacity" in trouble


def test_errors_of_aws_are_one_line_with_the_remedy() -> None:
    from botocore.exceptions import ClientError, NoCredentialsError

    with pytest.raises(AwsError) as raised, aws_errors("EC2"):
        raise NoCredentialsError
    assert str(raised.value).startswith("EC2: no AWS credentials: set AWS_PROFILE")
    assert not isinstance(raised.value, AwsRefusal)
    denied = {"Error": {"Code": "UnauthorizedOperation", "Message": "You are\nnot authorized"}}
    with pytest.raises(AwsError) as raised, aws_errors("EC2"):
        raise ClientError(denied, "DescribeInstances")  # type: ignore[arg-type]
    assert str(raised.value) == (
        "EC2: these credentials may not do that: the policy that is needed is in docs/reference/aws.md "
        "(UnauthorizedOperation: You are not authorized)"
    )
    assert isinstance(raised.value, AwsRefusal) and raised.value.denied


def test_a_client_gives_up_within_half_a_minute() -> None:
    config = client("ec2", "us-east-1").meta.config
    attempts = config.retries["total_max_attempts"]
    waits = sum(2**number for number in range(attempts - 1))  # at most, in botocore's "standard mode"
    assert attempts * (config.connect_timeout + config.read_timeout) + waits <= 30
