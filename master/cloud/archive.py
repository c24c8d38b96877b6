"""The archive beyond the life of a machine: an S3 bucket or a folder, under the same few words.

Keys are paths with ``/``; a folder takes those alone that lie in it (`in_folder`). An object is replaced as a whole or
not at all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from master.cloud.aws import AwsError, client, told
from worker.files import replace_file


class ArchiveError(Exception):
    """The archive cannot be read or written; the text says which, and why."""


def in_folder(key: str) -> bool:
    """Whether a key is a path that stays below the folder which it is put in; S3 takes any text for a key. Pure."""
    return "\0" not in key and all(part not in ("", ".", "..") for part in key.split("/"))


class Archive(Protocol):
    """Calls may take seconds, and raise `ArchiveError`."""

    name: str

    def put(self, key: str, data: bytes) -> None: ...

    def get(self, key: str) -> bytes | None:
        """None: there is no such object."""

    def keys(self, prefix: str) -> list[str]:
        """Those that begin with ``prefix``, sorted."""

    def purge(self, prefix: str) -> None:
        """Delete all whose keys begin with ``prefix``, older versions too."""


def open_archive(where: str, region: str | None = None) -> Archive:
    """An archive by its name: ``s3://BUCKET[/PREFIX]`` or a folder. Nothing is asked or made yet.

    Args:
        where: the name.
        region: the bucket's; None: as AWS's tools find it. A machine without the Internet reaches its own alone.

    Raises:
        ArchiveError: the name is none, or boto3 is missing.
    """
    if "://" not in where:
        if not where:
            raise ArchiveError("an empty name is no archive: expected s3://BUCKET/PREFIX or a folder")
        return FolderArchive(Path(where).expanduser())
    parts = urlsplit(where)
    if parts.scheme != "s3" or not parts.netloc:
        raise ArchiveError(f"{where}: expected s3://BUCKET/PREFIX or a folder")
    try:
        return S3Archive(client("s3", region), parts.netloc, parts.path.strip("/"))
    except AwsError as error:
        raise ArchiveError(str(error)) from error


class FolderArchive:
    """Hidden files are none of its objects: one that is being written is hidden."""

    def __init__(self, folder: Path) -> None:
        self.name = str(folder)
        self._folder = folder

    def put(self, key: str, data: bytes) -> None:
        if not in_folder(key):
            raise ArchiveError(f"{self.name}: {key!r} is no path inside it")
        with self._told(key):
            path = self._folder / key
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, data)

    def get(self, key: str) -> bytes | None:
        with self._told(key):
            try:
                return (self._folder / key).read_bytes()
            except FileNotFoundError:
                return None

    def keys(self, prefix: str) -> list[str]:
        files = (path for path in self._folder.rglob("*") if path.is_file() and not path.name.startswith("."))
        return sorted(key for path in files if (key := path.relative_to(self._folder).as_posix()).startswith(prefix))

    def purge(self, prefix: str) -> None:
        for key in self.keys(prefix):
            with self._told(key):
                (self._folder / key).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _told(self, key: str) -> Iterator[None]:
        """Errors of the disk become `ArchiveError`, which names the file."""
        try:
            yield
        except OSError as error:
            raise ArchiveError(f"{self._folder / key}: {error.strerror or error}") from error


class S3Archive:
    """``s3``: a boto3 client. It retries by itself."""

    def __init__(self, s3: Any, bucket: str, prefix: str) -> None:
        self.name = f"s3://{bucket}/{prefix}".rstrip("/")
        self._s3 = s3
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""

    def put(self, key: str, data: bytes) -> None:
        with told(ArchiveError, f"{self.name}/{key}"):
            self._s3.put_object(Bucket=self._bucket, Key=self._prefix + key, Body=data)

    def get(self, key: str) -> bytes | None:
        with told(ArchiveError, f"{self.name}/{key}"):
            try:
                return bytes(self._s3.get_object(Bucket=self._bucket, Key=self._prefix + key)["Body"].read())
            except self._s3.exceptions.NoSuchKey:
                return None

    def keys(self, prefix: str) -> list[str]:
        found = []
        with told(ArchiveError, self.name):
            pages = self._s3.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self._bucket, Prefix=self._prefix + prefix):
                found += [entry["Key"].removeprefix(self._prefix) for entry in page.get("Contents", ())]
        return sorted(found)

    def purge(self, prefix: str) -> None:
        with told(ArchiveError, self.name):
            pages = self._s3.get_paginator("list_object_versions")
            for page in pages.paginate(Bucket=self._bucket, Prefix=self._prefix + prefix):
                found = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
                things = [{"Key": entry["Key"], "VersionId": entry["VersionId"]} for entry in found]
                if things:  # a page has at most as many as one call may delete
                    answer = self._s3.delete_objects(Bucket=self._bucket, Delete={"Objects": things, "Quiet": True})
                    for refused in answer.get("Errors", ()):
                        why = refused.get("Message") or refused.get("Code")
                        raise ArchiveError(f"{self.name}: {refused.get('Key')} cannot be removed: {why}")
