"""Locks of files, which keep other processes out. The system releases a lock when its file is closed or its process
ends."""

from __future__ import annotations

import os
import sys
import time
from typing import IO, Any, Final

if sys.platform == "win32":
    import msvcrt

    _FAR: Final = 1 << 30
    """Windows locks bytes, which no other process can read then. So it is a byte that no file has."""
    _AGAIN_S: Final = 0.05
    """Windows' own wait ends after ten seconds, so this asks again."""

    def _take(file: IO[Any], wait: bool) -> None:
        number = file.fileno()
        at = os.lseek(number, 0, os.SEEK_CUR)
        os.lseek(number, _FAR, os.SEEK_SET)
        try:
            while True:
                try:
                    msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
                    return
                except PermissionError:
                    if not wait:
                        raise BlockingIOError("another process has the lock") from None
                time.sleep(_AGAIN_S)
        finally:
            os.lseek(number, at, os.SEEK_SET)
else:
    import fcntl

    def _take(file: IO[Any], wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def lock(file: IO[Any], *, wait: bool = True) -> None:
    """Lock an open file.

    Args:
        wait: wait while another process has the lock.

    Raises:
        BlockingIOError: another process has it, and this does not wait.
        OSError: the file system has no locks.
    """
    _take(file, wait)
