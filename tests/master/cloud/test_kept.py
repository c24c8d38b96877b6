"""The facts of a fleet that are kept between commands: in a bucket of AWS's stand-in, and in a folder."""

from __future__ import annotations

import json

import boto3
import pytest

from master.cloud.agreed import TAG
from master.cloud.cloud import Cloud
from master.cloud.kept import InBucket, Kept, KeptError, State, read_state, this_machine
from master.cloud.plan import FleetLocation

LOCATION = FleetLocation("gougi", "eu-west-1", "games", True, "eu-west-1c", "release-0123.tar")
NAME = "gougi-state-123456789012-eu-west-1"
STATE = {
    "version": 4,
    "outputs": {"fleet": {"value": {"name": "gougi"}}},
    "resources": [
        {
            "module": "module.fleet",
            "mode": "managed",
            "type": "aws_security_group",
            "name": "this",
            "instances": [{"index_key": "fleet", "attributes": {"id": "sg-1", "arn": "arn:sg-1", "name": ""}}],
        },
        {"mode": "managed", "type": "aws_vpc", "name": "this", "instances": [{"attributes": {"id": "vpc-1"}}]},
        {"mode": "data", "type": "aws_region", "name": "current", "instances": [{"attributes": {"id": "x"}}]},
    ],
}


@pytest.fixture
def keeper(aws: None) -> InBucket:
    return InBucket(Cloud("eu-west-1"), "gougi")


def test_a_state_is_read() -> None:
    found = read_state(json.dumps(STATE).encode())
    assert found.addresses == ('module.fleet.aws_security_group.this["fleet"]', "aws_vpc.this")
    assert found.ids == {"sg-1", "arn:sg-1", "vpc-1"}
    assert found.output == {"fleet": {"name": "gougi"}}
    for raw in (b"", b"[]", b'{"resources": [{}]}'):
        with pytest.raises(KeptError, match="terraform's state cannot be read"):
            read_state(raw)


@pytest.mark.slow
def test_the_bucket_is_made_once_closed_and_with_versions(keeper: InBucket) -> None:
    assert (keeper.backend(), keeper.read(), keeper.state()) == (None, Kept(), State())
    assert keeper.make() and not keeper.make()
    s3 = boto3.client("s3", region_name="eu-west-1")
    assert s3.get_bucket_versioning(Bucket=NAME)["Status"] == "Enabled"
    assert all(s3.get_public_access_block(Bucket=NAME)["PublicAccessBlockConfiguration"].values())
    assert s3.get_bucket_tagging(Bucket=NAME)["TagSet"] == [{"Key": TAG, "Value": "gougi"}]
    backend = keeper.backend()
    assert backend is not None
    assert (
        backend["s3"].items() >= {"bucket": NAME, "region": "eu-west-1", "use_lockfile": True, "encrypt": True}.items()
    )
    kept = Kept(3, LOCATION, "`gougi fleet up` (me@here)")
    keeper.write(kept)
    assert InBucket(Cloud("eu-west-1"), "gougi").read() == kept
    s3.put_object(Bucket=NAME, Key=backend["s3"]["key"], Body=json.dumps(STATE).encode())
    assert keeper.state().ids == {"sg-1", "arn:sg-1", "vpc-1"}
    keeper.remove()
    assert not s3.list_buckets()["Buckets"]
    keeper.remove()


@pytest.mark.slow
def test_a_lock_of_ones_own_that_was_killed_is_opened_and_no_other(keeper: InBucket) -> None:
    keeper.make()
    assert keeper.free("") == ""
    s3 = boto3.client("s3", region_name="eu-west-1")
    lock = {"Who": this_machine(), "Created": "2026-11-27T10:00:00.123Z"}

    def locked(**more: str) -> None:
        s3.put_object(Bucket=NAME, Key="terraform.tfstate.tflock", Body=json.dumps(lock | more).encode())

    locked()
    with pytest.raises(KeptError, match=rf"{this_machine()} since 2026-11-27T10:00:00\. Run .* aws s3 rm s3://{NAME}/"):
        keeper.free("")
    locked(Who="somebody@else")
    with pytest.raises(KeptError, match="somebody@else since"):
        keeper.free("`gougi fleet up` (process 7)")
    locked()
    assert "`gougi fleet up` (process 7), which was killed" in keeper.free("`gougi fleet up` (process 7)")
    assert keeper.free("") == ""


@pytest.mark.slow
def test_a_bucket_of_another_account_does_not_count(keeper: InBucket) -> None:
    """Anybody can take its name first; moto ignores the expected owner of a request."""
    asked: list[str] = []
    events = keeper._s3.meta.events
    events.register(
        "provide-client-params.s3.HeadBucket", lambda params, **_: asked.append(params["ExpectedBucketOwner"])
    )
    keeper.make()
    assert asked == ["123456789012"]
