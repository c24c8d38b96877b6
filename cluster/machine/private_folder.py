"""A folder for the files of one process that nobody else may touch, and the removal of those whose process was killed.

Ray makes its own folder open to everybody (mode 777, not sticky), so it gets one inside a folder of mode 700.

A folder is ours to remove by what is in it, never by its name: the file ``owner`` (mode 600, of this user) says who
made it, and its maker holds a lock on that file (``flock``) for as long as it lives. Processes in other containers see
that lock too, where they share the parent folder. The process's number and start time only count where they mean
something: in the same namespace of process numbers, since the same boot.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import socket
import stat
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from cluster.machine.processes import started
from worker.trust import trusted

_MAGIC: Final = "gougi private folder 1"
_PREFIX: Final = "gougi-"
_OWNER: Final = "owner"
_LONGEST_OWNER: Final = 4096


@dataclass(frozen=True, slots=True)
class _Owner:
    """The process that made a folder."""

    pid: int
    started: int
    """Start of the process, in ticks since the boot."""
    namespace: int
    """The namespace of process numbers: each container has its own."""
    boot: str
    host: str


class PrivateFolder:
    """A new folder that this process owns until it ends or calls `remove`.

    Args:
        parent: where it is made; it must not let others replace what is in it.

    Raises:
        OSError: it cannot be made, or others could change what is in it.
    """

    def __init__(self, parent: Path) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=trusted(parent, shared=True)))
        try:
            facts = self.path.lstat()
            if facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) != 0o700:
                raise PermissionError(f"{self.path}: this file system does not keep a folder's owner and mode")
            self._lock: int | None = _sign(self.path)
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def remove(self) -> None:
        """Remove it with all that is in it. More than once does no harm."""
        lock, self._lock = self._lock, None
        if lock is not None:
            with contextlib.suppress(OSError):
                _remove(self.path)
            os.close(lock)


def remove_leftovers(parent: Path) -> None:
    """Remove the private folders under ``parent`` whose processes were killed. Whatever else looks like one stays."""
    for path in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError, ValueError):
            _remove_if_left(path)


def remove_all_leftovers() -> None:
    """`remove_leftovers`, wherever `cluster.drivers.ray_cluster` makes its folders."""
    for parent in {Path(tempfile.gettempdir()), Path("/tmp")}:
        remove_leftovers(parent)


def _remove_if_left(path: Path) -> None:
    """Remove the folder if it was made by this module, for this user, and its maker is gone.

    Raises:
        OSError, ValueError: it is none of ours.
    """
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        facts = os.fstat(folder)
        if facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) != 0o700:
            return
        lock = os.open(_OWNER, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            owner = _read(lock)
            # What is written was locked before: whoever finds it free finds the maker gone.
            if _may_live(owner) or not _take(lock):
                return
            if os.path.samestat(facts, path.lstat()):
                _remove(path)
        finally:
            os.close(lock)
    finally:
        os.close(folder)


def _remove(folder: Path) -> None:
    """Remove a folder; its owner's file last, so that what could not be removed now is still known as ours later.

    Raises:
        OSError: something is left.
    """
    for path in folder.iterdir():
        if path.name == _OWNER:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    (folder / _OWNER).unlink()
    folder.rmdir()


def _sign(folder: Path) -> int:
    """Write who owns the folder. Returns the file, open and locked."""
    lock = os.open(folder / _OWNER, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with contextlib.suppress(OSError):  # a file system without locks: what is left there stays
            _take(lock)
        os.write(lock, json.dumps({"magic": _MAGIC, **asdict(_myself())}).encode())
    except BaseException:
        os.close(lock)
        raise
    return lock


def _read(lock: int) -> _Owner:
    """Read who owns a folder.

    Raises:
        ValueError: the file was not made by this module, or not by this user.
    """
    facts = os.fstat(lock)
    private = stat.S_ISREG(facts.st_mode) and stat.S_IMODE(facts.st_mode) == 0o600 and facts.st_nlink == 1
    if not private or facts.st_uid != os.geteuid():
        raise ValueError("not a private file of this user")
    said = json.loads(os.pread(lock, _LONGEST_OWNER, 0))
    if not isinstance(said, dict) or said.pop("magic", None) != _MAGIC:
        raise ValueError("not an owner's file")
    try:
        return _Owner(**said)
    except TypeError as error:
        raise ValueError(f"not an owner's file: {error}") from error


def _may_live(owner: _Owner) -> bool:
    """Whether the owner is not known to be gone, its lock apart."""
    here = _myself()
    if owner.boot != here.boot:
        # This machine before it was started anew; or another one, with which this folder is shared, and whose locks
        # need not reach us.
        return owner.host != here.host
    return owner.namespace == here.namespace and started(owner.pid) == owner.started


def _take(lock: int) -> bool:
    """Lock an open file until it is closed. False: another process has locked it.

    Raises:
        OSError: the file system has no locks.
    """
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _myself() -> _Owner:
    pid = os.getpid()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return _Owner(pid, started(pid), os.stat("/proc/self/ns/pid").st_ino, boot, socket.gethostname())
