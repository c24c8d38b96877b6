"""One operator of a fleet at a time: a lock on the fleet's folder, from before a plan until the plan is carried out.

The kernel holds it (``flock``), so that it goes with whoever has it, however that one ends. Who has it stands in the
file, for the others to read.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import os
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from master.cloud.view import age

NAME: Final = "operator.lock"
_LOOK_S: Final = 0.2
_WRITING_S: Final = 0.5
"""Seconds that a command which has just taken the lock has to write down who it is."""


class FolderBusy(Exception):
    """Another command works on the fleet; the text says who runs which, and since when."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The holder of the lock. ``since``: in seconds since 1970."""

    user: str
    host: str
    pid: int
    command: str
    since: float

    @classmethod
    def here(cls, command: str) -> Holder:
        """This process."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):
            user = f"user {os.getuid()}"  # a container has numbers without names
        return cls(user, socket.gethostname(), os.getpid(), command, time.time())

    @property
    def may_live(self) -> bool:
        """Whether the process may be there; of another host's that is not known."""
        return self.host != socket.gethostname() or Path(f"/proc/{self.pid}").exists()

    def words(self, now: float) -> str:
        """``ann runs `gougi fleet up` (process 17) since 10:15:03 (2 min)``."""
        where = "" if self.host == socket.gethostname() else f" on {self.host}"
        since = datetime.fromtimestamp(self.since).astimezone().strftime("%H:%M:%S")
        past = age(max(0.0, now - self.since))
        return f"{self.user} runs `{self.command}`{where} (process {self.pid}) since {since} ({past})"


@contextlib.contextmanager
def locked(folder: Path, command: str, wait_s: float = 0.0, tell: Callable[[str], None] = print) -> Iterator[None]:
    """Have a fleet's folder for oneself. It is made where it is not there, and goes again where it stays empty.

    Args:
        command: what is done, for those who find the folder taken.
        wait_s: how long to wait for it, in seconds.
        tell: gets a line where it is waited.

    Raises:
        FolderBusy: another command has it, and still has it after that time.
        OSError: the folder or the lock in it cannot be made.
    """
    path = folder / NAME
    made = not folder.exists()
    descriptor = _taken(path, command, wait_s, tell)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # before it is let go: whoever waits for this file sees that it is gone
        os.close(descriptor)
        if made:
            with contextlib.suppress(OSError):
                folder.rmdir()


def _taken(path: Path, command: str, wait_s: float, tell: Callable[[str], None]) -> int:
    deadline, told, again = time.monotonic() + wait_s, False, 3
    while True:
        descriptor = _opened(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is(descriptor, path):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, msgspec.json.encode(Holder.here(command)), 0)
                return descriptor
            os.close(descriptor)  # of somebody who has ended meanwhile
            continue
        except BlockingIOError:
            os.close(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        if not told or time.monotonic() >= deadline:
            holder = _holder(path)
            if holder is None and again:
                again -= 1  # he has ended, or is only just there
                continue
            who = holder.words(time.time()) if holder else "another program holds its lock"
            if time.monotonic() >= deadline:
                raise FolderBusy(f"{path.parent} is in use: {who}; --lock-wait S waits for its end")
            tell(f"{path.parent} is in use: {who}; waiting up to {wait_s:.0f} s")
            told = True
        time.sleep(_LOOK_S)


def _opened(path: Path) -> int:
    while True:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # whoever ends may take an empty folder with him
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _is(descriptor: int, path: Path) -> bool:
    """Whether what is open is what stands at the path."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    here = os.fstat(descriptor)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def _holder(path: Path) -> Holder | None:
    """Read the holder's name; a command that is just writing it gets a moment. None: nobody has."""
    deadline = time.monotonic() + _WRITING_S
    while True:
        try:
            holder = msgspec.json.decode(path.read_bytes(), type=Holder)
            if holder.may_live:
                return holder
        except (OSError, msgspec.MsgspecError):
            pass
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.02)
