"""A process for which this machine is like Windows, as far as our own code can see; loaded by `sitecustomize`.

Our code finds the platform ``win32``, a `msvcrt`, and none of the modules, functions, signals and files that only POSIX
has. The standard library and other packages find this machine as it is.
"""

from __future__ import annotations

import asyncio
import builtins
import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
import types
from typing import Any

OURS = {"gougi", "lab", "master", "cluster", "worker"}
MODULES = {
    "crypt", "curses", "fcntl", "grp", "nis", "posix", "pty", "pwd", "readline", "resource", "spwd", "syslog",
    "termios", "tty", "uvloop",
}  # fmt: skip
# From the documentation of Python 3.11, "Availability: Unix".
OS = {
    *("fork", "forkpty", "getuid", "geteuid", "getgid", "getegid", "getgroups", "getpgid", "getpgrp", "getsid"),
    *("setuid", "seteuid", "setgid", "setsid", "setpgid", "killpg", "nice", "getpriority", "setpriority", "uname"),
    *("PRIO_PROCESS", "getloadavg", "sysconf", "confstr", "waitid", "wait", "wait3", "wait4", "WNOHANG", "P_ALL"),
    *("WEXITED", "WNOWAIT", "posix_fallocate", "posix_fadvise", "posix_spawn", "pread", "pwrite", "fchmod", "fchown"),
    *("chown", "lchown", "mkfifo", "mknod", "statvfs", "fstatvfs", "pathconf", "sched_getaffinity", "register_at_fork"),
    *("sched_setaffinity", "sched_yield", "memfd_create", "eventfd", "pidfd_open", "openpty", "ttyname", "ctermid"),
    *("O_NONBLOCK", "O_CLOEXEC", "O_NOFOLLOW", "O_DIRECTORY", "sendfile", "initgroups", "chroot", "sync", "pipe2"),
}  # fmt: skip
SIGNALS = {"SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM"}
SIGNAL = {
    *(name for name in dir(signal) if name.startswith("SIG") and name not in SIGNALS | {"SIG_DFL", "SIG_IGN"}),
    *("alarm", "setitimer", "pause", "pthread_sigmask", "pthread_kill", "sigwait", "siginterrupt", "sigpending"),
}
SOCKET = {"AF_UNIX", "socketpair", "SCM_RIGHTS", "AF_NETLINK"}


def is_ours(frame: types.FrameType | None) -> bool:
    """Whether a frame belongs to our own code."""
    if frame is None:
        return False
    name = str(frame.f_globals.get("__name__"))
    return name.partition(".")[0] in OURS or frame.f_code.co_filename.endswith("gougi/__main__.py")


def hide(module: types.ModuleType, missing: set[str], other: dict[str, object] | None = None) -> None:
    """Hide some names of a module from our own code, and give it other values of some."""

    class Seen(types.ModuleType):
        def __getattribute__(self, name: str) -> Any:
            if (name in missing or (other and name in other)) and is_ours(sys._getframe(1)):
                if name in missing:
                    raise AttributeError(f"module {module.__name__!r} has no attribute {name!r} on Windows")
                return (other or {})[name]
            return super().__getattribute__(name)

    module.__class__ = Seen


def msvcrt() -> types.ModuleType:
    """Its locks, made from this machine's."""
    module = types.ModuleType("msvcrt")

    def locking(number: int, mode: int, size: int) -> None:
        assert size == 1
        try:
            fcntl.flock(number, fcntl.LOCK_UN if mode == 0 else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None

    vars(module).update(LK_UNLCK=0, LK_LOCK=1, LK_NBLCK=2, locking=locking)
    return module


def plant() -> None:
    """Make this process such a process."""
    usual = builtins.__import__

    def importing(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if name.partition(".")[0] in MODULES and is_ours(sys._getframe(1)):
            raise ModuleNotFoundError(f"No module named {name!r} on Windows", name=name)
        return usual(name, globals, locals, fromlist, level)

    builtins.__import__ = importing
    sys.modules["msvcrt"] = msvcrt()
    hide(sys, set(), {"platform": "win32"})
    hide(os, OS, {"name": "nt"})
    hide(signal, SIGNAL)
    hide(socket, SOCKET)
    hide(asyncio, {"open_unix_connection", "start_unix_server"})
    _processes_of_windows()

    def no_handler(self: object, number: int, callback: object, *words: object) -> None:
        raise NotImplementedError  # as asyncio's event loops on Windows do

    asyncio.unix_events._UnixSelectorEventLoop.add_signal_handler = no_handler  # type: ignore[assignment]

    def audit(event: str, words: tuple[Any, ...]) -> None:
        if event in ("open", "os.listdir", "os.scandir"):
            if str(words[0]).startswith(("/proc/", "/sys/")):
                raise FileNotFoundError(errno.ENOENT, "No such file or directory on Windows", words[0])
        elif event in ("os.fork", "os.forkpty"):
            raise OSError("there is no fork on Windows")

    sys.addaudithook(audit)


def _processes_of_windows() -> None:
    """`subprocess.Popen` with the arguments that it has on Windows."""
    usual = subprocess.Popen.__init__

    def begin(self: Any, *words: Any, creationflags: int = 0, **named: Any) -> None:
        for name in ("preexec_fn", "process_group", "start_new_session", "pass_fds", "user", "umask"):
            if named.get(name) is not None and is_ours(sys._getframe(1)):
                raise ValueError(f"{name} is not supported on Windows platforms")
        usual(self, *words, **named, process_group=0 if creationflags else None)

    subprocess.Popen.__init__ = begin  # type: ignore[method-assign]
    subprocess.CREATE_NEW_PROCESS_GROUP = 0x200  # type: ignore[attr-defined]
