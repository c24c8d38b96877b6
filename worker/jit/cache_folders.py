"""Folders of compiled code: nobody removes one while a process uses it, and old ones go when nobody does."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from pathlib import Path
from typing import Final

_LEFT: Final = 4
_UNUSED_S: Final = 86_400

_kept: Final[dict[Path, tuple[int, int]]] = {}
"""By folder: the process that keeps it, and the descriptor of the file that it has locked, for as long as it lives. A
number and no file object, because a node that was forked has closed all that it did not open itself."""


def keep(folder: Path) -> None:
    """Keep others from removing a folder while this process or a fork of it lives. May be called again and again."""
    with contextlib.suppress(OSError):  # a folder that may only be read
        os.utime(folder)
        if _kept.get(folder, (0, 0))[0] == os.getpid():
            return
        # For reading too: NFS gives shared locks to readers only.
        descriptor = os.open(folder / "used", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        _kept[folder] = os.getpid(), descriptor
        fcntl.flock(descriptor, fcntl.LOCK_SH)


def is_kept(folder: Path) -> bool:
    """Whether a process keeps it. Raises OSError where that cannot be told."""
    with (folder / "used").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def prune(current: Path) -> None:
    """Remove the neighbours of ``current`` that nobody uses or has begun to use for a day, but not the last few."""
    others = [path for path in current.parent.glob("jit-*") if path != current and path.is_dir()]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others[_LEFT:]:
        if time.time() - path.stat().st_mtime < _UNUSED_S:
            continue
        with contextlib.suppress(OSError):
            if is_kept(path):
                continue
        shutil.rmtree(path, ignore_errors=True)
