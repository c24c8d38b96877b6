"""Facts about a fleet that commands keep for the next one: terraform's state, number of nodes, location.

They are in an S3 bucket, which the first `gougi fleet up` creates and which outlives the fleet, so that another machine
can continue.
"""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from master.cloud.agreed import STATE, TAG
from master.cloud.aws import AwsRefusal, aws_errors
from master.cloud.bucket import Bucket
from master.cloud.cloud import Cloud
from master.cloud.plan import FleetLocation

_KEY: Final = "terraform.tfstate"
_LOCK: Final = f"{_KEY}.tflock"
_FILE: Final = "fleet.json"


class KeptError(Exception):
    """The kept facts cannot be read, or another command holds them; the text names the remedy."""


@dataclass(frozen=True, slots=True)
class Kept:
    """``nodes``: the requested number; None: none was requested yet."""

    nodes: int | None = None
    location: FleetLocation | None = None
    """Kept from the first change until the fleet is verified to be gone; None: there is no fleet."""
    at_work: str = ""
    """The command that applies a plan, and its machine. It remains after the command's end only if that was killed."""


@dataclass(frozen=True, slots=True)
class State:
    """Terraform's state. ``addresses``: of all managed resources; ``ids``: their ids, ARNs and names at AWS."""

    addresses: tuple[str, ...] = ()
    ids: frozenset[str] = frozenset()
    output: Mapping[str, Any] = field(default_factory=dict)
    """The root module's outputs by name."""


def read_state(raw: bytes) -> State:
    """Read a state file of terraform (version 4, which OpenTofu and every terraform since 0.12 write).

    Raises:
        KeptError: it is not one.
    """
    try:
        content = json.loads(raw)
        resources = [each for each in content.get("resources", ()) if each["mode"] == "managed"]
        addresses, ids = [], set[str]()
        for resource in resources:
            before = f"{resource['module']}." if "module" in resource else ""
            for instance in resource["instances"]:
                index = f"[{json.dumps(instance['index_key'])}]" if "index_key" in instance else ""
                addresses.append(f"{before}{resource['type']}.{resource['name']}{index}")
                found = (instance.get("attributes") or {}).get
                ids |= {value for value in map(found, ("id", "arn", "name")) if value and isinstance(value, str)}
        output = {name: entry["value"] for name, entry in content.get("outputs", {}).items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise KeptError(f"terraform's state cannot be read: {type(error).__name__}: {error}") from error
    return State(tuple(addresses), frozenset(ids), output)


def _decode(raw: bytes, where: str) -> Kept:
    try:
        return msgspec.json.decode(raw, type=Kept)
    except msgspec.MsgspecError as error:
        raise KeptError(f"{where}: changed since gougi fleet wrote it: {error}") from error


class InBucket:
    """A bucket whose name contains the fleet, the account and the region. All methods raise AwsError."""

    def __init__(self, cloud: Cloud, fleet: str) -> None:
        self._cloud = cloud
        self._fleet = fleet
        self.name = f"{fleet}-{STATE}-{cloud.account()}-{cloud.region}"
        self._bucket = Bucket(self.name, region=cloud.region)
        self._s3 = cloud.service("s3")

    def exists(self) -> bool:
        """Whether it exists and is ours: anyone who creates a bucket first gets its name."""
        try:
            with aws_errors(self._bucket.name):
                self._s3.head_bucket(Bucket=self.name, ExpectedBucketOwner=self._cloud.account())
        except AwsRefusal as refusal:
            if refusal.code in ("404", "NoSuchBucket"):
                return False
            raise
        return True

    def make(self) -> bool:
        """Create it; False: it exists already."""
        if self.exists():
            return False
        place = {} if self._cloud.region == "us-east-1" else {"LocationConstraint": self._cloud.region}
        with aws_errors(self._bucket.name):
            self._s3.create_bucket(Bucket=self.name, **({"CreateBucketConfiguration": place} if place else {}))
            closed = ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")
            configuration = dict.fromkeys(closed, True)
            self._s3.put_public_access_block(Bucket=self.name, PublicAccessBlockConfiguration=configuration)
            self._s3.put_bucket_versioning(Bucket=self.name, VersioningConfiguration={"Status": "Enabled"})
            tags = [{"Key": TAG, "Value": self._fleet}]
            self._s3.put_bucket_tagging(Bucket=self.name, Tagging={"TagSet": tags})
        return True

    def remove(self) -> None:
        """Remove it, with all contents and their older versions."""
        if self.exists():
            self._bucket.purge("")
            with aws_errors(self._bucket.name):
                self._s3.delete_bucket(Bucket=self.name)

    def backend(self) -> dict[str, Any] | None:
        """The backend for the root module; None: there is no bucket yet."""
        if not self.exists():
            return None
        facts = {"bucket": self.name, "key": _KEY, "region": self._cloud.region, "encrypt": True, "use_lockfile": True}
        if self._cloud.is_stand_in:
            facts |= dict.fromkeys(
                ("use_path_style", "skip_credentials_validation", "skip_requesting_account_id"), True
            )
        return {"s3": facts}

    def read(self) -> Kept:
        raw = self._get(_FILE)
        return Kept() if raw is None else _decode(raw, f"{self._bucket.name}/{_FILE}")

    def write(self, kept: Kept) -> None:
        self._bucket.put(_FILE, msgspec.json.encode(kept))

    def state(self) -> State:
        raw = self._get(_KEY)
        return State() if raw is None else read_state(raw)

    def _get(self, key: str) -> bytes | None:
        try:
            return self._bucket.get(key)
        except AwsRefusal as refusal:
            if refusal.code == "NoSuchBucket":
                return None
            raise

    def free(self, killed: str) -> str:
        """Release the lock of a killed command of this folder. Returns a message about it.

        Args:
            killed: that command; empty: the last one ended normally.

        Raises:
            KeptError: another process has the lock.
        """
        raw = self._get(_LOCK)
        if raw is None:
            return ""
        who = since = "?"
        with suppress(ValueError, AttributeError):
            lock = json.loads(raw)
            who, since = str(lock.get("Who")), str(lock.get("Created"))[:19]
        if not killed or who != this_machine():
            raise KeptError(
                f"terraform is changing this fleet: {who} since {since}. Run the command again when it has ended; if "
                f"nothing runs there any more, first: aws s3 rm {self._bucket.name}/{_LOCK}"
            )
        self._bucket.delete(_LOCK)
        return f"terraform's lock of {killed}, which was killed, is open again"


def this_machine() -> str:
    """User and host, in the form of terraform's lock."""
    return f"{getpass.getuser()}@{os.uname().nodename}"
