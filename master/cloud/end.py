"""The end of a fleet: its bucket is copied and emptied."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import Final

from master.cloud.bucket import Bucket
from master.cloud.plan import FleetLocation
from worker.files import replace_file

_WORTH: Final = ("records/", "logs/", "books/")
"""Parts of a fleet's folder that are worth keeping. Releases, configuration and nets came from this machine."""
_OWN_BUCKET: Final = re.compile(r"(^|\.)aws_s3_bucket\.this\[")
_MACHINES: Final = re.compile(r"(^|\.)aws_(instance|autoscaling_group)\.")
"""The module's machines among the addresses in terraform's state."""


def bucket_is_in_the_way(left: Iterable[str]) -> bool:
    """Whether terraform's state has the fleet's own bucket among its addresses, and no machine that would write to the
    bucket."""
    left = tuple(left)
    return any(map(_OWN_BUCKET.search, left)) and not any(map(_MACHINES.search, left))


def in_folder(key: str) -> bool:
    """Whether a key is a path inside the folder to which it is copied; S3 accepts any text as a key. Pure."""
    return "\0" not in key and all(part not in ("", ".", "..") for part in key.split("/"))


def copy_records(location: FleetLocation, folder: Path, tell: Callable[[str], None]) -> int:
    """Copy games, logs and books of the fleet's own bucket to ``folder``. Returns the number of files.

    A file of the same name from an earlier copy or another fleet may be the only copy, so it is kept under another
    name. A key that would lie outside the folder is not the fleet's: it is reported and skipped, and does not delay the
    end.

    Raises:
        AwsError, OSError: a copy failed.
    """
    bucket, copied = Bucket(location.bucket, location.name, location.region), 0
    for key in (key for part in _WORTH for key in bucket.keys(part)):
        if not in_folder(key):
            tell(f"not copied: {key!r} in the bucket {location.bucket} is no path inside a folder")
            continue
        data, path = bucket.get(key) or b"", folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.read_bytes() != data:
            aside = next(name for n in count(1) if not (name := path.with_name(f"{path.name}.{n}")).exists())
            path.rename(aside)
            tell(f"{path} was there with other contents: it is {aside.name} now")
        replace_file(path, data)
        copied += 1
    return copied


def empty(location: FleetLocation) -> None:
    """Delete everything in the fleet's own bucket; in a bucket of the user's, only the machines' reports."""
    if location.bucket_is_own:
        Bucket(location.bucket, region=location.region).purge("")
    else:
        Bucket(location.bucket, location.name, location.region).purge("fleet/")
