"""The end of a fleet: its bucket is copied and emptied, and what is left is looked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Final

from master.cloud.archive import FolderArchive, in_folder, open_archive
from master.cloud.cloud import Cloud
from master.cloud.plan import FleetLocation
from master.cloud.remains import Remains, remains
from master.cloud.terraform import Terraform

_WORTH: Final = ("records/", "logs/", "books/")
"""Parts of a fleet's folder that are worth keeping; releases, configuration and nets came from here."""
_STATUS: Final = "fleet/"
_OWN_BUCKET: Final = re.compile(r"(^|\.)aws_s3_bucket\.this\[")
_MACHINES: Final = re.compile(r"(^|\.)aws_(instance|autoscaling_group)\.")
"""Addresses of the module's in terraform's state."""


def bucket_is_in_the_way(terraform: Terraform) -> bool:
    """Whether the fleet's own bucket is still there, and no machine of the fleet that would write to it.

    Raises:
        TerraformError: terraform cannot say.
    """
    left = terraform.managed()
    return any(map(_OWN_BUCKET.search, left)) and not any(map(_MACHINES.search, left))


def copy_records(location: FleetLocation, folder: Path, tell: Callable[[str], None]) -> int:
    """Copy games, logs and books of the fleet's own bucket to ``folder``. Returns how many.

    What is there under the same name, an earlier copy or another fleet's, which may be the only one, is kept under a
    name of its own. A key that would lie outside the folder is none of the fleet's; it is told and left, and holds up
    no end.

    Raises:
        ArchiveError: a copy failed.
    """
    bucket, copies = open_archive(f"s3://{location.bucket}", location.region), FolderArchive(folder)
    # Until November 2026 a fleet had no folder of its own in its bucket.
    names = {key: key.removeprefix(f"{location.name}/") for key in bucket.keys("")}
    kept = {source: key for source, key in names.items() if key.startswith(_WORTH)}
    for source, key in kept.items():
        if not in_folder(key):
            continue
        data, before = bucket.get(source) or b"", copies.get(key)
        if before not in (None, data):
            aside = next(name for number in count(1) if copies.get(name := f"{key}.{number}") is None)
            copies.put(aside, before)
            tell(f"{folder / key} was there with other contents: it is {aside} now")
        copies.put(key, data)
    refused = [source for source, key in kept.items() if not in_folder(key)]
    for key in refused:
        tell(f"not copied: {key!r} in the bucket {location.bucket} is no path inside a folder")
    return len(kept) - len(refused)


def empty(location: FleetLocation) -> None:
    """Delete all of the fleet's own bucket; of somebody's, only what the machines said of themselves.

    Raises:
        ArchiveError: that failed.
    """
    own = location.bucket_is_own
    open_archive(f"s3://{location.bucket}" if own else location.store, location.region).purge("" if own else _STATUS)


def left_over(terraform: Terraform, cloud: Cloud, name: str, keep: list[str], patience_s: float) -> Remains:
    """Find what is left of a fleet, by terraform's state and by AWS itself.

    Args:
        cloud: AWS in the region where the fleet was.
        keep: names of what is meant to stay.
        patience_s: how long AWS may take to forget what was destroyed.

    Raises:
        TerraformError, AwsError: that cannot be seen.
    """
    in_state = [f"{address} (terraform's state)" for address in terraform.managed()]
    at_aws = remains(cloud, name, patience_s, keep)
    return Remains((*in_state, *at_aws.found), at_aws.unseen)
