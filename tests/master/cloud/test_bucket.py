"""The fleet's bucket, on AWS's stand-in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from master.cloud.aws import AwsError
from master.cloud.bucket import Bucket


@pytest.fixture
def s3() -> Iterator[Any]:
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
        client.create_bucket(Bucket="games")
        client.put_bucket_versioning(Bucket="games", VersioningConfiguration={"Status": "Enabled"})
        yield client


def test_things_are_put_replaced_listed_and_purged(s3: Any) -> None:
    bucket, other = Bucket("games", "mine", s3=s3), Bucket("games", "other", s3=s3)
    other.put("records/a.csa", b"theirs")
    assert bucket.get("records/a.csa") is None
    for key, data in (("records/a.csa", b"1"), ("records/a.csa", b"2"), ("logs/b.jsonl", b"3")):
        bucket.put(key, data)
    assert bucket.get("records/a.csa") == b"2"
    assert bucket.keys("") == ["logs/b.jsonl", "records/a.csa"]
    assert bucket.keys("records/") == ["records/a.csa"]
    bucket.purge("records/")
    assert bucket.keys("") == ["logs/b.jsonl"]
    assert other.get("records/a.csa") == b"theirs"


def test_a_bucket_is_empty_of_versions_too(s3: Any) -> None:
    bucket = Bucket("games", s3=s3)
    bucket.put("a", b"1")
    bucket.put("a", b"2")
    s3.delete_object(Bucket="games", Key="a")
    bucket.purge("")
    s3.delete_bucket(Bucket="games")  # AWS refuses it if anything is left


def test_what_s3_does_not_remove_is_named(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = Bucket("games", s3=s3)
    bucket.put("a", b"1")
    refused = {"Errors": [{"Key": "a", "Code": "SlowDown", "Message": "Please reduce your request rate."}]}
    monkeypatch.setattr(s3, "delete_objects", lambda **_: refused)
    with pytest.raises(AwsError, match="a cannot be removed: Please reduce"):
        bucket.purge("")


def test_a_bucket_that_is_not_there(s3: Any) -> None:
    with pytest.raises(AwsError, match="s3://nowhere/a: there is no such bucket"):
        Bucket("nowhere", s3=s3).put("a", b"1")
