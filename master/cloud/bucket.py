"""The fleet's bucket in S3, or a folder of it: reports of machines, and files to copy before the bucket's end."""

from __future__ import annotations

from typing import Any

from master.cloud.aws import AwsError, aws_errors, client


class Bucket:
    """A bucket. Keys are paths with ``/``, below the prefix. Calls may take seconds, and raise AwsError.

    Args:
        bucket: its name.
        prefix: the folder in it, without ``/`` at its end; empty: the whole bucket.
        region: the bucket's; None: found as AWS's tools find it.
        s3: the boto3 client; None: a new one.
    """

    def __init__(self, bucket: str, prefix: str = "", region: str | None = None, s3: Any = None) -> None:
        self.name = f"s3://{bucket}/{prefix}".rstrip("/")
        self._s3 = client("s3", region) if s3 is None else s3
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""

    def put(self, key: str, data: bytes) -> None:
        with aws_errors(f"{self.name}/{key}"):
            self._s3.put_object(Bucket=self._bucket, Key=self._prefix + key, Body=data)

    def get(self, key: str) -> bytes | None:
        """The content of an object; None: there is no such object."""
        with aws_errors(f"{self.name}/{key}"):
            try:
                return bytes(self._s3.get_object(Bucket=self._bucket, Key=self._prefix + key)["Body"].read())
            except self._s3.exceptions.NoSuchKey:
                return None

    def delete(self, key: str) -> None:
        with aws_errors(f"{self.name}/{key}"):
            self._s3.delete_object(Bucket=self._bucket, Key=self._prefix + key)

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin with ``prefix``, sorted."""
        found = []
        with aws_errors(self.name):
            pages = self._s3.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self._bucket, Prefix=self._prefix + prefix):
                found += [entry["Key"].removeprefix(self._prefix) for entry in page.get("Contents", ())]
        return sorted(found)

    def purge(self, prefix: str) -> None:
        """Delete all objects whose keys begin with ``prefix``, including older versions."""
        with aws_errors(self.name):
            pages = self._s3.get_paginator("list_object_versions")
            for page in pages.paginate(Bucket=self._bucket, Prefix=self._prefix + prefix):
                found = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
                things = [{"Key": entry["Key"], "VersionId": entry["VersionId"]} for entry in found]
                if things:  # a page has no more than one call may delete
                    answer = self._s3.delete_objects(Bucket=self._bucket, Delete={"Objects": things, "Quiet": True})
                    for refused in answer.get("Errors", ()):
                        why = refused.get("Message") or refused.get("Code")
                        raise AwsError(f"{self.name}: {refused.get('Key')} cannot be removed: {why}")
