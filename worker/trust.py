"""Whether another user of this machine could change what a folder holds: code that is loaded from it would be theirs.

The superuser and this process's user are trusted, nobody else. A folder that others may write to is trusted as a step
on the way where it is sticky (``/tmp``): nobody can replace there what is not his own.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
import tempfile
from pathlib import Path


def trusted(folder: Path, *, shared: bool = False) -> Path:
    """Return the folder's real path, without links, once nobody else can change what is in it or on the way to it.

    Args:
        shared: others may make files of their own in this folder: it is sticky then (``/tmp``).

    Raises:
        PermissionError: somebody else can; the text says where and why.
        OSError: it cannot be looked at.
    """
    lexical = Path(os.path.abspath(folder))
    for step in (*reversed(lexical.parents), lexical):
        if step.is_symlink() and not _trusted_owner(step.lstat()):
            raise PermissionError(f"{step} is a link of {_name(step.lstat().st_uid)}")
    real = lexical.resolve(strict=True)
    for step in (*reversed(real.parents), real):
        facts = step.lstat()
        if not stat.S_ISDIR(facts.st_mode):
            raise NotADirectoryError(f"{step} is not a folder")
        if not _trusted_owner(facts):
            raise PermissionError(f"{step} belongs to {_name(facts.st_uid)}")
        sticky = facts.st_mode & stat.S_ISVTX and (shared or step != real)
        if _writable_by_others(facts) and not sticky:
            raise PermissionError(f"others may write to {step}")
    return real


def own_folder(parent: Path, prefix: str) -> Path:
    """Find the folder under ``parent`` that is this user's alone (mode 700), or make one.

    Its name is ``prefix``, so that all processes of the user find it; where somebody else took that name, it goes on
    with ``-`` and more letters.

    Raises:
        OSError: none can be made.
    """
    plain = parent / prefix
    for candidate in (plain, *sorted(parent.glob(f"{prefix}-*"))):
        try:
            if candidate == plain and not os.path.lexists(plain):
                plain.mkdir(0o700)
            if not candidate.is_symlink() and stat.S_IMODE(candidate.lstat().st_mode) == 0o700:
                return trusted(candidate)
        except OSError:
            continue
    return Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=parent)).resolve()


def only_ours(folder: Path, variable: str = "") -> Path:
    """Make a folder (mode 700) where it is missing, and return it once only this user can write to it.

    The way to it is not looked at: in a pod it leads over a volume that is open to all users, of whom there is one.

    Args:
        folder: what is wanted.
        variable: what named it; for the error.

    Raises:
        OSError: it cannot be made, or is not this user's alone; the text says what is wrong, and with which.
    """
    where = f"{variable}: {folder}" if variable else str(folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"{where}: {(error.strerror or str(error)).lower()}") from error
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, f"{where}: it is a link, not a folder")
    if facts.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, f"{where}: it belongs to {_name(facts.st_uid)}")
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EPERM, f"{where}: others may write to it; it needs mode 700")
    return folder


def _trusted_owner(facts: os.stat_result) -> bool:
    return facts.st_uid in (0, os.geteuid())


def _writable_by_others(facts: os.stat_result) -> bool:
    group = facts.st_mode & stat.S_IWGRP and not _own_group(facts.st_gid)
    return bool(facts.st_mode & stat.S_IWOTH or group)


def _own_group(gid: int) -> bool:
    """Whether a group is this user's private one, as most systems give each user: of his name, without others."""
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return gid == user.pw_gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
